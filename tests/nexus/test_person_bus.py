"""`nexus-bus` over the person's socket: owners, records and events of every shard."""

from __future__ import annotations

import json
import socket

import pytest

from bus.address import Address
from bus.limits import page_items_max
from bus.value import Record, Value
from nexus.gateway import person_bus
from tests.support.person_port import ask, refused_code, running_port
from tests.support.scripted_caller import Script, Sent
from tools.errors import Code, Refusal, unavailable

DIRECTORY: Record = {
    "workspaces": [{"workspaceId": "w2", "name": "Shop", "root": None, "isActive": True}],
    "agents": [{"agentId": "b1", "name": "Bo", "workspaceId": "w2"}],
    "activeWorkspaceId": "w2",
}


def test_owners_are_listed_shard_by_shard_over_pages() -> None:
    def owners(sent: Sent) -> Record:
        count = page_items_max if sent.to.id == "0" and "after" not in sent.body else 1
        return {"owners": [{"address": f"canvas/w/{n}", "rows": 1, "live": False} for n in range(count)]}

    with running_port({("host", "owners"): owners}, shards=2) as port:
        ok = ask(port, "bus.ls", {"kind": "canvas"})["ok"]
        assert len(ok["owners"]) == page_items_max + 2
        assert [one["shard"] for one in ok["owners"][-2:]] == [0, 1]
        assert all(body["kind"] == "canvas" for body in port.caller.bodies("owners"))


def test_info_shows_a_host_that_does_not_answer_as_such() -> None:
    script: Script = {
        ("host/-/0", "statistics"): {"sequence": 9},
        ("host/-/1", "statistics"): unavailable(),
    }
    with running_port(script, shards=2) as port:
        hosts = ask(port, "bus.info")["ok"]["hosts"]
        assert [host["reachable"] for host in hosts] == [True, False]


def test_an_owner_is_asked_about_at_the_host_it_hashes_to() -> None:
    place = Address.parse("canvas/w1/c1")
    script: Script = {
        ("host", "owner_info"): {"live": True},
        ("host", "owner_rows"): {"rows": [{"row": "head", "value": {"key": b"\x00\x01"}}]},
    }
    with running_port(script, shards=4) as port:
        assert ask(port, "bus.info", {"address": str(place)})["ok"]["live"] is True
        rows = ask(port, "bus.get", {"target": str(place)})["ok"]["rows"]
        assert rows == [{"row": "head", "value": {"key": {"base64": "AAE="}}}]
        assert {str(made.to) for made in port.caller.sent} == {f"host/-/{place.shard(4)}"}


def test_one_row_is_looked_up_behind_its_prefix() -> None:
    def rows(sent: Sent) -> Record:
        return {
            "rows": [{"row": row, "value": row} for row in ("el/aa", "el/ab", "el/b") if row > str(sent.body["after"])]
        }

    with running_port({("host", "owner_rows"): rows}) as port:
        assert ask(port, "bus.get", {"target": "canvas/w/c", "row": "el/ab"})["ok"]["value"] == "el/ab"
        assert refused_code(ask(port, "bus.get", {"target": "canvas/w/c", "row": "el/zz"})) == "not_found"
        assert port.caller.bodies("owner_rows")[0]["after"] == "el/a"


def test_a_journal_record_is_got_by_shard_and_sequence() -> None:
    with running_port({("host/-/1", "journal_record"): {"sequence": 42}}, shards=2) as port:
        assert ask(port, "bus.get", {"target": "1:42"})["ok"] == {"shard": 1, "sequence": 42}
        assert refused_code(ask(port, "bus.get", {"target": "2:42"})) == "not_found"
        assert refused_code(ask(port, "bus.get", {"target": "nonsense"})) == "invalid_arguments"


def test_what_a_host_does_not_have_is_told_to_the_person_in_its_own_words() -> None:
    missing = Refusal(Code.NOT_FOUND, "for agents")
    script: Script = {("host", verb): missing for verb in ("owner_info", "owner_rows", "journal_record")}
    with running_port(script) as port:
        for answer in (
            ask(port, "bus.info", {"address": "canvas/w/c"}),
            ask(port, "bus.get", {"target": "canvas/w/c"}),
            ask(port, "bus.get", {"target": "0:7"}),
        ):
            assert refused_code(answer) == "not_found"
            assert "nexus-bus" in answer["error"]["message"]


def test_a_mailbox_is_peeked_at_by_agent_or_address() -> None:
    with running_port(
        {("app/-/directory", "directory_list"): DIRECTORY, ("mailbox/-/b1", "mailbox_peek"): {"deliveries": []}}
    ) as port:
        assert ask(port, "bus.peek", {"target": "Bo"})["ok"]["mailbox"] == "mailbox/-/b1"
        assert ask(port, "bus.peek", {"target": "mailbox/-/b1"})["ok"]["deliveries"] == []


def _journals(count: int) -> dict[str, list[Record]]:
    """The events of two shards, their times interleaved."""
    return {
        str(shard): [{"sequence": n, "index": 0, "at": 10 * n + shard, "type": "t"} for n in range(count)]
        for shard in (0, 1)
    }


@pytest.mark.parametrize("count", [0, 1, 5, 50])
def test_tail_answers_the_newest_events_of_all_shards_in_order(count: int) -> None:
    journals = _journals(20)

    def newest(sent: Sent) -> Record:
        assert sent.body == {"limit": count}, "without `after` a host answers its newest events"
        return {"events": [*journals[sent.to.id][20 - min(count, 20) :]], "last": 19}

    with running_port({("host", "events"): newest}, shards=2) as port:
        ok = ask(port, "bus.tail", {"count": count})["ok"]
        expected = sorted(10 * n + shard for n in range(20) for shard in (0, 1))
        assert [one["at"] for one in ok["events"]] == expected[max(0, 40 - count) :]
        assert ok["cursor"] == {"0": 19, "1": 19}


def test_following_streams_past_and_coming_events_until_the_peer_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person_bus, "follow_retry_ms", 1)
    past: list[Value] = [{"sequence": 3, "at": 1, "type": "t"}, {"sequence": 6, "at": 2, "type": "t"}]
    coming: Record = {"sequence": 9, "index": 0, "at": 999, "owner": "o", "type": "t", "data": {}}
    waits = 0

    def events(sent: Sent) -> Record | Refusal:
        nonlocal waits
        if "after" not in sent.body:
            return {"events": past, "last": 7}
        waits += 1
        assert sent.body["after"] == (7 if waits < 3 else 9)
        if waits == 1:
            return unavailable()
        return {"events": [coming], "last": 9} if waits == 2 else unavailable()

    with (
        running_port({("host", "events"): events}) as port,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection,
    ):
        connection.settimeout(10)
        connection.connect(str(port.socket_path))
        connection.sendall(b'{"verb": "bus.tail", "arguments": {"follow": true, "count": 5}}\n')
        with connection.makefile("rb") as lines:
            got = [json.loads(lines.readline())["event"]["sequence"] for _ in range(3)]
        assert got == [3, 6, 9]


def test_a_refusal_ends_following_with_its_reason() -> None:
    script: Script = {("host", "events"): Refusal(Code.INTERNAL, "broken")}
    with running_port(script) as port:
        assert refused_code(ask(port, "bus.tail", {"follow": True})) == "internal"
