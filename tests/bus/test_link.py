"""Links: only a process with the home's key gets in, and a client finds a restarted host by itself."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bus.address import Address
from bus.client import BusClient, DeadlinePassed
from bus.clock import ManualClock, SystemClock
from bus.codec import Unencodable, encode_frame
from bus.envelope import Call, Challenge, Envelope, Hello, LinkClass, Rejected, Reply, Welcome
from bus.link import Identity, LinkClient, LinkServer, Peer
from bus.session import control_frame
from bus.wire_memory import MemoryWire
from tests.support.loop import until

PATH = Path("host")
KEY = b"k" * 32
ME = Identity(LinkClass.GATEWAY, "gateway", "i1", KEY)
TO = Address("app", "-", "directory")
_nonces = itertools.count()


def nonce() -> bytes:
    return next(_nonces).to_bytes(8, "big") + bytes(8)


class Rig:
    """A host's end and clients' ends over one memory wire."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.wire = MemoryWire(self.loop)
        self.clock = SystemClock()
        self.heard: list[tuple[Peer, Envelope]] = []
        self.welcomes: list[Welcome] = []
        self.replies: list[Envelope] = []

    def server(self, incarnation: str = "h1", key: bytes = KEY) -> LinkServer:
        return LinkServer(
            self.wire,
            PATH,
            key=key,
            shard=0,
            incarnation=incarnation,
            clock=self.clock,
            scheduler=self.loop,
            nonce=nonce,
            received=lambda peer, envelope: self.heard.append((peer, envelope)),
        )

    def client(self, identity: Identity = ME) -> LinkClient:
        return LinkClient(
            self.wire,
            PATH,
            identity,
            clock=self.clock,
            scheduler=self.loop,
            nonce=nonce,
            received=self.replies.append,
            welcomed=self.welcomes.append,
        )


def run(body: Callable[[Rig], object]) -> None:
    async def main() -> None:
        result = body(Rig())
        assert asyncio.iscoroutine(result)
        await result

    asyncio.run(main())


def call(identifier: str = "c1") -> Call:
    return Call(identifier, TO, "verb", {}, None, 10**15)


def test_a_client_with_the_homes_key_gets_in_and_is_known_by_its_class() -> None:
    async def body(rig: Rig) -> None:
        server, client = rig.server(), rig.client()
        await until(lambda: client.is_open)
        assert client.send(call())
        await until(lambda: bool(rig.heard))
        peer, envelope = rig.heard[0]
        assert (peer.link_class, peer.name, envelope) == (LinkClass.GATEWAY, "gateway", call())
        server.send(peer, Reply("c1", {}, None))
        await until(lambda: rig.replies == [Reply("c1", {}, None)])

    run(body)


@pytest.mark.parametrize("wrong", [b"w" * 32, b"k" * 31])
def test_a_client_with_another_key_hears_nothing_and_is_not_heard(wrong: bytes) -> None:
    async def body(rig: Rig) -> None:
        rig.server()
        good, bad = rig.client(), rig.client(replace(ME, key=wrong))
        await until(lambda: good.is_open)
        assert not bad.is_open
        assert not bad.send(call())

    run(body)


def test_a_client_refuses_a_host_with_another_key() -> None:
    async def body(rig: Rig) -> None:
        rig.server(key=b"w" * 32)
        client = rig.client()
        await until(lambda: len(rig.wire._listeners) == 1 and not client.is_open)
        assert rig.welcomes == []

    run(body)


def test_a_call_from_a_stranger_is_answered_with_a_challenge_and_not_heard() -> None:
    async def body(rig: Rig) -> None:
        rig.server()
        frames: list[bytes] = []
        connection = rig.wire.connect(PATH, frames.append)
        connection.send(b"C" + encode_frame([call()]))
        await until(lambda: bool(frames))
        assert rig.heard == []

    run(body)


def test_a_recorded_hello_opens_no_second_link() -> None:
    """A proof is over the challenge of its own connection: replaying one gets a new challenge instead."""

    async def body(rig: Rig) -> None:
        rig.server()
        hello = Hello(LinkClass.PERSON, "person", 1, "i", b"n", b"p" * 32)
        frames: list[bytes] = []
        connection = rig.wire.connect(PATH, frames.append)
        connection.send(b"C" + encode_frame([hello, call()]))
        await until(lambda: bool(frames))
        assert rig.heard == []

    run(body)


