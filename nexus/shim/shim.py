"""The shim at work: which messages are open, in which order they leave, and how it ends.

Threads: one reads the client's lines; each open request has one; one carries notifications, in the order in which they
came, and a message leaves only after the notifications and the `initialize` before it; the main thread waits for the
end. `_lock` guards `_open`, `_requests` and `_last_notice`. Nothing is written after the end.
"""

from __future__ import annotations

import os
import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from bus.limits import shim_drain_ms_max, shim_requests_open_max
from nexus.shim.agents_socket import Broken, Cancellation, Cancelled, NotListening, Unreachable
from nexus.shim.carrier import Carrier, Refused
from nexus.shim.lines import LineWriter, TooLong
from nexus.shim.messages import (
    CANCELLED,
    INITIALIZE,
    INITIALIZED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    LISTEN,
    ClientMessage,
    Kind,
    Malformed,
    RequestId,
    error_line,
    parse,
    too_long,
)
from nexus.shim.stream import follow_session
from nexus.shim.token import NoToken, NotYet

_Key: TypeAlias = tuple[type, RequestId]
"""The ids 7 and "7" are two."""


@dataclass(slots=True, eq=False)
class _Flight:
    """A message on its way. `after` is the one that must have been carried before it."""

    message: ClientMessage
    after: _Flight | None
    cancellation: Cancellation = field(default_factory=Cancellation)
    is_carried: threading.Event = field(default_factory=threading.Event)

    def await_former(self) -> None:
        if self.after is not None:
            self.after.is_carried.wait()
            self.after = None  # or each would keep all before it


