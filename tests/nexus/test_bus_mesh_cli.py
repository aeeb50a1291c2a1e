"""`nexus-bus thread | redeliver | pause | resume | purge | pending --idle`, and what `ls` and `top` say of the mesh."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bus.limits import waiting_long_ms
from bus.value import Record
from nexus import exit_codes
from nexus.bus_upkeep_cli import top_lines
from nexus.gateway.person_verbs import VERBS
from tests.nexus.test_person_cli import HOSTILE, commands
from tests.nexus.test_person_port import LISTS
from tests.nexus.test_thread_cli import THREAD
from tests.support.person_port import ask, running_port
from tests.support.scripted_caller import Script, Sent
from tools.errors import Code, Refusal, unavailable
from tools.times import rfc3339

EVENT: Record = {"shard": 0, "sequence": 1, "at": 5, "owner": "mailbox/-/b1", "by": "agent a1", "call": "k"}
LEASE: Record = {
    "deliveryId": "t1.d1",
    "runtimeId": "r1",
    "attempt": 2,
    "idleMs": 45_000,
    "until": "2027-01-15T08:02:00.000Z",
    "isLive": True,
}
PENDING: Record = {**THREAD, "lease": LEASE}


def counts(paused: bool = False, queued: int = 0, given_up: int = 0, oldest_ms: int | None = None) -> Record:
    """What a mailbox says of itself."""
    oldest = None if oldest_ms is None else rfc3339(oldest_ms)
    numbers: Record = {"queued": queued, "leasable": queued - 1, "leased": 1, "deadLetters": given_up}
    return {"deliveries": [], "isPaused": paused, "oldestQueuedAt": oldest, **numbers}


def rows(sent: Sent) -> Record:
    """A mailbox whose first rows behind `after` are asked for, as a host answers them."""
    kept: dict[str, dict[str, Record]] = {
        "mailbox/-/a1": {"result/t1": {"body": "done"}, "sent/t0": {}, "sent/t1": {"state": "working"}},
        "mailbox/-/b1": {"lease/t1": {"attempt": 2}, "received/t1": {"state": "working"}, "task/t1": {"title": "x"}},
    }
    found = [
        (row, value) for row, value in kept[str(sent.body["address"])].items() if row > str(sent.body.get("after", ""))
    ]
    limit = sent.body["limit"]
    assert isinstance(limit, int)
    return {"rows": [{"row": row, "value": {**value}} for row, value in found[:limit]]}


def holding(sent: Sent) -> Record:
    owners = {"received/t1": ["mailbox/-/b1"], "sent/t1": ["mailbox/-/a1"]}
    return {"owners": [*owners.get(str(sent.body["row"]), [])]}


SCRIPT: Script = {
    **LISTS,
    ("host", "owners_holding"): holding,
    ("host", "owner_rows"): rows,
    ("host", "owners"): {"owners": []},
    ("host", "activity"): {"windowMs": 1000},
    ("host", "trace_thread"): {
        "records": [{**EVENT, "events": [["thread.queued", {"threadId": "t1", "from": "a1", "to": "b1"}]]}]
    },
    ("mailbox/-/b1", "thread_get"): {"received": THREAD, "sent": None},
    ("mailbox/-/b1", "mail_redeliver"): {"threadId": "t1", "state": "delivered", "wasLeased": True},
    ("mailbox", "mailbox_peek"): counts(),
    ("mailbox/-/b1", "mailbox_peek"): counts(paused=True, queued=301),
    ("mailbox", "mail_pending"): {"pending": []},
    ("mailbox/-/b1", "mail_pending"): {"pending": [PENDING]},
    ("agent/-/b1", "agent_pause"): {},
}


def test_a_thread_is_shown_with_owner_shard_lease_rows_and_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """issue 6"""
    with commands(monkeypatch, SCRIPT) as (run, _):
        lines = [" ".join(line.split()) for line in run.bus("thread", "t1").stdout.splitlines()]
        for part in (
            "owner: mailbox/-/b1, shard 0",
            "state: working",
            "from Ada (a1) to Bo (b1)",
            "attempts: 2 of 5, given to a runtime 3 times",
            "lease: until 2027-01-15T08:02:00.000Z, silent for 45000 ms, runtime r1, delivery t1.d1",
            'mailbox/-/b1 received/t1 {"state": "working"}',
            'mailbox/-/b1 lease/t1 {"attempt": 2}',
            'mailbox/-/a1 result/t1 {"body": "done"}',
            "1970-01-01T00:00:00.005Z mailbox/-/b1 thread.queued by agent a1 call k "
            '{"threadId": "t1", "from": "a1", "to": "b1"}',
        ):
            assert part in lines, part
        told: Any = json.loads(run.bus("thread", "t1", "--json").stdout)
        assert (told["owner"], told["shard"], told["now"]["state"]) == ("mailbox/-/b1", 0, "working")
        assert {(row["owner"], row["row"]) for row in told["rows"]} == {
            ("mailbox/-/b1", "received/t1"),
            ("mailbox/-/b1", "task/t1"),
            ("mailbox/-/b1", "lease/t1"),
            ("mailbox/-/a1", "sent/t1"),
            ("mailbox/-/a1", "result/t1"),
        }


def test_a_thread_is_shown_from_store_and_log_when_its_mailbox_does_not_answer_or_has_forgotten_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with commands(monkeypatch, {**SCRIPT, ("mailbox/-/b1", "thread_get"): unavailable()}) as (run, port):
        told = run.bus("thread", "t1")
        assert told.exit_code == exit_codes.OK
        assert "its mailbox does not answer: unavailable" in told.stdout
        assert "received/t1" in told.stdout
        port.caller.on("owners_holding", {"owners": []}, "host")
        port.caller.on("owner_rows", {"rows": []}, "host")
        told = run.bus("thread", "t1")
        assert "owner: no mailbox keeps it" in told.stdout
        assert "thread.queued" in told.stdout
        port.caller.on("trace_thread", {"records": []}, "host")
        nothing = run.bus("thread", "t1")
        assert nothing.exit_code == exit_codes.REFUSED
        assert "nexus-bus thread" not in nothing.stderr, "it does not recommend itself"


def test_a_lease_is_taken_and_where_there_is_none_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """mesh 4.4"""
    with commands(monkeypatch, SCRIPT) as (run, port):
        assert run.bus("redeliver", "t1").stdout == "Thread t1 is offered again.\n"
        assert port.caller.bodies("mail_redeliver") == [{"threadId": "t1"}]
        port.caller.on("mail_redeliver", {"threadId": "t1", "state": "queued", "wasLeased": False}, "mailbox/-/b1")
        assert run.bus("redeliver", "t1").stdout == "No runtime has thread t1 leased: it is queued.\n"
        port.caller.on("mail_redeliver", Refusal(Code.THREAD_CLOSED, "It has ended."), "mailbox/-/b1")
        assert run.bus("redeliver", "t1").exit_code == exit_codes.REFUSED


def test_an_agent_is_paused_and_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    """mesh 2.1"""
    with commands(monkeypatch, SCRIPT) as (run, port):
        assert run.bus("pause", "Bo").stdout == "Agent Bo (b1) is paused.\n"
        assert run.bus("resume", "Bo").stdout == "Agent Bo (b1) is offered tasks again.\n"
        assert port.caller.bodies("agent_pause") == [{"paused": True}, {"paused": False}]


def test_a_purge_without_yes_changes_nothing_says_what_it_would_do_and_ends_as_wrong_usage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """mesh 4.2"""
    steps = iter([128, 128, 44])

    def purged(sent: Sent) -> Record:
        count = next(steps)
        return {"cancelled": count, "remaining": 0 if count < 128 else 7, "leased": 1}

    with commands(monkeypatch, {**SCRIPT, ("mailbox/-/b1", "mail_purge"): purged}) as (run, port):
        kept = run.bus("purge", "Bo")
        assert kept.exit_code == exit_codes.USAGE
        assert "300 threads that wait for agent Bo (b1) would end cancelled" in kept.stderr
        told: Any = json.loads(run.bus("purge", "Bo", "--json").stdout)
        assert told["error"]["wouldCancel"] == 300
        assert port.caller.sent_of("mail_purge") == []
        done = run.bus("purge", "Bo", "--yes")
        assert done.exit_code == exit_codes.OK
        ended = "300 threads that waited for agent Bo (b1) ended cancelled."
        assert done.stdout == f"{ended} Not touched: 1 thread that a runtime has leased.\n"
        assert len(port.caller.sent_of("mail_purge")) == 3


def test_leased_deliveries_that_are_idle_are_listed_by_mailbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """issue 6"""
    with commands(monkeypatch, SCRIPT) as (run, port):
        text = run.bus("pending", "--idle", "30000").stdout
        assert text.splitlines()[1].split() == [
            *("mailbox/-/b1", "Bo", "(b1)", "t1", "working", "t1.d1", "r1", "2", "45000", "ms"),
            "2027-01-15T08:02:00.000Z",
        ]
        assert {"idleMs": 30_000, "limit": 20} in port.caller.bodies("mail_pending")
        told: Any = json.loads(run.bus("pending", "--idle", "30000", "--json").stdout)
        assert [(one["mailbox"], one["threadId"]) for one in told["deliveries"]] == [("mailbox/-/b1", "t1")]
        port.caller.on("mail_pending", {"pending": []}, "mailbox/-/b1")
        port.caller.on("mail_pending", Refusal(Code.STORAGE_FULL, "x"), "mailbox/-/a1")
        quiet = run.bus("pending", "--idle", "30000")
        assert quiet.stdout == "No leased delivery has been idle for 30000 ms.\n"
        assert "mailbox/-/a1 could not be read (storage_full)" in quiet.stderr
        assert run.bus("pending", "--idle", "-1").exit_code == exit_codes.USAGE


def test_idle_deliveries_beyond_what_is_asked_for_are_said_to_be_there() -> None:
    """common 7.3"""
    script: Script = {**SCRIPT, ("mailbox", "mail_pending"): {"pending": [PENDING], "truncated": True}}
    with running_port(script) as port:
        ok = ask(port, "bus.pending_idle", {"idleMs": 0, "count": 1})["ok"]
        assert (len(ok["deliveries"]), ok["truncated"]) == (1, True)


def test_ls_and_top_mention_what_of_the_mesh_needs_the_person(monkeypatch: pytest.MonkeyPatch) -> None:
    paused = "Agent Bo (b1) is paused and has 301 tasks waiting"
    monkeypatch.setattr("nexus.gateway.person_upkeep._fresh_seconds", 0)
    with commands(monkeypatch, SCRIPT) as (run, port):
        for typed in (("ls",), ("ls", "mailbox"), ("top",)):
            assert paused in run.bus(*typed).stdout
            told: Any = json.loads(run.bus(*typed, "--json").stdout)
            assert [one["agentId"] for one in told["needs"]["paused"]] == ["b1"]
        port.caller.sent.clear()
        assert paused not in run.bus("ls", "canvas").stdout
        assert port.caller.sent_of("mailbox_peek") == [], "looking brings mailboxes into memory"
    assert "paused" not in "".join(top_lines({"time": 1}))


def test_what_needs_the_person_is_who_is_paused_what_was_given_up_and_what_waits_for_long() -> None:
    """mesh 2.1, 4.4"""
    with running_port(SCRIPT) as port:
        now = ask(port, "bus.needs")["ok"]["time"]
        old = now - waiting_long_ms
        port.caller.on("mailbox_peek", counts(queued=4, given_up=2, oldest_ms=old), "mailbox/-/a1")
        port.caller.on("mailbox_peek", counts(queued=1, oldest_ms=old + 1), "mailbox/-/a2")
        ok = ask(port, "bus.needs")["ok"]
        assert [one["agentId"] for one in ok["paused"]] == ["b1"]
        assert [(one["agentId"], one["threads"]) for one in ok["exhausted"]] == [("a1", 2)]
        assert [(one["agentId"], one["waiting"]) for one in ok["waitingLong"]] == [("a1", 4)]
        assert (ok["lookedAt"], ok["truncated"], ok["unread"]) == (3, False, [])


def test_only_so_many_mailboxes_are_asked_at_once_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """common 7.3"""
    monkeypatch.setattr("nexus.gateway.person_mailboxes.mesh_needs_mailboxes_max", 2)
    with running_port(SCRIPT) as port:
        ok = ask(port, "bus.needs")["ok"]
        assert (ok["lookedAt"], ok["truncated"], ok["paused"]) == (2, True, [])


def test_what_agents_wrote_cannot_act_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """security 2.15"""
    agent: Record = {"agentId": HOSTILE, "name": HOSTILE}
    hostile: Record = {**dict.fromkeys(THREAD, HOSTILE), "from": agent, "to": agent, "lease": {"runtimeId": HOSTILE}}
    script: Script = {
        **SCRIPT,
        ("host", "trace_thread"): {"records": [{**EVENT, "by": HOSTILE, "events": [[HOSTILE, {HOSTILE: HOSTILE}]]}]},
        ("mailbox/-/b1", "thread_get"): {"received": hostile},
        ("mailbox/-/b1", "mail_pending"): {"pending": [{**hostile, "lease": dict.fromkeys(LEASE, HOSTILE)}]},
    }
    with commands(monkeypatch, script) as (run, _):
        for typed in (("thread", "t1"), ("pending", "--idle", "1")):
            for more in ((), ("--json",)):
                result = run.bus(*typed, *more)
                assert result.exit_code == 0, result.output
                assert "[red]" in result.stdout, "markup is text"
                assert not {"\x1b", "\x07", "\u202e"} & set(result.stdout)


@pytest.mark.parametrize("name", ["thread", "redeliver", "pause", "resume", "purge"])
def test_each_command_has_examples_exit_codes_home_and_json(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with commands(monkeypatch, {}) as (run, _):
        shown = run.bus(name, "--help").stdout
    for part in (f"nexus-bus {name}", "Examples:", "Exit codes:", "--home", "--json"):
        assert part in shown
    assert {"pause": "agent.pause", "resume": "agent.pause"}.get(name, f"bus.{name}") in VERBS
