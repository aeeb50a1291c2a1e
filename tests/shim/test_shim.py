"""The shim between a client's pipes and a scripted gateway: eras, order, cancelling, restarts, refusals."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from actors.agent.keys import GivenKey, UsedKey, UsedKeys, kept
from actors.decision import Put
from bus.limits import shim_requests_open_max
from nexus.shim.messages import IDEMPOTENCY_KEY, LISTEN
from nexus.shim.token import TokenFromFile
from tests.support.mcp_http import META
from tests.support.scripted_mcp import (
    TOKEN,
    Reply,
    Script,
    Seen,
    modern,
    result,
    scripted_mcp,
    shim_on,
)
from tests.support.waiting import eventually

ACCEPTED = Reply(status=202)


def echo(seen: Seen) -> Reply:
    return result(seen, method=seen.method) if "id" in seen.body else ACCEPTED


def legacy(then: Script = echo, opened: Reply | None = None) -> Script:
    """A gateway of the older era that numbers its sessions; GET answers `opened` or 405."""
    numbers = count(1)

    def script(seen: Seen) -> Reply:
        if seen.http_method == "GET":
            return opened or Reply(status=405)
        if seen.method == "initialize":
            content = {"protocolVersion": "2025-11-25", "capabilities": {}}
            body = {"jsonrpc": "2.0", "id": seen.body["id"], "result": content}
            return Reply(body, headers={"Mcp-Session-Id": f"s{next(numbers)}"})
        return then(seen)

    return script


def test_a_message_of_the_newer_era_carries_token_and_headers_and_its_answer_comes_as_one_line() -> None:
    """common 1.9, 2.2"""
    with scripted_mcp(echo) as server, shim_on(server.path) as client:
        answer = client.ask("tools/call", {"name": "canvas_list", "arguments": {}}, "a")
        assert answer == {"jsonrpc": "2.0", "id": "a", "result": {"method": "tools/call"}}
        [seen] = server.seen
        wanted = {
            "authorization": f"Bearer {TOKEN}",
            "host": "localhost",
            "mcp-protocol-version": META["io.modelcontextprotocol/protocolVersion"],
            "mcp-method": "tools/call",
            "mcp-name": "canvas_list",
        }
        assert {name: seen.headers[name] for name in wanted} == wanted
        assert "mcp-session-id" not in seen.headers


def test_the_older_era_keeps_its_session_and_its_version() -> None:
    with scripted_mcp(legacy()) as server, shim_on(server.path) as client:
        assert client.handshake()["result"]["protocolVersion"] == "2025-11-25"
        client.send({"id": 2, "method": "tools/list"})
        assert client.next()["id"] == 2
        first, *others = [seen for seen in server.seen if seen.http_method == "POST"]
        assert "mcp-session-id" not in first.headers and "mcp-protocol-version" not in first.headers
        assert [seen.method for seen in others] == ["notifications/initialized", "tools/list"]
        for seen in others:
            assert seen.headers["mcp-session-id"] == "s1" and seen.headers["mcp-protocol-version"] == "2025-11-25"
        client.close_input()
        assert client.exit_code() == 0
        assert server.methods()[-1] == "DELETE"


def test_a_request_leaves_after_the_notifications_and_the_initialize_before_it() -> None:
    may_go_on = threading.Event()

    def slow(seen: Seen) -> Reply:
        if seen.method in ("initialize", "notifications/initialized"):
            assert may_go_on.wait(10)
        return legacy()(seen)

    with scripted_mcp(slow) as server, shim_on(server.path) as client:
        client.send({"id": 0, "method": "initialize", "params": {}})
        client.send({"method": "notifications/initialized"}, {"id": 1, "method": "tools/list"})
        eventually(lambda: bool(server.seen), what="the first request")
        assert server.methods() == ["initialize"]
        may_go_on.set()
        assert [client.next()["id"], client.next()["id"]] == [0, 1]
        assert [method for method in server.methods() if method != "GET"] == [
            "initialize",
            "notifications/initialized",
            "tools/list",
        ]


def test_requests_are_open_at_once_and_each_answer_is_whole() -> None:
    everyone = threading.Barrier(8)
    text = "x" * 100_000

    def together(seen: Seen) -> Reply:
        everyone.wait(10)
        return result(seen, text=text)

    with scripted_mcp(together) as server, shim_on(server.path) as client:
        client.send(*(modern("tools/list", id=number) for number in range(8)))
        answers = [client.next() for _ in range(8)]
        assert sorted(answer["id"] for answer in answers) == list(range(8))
        assert all(answer["result"] == {"text": text} for answer in answers)


def test_progress_comes_before_the_answer_of_its_stream() -> None:
    progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1, "progressToken": "t"}}

    def stream(seen: Seen) -> Reply:
        return Reply(events=[None, progress, result(seen, done=True).body])

    with scripted_mcp(stream) as server, shim_on(server.path) as client:
        assert client.ask("tools/call", {"name": "t"}) == progress
        assert client.next()["result"] == {"done": True}


def test_cancelling_ends_the_connection_in_the_newer_era_and_nothing_is_answered() -> None:
    left = threading.Event()

    def endless(seen: Seen) -> Iterator[Any]:
        try:
            while True:
                yield None
        finally:
            left.set()

    def script(seen: Seen) -> Reply:
        return Reply(events=endless(seen)) if seen.method == "tools/call" else echo(seen)

    with scripted_mcp(script) as server, shim_on(server.path) as client:
        client.send(modern("tools/call", {"name": "t"}, 5))
        eventually(lambda: bool(server.seen), what="the call")
        client.send({"method": "notifications/cancelled", "params": {"requestId": 5, "_meta": META}})
        assert left.wait(10), "the connection is still open"
        assert client.ask("ping", id=6)["id"] == 6
        assert server.methods() == ["tools/call", "ping"]


def test_cancelling_is_carried_in_the_older_era_and_nothing_is_answered() -> None:
    was_told = threading.Event()

    def script(seen: Seen) -> Reply:
        if seen.method == "notifications/cancelled":
            was_told.set()
            return ACCEPTED
        if seen.method == "tools/call":
            assert was_told.wait(10)
        return echo(seen)

    with scripted_mcp(legacy(script)) as server, shim_on(server.path) as client:
        client.handshake()
        client.send({"id": 5, "method": "tools/call", "params": {"name": "t"}})
        eventually(lambda: bool(server.of("tools/call")), what="the call")
        client.send({"method": "notifications/cancelled", "params": {"requestId": 5}})
        assert was_told.wait(10)
        [told] = server.of("notifications/cancelled")
        assert told.body["params"] == {"requestId": 5} and told.headers["mcp-session-id"] == "s1"


def test_a_session_that_died_with_its_gateway_is_begun_anew_unnoticed() -> None:
    """decision 0012"""
    died: list[str] = []

    def script(seen: Seen) -> Reply:
        return Reply(status=404) if seen.headers.get("mcp-session-id") in died else echo(seen)

    with scripted_mcp(legacy(script)) as server, shim_on(server.path) as client:
        client.handshake()
        client.send({"id": 1, "method": "tools/list"})
        assert client.next()["id"] == 1
        died.append("s1")
        client.send(*({"id": number, "method": "tools/list"} for number in (2, 3, 4)))
        assert sorted(client.next()["id"] for _ in range(3)) == [2, 3, 4]
        first, second = server.of("initialize")
        assert first.body == second.body, "the client's own, once more and only once"
        assert [seen.headers["mcp-session-id"] for seen in server.of("notifications/initialized")] == ["s1", "s2"]


def test_the_servers_own_messages_come_over_the_stream_of_the_older_era() -> None:
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    stay = threading.Event()

    def unasked() -> Iterator[Any]:
        yield changed
        stay.wait(10)

    with scripted_mcp(legacy(opened=Reply(events=unasked()))) as server, shim_on(server.path) as client:
        client.handshake()
        assert client.next() == changed
        [opened] = [seen for seen in server.seen if seen.http_method == "GET"]
        assert opened.headers["mcp-session-id"] == "s1" and opened.headers["accept"] == "text/event-stream"
        stay.set()


def test_a_call_that_broke_is_sent_again_under_one_key_that_the_shim_made() -> None:
    """common 8.2"""
    tries = count()

    def script(seen: Seen) -> Reply:
        return Reply(breaks=True) if next(tries) < 2 else echo(seen)

    with scripted_mcp(script) as server, shim_on(server.path) as client:
        assert client.ask("tools/call", {"name": "t"})["result"] == {"method": "tools/call"}
        keys = {seen.body["params"]["_meta"]["nexus/idempotencyKey"] for seen in server.seen}
        assert len(server.seen) == 3 and len(keys) == 1
        client.ask("tools/call", {"name": "t"}, 2)
        assert server.seen[-1].body["params"]["_meta"]["nexus/idempotencyKey"] not in keys


def test_what_may_not_be_carried_out_twice_is_not_sent_twice() -> None:
    with scripted_mcp(lambda seen: Reply(breaks=True)) as server, shim_on(server.path) as client:
        error = client.ask("some/effect")["error"]
        assert error["data"]["error"]["code"] == "outcome_unknown"
        assert len(server.seen) == 1


def test_a_request_that_breaks_each_connection_is_given_up() -> None:
    with scripted_mcp(lambda seen: Reply(breaks=True)) as server, shim_on(server.path) as client:
        error = client.ask("tools/list")["error"]["data"]["error"]
        assert error["code"] == "unavailable" and error["retryable"] is True


def test_a_subscription_is_opened_again_and_acknowledged_to_the_client_once() -> None:
    acknowledged = {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {}}
    updated = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "nexus://mailbox"}}
    tries = count()

    def script(seen: Seen) -> Reply:
        if next(tries) == 0:
            return Reply(events=[acknowledged, updated], breaks=True)
        return Reply(events=[acknowledged, updated, result(seen).body])

    with scripted_mcp(script) as server, shim_on(server.path) as client:
        assert client.ask(LISTEN, {"notifications": {}}) == acknowledged
        assert [client.next(), client.next()] == [updated, updated]
        assert client.next()["id"] == 1


def test_an_error_status_with_a_json_rpc_body_is_the_answer_with_the_clients_id() -> None:
    error = {"code": -32602, "message": "no"}
    with (
        scripted_mcp(lambda seen: Reply({"jsonrpc": "2.0", "id": None, "error": error}, 400)) as server,
        shim_on(server.path) as client,
    ):
        assert client.ask("tools/list", id=9) == {"jsonrpc": "2.0", "id": 9, "error": error}


def test_a_refused_token_ends_the_shim_and_every_open_request_is_told_what_to_do() -> None:
    """common 2.3, security 2.10"""
    open_ones = threading.Semaphore(0)

    def script(seen: Seen) -> Reply:
        if seen.method == "ping":
            return Reply({"error": "invalid_token"}, 401)
        open_ones.release()

        def silent() -> Iterator[Any]:
            while True:
                yield None

        return Reply(events=silent())

    with scripted_mcp(script) as server, shim_on(server.path) as client:
        client.send(modern("tools/list", id=1))
        assert open_ones.acquire(timeout=10)
        client.send(modern("ping", id=2))
        answers = client.rest()
        assert client.exit_code() == 1
        assert sorted(answer["id"] for answer in answers) == [1, 2]
        for answer in answers:
            assert answer["error"]["data"]["error"]["code"] == "unidentified_caller"
            assert "nexus agent credential add" in answer["error"]["message"]
        assert len(client.told) == 1 and TOKEN not in client.told[0]


def test_a_token_that_the_person_replaced_in_its_file_is_taken_up(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.touch(mode=0o600)
    file.write_text(TOKEN)

    def script(seen: Seen) -> Reply:
        is_new = seen.headers["authorization"] == "Bearer nx_agent7_new"
        return echo(seen) if is_new else Reply(status=401)

    with scripted_mcp(script) as server, shim_on(server.path, TokenFromFile(file)) as client:
        file.write_text("nx_agent7_new\n")
        assert client.ask("ping")["result"] == {"method": "ping"}


def test_without_nexus_each_request_is_told_so_and_the_shim_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "mcp.sock"
    with shim_on(path) as client:
        error = client.ask("server/discover")["error"]
        assert "nexus up" in error["message"] and error["data"]["error"]["retryable"] is True
        with scripted_mcp(echo, path):
            assert client.ask("server/discover", id=2)["result"] == {"method": "server/discover"}


def test_a_gateway_that_comes_back_in_time_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "mcp.sock"
    with shim_on(path) as client:
        with scripted_mcp(echo, path):
            client.ask("ping")
        path.unlink()
        client.send(modern("tools/list", id=2))
        with scripted_mcp(echo, path):
            assert client.next()["id"] == 2


@pytest.mark.parametrize(
    ("line", "code"),
    [(b"{", -32700), (b"[]", -32600), (b'{"id": 1}', -32600), (b'{"id": true, "method": "ping"}', -32600)],
)
def test_a_line_that_is_no_message_is_refused_without_asking_anyone(line: bytes, code: int) -> None:
    with scripted_mcp(legacy()) as server, shim_on(server.path) as client:
        client.send_line(line)
        assert client.next()["error"]["code"] == code
        assert client.ask("ping", id=2)["id"] == 2
        assert [seen.method for seen in server.seen if seen.method] == ["ping"]


def test_the_key_that_it_makes_is_counted_as_its_own_by_the_agents_owner() -> None:
    """common 8.2: a busy shim must not cost a client its keys (actors/agent/keys.py)."""
    with scripted_mcp(echo) as server, shim_on(server.path) as client:
        client.ask("tools/call", {"name": "t"}, 1)
        client.send({"id": 2, "method": "tools/call", "params": {"name": "t", "_meta": {IDEMPOTENCY_KEY: "mine"}}})
        assert client.next()["id"] == 2
        used = UsedKeys()
        for number, seen in enumerate(server.seen):
            key = seen.body["params"]["_meta"][IDEMPOTENCY_KEY]
            given = GivenKey(key=key, arguments=bytes(32), callId=str(number))
            [put] = kept(used, str(number), given, 0)
            assert isinstance(put, Put)
            used.put(str(number), UsedKey.model_validate(put.value))
        assert (list(used.shims), list(used.clients)) == (["0"], ["1"])


def test_too_many_open_requests_and_an_id_in_use_are_refused() -> None:
    may_go_on = threading.Event()

    def script(seen: Seen) -> Reply:
        assert may_go_on.wait(20)
        return echo(seen)

    with scripted_mcp(script) as server, shim_on(server.path) as client:
        client.send(modern("tools/list", id=0))
        client.send(modern("tools/list", id=0))
        assert "still open" in client.next()["error"]["message"]
        client.send(*(modern("tools/list", id=number) for number in range(1, shim_requests_open_max + 1)))
        refused = client.next()
        assert refused["id"] == shim_requests_open_max and "error" in refused
        may_go_on.set()
        assert {client.next()["id"] for _ in range(shim_requests_open_max)} == set(range(shim_requests_open_max))


def test_what_is_open_when_the_input_ends_is_still_answered() -> None:
    may_go_on = threading.Event()

    def script(seen: Seen) -> Reply:
        assert may_go_on.wait(10)
        return echo(seen)

    with scripted_mcp(script) as server, shim_on(server.path) as client:
        client.send(modern("tools/list"))
        client.close_input()
        eventually(lambda: bool(server.seen), what="the request")
        may_go_on.set()
        assert [answer["id"] for answer in client.rest()] == [1]
        assert client.exit_code() == 0
