"""One suite over every wire: what bus/wire.py promises."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvloop

from bus.runtime_limits import runtime_frames_queued_max
from bus.wire import Wire
from bus.wire_memory import MemoryWire
from bus.wire_zmq import RUNTIME_BOUNDS, PathTooLong, ZmqWire
from tests.support.loop import until

Try = Callable[[Wire, Path], Awaitable[None]]


@asynccontextmanager
async def wire_of(kind: str) -> AsyncIterator[tuple[Wire, Path]]:
    loop = asyncio.get_running_loop()
    with tempfile.TemporaryDirectory(prefix="nx") as folder:
        if kind == "memory":
            yield MemoryWire(loop), Path(folder) / "s"
        else:
            wire = ZmqWire(loop)
            try:
                yield wire, Path(folder) / "s"
            finally:
                wire.close()


@pytest.fixture(params=["memory", "zmq"])
def attempt(request: pytest.FixtureRequest) -> Callable[[Try], None]:
    def run(body: Try) -> None:
        async def main() -> None:
            async with wire_of(request.param) as (wire, path):
                await body(wire, path)

        uvloop.run(main())

    return run


def test_frames_of_one_connection_arrive_whole_and_in_order_and_are_answered(attempt: Callable[[Try], None]) -> None:
    async def body(wire: Wire, path: Path) -> None:
        heard: list[bytes] = []
        echoed: list[bytes] = []

        def echo(peer: bytes, frame: bytes) -> None:
            heard.append(frame)
            listener.send(peer, frame)

        listener = wire.listen(path, echo)
        connection = wire.connect(path, echoed.append)
        frames = [b"%d" % n * (n % 700) for n in range(3_000)]
        for frame in frames:
            assert connection.send(frame)
        await until(lambda: len(echoed) == len(frames))
        assert heard == echoed == frames

    attempt(body)


def test_a_connection_made_before_the_listener_reaches_it_later(attempt: Callable[[Try], None]) -> None:
    async def body(wire: Wire, path: Path) -> None:
        heard: list[bytes] = []
        connection = wire.connect(path, lambda frame: None)
        wire.listen(path, lambda peer, frame: heard.append(frame))

        def knocked() -> bool:
            connection.send(b"knock")
            return bool(heard)

        await until(knocked)

    attempt(body)


def test_a_new_listener_takes_over_from_a_closed_one(attempt: Callable[[Try], None]) -> None:
    async def body(wire: Wire, path: Path) -> None:
        first: list[bytes] = []
        second: list[bytes] = []
        listener = wire.listen(path, lambda peer, frame: first.append(frame))
        connection = wire.connect(path, lambda frame: None)
        connection.send(b"one")
        await until(lambda: first == [b"one"])
        listener.close()
        wire.listen(path, lambda peer, frame: second.append(frame))

        def knocked() -> bool:
            connection.send(b"two")
            return bool(second)

        await until(knocked)
        assert b"two" not in first

    attempt(body)


def test_two_connections_are_two_peers_and_each_hears_its_own(attempt: Callable[[Try], None]) -> None:
    async def body(wire: Wire, path: Path) -> None:
        listener = wire.listen(path, lambda peer, frame: (listener.send(peer, b"re:" + frame), None)[1])
        answers: dict[str, list[bytes]] = {"a": [], "b": []}
        ends = {name: wire.connect(path, answers[name].append) for name in answers}
        for name, end in ends.items():
            end.send(name.encode())
        await until(lambda: all(answers.values()))
        assert answers == {"a": [b"re:a"], "b": [b"re:b"]}

    attempt(body)


def test_sending_to_a_peer_that_never_was_says_so(attempt: Callable[[Try], None]) -> None:
    async def body(wire: Wire, path: Path) -> None:
        listener = wire.listen(path, lambda peer, frame: None)
        assert not listener.send(b"nobody", b"x")

    attempt(body)


def test_a_callback_that_raises_does_not_silence_its_socket() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        complaints: list[object] = []
        loop.set_exception_handler(lambda _, context: complaints.append(context))
        async with wire_of("zmq") as (wire, path):
            heard: list[bytes] = []

            def received(peer: bytes, frame: bytes) -> None:
                heard.append(frame)
                if frame == b"bad":
                    raise ValueError("a defect in a callback")

            wire.listen(path, received)
            connection = wire.connect(path, lambda frame: None)
            for frame in (b"bad", b"good"):
                connection.send(frame)
            await until(lambda: heard == [b"bad", b"good"])
            assert complaints

    uvloop.run(main())


def test_a_path_over_the_operating_systems_limit_is_refused_by_name() -> None:
    async def main() -> None:
        async with wire_of("zmq") as (wire, path):
            with pytest.raises(PathTooLong):
                wire.listen(path / ("x" * 120), lambda peer, frame: None)

    uvloop.run(main())


def test_a_peer_that_takes_nothing_is_told_apart_and_keeps_nobody_waiting_where_strangers_connect() -> None:
    """security 2.23; mesh 5.1: the runtimes' wire."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        with tempfile.TemporaryDirectory(prefix="nx") as folder:
            path, wire = Path(folder) / "s", ZmqWire(loop, RUNTIME_BOUNDS)
            try:
                peers: dict[bytes, bytes] = {}
                listener = wire.listen(path, lambda peer, frame: peers.__setitem__(frame, peer))
                heard: list[bytes] = []
                deaf, other = wire.connect(path, lambda frame: None), wire.connect(path, heard.append)
                deaf.send(b"deaf")
                other.send(b"other")
                await until(lambda: len(peers) == 2)
                loop.remove_reader(deaf._descriptor)  # type: ignore[attr-defined]
                frame, sent = b"x" * 60_000, 0
                while listener.send(peers[b"deaf"], frame):
                    sent += 1
                    assert sent < 4 * runtime_frames_queued_max, "there is a bound"
                assert listener.send(peers[b"other"], b"on")
                await until(lambda: heard == [b"on"])
            finally:
                wire.close()

    uvloop.run(main())