class Shim:
    """Carries one client's lines until its input ends, its output is gone, or NEXUS takes its token for good."""

    def __init__(self, carrier: Carrier, write: LineWriter, tell: Callable[[str], None]) -> None:
        """`tell` is given a sentence for the person."""
        self._carrier = carrier
        self._write = write
        self._tell = tell
        self._lock = threading.Lock()
        self._open: dict[_Key, _Flight] = {}
        """Requests without an answer, by their ids."""
        self._requests: set[_Flight] = set()
        """Those whose threads have not ended."""
        self._notices: queue.SimpleQueue[_Flight] = queue.SimpleQueue()
        self._last_notice: _Flight | None = None
        self._following: Cancellation | None = None
        # Of all that Python has, this alone may be put into from a signal handler without a deadlock.
        self._endings: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._is_over = False

    def run(self, lines: Iterable[bytes | TooLong]) -> int:
        """The exit code, once all has ended."""
        _in_background(self._carry_notices)
        _in_background(lambda: self._read(lines))
        exit_code = self._endings.get()
        self._write.close()
        with self._lock:
            left = [flight.cancellation for flight in self._requests]
        for cancellation in [*left, *([self._following] if self._following else [])]:
            cancellation.cancel()
        self._end_session()
        return exit_code

    def end(self, exit_code: int = 0) -> None:
        """From any thread, and from a signal handler."""
        self._endings.put(exit_code)

    # What the client says.

    def _read(self, lines: Iterable[bytes | TooLong]) -> None:
        try:
            for line in lines:
                message = too_long(line.outline) if isinstance(line, TooLong) else parse(line, _new_key)
                if isinstance(message, Malformed):
                    self._write(error_line(message.id, message.code, message.message, message.data))
                elif message.kind is Kind.REQUEST:
                    self._begin(message)
                elif message.method == CANCELLED:
                    self._cancel(message)
                else:
                    self._notice(message)
            self._drain()
        finally:
            self.end()

    def _begin(self, message: ClientMessage) -> None:
        key = _key(message.id)
        with self._lock:
            problem = None
            if key in self._open:
                problem = "A request with that id is still open."
            elif len(self._requests) >= shim_requests_open_max:
                problem = f"{shim_requests_open_max} requests are open, as many as may be. Wait for some of them."
            else:
                flight = self._open[key] = _Flight(message, self._last_notice)
                self._requests.add(flight)
                if message.method == INITIALIZE:  # what comes after it needs the session
                    self._last_notice = flight
        if problem is None:
            _in_background(lambda: self._carry_request(flight, key))
        else:
            self._write(error_line(message.id, INVALID_REQUEST, problem))

    def _cancel(self, message: ClientMessage) -> None:
        """In the newer era a request is cancelled by ending its connection, in the older one NEXUS is told as well."""
        with self._lock:
            flight = None if message.cancels is None else self._open.get(_key(message.cancels))
        if flight is not None and flight.message.is_modern:
            flight.cancellation.cancel()
        elif self._carrier.session.id is not None:
            self._notice(message)

    def _notice(self, message: ClientMessage) -> None:
        with self._lock:
            self._last_notice = notice = _Flight(message, self._last_notice)
        self._notices.put(notice)

    def _drain(self) -> None:
        """What is open may still be answered, but for what is answered only at its end."""
        until = time.monotonic() + shim_drain_ms_max / 1_000
        with self._lock:
            left = list(self._requests)
            notice = self._last_notice
        for flight in [*([notice] if notice else []), *left]:
            if flight.message.method == LISTEN:
                flight.cancellation.cancel()
            else:
                flight.is_carried.wait(max(0.0, until - time.monotonic()))

    # What is carried.

    def _carry_request(self, flight: _Flight, key: _Key) -> None:
        try:
            flight.await_former()
            self._carrier.carry(flight.message, flight.cancellation, lambda: self._answered(key, flight))
        except Cancelled:
            pass
        except Refused as refused:
            if not flight.cancellation.is_cancelled:
                self._answered(key, flight)
                self._write(error_line(flight.message.id, INTERNAL_ERROR, str(refused), refused.data))
            if refused.is_final:
                flight.cancellation.cancel()
                self._ended_for_good(refused)
        except Exception as defect:  # noqa: BLE001 - a request must not stay unanswered; its text goes nowhere
            self._write(error_line(flight.message.id, INTERNAL_ERROR, "The stdio shim of NEXUS failed."))
            self._defect(defect)
        finally:
            self._answered(key, flight)
            with self._lock:
                self._requests.discard(flight)
            flight.is_carried.set()

    def _answered(self, key: _Key, flight: _Flight) -> None:
        with self._lock:
            if self._open.get(key) is flight:
                del self._open[key]

    def _carry_notices(self) -> None:
        while True:
            notice = self._notices.get()
            message = notice.message
            try:
                notice.await_former()
                self._carrier.carry(message, notice.cancellation, lambda: None)
                self._carried(message)
            except Cancelled:
                pass
            except Refused as refused:
                if refused.is_final:
                    self._ended_for_good(refused)
            except Exception as defect:  # noqa: BLE001 - those after it must be carried all the same
                self._defect(defect)
            finally:
                notice.is_carried.set()

    def _carried(self, notice: ClientMessage) -> None:
        if notice.method == INITIALIZED and not notice.is_modern:
            self._carrier.session.initialized()
            if self._following is None:
                self._following = following = Cancellation()
                _in_background(lambda: follow_session(self._carrier, following))
        elif notice.method == CANCELLED and notice.cancels is not None:
            with self._lock:
                flight = self._open.get(_key(notice.cancels))
            if flight is not None:
                flight.cancellation.cancel()

    def _ended_for_good(self, why: Refused) -> None:
        """Every other request would be refused like this one, so each is told and the process ends."""
        with self._lock:
            is_first, self._is_over = not self._is_over, True
            left = [flight for flight in self._open.values() if not flight.cancellation.is_cancelled]
        for flight in left:
            flight.cancellation.cancel()
            self._write(error_line(flight.message.id, INTERNAL_ERROR, str(why), why.data))
        if is_first:
            self._tell(str(why))
        self.end(1)

    def _defect(self, defect: Exception) -> None:
        """Its kind and place only: its text may hold what the client sent."""
        frames = traceback.extract_tb(defect.__traceback__)
        place = f"{frames[-1].name}, line {frames[-1].lineno}" if frames else "an unknown place"
        self._tell(f"A defect of the stdio shim: {type(defect).__name__} in {place}.")

    def _end_session(self) -> None:
        """So that it does not count among the agent's until it has been idle for long."""
        session = self._carrier.session
        if session.id is None:
            return
        cancellation = Cancellation()
        timer = threading.Timer(shim_drain_ms_max / 1_000, cancellation.cancel)
        timer.daemon = True
        timer.start()
        try:
            headers = {**self._carrier.authorization()[1], **session.headers()}
            with self._carrier.socket.exchange("DELETE", None, headers, cancellation) as answer:
                answer.body()
        except (NotListening, Unreachable, Broken, Cancelled, NoToken, NotYet):
            return  # it ends by itself when it has been idle for long
        finally:
            timer.cancel()


def _key(identifier: RequestId | None) -> _Key:
    assert identifier is not None
    return type(identifier), identifier


def _new_key() -> str:
    return f"shim-{os.urandom(16).hex()}"


def _in_background(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True).start()
