"""A shard host as a process: the composition root that builds one from concrete parts.

One event loop on the main thread until it is told to end; returns when everything it had taken on is stored and sent.
Imports nothing of the gateway, so that a killed host is back soon.
"""

from __future__ import annotations

import asyncio
import errno
import os
from typing import Final

import structlog
import uvloop

from actors.assembly import Surroundings, start_host
from actors.host import Place
from actors.pool import ThreadPool
from actors.roster import roster
from bus.clock import SystemClock
from bus.journal import GroupWriter, ThreadJournal
from bus.limits import look_again_ms, pool_threads, takeover_wait_ms
from bus.store import StoreBroken, StoreFull
from bus.store_lmdb import LmdbStore, StoreInUse
from bus.wire_zmq import ZmqWire
from nexus import exit_codes
from nexus.children import Ended, Ready
from nexus.config import Home
from nexus.event_loop import nonce, told_to_end
from nexus.logs import configure_logs

_EXIT_DISK_BROKE = 74
_OF_THE_MACHINE: Final = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
"""What can keep a sound store from being opened."""


def run_shard_host(home: Home, shard: int, ready: Ready, ended: Ended) -> None:
    """Be shard host `shard` of `home` until told to end."""
    configure_logs()
    uvloop.run(_shard_host(home, shard, ready, ended))


async def _shard_host(home: Home, shard: int, ready: Ready, ended: Ended) -> None:
    loop = asyncio.get_running_loop()
    stop = told_to_end(loop, ended)
    store = await _open_store(home, shard)
    wire = ZmqWire(loop)
    pool = ThreadPool(pool_threads)
    journals: list[ThreadJournal] = []

    def make_journal(writer: GroupWriter) -> ThreadJournal:
        journals.append(ThreadJournal(writer))
        return journals[-1]

    around = Surroundings(
        place=Place(shard, home.settings.shards),
        sockets=[home.shard_socket(number) for number in range(home.settings.shards)],
        key=home.key(),
        store=store,
        wire=wire,
        clock=SystemClock(),
        scheduler=loop,
        executor=pool,
        nonce=nonce,
    )
    running = start_host(around, roster(), make_journal, _end_at_once)
    ready()
    await stop
    pool.close()
    for journal in journals:
        journal.close()
    running.host.hear_threads()
    running.close_links()
    wire.close()
    store.close()


async def _open_store(home: Home, shard: int) -> LmdbStore:
    """A host that was killed a moment ago may not have let go of its lock yet."""
    loop = asyncio.get_running_loop()
    end = loop.time() + takeover_wait_ms / 1000
    while True:
        try:
            return LmdbStore(home.shard_folder(shard))
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
