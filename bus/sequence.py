"""Order and completeness on one link, in one direction each way: numbered frames, gaps asked for, never a blind timer.

Invariants:
- Frames are taken in the order they were sent, each once: a repeated one is ignored, one that comes early is dropped
  and the first missing number is asked for.
- A sender keeps each frame until the other end has said that it heard it, and sends again only what it is asked for.
- What is asked for: on every early frame (once a gap), and whenever a heartbeat says that the other end has sent more
  than arrived - that is how a lost last frame is noticed.
- A new handshake begins a new session with empty numbers; frames of an older session are ignored. What was lost with
  the old session is the business of those who wait: open calls are sent again by id, parcels from the outbox.

Pure: no clock, no wire.
"""

from __future__ import annotations

from collections import deque

from bus.limits import link_frames_unheard_max
from bus.message_record import message_record


class TooManyUnheard(Exception):
    """The other end has heard nothing for so long that no more frames are kept: the session is over."""


@message_record
class Numbered:
    """A frame on its way: `number` counts from 1 in each session and direction."""

    session: bytes
    number: int
    frame: bytes


class Sender:
    """One end's outgoing direction of one session."""

    def __init__(self, session: bytes) -> None:
        self.session = session
        self.sent = 0
        """The number of the last frame that was sent."""
        self._unheard: deque[Numbered] = deque()

    def number(self, frame: bytes) -> Numbered:
        """The next frame. Raises TooManyUnheard."""
        if len(self._unheard) >= link_frames_unheard_max:
            raise TooManyUnheard
        self.sent += 1
        numbered = Numbered(self.session, self.sent, frame)
        self._unheard.append(numbered)
        return numbered

    def heard(self, number: int) -> None:
        """The other end has taken every frame up to `number`."""
        while self._unheard and self._unheard[0].number <= number:
            self._unheard.popleft()

    def again(self, first: int) -> list[Numbered]:
        """What to send again, from number `first`."""
        return [numbered for numbered in self._unheard if numbered.number >= first]


class Receiver:
    """One end's incoming direction of one session."""

    def __init__(self, session: bytes) -> None:
        self.session = session
        self.taken = 0
        """The number of the last frame that was taken."""
        self._asked = 0

    def take(self, numbered: Numbered) -> bool:
        """Whether this frame is the next one and must be handled now."""
        if numbered.session != self.session or numbered.number != self.taken + 1:
            return False
        self.taken = numbered.number
        return True

    def missing(self, sent: int) -> int | None:
        """The first number to ask for, given that the other end has sent `sent`; None when nothing is missing.

        Asked once a gap: asking again waits for the next heartbeat (`forget_asked`).
        """
        if sent <= self.taken or self._asked == self.taken + 1:
            return None
        self._asked = self.taken + 1
        return self._asked

    def forget_asked(self) -> None:
        """A heartbeat has come: what is still missing was lost on its way again, and may be asked for anew."""
        self._asked = 0
