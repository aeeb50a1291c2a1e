"""A shard host of the product with the queue's rules instead of the product's: `python -m ... FOLDER`.

The key comes on standard input, whose end ends the process; `ready` goes to standard output.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import uvloop

from actors.decision import Rules
from actors.host import Place
from nexus.children import Ending
from nexus.hygiene import watch_pipe
from nexus.logs import configure_logs
from nexus.shard_process import Ground, serve_shard
from tests.benchmarks.queue_owner import QueueRules

KEY_BYTES = 32


def socket_of(folder: Path) -> Path:
    return folder / "shard-0"


def serve(roster: Mapping[str, Rules[Any]]) -> None:
    """Until the process is ended."""
    folder = Path(sys.argv[1])
    key = os.read(sys.stdin.fileno(), KEY_BYTES)
    configure_logs()
    ending = Ending()
    signal.signal(signal.SIGTERM, lambda _signal, _frame: ending.come())
    watch_pipe(sys.stdin.fileno(), ending.come)
    ground = Ground(Place(0, 1), folder / "store", [socket_of(folder)], key)
    uvloop.run(serve_shard(ground, roster, lambda: print("ready", flush=True), ending.tell_me))


if __name__ == "__main__":
    serve({"queue": QueueRules()})
