"""A real NEXUS that also serves the fixture tools of the conformance suite. `python -I -m tests.interop.serving up`.

It is the product's command, supervisor, gateway process and shard host. Two things are brought from outside, as the
composition root allows and no option of the product does: the gateway's catalogue has the fixtures besides, and the
agents' owners have a verb for each. So a fixture is listed, checked, admitted, addressed, decided, and its result
checked as any tool is. Whoever types the person's commands uses the product's own program on the same home.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from nexus.children import Bodies, Ended, GatewaySockets, Ready, run
from nexus.cli import new_app
from nexus.command import run_command
from nexus.config import Home
from nexus.lifecycle_cli import register

COMMAND: Final = (sys.executable, "-I", "-m", "tests.interop.serving")


def run_shard_host(home: Home, shard: int, ready: Ready, ended: Ended) -> None:
    """The product's host, with owners of agents that decide fixtures."""
    from actors.decision import Rules
    from actors.roster import roster
    from nexus.shard_process import run_shard_host as run_product
    from tests.interop.fixture_owner import AgentWithFixtures

    rules: Mapping[str, Rules[Any]] = {**roster(), "agent": AgentWithFixtures()}
    run_product(home, shard, ready, ended, rules)


def run_gateway(home: Home, sockets: GatewaySockets, ready: Ready, ended: Ended) -> None:
    """The product's gateway, with the fixtures in its catalogue."""
    from nexus.gateway_process import run_gateway as run_product
    from tests.interop.fixture_tools import FIXTURES
    from tools.catalogue import TOOLS, ordered

    run_product(home, sockets, ready, ended, ordered(TOOLS, FIXTURES))


def main() -> None:
    if sys.argv[1:2] and sys.argv[1] in ("supervisor", "shard", "gateway"):
        sys.exit(run(sys.argv[1:], lambda: Bodies(run_shard_host, run_gateway), COMMAND))
    app = new_app()
    register(app, COMMAND)
    sys.exit(run_command(app, "nexus", sys.argv[1:]))


if __name__ == "__main__":
    main()
