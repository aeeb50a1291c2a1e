"""Standard input and output as lines, on the descriptors themselves.

Python's own buffered streams hold a lock that a thread waiting in one would keep beyond the end of the process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Final

from bus.limits import request_body_bytes_max

_READ_BYTES: Final = 1 << 16


def read_lines(descriptor: int) -> Iterator[bytes]:
    """Each line without its end and without blank ones. Of one that is longer than any message only so much is given
    that this shows. Ends with the input, or with an input that broke."""
    pending = bytearray()
    skips = False
    while True:
        try:
            piece = os.read(descriptor, _READ_BYTES)
        except OSError:
            return
        if not piece:
            break
        searched = len(pending)
        pending += piece
        while (end := pending.find(b"\n", searched)) >= 0:
            line = bytes(pending[:end]).strip()
            del pending[: end + 1]
            searched = 0
            if line and not skips:
                yield line
            skips = False
        if len(pending) > request_body_bytes_max:
            if not skips:
                yield bytes(pending)
            pending.clear()
            skips = True
    if (line := bytes(pending).strip()) and not skips:
        yield line


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
