"""Standard input and output as lines, on the descriptors themselves.

Python's own buffered streams hold a lock that a thread waiting in one would keep beyond the end of the process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from bus.limits import request_body_bytes_max
from nexus.shim.outline import Outline

_READ_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line that is longer than any message may be, of which only the outline was kept (outline.py)."""

    outline: bytes


def read_lines(descriptor: int) -> Iterator[bytes | TooLong]:
    """Each line without its end and without blank ones; of one that is longer than any message its outline, once it
    has ended. Ends with the input, or with an input that broke."""
    pending = bytearray()
    outline: Outline | None = None
    while piece := _piece(descriptor):
        *ended, rest = piece.split(b"\n")
        for part in ended:
            if (line := _line(pending, outline, part)) is not None:
                yield line
            pending.clear()
            outline = None
        if outline is not None:
            outline.take(rest)
            continue
        pending += rest
        if len(pending) > request_body_bytes_max:
            outline = _outline_of(pending)
            pending.clear()
    if (line := _line(pending, outline, b"")) is not None:
        yield line


def _piece(descriptor: int) -> bytes:
    """What came; nothing at the end, and when the input broke."""
    try:
        return os.read(descriptor, _READ_BYTES)
    except OSError:
        return b""


def _line(pending: bytearray, outline: Outline | None, part: bytes) -> bytes | TooLong | None:
    """The line that ends with `part`; None for a blank one."""
    if outline is not None:
        outline.take(part)
        return TooLong(outline.whole())
    line = (bytes(pending) + part).strip()
    if len(line) > request_body_bytes_max:
        return TooLong(_outline_of(line).whole())
    return line or None


def _outline_of(text: bytes | bytearray) -> Outline:
    outline = Outline()
    outline.take(bytes(text))
    return outline


class LineWriter:
    """Writes each line whole, whichever thread asks. `is_gone` hears once that nobody reads any more."""

    def __init__(self, descriptor: int, is_gone: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._is_gone = is_gone
        self._lock = threading.Lock()
        self._is_closed = False

    def __call__(self, line: bytes) -> None:
        left = memoryview(line + b"\n")
        with self._lock:
            if self._is_closed:
                return
            try:
                while left:
                    left = left[os.write(self._descriptor, left) :]
                return
            except OSError:
                self._is_closed = True
        self._is_gone()

    def close(self) -> None:
        """Nothing is written after this."""
        with self._lock:
            self._is_closed = True
