"""One more gateway of a running home, with the padded catalogue: `python -m ... HOME`. Prints its port."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import uvicorn
import uvloop

from bus.client import BusClient
from bus.clock import SystemClock
from bus.envelope import LinkClass
from bus.link import Identity
from bus.wire_zmq import ZmqWire
from nexus.config import open_home
from nexus.event_loop import leave_startup_objects_alone, nonce
from nexus.gateway.asgi import Gateway
from nexus.gateway.http_border import Bounds, server_config
from nexus.sockets import listen_on_port, port_of
from tests.benchmarks.padding import padded_catalogue


async def serve(folder: Path) -> None:
    home, clock = open_home(folder), SystemClock()
    loop = asyncio.get_running_loop()
    hosts = [home.shard_socket(shard) for shard in range(home.settings.shards)]
    identity = Identity(LinkClass.GATEWAY, "benchmark", clock.new_id(), home.key())
    agents = BusClient(ZmqWire(loop), hosts, identity, clock=clock, scheduler=loop, nonce=nonce)
    listening = listen_on_port(0)
    gateway = Gateway(agents, clock, padded_catalogue(), port_of(listening))
    leave_startup_objects_alone()
    print(port_of(listening), flush=True)
    await uvicorn.Server(server_config(gateway.asgi_app, Bounds())).serve(sockets=[listening])


if __name__ == "__main__":
    uvloop.run(serve(Path(sys.argv[1])))
