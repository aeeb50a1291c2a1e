"""One session of a link: what both ends do alike once they know each other.

Envelopes of one loop turn are gathered into one numbered frame (bus/sequence.py), or into a few when they are large.
On the wire a frame begins with `N`, the session, and its number; what is not numbered (handshake, heartbeats) begins
with `C`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from bus.codec import Undecodable, decode_frame, encode_envelope, encode_frame, join_frame
from bus.envelope import Control, Envelope, Resend
from bus.limits import link_gathered_bytes_max
from bus.sequence import Numbered, Receiver, Sender, TooManyUnheard
from bus.wire import Scheduler

SESSION_BYTES: Final = 8
_NUMBERED: Final = b"N"
_CONTROL: Final = b"C"
_HEAD_BYTES: Final = 1 + SESSION_BYTES + 8


def control_frame(envelope: Control) -> bytes:
    return _CONTROL + encode_frame([envelope])


def numbered_frame(numbered: Numbered) -> bytes:
    return _NUMBERED + numbered.session + numbered.number.to_bytes(8, "big") + numbered.frame


def read_frame(data: bytes) -> Numbered | list[Envelope]:
    """A numbered frame, still closed, or the envelopes of a control frame. Raises Undecodable."""
    if data[:1] == _CONTROL:
        return decode_frame(data[1:])
    if data[:1] == _NUMBERED and len(data) > _HEAD_BYTES:
        session, number = data[1 : 1 + SESSION_BYTES], int.from_bytes(data[1 + SESSION_BYTES : _HEAD_BYTES], "big")
        return Numbered(session, number, data[_HEAD_BYTES:])
    raise Undecodable("a frame begins with its kind")


class Session:
    """Both directions between two processes that have proved who they are, until either end begins anew."""

    def __init__(
        self, session: bytes, scheduler: Scheduler, send: Callable[[bytes], bool], over: Callable[[], None]
    ) -> None:
        """`over` is called when the other end has not listened for so long that the session is given up."""
        self.id = session
        self._scheduler = scheduler
        self._send = send
        self._over = over
        self._sender = Sender(session)
        self._receiver = Receiver(session)
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0

    @property
    def sent(self) -> int:
        return self._sender.sent

    @property
    def heard(self) -> int:
        return self._receiver.taken

    def add(self, envelope: Envelope) -> None:
        """Send in order. Raises Unencodable, at once and for this envelope alone."""
        encoded = encode_envelope(envelope)
        if self._gathered_bytes + len(encoded) > link_gathered_bytes_max:
            self.flush()  # many large envelopes in one turn must not become one frame that no wire takes
        self._gathered.append(encoded)
        self._gathered_bytes += len(encoded)
        if len(self._gathered) == 1:
            self._scheduler.call_soon(self.flush)

    def flush(self) -> None:
        gathered, self._gathered = self._gathered, []
        self._gathered_bytes = 0
        if not gathered:
            return
        try:
            numbered = self._sender.number(join_frame(gathered))
        except TooManyUnheard:
            self._over()
            return
        self._send(numbered_frame(numbered))

    def take(self, numbered: Numbered) -> Sequence[Envelope]:
        """The envelopes of a frame whose turn it is; none of one that came twice, early, or in an older session.

        Raises Undecodable, once the frame's number is taken: asking for it again would bring the same bytes.
        """
        if self._receiver.take(numbered):
            return decode_frame(numbered.frame)
        if numbered.session == self.id:
            self._ask_for_missing(numbered.number)
        return ()

    def heartbeat(self, session: bytes, sent: int, heard: int) -> None:
        """What the other end says of itself: forget what it has heard, ask for what has not arrived."""
        if session == self.id:
            self._sender.heard(heard)
            self._receiver.forget_asked()
            self._ask_for_missing(sent)

    def resend(self, session: bytes, first: int) -> None:
        """The other end misses frames from `first` on."""
        if session == self.id:
            for numbered in self._sender.again(first):
                self._send(numbered_frame(numbered))

    def _ask_for_missing(self, sent: int) -> None:
        first = self._receiver.missing(sent)
        if first is not None:
            self._send(control_frame(Resend(self.id, first)))
