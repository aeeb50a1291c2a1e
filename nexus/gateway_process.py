"""The gateway as a process: the composition root that builds it from concrete parts.

One event loop on the main thread until it is told to end; the sockets that it serves were opened by the supervisor.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import nullcontext
from functools import partial

import uvicorn
import uvloop

from bus.address import DIRECTORY
from bus.client import BusClient, Caller, DeadlinePassed
from bus.clock import Clock, SystemClock
from bus.envelope import LinkClass
from bus.limits import call_deadline_ms_default
from bus.link import Identity
from bus.value import records
from bus.wire_zmq import RUNTIME_BOUNDS, ZmqWire
from nexus.children import Ended, GatewaySockets, Ready
from nexus.config import Home
from nexus.event_loop import derived_key, leave_startup_objects_alone, nonce, told_to_end
from nexus.gateway.asgi import Gateway
from nexus.gateway.http_border import Bounds, connections_possible, server_config
from nexus.gateway.person_port import PersonPort
from nexus.gateway.provider_answers import Listening, ProviderSources
from nexus.gateway.provider_detection import ThisMachine
from nexus.gateway.provider_programs import this_person
from nexus.gateway.runtime_port import RuntimePort
from nexus.lineage import lineage_of
from nexus.logs import configure_logs
from nexus.notices import DesktopNotices, are_wanted, notifier_command
from tools.base import Tool
from tools.catalogue import TOOLS


def run_gateway(
    home: Home, sockets: GatewaySockets, ready: Ready, ended: Ended, tools: tuple[Tool, ...] = TOOLS
) -> None:
    """Be the gateway of `home` on sockets that listen already, until told to end. Tests bring `tools` of their own."""
    configure_logs()
    uvloop.run(_gateway(home, sockets, ready, ended, tools))


async def _gateway(home: Home, sockets: GatewaySockets, ready: Ready, ended: Ended, tools: tuple[Tool, ...]) -> None:
    loop = asyncio.get_running_loop()
    stop = told_to_end(loop, ended)
    clock = SystemClock()
    wire = ZmqWire(loop)
    incarnation = clock.new_id()

    def client(link_class: LinkClass) -> BusClient:
        hosts = [home.shard_socket(shard) for shard in range(home.settings.shards)]
        identity = Identity(link_class, link_class.value, incarnation, home.key())
        return BusClient(wire, hosts, identity, clock=clock, scheduler=loop, nonce=nonce)

    agents, person = client(LinkClass.GATEWAY), client(LinkClass.PERSON)
    # A restored home is another history: cursors into the former one are not taken for places in this one.
    seal_key = derived_key(home.key(), f"cursors of incarnation {home.settings.incarnation}")
    notices = DesktopNotices(notifier_command(os.environ), partial(are_wanted, person, clock))
    machine = ThisMachine(home.path, this_person(), os.environ.get("PATH", ""), partial(_roots, person, clock))
    providers = ProviderSources(machine, listening=Listening(sockets.port))
    gateway = Gateway(
        agents,
        clock,
        tools,
        sockets.port,
        seal_key=seal_key,
        card_appeared=notices.card_appeared,
        providers=providers,
    )
    # The supervisor starts whatever runs for agents; the person's own programs are never its children.
    lineage = partial(lineage_of, roots=frozenset({os.getppid()}))
    port = PersonPort(person, clock, home.settings.shards, gateway=incarnation, lineage=lineage, providers=providers)
    person_server = await port.serve(sockets.person)
    runtimes_wire = ZmqWire(loop, RUNTIME_BOUNDS)
    runtimes = RuntimePort(agents, clock, gateway.uses, runtimes_wire, home.runtimes_socket)
    ending_leases = asyncio.ensure_future(port.end_former_leases())
    server = _HttpServer(gateway, ready)
    serving = asyncio.ensure_future(server.serve(sockets=[sockets.mcp_tcp, sockets.mcp_unix]))
    done, _ = await asyncio.wait((serving, stop), return_when=asyncio.FIRST_COMPLETED)
    gateway.listeners.end_all()  # streams would keep the server from ending for as long as it may wait
    server.should_exit = True
    await serving
    ending_leases.cancel()
    await asyncio.gather(ending_leases, return_exceptions=True)  # it has logged what it did not manage
    person_server.close()
    runtimes.close()
    runtimes_wire.close()
    await notices.close()
    machine.close()
    agents.close()
    person.close()
    wire.close()
    if stop not in done:
        raise SystemExit("the HTTP server ended by itself")


async def _roots(person: Caller, clock: Clock) -> list[str]:
    """The folders of workspaces, which agents may write in. Raises DeadlinePassed."""
    reply = await person.call(
        DIRECTORY, "directory_list", {}, call_id=clock.new_id(), within_ms=call_deadline_ms_default
    )
    if reply.ok is None:
        raise DeadlinePassed(was_sent=True)
    return [str(one["root"]) for one in records(reply.ok, "workspaces") if isinstance(one.get("root"), str)]


class _HttpServer(uvicorn.Server):
    """uvicorn on sockets that are open already, saying when it serves; signals are the process's own affair."""

    def __init__(self, gateway: Gateway, ready: Ready) -> None:
        super().__init__(server_config(gateway.asgi_app, Bounds(connections_max=connections_possible())))
        self._ready = ready

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            leave_startup_objects_alone()
            self._ready()

    def capture_signals(self) -> nullcontext[None]:  # type: ignore[override]
        return nullcontext()
