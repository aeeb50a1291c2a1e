"""A NEXUS whose leases are short and nothing else is of a test: `python -I FILE`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from nexus.children import Bodies, Ended, Ready, product_bodies, run
from nexus.cli import new_app
from nexus.config import Home
from nexus.lifecycle_cli import register

COMMAND = (sys.executable, "-I", str(Path(__file__).resolve()))
LEASE_MS: Final = 2_000


def run_shard_host(home: Home, shard: int, ready: Ready, ended: Ended) -> None:
    import bus.limits

    # Before anything that reads it is imported.
    assert "actors.mailbox" not in sys.modules
    bus.limits.lease_ms = LEASE_MS  # type: ignore[misc]
    product_bodies().shard_host(home, shard, ready, ended)


def main() -> None:
    if sys.argv[1:2] and sys.argv[1] in ("supervisor", "shard", "gateway"):
        bodies = Bodies(run_shard_host, product_bodies().gateway)
        sys.exit(run(sys.argv[1:], lambda: bodies, COMMAND))
    app = new_app()
    register(app, COMMAND)
    app()


if __name__ == "__main__":
    # Children import `tests` from beside this file's folder: -I leaves only what is installed on the path.
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    main()
