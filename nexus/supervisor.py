"""The process that starts, watches, restarts and stops all others, and holds the listening sockets.

Invariants
- One thread. Children are spawned from it, since PR_SET_PDEATHSIG fires when the spawning *thread* ends.
- Sockets are made after the home's lock is held and before the first child; they stay open over restarts of children.
- It leaves only when no child is left, unless it is killed; then children end by themselves (nexus/hygiene.py).
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from bus.limits import control_connections_max, control_line_bytes_max, progress_after_ms, takeover_wait_ms
from nexus import exit_codes
from nexus.config import Home, HomeRefused, create_home, prepare_sockets, remove_sockets, usable_cores
from nexus.control import supervisor_answers
from nexus.family import ChildPlan, ChildProcess, Family
from nexus.home_lock import AlreadyRunning, ChildrenLinger, HomeLock
from nexus.hygiene import harden
from nexus.peer import peer_user_id
from nexus.reshard import bring_up_to_date
from nexus.sockets import LOOPBACK, PortTaken, listen_on_path, listen_on_port, port_of
from nexus.spawn import spawn_child


class StartFailed(Exception):
    """A child ended before it was ready for the first time. The text is for the person."""


REFUSALS: Final[Mapping[type[Exception], int]] = {
    HomeRefused: exit_codes.HOME_REFUSED,
    AlreadyRunning: exit_codes.ALREADY_RUNNING,
    ChildrenLinger: exit_codes.REFUSED,
    PortTaken: exit_codes.PORT_TAKEN,
    StartFailed: exit_codes.START_FAILED,
}
"""What can keep `nexus up` from starting, with the exit code. Their texts are for the person."""


def exit_code_of(refusal: Exception) -> int:
    """The exit code of one of REFUSALS."""
    return next(code for kind, code in REFUSALS.items() if isinstance(refusal, kind))


class Reporter(Protocol):
    """Who hears what happens while NEXUS starts and runs."""

    def progress(self, text: str) -> None:
        """Something takes longer than a second, or must be tried again. Also after `ready`."""
        ...

    def ready(self, running: Running) -> None:
        """Everything can be used. Called once."""
        ...


@dataclass(frozen=True)
class Running:
    """A NEXUS that is ready."""

    url: str
    home: Path
    pid: int

    def record(self) -> dict[str, object]:
        """What `nexus up --json` prints."""
        return {"url": self.url, "home": str(self.home), "pid": self.pid}


def supervise(path: Path, port: int | None, command: Sequence[str], reporter: Reporter) -> None:
    """Start NEXUS on the home at `path` and stay until it is told to stop and everything has stopped.

    `port` overrides the home's for this run; 0 takes any free one. Raises one of REFUSALS when it cannot start.
    """
    harden()
    home = create_home(path, cores=usable_cores())
    lock = HomeLock(
        home,
        wait_ms=takeover_wait_ms,
        answers=lambda: supervisor_answers(home),
        waiting=reporter.progress,
    )
    try:
        home = bring_up_to_date(prepare_sockets(home), reporter.progress)
        with ExitStack() as stack:
            stack.callback(remove_sockets, home)
            sockets = ListeningSockets.made(home, home.settings.port if port is None else port, stack)
            home.port_file.write_text(f"{sockets.port}\n")
            stack.callback(home.port_file.unlink, missing_ok=True)
            plans = children_of(home, sockets, lock.family_descriptor)
            Supervisor(home, sockets, plans, command, reporter).run()
    finally:
        lock.release()


@dataclass(frozen=True)
class ListeningSockets:
    """Every socket that outlives the processes that serve it."""

    mcp_tcp: socket.socket
    mcp_unix: socket.socket
    person: socket.socket
    control: socket.socket

    @classmethod
    def made(cls, home: Home, port: int, stack: ExitStack) -> ListeningSockets:
        """Listening, and closed by `stack`. Raises PortTaken."""
        mcp_tcp = stack.enter_context(listen_on_port(port))
        paths = (home.mcp_socket, home.person_socket, home.supervisor_socket)
        return cls(mcp_tcp, *(stack.enter_context(listen_on_path(path)) for path in paths))

    @property
    def port(self) -> int:
        return port_of(self.mcp_tcp)

    def of_gateway(self) -> tuple[int, int, int]:
        """The descriptors the gateway gets, in the order its `--sockets` takes them."""
        return (self.mcp_tcp.fileno(), self.mcp_unix.fileno(), self.person.fileno())


def children_of(home: Home, sockets: ListeningSockets, family_descriptor: int) -> list[ChildPlan]:
    """The literal list of children: shard hosts first, then the gateway."""
    family = ("--family", str(family_descriptor))
    shards = [
        ChildPlan(f"shard-{shard}", "shard", 0, ("shard", str(shard), *family), (family_descriptor,))
        for shard in range(home.settings.shards)
    ]
    for_gateway = sockets.of_gateway()
    arguments = ("gateway", *family, "--sockets", *map(str, for_gateway))
    return [*shards, ChildPlan("gateway", "gateway", 1, arguments, (family_descriptor, *for_gateway))]


class Supervisor:
    """The loop around one Family. Main thread only; `run` returns when no child is left."""

    def __init__(
        self,
        home: Home,
        sockets: ListeningSockets,
        plans: Sequence[ChildPlan],
        command: Sequence[str],
        reporter: Reporter,
    ) -> None:
        self._home = home
        self._sockets = sockets
        self._command = command
        self._reporter = reporter
        self._family = Family(plans, self._spawn)
        self._running = Running(f"http://{LOOPBACK}:{sockets.port}/mcp", home.path, os.getpid())
        self._has_reported = False
        self._progress_ms = _now_ms() + progress_after_ms
        self._selector = selectors.DefaultSelector()
        self._control = ControlServer(sockets.control, self._selector, self._answer)

    def run(self) -> None:
        """Raises StartFailed after everything has stopped again."""
        with self._selector, woken_by_signals(self._selector, self._family.stop):
            try:
                self._turn_until_gone()
            except BaseException:
                # A defect of ours. No child may outlive the locks, which are released next.
                self._family.end_by_force()
                raise
            self._control.close()
        if self._family.failure is not None:
            log = self._home.logs / f"{self._family.failure}.log"
            raise StartFailed(f"The process {self._family.failure} ended before it was ready. Its log says why: {log}")

    def _turn_until_gone(self) -> None:
        while not self._family.is_gone:
            self._family.advance(_now_ms())
            if self._family.failure is not None:
                self._family.stop()
            self._tell()
            for key, _ in self._selector.select(self._wait_seconds()):
                key.data()

    def _spawn(self, plan: ChildPlan) -> ChildProcess:
        try:
            child = spawn_child(self._home, plan, self._command)
        except OSError as error:
            self._reporter.progress(f"{plan.name} cannot be started now: {error.strerror}")
            raise

        def read() -> None:
            if not child.read_ready():
                self._selector.unregister(child.ready_descriptor)
                os.close(child.ready_descriptor)

        self._selector.register(child.ready_descriptor, selectors.EVENT_READ, read)
        return child

    def _tell(self) -> None:
        if self._has_reported:
            return
        if self._family.is_ready:
            self._has_reported = True
            self._reporter.ready(self._running)
        elif _now_ms() >= self._progress_ms:
            self._progress_ms = _now_ms() + progress_after_ms
            self._reporter.progress(f"Starting: {', '.join(self._family.awaited())}")

    def _wait_seconds(self) -> float | None:
        if self._family.is_gone:
            return 0
        times = [self._family.wake_at_ms(), None if self._has_reported else self._progress_ms]
        wake_at_ms = min((time for time in times if time is not None), default=None)
        return None if wake_at_ms is None else max(0, wake_at_ms - _now_ms()) / 1000

    def _answer(self, verb: object) -> dict[str, object] | None:
        if verb == "down":
            self._family.stop()
        elif verb != "status":
            return None
        processes = [{"role": "supervisor", "name": "supervisor", "pid": os.getpid()}]
        processes += [{"role": plan.role, "name": plan.name, "pid": pid} for plan, pid in self._family.listing()]
        return {**self._running.record(), "isReady": self._family.is_ready, "processes": processes}


class ControlServer:
    """Answers `run/supervisor.sock` inside the supervisor's loop; nobody who connects can make it wait."""

    def __init__(
        self,
        listening: socket.socket,
        selector: selectors.BaseSelector,
        answer: Callable[[object], dict[str, object] | None],
    ) -> None:
        self._listening = listening
        self._selector = selector
        self._answer = answer
        self._received: dict[socket.socket, bytes] = {}
        listening.setblocking(False)
        selector.register(listening, selectors.EVENT_READ, self._accept)

    def close(self) -> None:
        """Drop every connection; a waiting `nexus down` takes it as the end."""
        for connection in list(self._received):
            self._drop(connection)

    def _accept(self) -> None:
        try:
            connection, _ = self._listening.accept()
            if peer_user_id(connection) != os.getuid():
                connection.close()
                return
        except OSError:
            return
        connection.setblocking(False)
        self._received[connection] = b""
        self._selector.register(connection, selectors.EVENT_READ, lambda: self._read(connection))
        if len(self._received) > control_connections_max:
            self._drop(next(iter(self._received)))

    def _read(self, connection: socket.socket) -> None:
        if connection not in self._received:
            return
        try:
            piece = connection.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        received = self._received[connection] + piece
        self._received[connection] = received
        if not piece or len(received) > control_line_bytes_max:
            self._drop(connection)
        elif received.endswith(b"\n"):
            self._received[connection] = b""
            self._reply(connection, received)

    def _reply(self, connection: socket.socket, line: bytes) -> None:
        try:
            request = json.loads(line)
            answer = self._answer(request.get("verb")) if isinstance(request, dict) else None
            if answer is None:
                raise ValueError("not a request")
            connection.sendall(json.dumps(answer).encode() + b"\n")
        except (OSError, ValueError):
            self._drop(connection)

    def _drop(self, connection: socket.socket) -> None:
        del self._received[connection]
        self._selector.unregister(connection)
        connection.close()


@contextmanager
def woken_by_signals(selector: selectors.BaseSelector, stop: Callable[[], None]) -> Iterator[None]:
    """While inside: SIGTERM, SIGINT and SIGHUP call `stop`, and these and a child's end wake the selector."""
    reading, writing = socket.socketpair()
    reading.setblocking(False)
    writing.setblocking(False)
    previous_wakeup = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    numbers = [signal.SIGTERM, signal.SIGINT]
    # Under nohup it is ignored, and must stay so.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    previous = {number: signal.signal(number, lambda _signal, _frame: stop()) for number in numbers}
    previous[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
    selector.register(reading, selectors.EVENT_READ, lambda: reading.recv(4096))
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(previous_wakeup)
        reading.close()
        writing.close()


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
