"""Entry points of NEXUS' own processes: `python -I -m nexus.children supervisor | shard N | gateway`.

Arguments are the home, descriptor numbers and the supervisor's id: never a secret, since other users read them.
Standard input is the supervisor's pipe; output goes to the log. A process hardens itself
before it reads anything of the home.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from bus import limit_relations as limit_relations  # asserts, and does nothing else
from nexus import exit_codes
from nexus.config import Home, HomeRefused, open_home
from nexus.hygiene import die_with, harden, watch_pipe

Ready: TypeAlias = Callable[[], None]
Ended: TypeAlias = Callable[[Callable[[], None]], None]

COMMAND: Final = (sys.executable, "-I", "-m", "nexus.children")


@dataclass(frozen=True)
class GatewaySockets:
    """The listening sockets of the gateway, made and kept open by the supervisor. Set their blocking as you like."""

    mcp_tcp: socket.socket
    mcp_unix: socket.socket
    person: socket.socket

    @property
    def port(self) -> int:
        """The port of the MCP address on 127.0.0.1."""
        port = self.mcp_tcp.getsockname()[1]
        assert isinstance(port, int)
        return port


@dataclass(frozen=True)
class Bodies:
    """What children do once they are set up. Each returns when its process has stopped.

    Call `ready()` once, when calls can be served. `ended(callback)` registers a callback that is called once, from
    any thread, when the process must stop: at once if that has happened already.
    """

    shard_host: Callable[[Home, int, Ready, Ended], None]
    gateway: Callable[[Home, GatewaySockets, Ready, Ended], None]


class Ending:
    """That the process must stop, told once to everyone who asked. Safe from any thread and from a signal handler."""

    def __init__(self) -> None:
        # Re-entrant: a signal handler may run in the middle of `tell_me` on the main thread.
        self._lock = threading.RLock()
        self._callbacks: list[Callable[[], None]] = []
        self._has_come = False

    def tell_me(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if not self._has_come:
                self._callbacks.append(callback)
                return
        callback()

    def come(self) -> None:
        with self._lock:
            if self._has_come:
                return
            self._has_come = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()


def product_bodies() -> Bodies:
    """The bodies of the product. Each imports its own parts only when it runs: a shard host that was killed is back
    a second sooner without the gateway's."""

    def shard_host(home: Home, shard: int, ready: Ready, ended: Ended) -> None:
        from nexus.shard_process import run_shard_host

        run_shard_host(home, shard, ready, ended)

    def gateway(home: Home, sockets: GatewaySockets, ready: Ready, ended: Ended) -> None:
        from nexus.gateway_process import run_gateway

        run_gateway(home, sockets, ready, ended)

    return Bodies(shard_host, gateway)


def run(arguments: Sequence[str], bodies: Callable[[], Bodies], command: Sequence[str]) -> int:
    """Be the process the arguments name; answers its exit code. `command` is what the supervisor runs children with."""
    options = _parser().parse_args(arguments)
    if options.role == "supervisor":
        from nexus.detached import run_detached

        return run_detached(options.home, options.port, options.report, command)
    harden()
    die_with(options.supervisor)
    ending = Ending()
    signal.signal(signal.SIGTERM, lambda _signal, _frame: ending.come())
    # Engines this process starts must not inherit what the supervisor handed to it alone.
    for descriptor in _inherited(options):
        os.set_inheritable(descriptor, False)
    watch_pipe(sys.stdin.fileno(), ending.come)
    try:
        home = open_home(options.home)
    except HomeRefused as refused:
        sys.stderr.write(f"{refused}\n")
        return exit_codes.HOME_REFUSED
    ready = _ready_writer(options.ready)
    if options.role == "shard":
        bodies().shard_host(home, options.shard, ready, ending.tell_me)
    else:
        sockets = GatewaySockets(*(socket.socket(fileno=number) for number in options.sockets))
        bodies().gateway(home, sockets, ready, ending.tell_me)
    return 0


def main() -> None:
    """`python -m nexus.children`."""
    sys.exit(run(sys.argv[1:], product_bodies, COMMAND))


def _ready_writer(descriptor: int) -> Ready:
    def ready() -> None:
        os.write(descriptor, b"ready\n")
        os.close(descriptor)

    return ready


def _inherited(options: argparse.Namespace) -> list[int]:
    return [options.ready, options.family, *(options.sockets if options.role == "gateway" else ())]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nexus.children", description="Started by the supervisor, not by hand.")
    roles = parser.add_subparsers(dest="role", required=True)
    supervisor = roles.add_parser("supervisor")
    supervisor.add_argument("--port", type=int)
    supervisor.add_argument("--report", type=int, required=True)
    shard = roles.add_parser("shard")
    shard.add_argument("shard", type=int)
    gateway = roles.add_parser("gateway")
    gateway.add_argument("--sockets", type=int, nargs=3, required=True, metavar=("MCP", "MCP_UNIX", "PERSON"))
    for child in (shard, gateway):
        child.add_argument("--supervisor", type=int, required=True)
        child.add_argument("--ready", type=int, required=True)
        child.add_argument("--family", type=int, required=True)
    for role in (supervisor, shard, gateway):
        role.add_argument("--home", type=Path, required=True)
    return parser


if __name__ == "__main__":
    # Not `main()` of this module, which is called `__main__` now: the bodies import `nexus.children`, and there must be
    # one GatewaySockets, not two.
    from nexus.children import main as main_of_package

    main_of_package()
