"""A command that is told to end while it holds something that must be cleaned up.

SIGTERM and SIGHUP end a Python process on the spot, without its `finally`. Inside `ended_in_order` they unwind the
block first, and then end the process as they would have: whoever sent one sees the same exit status.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Final

_ENDING: Final = (signal.SIGTERM, signal.SIGHUP)


class _ToldToEnd(BaseException):
    """Unwinds the block. No Exception: nothing inside is to catch it."""


@contextlib.contextmanager
def ended_in_order() -> Iterator[None]:
    """Unwind the block at SIGTERM or SIGHUP, then end by that signal.

    A signal that is ignored (nohup) or has a handler stays as it is. Only the main thread hears signals; in any other
    this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    told: list[int] = []

    def unwind(number: int, _frame: FrameType | None) -> None:
        if not told:  # a second one must not break into the cleaning up
            told.append(number)
            raise _ToldToEnd

    taken = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    try:
        for number in taken:
            signal.signal(number, unwind)
        with contextlib.suppress(_ToldToEnd):
            yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
        if told:
            os.kill(os.getpid(), told[0])
