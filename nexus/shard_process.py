"""A shard host as a process: the composition root that builds one from concrete parts.

One event loop on the main thread until it is told to end; returns when everything it had taken on is stored and sent.
Imports nothing of the gateway, so that a killed host is back soon.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import structlog
import uvloop

from actors.assembly import Surroundings, start_host
from actors.decision import Rules
from actors.host import Place
from actors.pool import ThreadPool
from actors.roster import roster
from bus.clock import SystemClock
from bus.journal import GroupWriter
from bus.journal_thread import ThreadJournal
from bus.limits import look_again_ms, pool_threads, takeover_wait_ms
from bus.store import StoreBroken, StoreFull
from bus.store_lmdb import LmdbStore, StoreInUse
from bus.wire_zmq import ZmqWire
from nexus import exit_codes
from nexus.children import Ended, Ready
from nexus.config import Home
from nexus.event_loop import (
    leave_old_objects_alone,
    leave_startup_objects_alone,
    let_threads_alternate,
    nonce,
    told_to_end,
)
from nexus.logs import configure_logs

_EXIT_DISK_BROKE = 74
_OF_THE_MACHINE: Final = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
"""What can keep a sound store from being opened."""


def run_shard_host(
    home: Home, shard: int, ready: Ready, ended: Ended, rules: Mapping[str, Rules[Any]] | None = None
) -> None:
    """Be shard host `shard` of `home` until told to end. Tests bring `rules` of their own; None: the product's."""
    configure_logs()
    let_threads_alternate()
    leave_old_objects_alone()
    uvloop.run(_shard_host(home, shard, ready, ended, roster() if rules is None else rules))


async def _shard_host(home: Home, shard: int, ready: Ready, ended: Ended, rules: Mapping[str, Rules[Any]]) -> None:
    sockets = [home.shard_socket(number) for number in range(home.settings.shards)]
    ground = Ground(Place(shard, len(sockets)), home.shard_folder(shard), sockets, home.key(), home.backups)
    await serve_shard(ground, rules, ready, ended)


@dataclass(frozen=True)
class Ground:
    """Where a shard host stands: its number, its store's folder, all hosts' sockets by number, the home's key."""

    place: Place
    folder: Path
    sockets: Sequence[Path]
    key: bytes = field(repr=False)
    backups: Path | None = None
    """The folder that copies for a backup go to."""


async def serve_shard(ground: Ground, rules: Mapping[str, Rules[Any]], ready: Ready, ended: Ended) -> None:
    """Build the host from the product's parts and serve until told to end. Benchmarks bring rules of their own."""
    loop = asyncio.get_running_loop()
    stop = told_to_end(loop, ended)
    store = await _open_store(ground.folder)
    wire = ZmqWire(loop)
    pool = ThreadPool(pool_threads, _end_at_once)
    beside = ThreadPool(1)
    journals: list[ThreadJournal] = []

    def make_journal(writer: GroupWriter) -> ThreadJournal:
        journals.append(ThreadJournal(writer))
        return journals[-1]

    around = Surroundings(
        place=ground.place,
        sockets=ground.sockets,
        key=ground.key,
        store=store,
        wire=wire,
        clock=SystemClock(),
        scheduler=loop,
        executor=pool,
        nonce=nonce,
        beside=beside,
        backups=ground.backups,
    )
    running = start_host(around, rules, make_journal, _end_at_once)
    leave_startup_objects_alone()
    ready()
    await stop
    pool.close()
    for journal in journals:
        journal.close()
    running.host.hear_threads()
    running.close_links()
    wire.close()
    beside.close()  # after everything that callers wait for: it may be copying a large shard
    store.close()


async def _open_store(folder: Path) -> LmdbStore:
    """A host that was killed a moment ago may not have let go of its lock yet."""
    loop = asyncio.get_running_loop()
    end = loop.time() + takeover_wait_ms / 1000
    while True:
        try:
            return LmdbStore(folder)
        except StoreInUse:
            if loop.time() > end:
                raise
        except (StoreFull, StoreBroken):
            raise
        except Exception as problem:
            if any(os.strerror(number) in str(problem) for number in _OF_THE_MACHINE):
                raise
            # Whatever else the store or the system has against the files is the home's: the person must hear of it.
            structlog.get_logger("host").critical("store_refused", kind=type(problem).__name__, why=str(problem))
            raise SystemExit(exit_codes.HOME_REFUSED) from None
        await asyncio.sleep(look_again_ms / 1000)


def _end_at_once() -> None:
    """The disk failed: nobody knows what of the last group is stored, so nothing more may be decided here."""
    structlog.get_logger("host").critical("disk_failed")
    os._exit(_EXIT_DISK_BROKE)
