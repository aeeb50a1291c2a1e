"""A runtimes' port in this process over a scripted mailbox, and runtimes that speak to it by frames or as clients."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Self, TypeVar

from bus.clock import ManualClock
from bus.mailbox_client import MailboxClient
from bus.runtime_frames import (
    PROTOCOL,
    Credit,
    Deliver,
    Hello,
    RuntimeFrame,
    Welcome,
    decode_runtime_frame,
    encode_runtime_frame,
)
from bus.runtime_limits import runtime_credit_bytes_default
from bus.wire import Connection
from bus.wire_memory import MemoryWire
from nexus.gateway.runtime_port import RuntimePort
from nexus.gateway.shares import AgentShares
from tests.support.loop import until
from tests.support.scripted_mailbox import TOKEN, ScriptedMailbox

PATH = Path("runtimes")
Frame = TypeVar("Frame", bound=RuntimeFrame)


class Raw:
    """A runtime that does only what the test says."""

    def __init__(self, wire: MemoryWire) -> None:
        self.heard: list[RuntimeFrame] = []
        self.connection: Connection = wire.connect(PATH, lambda data: self.heard.append(decode_runtime_frame(data)))

    def say(self, frame: RuntimeFrame) -> None:
        self.connection.send(encode_runtime_frame(frame))

    def hello(self, runtime_id: str = "r1", token: str = TOKEN, holding: tuple[str, ...] = ()) -> None:
        self.say(Hello(PROTOCOL, token, runtime_id, holding))

    def credit(self, deliveries: int, size: int = runtime_credit_bytes_default) -> None:
        self.say(Credit(deliveries, size))

    def of(self, kind: type[Frame]) -> list[Frame]:
        return [frame for frame in self.heard if isinstance(frame, kind)]

    async def next(self, kind: type[Frame]) -> Frame:
        """The first frame of that kind that was not asked for before; frames before it are passed over."""
        await until(lambda: any(isinstance(frame, kind) for frame in self.heard))
        at = next(n for n, frame in enumerate(self.heard) if isinstance(frame, kind))
        found = self.heard[at]
        assert isinstance(found, kind)
        del self.heard[: at + 1]
        return found

    @property
    def delivered(self) -> list[str]:
        return [str(frame.delivery["deliveryId"]) for frame in self.of(Deliver)]


class RuntimeBench:
    """`async with` it."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.mailbox = ScriptedMailbox(self.clock)
        self.uses = AgentShares()
        self.wire = MemoryWire(asyncio.get_running_loop())
        self.port = self.started()

    def started(self) -> RuntimePort:
        """A gateway's port; the one before must be closed."""
        self.port = RuntimePort(self.mailbox.caller, self.clock, self.uses, self.wire, PATH)
        return self.port

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *failure: object) -> None:
        self.port.close()

    def client(self, **options: Any) -> MailboxClient:
        return MailboxClient(PATH, token=options.pop("token", TOKEN), wire=self.wire, **options)

    async def raw(self, runtime_id: str = "r1", credit: int = 0) -> Raw:
        """One that was welcomed."""
        runtime = Raw(self.wire)
        runtime.hello(runtime_id)
        await runtime.next(Welcome)
        if credit:
            runtime.credit(credit)
        return runtime
