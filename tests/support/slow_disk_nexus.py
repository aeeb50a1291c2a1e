"""A NEXUS of ledgers (ledger_nexus.py) whose every commit takes 50 to 200 ms, as on a worn or shared disk."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

COMMAND: Final = (sys.executable, "-I", str(Path(__file__).resolve()))
COMMIT_SECONDS: Final = (0.05, 0.2)


def slow_down() -> None:
    """Every store that this process opens."""
    from bus.store import Write
    from bus.store_lmdb import LmdbStore

    chance, never, commit = random.Random(), threading.Event(), LmdbStore.commit

    def late(store: LmdbStore, writes: Sequence[Write]) -> None:
        never.wait(chance.uniform(*COMMIT_SECONDS))
        commit(store, writes)

    LmdbStore.commit = late  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    # Children import `tests` from beside this file's folder: -I leaves only what is installed on the path.
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    from tests.support import ledger_nexus

    if sys.argv[1:2] == ["shard"]:
        slow_down()
    ledger_nexus.main(COMMAND)