def test_a_late_rejection_of_an_older_hello_does_not_keep_the_link_closed() -> None:
    """Its host asks the same again until it is answered, and the answer may have been lost."""

    async def body(rig: Rig) -> None:
        hears: list[Callable[[bytes], None]] = []
        sent: list[bytes] = []

        class Line:
            def send(self, frame: bytes) -> bool:
                sent.append(frame)
                return True

            def close(self) -> None: ...

        class Lines(MemoryWire):
            def connect(self, path: Path, receive: Callable[[bytes], None]) -> Line:
                hears.append(receive)
                return Line()

        rig.wire = Lines(rig.loop)
        client = rig.client()
        hears[0](control_frame(Challenge(b"c" * 16)))
        hello = sent[-1]
        hears[0](control_frame(Rejected("of another time")))
        sent.clear()
        hears[0](control_frame(Challenge(b"c" * 16)))
        assert sent == [hello]
        client.close()

    run(body)


def test_a_client_whose_host_was_restarted_introduces_itself_again() -> None:
    async def body(rig: Rig) -> None:
        server, client = rig.server("h1"), rig.client()
        await until(lambda: client.is_open)
        server.close()
        rig.server("h2")
        await until(lambda: [w.incarnation for w in rig.welcomes] == ["h1", "h2"])
        assert client.is_open

    run(body)


def test_an_open_call_is_sent_again_to_the_hosts_next_incarnation_and_answered_once() -> None:
    async def body(rig: Rig) -> None:
        server = rig.server("h1")
        client = BusClient(rig.wire, [PATH], ME, clock=rig.clock, scheduler=rig.loop, nonce=nonce)
        answers = [
            asyncio.ensure_future(client.call(TO, "verb", {"n": n}, call_id=f"c{n}", within_ms=9_000)) for n in range(3)
        ]
        await until(lambda: len(rig.heard) == 3)
        server.close()
        rig.heard.clear()
        second = rig.server("h2")
        await until(lambda: len(rig.heard) == 3)
        assert [envelope.call_id for _, envelope in rig.heard if isinstance(envelope, Call)] == ["c0", "c1", "c2"]
        for peer, envelope in rig.heard:
            assert isinstance(envelope, Call)
            second.send(peer, Reply(envelope.call_id, {"of": envelope.call_id}, None))
        assert [reply.ok for reply in await asyncio.gather(*answers)] == [{"of": f"c{n}"} for n in range(3)]

    run(body)


def test_two_callers_of_one_call_id_both_hear_its_answer_and_one_that_leaves_disturbs_nobody() -> None:
    """common 8.2"""

    async def body(rig: Rig) -> None:
        server = rig.server()
        client = BusClient(rig.wire, [PATH], ME, clock=rig.clock, scheduler=rig.loop, nonce=nonce)
        callers = [
            asyncio.ensure_future(client.call(TO, "verb", {}, call_id="same", within_ms=9_000)) for _ in range(3)
        ]
        await until(lambda: len(rig.heard) >= 1)
        callers[0].cancel()
        await asyncio.gather(callers[0], return_exceptions=True)
        server.send(rig.heard[0][0], Reply("same", {"of": "one"}, None))
        answers = await asyncio.gather(*callers[1:])
        assert [answer.ok for answer in answers] == [{"of": "one"}, {"of": "one"}]

    run(body)


@pytest.mark.parametrize("with_host", [True, False])
def test_a_call_without_an_answer_ends_at_its_deadline_and_says_whether_it_was_sent(with_host: bool) -> None:
    async def body(rig: Rig) -> None:
        if with_host:
            rig.server()
        client = BusClient(rig.wire, [PATH], ME, clock=rig.clock, scheduler=rig.loop, nonce=nonce)
        with pytest.raises(DeadlinePassed) as passed:
            await client.call(TO, "verb", {}, call_id="c", within_ms=300)
        assert passed.value.was_sent is with_host

    run(body)


def test_a_call_that_cannot_be_encoded_does_not_keep_back_those_behind_it_when_the_link_opens() -> None:
    async def body(rig: Rig) -> None:
        client = BusClient(rig.wire, [PATH], ME, clock=rig.clock, scheduler=rig.loop, nonce=nonce)
        bad = asyncio.ensure_future(client.call(TO, "x", {"n": 1 << 70}, call_id="a", within_ms=2_000))
        good = asyncio.ensure_future(client.call(TO, "x", {}, call_id="b", within_ms=2_000))
        await asyncio.sleep(0)
        rig.server()
        with pytest.raises(Unencodable):
            await bad
        await until(lambda: any(isinstance(one, Call) and one.call_id == "b" for _, one in rig.heard))
        good.cancel()
        client.close()

    run(body)


def test_manual_clocks_make_ids_in_order() -> None:
    clock = ManualClock()
    made = [clock.new_id() for _ in range(50)]
    clock.advance(1)
    made.append(clock.new_id())
    assert made == sorted(set(made))
