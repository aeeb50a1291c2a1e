"""The shim looks at who listens before it sends anything (security 2.10)."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from nexus.shim.agents_socket import (
    AgentsSocket,
    Answer,
    Broken,
    Cancellation,
    Cancelled,
    NotListening,
    Unreachable,
    connected,
)
from tests.support.scripted_mcp import Reply, Seen, scripted_mcp

OTHER_USER = os.getuid() + 1


def ask(agents: AgentsSocket, cancellation: Cancellation | None = None) -> bytes:
    with agents.exchange("POST", b"{}", {}, cancellation or Cancellation()) as answer:
        return answer.body()


def test_nothing_is_sent_to_another_users_socket() -> None:
    """security 2.10: squatted"""
    with scripted_mcp(lambda seen: Reply({})) as server:
        with pytest.raises(Unreachable, match="--user") as refused:
            ask(AgentsSocket(lambda: server.path, OTHER_USER))
        assert "no token was sent" in str(refused.value)
        assert server.seen == []
        assert ask(AgentsSocket(lambda: server.path, os.getuid())) == b"{}"


def test_nobody_there_is_told_from_what_cannot_be_opened(tmp_path: Path) -> None:
    left_over = tmp_path / "left.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(left_over))
    for path in (left_over, tmp_path / "none.sock", tmp_path / "none" / "mcp.sock"):
        with pytest.raises(NotListening):
            connected(path, os.getuid())
    with pytest.raises(Unreachable):
        connected(tmp_path / ("x" * 200), os.getuid())


def test_a_connection_is_used_again_until_the_other_end_closes_it() -> None:
    peers: list[int] = []

    def script(seen: Seen) -> Reply:
        peers.append(threading.get_ident())  # the server has a thread a connection
        return Reply({}, headers={"Connection": "close"} if len(peers) == 2 else {})

    with scripted_mcp(script) as server:
        agents = AgentsSocket(lambda: server.path, os.getuid())
        for _ in range(3):
            assert ask(agents) == b"{}"
        assert peers[0] == peers[1]
        assert len(server.seen) == 3


def test_a_cancelled_exchange_is_not_begun_and_a_broken_one_says_whether_it_was_sent() -> None:
    with scripted_mcp(lambda seen: Reply(breaks=True)) as server:
        agents = AgentsSocket(lambda: server.path, os.getuid())
        cancellation = Cancellation()
        cancellation.cancel()
        with pytest.raises(Cancelled):
            ask(agents, cancellation)
        assert server.seen == []
        with pytest.raises(Broken) as broken:
            ask(agents)
        assert broken.value.was_sent


def test_a_stream_that_ends_early_gives_whole_events_and_a_body_that_does_is_broken() -> None:
    def stream(answer: Answer) -> list[bytes]:
        return list(answer.events())

    with scripted_mcp(lambda seen: Reply(events=[{"a": 1}], breaks=True)) as server:
        agents = AgentsSocket(lambda: server.path, os.getuid())
        for _ in range(2):  # and what broke is not used again
            with agents.exchange("POST", b"{}", {}, Cancellation()) as answer:
                assert stream(answer) == [b'{"a": 1}']
    with scripted_mcp(lambda seen: Reply(b"{", headers={"Content-Length": "100", "Connection": "close"})) as server:
        agents = AgentsSocket(lambda: server.path, os.getuid())
        with pytest.raises(Broken):
            ask(agents)
