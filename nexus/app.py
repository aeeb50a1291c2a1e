"""The composition root: the only place that builds NEXUS from concrete parts, one function a process.

Each runs one event loop on the main thread until it is told to end, and returns when everything it had taken on is
stored and sent. What differs in tests (wire, store, threads, clock) is chosen there by tests/support.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import nullcontext

import structlog
import uvicorn
import uvloop
from tools.catalogue import TOOLS

from actors.assembly import Surroundings, start_host
from actors.host import Place
from actors.pool import ThreadPool
from actors.roster import roster
from bus.client import BusClient
from bus.clock import SystemClock
from bus.envelope import LinkClass
from bus.journal import GroupWriter, ThreadJournal
from bus.limits import pool_threads, takeover_wait_ms
from bus.link import Identity
from bus.store_lmdb import LmdbStore, StoreInUse
from bus.wire_zmq import ZmqWire
from nexus.children import Ended, GatewaySockets, Ready
from nexus.config import Home
from nexus.gateway.asgi import Gateway
from nexus.gateway.person_port import PersonPort
from nexus.logs import configure_logs

_EXIT_DISK_BROKE = 74
_RETRY_SECONDS = 0.02


def run_shard_host(home: Home, shard: int, ready: Ready, ended: Ended) -> None:
    """Be shard host `shard` of `home` until told to end."""
    configure_logs()
    uvloop.run(_shard_host(home, shard, ready, ended))


def run_gateway(home: Home, sockets: GatewaySockets, ready: Ready, ended: Ended) -> None:
    """Be the gateway of `home` on sockets that listen already, until told to end."""
    configure_logs()
    uvloop.run(_gateway(home, sockets, ready, ended))


async def _shard_host(home: Home, shard: int, ready: Ready, ended: Ended) -> None:
    loop = asyncio.get_running_loop()
    stop = _told_to_end(loop, ended)
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
        nonce=_nonce,
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
        await asyncio.sleep(_RETRY_SECONDS)


async def _gateway(home: Home, sockets: GatewaySockets, ready: Ready, ended: Ended) -> None:
    loop = asyncio.get_running_loop()
    stop = _told_to_end(loop, ended)
    clock = SystemClock()
    wire = ZmqWire(loop)
    incarnation = clock.new_id()

    def client(link_class: LinkClass) -> BusClient:
        hosts = [home.shard_socket(shard) for shard in range(home.settings.shards)]
        identity = Identity(link_class, link_class.value, incarnation, home.key())
        return BusClient(wire, hosts, identity, clock=clock, scheduler=loop, nonce=_nonce)

    agents, person = client(LinkClass.GATEWAY), client(LinkClass.PERSON)
    gateway = Gateway(agents, clock, TOOLS, sockets.port)
    person_server = await PersonPort(person, clock, home.settings.shards).serve(sockets.person)
    server = _HttpServer(gateway, ready)
    serving = asyncio.ensure_future(server.serve(sockets=[sockets.mcp_tcp, sockets.mcp_unix]))
    done, _ = await asyncio.wait((serving, stop), return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    await serving
    person_server.close()
    agents.close()
    person.close()
    wire.close()
    if stop not in done:
        raise SystemExit("the HTTP server ended by itself")


class _HttpServer(uvicorn.Server):
    """uvicorn on sockets that are open already, saying when it serves; signals are the process's own affair."""

    def __init__(self, gateway: Gateway, ready: Ready) -> None:
        super().__init__(
            uvicorn.Config(
                gateway.asgi_app,
                http="httptools",
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=2,
                proxy_headers=False,
            )
        )
        self._ready = ready

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            self._ready()

    def capture_signals(self) -> nullcontext[None]:  # type: ignore[override]
        return nullcontext()


def _told_to_end(loop: asyncio.AbstractEventLoop, ended: Ended) -> asyncio.Future[None]:
    stop: asyncio.Future[None] = loop.create_future()

    def end() -> None:
        if not stop.done():
            stop.set_result(None)

    ended(lambda: loop.call_soon_threadsafe(end))
    return stop


def _nonce() -> bytes:
    return os.urandom(16)


def _end_at_once() -> None:
    """The disk failed: nobody knows what of the last group is stored, so nothing more may be decided here."""
    structlog.get_logger("host").critical("disk_failed")
    os._exit(_EXIT_DISK_BROKE)
