"""What the supervisor is made of: its list of children, its control socket, how it spawns."""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from nexus.children import Ending
from nexus.config import Home, create_home, prepare_sockets, remove_sockets
from nexus.peer import peer_user_id
from nexus.sockets import PortTaken, listen_on_path, listen_on_port, port_of
from nexus.spawn import child_environment, open_log
from nexus.supervisor import ControlServer, ListeningSockets, children_of, woken_by_signals


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = prepare_sockets(create_home(tmp_path / "home", cores=8))
    yield home
    remove_sockets(home)


def test_the_list_of_children_is_shards_then_the_gateway_with_the_sockets(home: Home) -> None:
    with ExitStack() as stack:
        sockets = ListeningSockets.made(home, 0, stack)
        plans = children_of(home, sockets, 99)
        assert [(plan.name, plan.role, plan.stage) for plan in plans] == [
            ("shard-0", "shard", 0),
            ("shard-1", "shard", 0),
            ("gateway", "gateway", 1),
        ]
        assert plans[0].inherited == (99,)
        assert plans[2].inherited == (99, *sockets.of_gateway())
        assert sockets.control.fileno() not in plans[2].inherited


def test_a_taken_port_is_refused_in_words(home: Home) -> None:
    with listen_on_port(0) as first, pytest.raises(PortTaken, match="--port 0"):
        listen_on_port(port_of(first))


def test_only_loopback_is_listened_on() -> None:
    with listen_on_port(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"


def test_a_left_over_socket_is_replaced_and_is_for_this_user_only(home: Home) -> None:
    listen_on_path(home.mcp_socket).close()
    with listen_on_path(home.mcp_socket):
        assert home.mcp_socket.stat().st_mode & 0o777 == 0o600
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(home.mcp_socket))
            assert peer_user_id(client) == os.getuid()


def test_the_environment_of_children_is_an_allowlist() -> None:
    given = {
        "PATH": "/bin",
        "HOME": "/h",
        "LC_ALL": "C",
        "TZ": "UTC",
        "PYTHONPATH": "x",
        "NEXUS_HOME": "y",
        "SECRET": "z",
    }
    assert child_environment(given) == {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "TZ": "UTC"}


def test_a_log_that_has_grown_large_is_put_aside_once(home: Home) -> None:
    file = home.logs / "shard-0.log"
    file.write_bytes(b"x")
    os.truncate(file, 9 * 1024 * 1024)
    with open_log(home, "shard-0") as log:
        log.write(b"anew")
    assert file.read_bytes() == b"anew"
    assert (home.logs / "shard-0.log.1").stat().st_size == 9 * 1024 * 1024


class TestControlServer:
    @pytest.fixture
    def selector(self) -> Iterator[selectors.BaseSelector]:
        with selectors.DefaultSelector() as selector:
            yield selector

    @pytest.fixture
    def path(self, home: Home, selector: selectors.BaseSelector) -> Iterator[str]:
        with listen_on_path(home.supervisor_socket) as listening:
            server = ControlServer(listening, selector, lambda verb: {"verb": verb} if verb == "status" else None)
            yield str(home.supervisor_socket)
            server.close()

    def turn(self, selector: selectors.BaseSelector) -> None:
        """Everything that can be done without waiting."""
        while events := selector.select(0):
            for key, _ in events:
                key.data()

    def client(self, path: str) -> socket.socket:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(5)
        client.connect(path)
        return client

    def test_a_line_is_answered_by_a_line(self, selector: selectors.BaseSelector, path: str) -> None:
        with self.client(path) as client:
            client.sendall(b'{"verb": "sta')
            self.turn(selector)
            client.sendall(b'tus"}\n')
            self.turn(selector)
            assert json.loads(client.recv(4096)) == {"verb": "status"}

    @pytest.mark.parametrize("line", [b"not json\n", b"[]\n", b'{"verb": "reboot"}\n', b'{"verb": {}}\n', b"\xff\n"])
    def test_anything_else_ends_the_connection(self, selector: selectors.BaseSelector, path: str, line: bytes) -> None:
        with self.client(path) as client:
            client.sendall(line)
            self.turn(selector)
            assert client.recv(4096) == b""

    def test_a_line_without_end_ends_the_connection(self, selector: selectors.BaseSelector, path: str) -> None:
        with self.client(path) as client:
            client.setblocking(False)
            ended = False
            for _ in range(100):
                try:
                    client.send(b"x" * 4096)
                except (BrokenPipeError, ConnectionResetError):
                    ended = True
                    break
                self.turn(selector)
            assert ended

    def test_silent_connections_do_not_keep_others_out(self, selector: selectors.BaseSelector, path: str) -> None:
        with ExitStack() as stack:
            for _ in range(40):
                stack.enter_context(self.client(path))
                self.turn(selector)
            client = stack.enter_context(self.client(path))
            client.sendall(b'{"verb": "status"}\n')
            self.turn(selector)
            assert client.recv(4096)


def test_a_stop_signal_wakes_the_loop_and_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    stopped: list[bool] = []
    with selectors.DefaultSelector() as selector:
        with woken_by_signals(selector, lambda: stopped.append(True)):
            os.kill(os.getpid(), signal.SIGTERM)
            assert selector.select(5)
        assert stopped == [True]
    assert signal.getsignal(signal.SIGTERM) is before


class TestEnding:
    def test_everyone_is_told_once(self) -> None:
        told: list[str] = []
        ending = Ending()
        ending.tell_me(lambda: told.append("before"))
        ending.come()
        ending.come()
        ending.tell_me(lambda: told.append("after"))
        assert told == ["before", "after"]

    def test_a_callback_may_register_another(self) -> None:
        told: list[str] = []
        ending = Ending()
        ending.tell_me(lambda: ending.tell_me(lambda: told.append("inner")))
        ending.come()
        assert told == ["inner"]
