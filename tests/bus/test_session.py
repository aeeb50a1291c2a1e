"""Sessions: whatever the wire does to frames, what arrives is what was sent, in order, each once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus.codec import Undecodable
from bus.envelope import Ping, Reply, Resend
from bus.limits import link_frames_unheard_max
from bus.sequence import Numbered, Receiver, Sender, TooManyUnheard
from bus.session import Session, control_frame, numbered_frame, read_frame

ID = b"session1"


class Turns:
    """A scheduler that runs what it was given when told to."""

    def __init__(self) -> None:
        self.due: deque[Callable[[], object]] = deque()

    def call_soon(self, callback: Callable[[], object], /) -> None:
        self.due.append(callback)

    def call_soon_threadsafe(self, callback: Callable[[], object], /) -> None:
        self.due.append(callback)

    def call_later(self, seconds: float, callback: Callable[[], object], /) -> Turns:
        raise AssertionError("a session sets no timer")

    def cancel(self) -> None:
        """Nothing to cancel."""

    def run(self) -> None:
        while self.due:
            self.due.popleft()()


class Pair:
    """Two ends and the frames between them, which the test may reorder, drop and double."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.to_b: list[bytes] = []
        self.to_a: list[bytes] = []
        self.got: list[str] = []
        self.a = Session(ID, self.turns, self._into(self.to_b), over=lambda: None)
        self.b = Session(ID, self.turns, self._into(self.to_a), over=lambda: None)

    @staticmethod
    def _into(frames: list[bytes]) -> Callable[[bytes], bool]:
        def send(frame: bytes) -> bool:
            frames.append(frame)
            return True

        return send

    def say(self, text: str) -> None:
        self.a.add(Reply(text, {}, None))
        self.turns.run()

    def beat(self) -> None:
        self.b.heartbeat(ID, self.a.sent, self.a.heard)
        self.a.heartbeat(ID, self.b.sent, self.b.heard)

    def deliver_to_b(self, index: int) -> None:
        self._deliver(self.b, self.to_b[index])

    def deliver_all(self) -> None:
        while self.to_a or self.to_b:
            for frames, session in ((self.to_b, self.b), (self.to_a, self.a)):
                waiting = list(frames)
                frames.clear()
                for frame in waiting:
                    self._deliver(session, frame)

    def _deliver(self, session: Session, frame: bytes) -> None:
        read = read_frame(frame)
        if isinstance(read, Numbered):
            self.got += [envelope.call_id for envelope in session.take(read) if isinstance(envelope, Reply)]
        for envelope in read if isinstance(read, list) else ():
            assert isinstance(envelope, Resend)
            session.resend(envelope.session, envelope.first)


@given(st.lists(st.integers(0, 30), max_size=60), st.integers(1, 12))
def test_after_any_loss_doubling_and_reordering_a_heartbeat_brings_everything_in_order(
    picks: list[int], count: int
) -> None:
    pair = Pair()
    texts = [str(number) for number in range(count)]
    for text in texts:
        pair.say(text)
    for pick in picks:
        pair.deliver_to_b(pick % len(pair.to_b))
    pair.to_b.clear()
    pair.to_a.clear()
    for _ in range(2):
        pair.beat()
        pair.deliver_all()
    assert pair.got == texts


def test_a_gap_is_asked_for_once_until_a_heartbeat_says_that_it_is_still_there() -> None:
    pair = Pair()
    for text in ("one", "two", "three"):
        pair.say(text)
    pair.deliver_to_b(1)
    pair.deliver_to_b(2)
    assert pair.to_a == [control_frame(Resend(ID, 1))]
    pair.beat()
    assert len(pair.to_a) == 2


def test_envelopes_of_one_turn_leave_as_one_frame() -> None:
    pair = Pair()
    pair.a.add(Reply("one", {}, None))
    pair.say("two")
    assert len(pair.to_b) == 1
    pair.deliver_all()
    assert pair.got == ["one", "two"]


def test_frames_of_another_session_are_ignored_and_asked_for_by_nobody() -> None:
    receiver = Receiver(ID)
    assert not receiver.take(Numbered(b"session0", 1, b""))
    pair = Pair()
    assert pair.b.take(Numbered(b"session0", 5, b"")) == ()
    pair.b.resend(b"session0", 1)
    pair.b.heartbeat(b"session0", 9, 9)
    assert pair.to_a == []


def test_a_sender_that_is_never_heard_gives_up_within_its_bound() -> None:
    sender = Sender(ID)
    for _ in range(link_frames_unheard_max):
        sender.number(b"")
    with pytest.raises(TooManyUnheard):
        sender.number(b"")
    sender.heard(link_frames_unheard_max)
    assert sender.number(b"").number == link_frames_unheard_max + 1


@pytest.mark.parametrize("data", [b"", b"X", b"N", b"N" + ID + b"\x00" * 7, b"C", b"C\x01"])
def test_a_frame_that_is_neither_numbered_nor_control_is_refused(data: bytes) -> None:
    with pytest.raises(Undecodable):
        read_frame(data)


def test_a_numbered_frame_and_a_heartbeat_come_back_as_they_were() -> None:
    numbered = Numbered(ID, 258, b"body")
    assert read_frame(numbered_frame(numbered)) == numbered
    assert read_frame(control_frame(Ping(ID, 1, 2))) == [Ping(ID, 1, 2)]
