"""A NEXUS whose shard hosts hold ledgers (tests/support/ledger.py) and nothing else is of a test: `python -I FILE`.

Supervisor, gateway, links, hosts, journal and store are the product's.
"""

from __future__ import annotations

import sys
from pathlib import Path

import uvloop

from actors.host import Place
from nexus.children import Bodies, Ended, Ready, product_bodies, run
from nexus.cli import new_app
from nexus.config import Home
from nexus.lifecycle_cli import register
from nexus.logs import configure_logs
from nexus.shard_process import Ground, serve_shard

COMMAND = (sys.executable, "-I", str(Path(__file__).resolve()))


def run_shard_host(home: Home, shard: int, ready: Ready, ended: Ended) -> None:
    from tests.support.ledger import LedgerRules

    configure_logs()
    sockets = [home.shard_socket(number) for number in range(home.settings.shards)]
    ground = Ground(Place(shard, len(sockets)), home.shard_folder(shard), sockets, home.key())
    uvloop.run(serve_shard(ground, {"ledger": LedgerRules()}, ready, ended))


def main(command: tuple[str, ...] = COMMAND) -> None:
    """`command` starts the children, and is this program or one that leads here."""
    if sys.argv[1:2] and sys.argv[1] in ("supervisor", "shard", "gateway"):
        bodies = Bodies(run_shard_host, product_bodies().gateway)
        sys.exit(run(sys.argv[1:], lambda: bodies, command))
    app = new_app()
    register(app, command)
    app()


if __name__ == "__main__":
    # Children import `tests` from beside this file's folder: -I leaves only what is installed on the path.
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    main()
