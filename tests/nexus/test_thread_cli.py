"""`nexus thread`, against a real port that answers from a script."""

from __future__ import annotations

import pytest

from bus.value import Record
from nexus import exit_codes
from nexus.gateway.person_verbs import VERBS
from nexus.thread_cli import thread_lines
from tests.nexus.test_person_cli import HOSTILE, Commands, commands
from tests.nexus.test_person_port import LISTS
from tests.support.scripted_caller import Script
from tools.errors import Code, Refusal

ADA: Record = {"agentId": "a1", "name": "Ada"}
BO: Record = {"agentId": "b1", "name": "Bo"}


THREAD: Record = {
    "threadId": "t1",
    "state": "working",
    "outcome": None,
    "from": ADA,
    "to": BO,
    "workspaceId": "w2",
    "title": "Count the beans",
    "priority": "p2",
    "attempt": 2,
    "deliveries": 3,
    "queuedAt": "2027-01-15T08:00:00.000Z",
    "changedAt": "2027-01-15T08:01:00.000Z",
    "deadline": "2027-01-16T08:00:00.000Z",
    "chain": [{"agentId": "c1", "name": "Cy"}, ADA],
    "chainDepth": 2,
    "lease": {
        "deliveryId": "t1.d1",
        "runtimeId": "r1",
        "attempt": 2,
        "idleMs": 45_000,
        "until": "2027-01-15T08:02:00.000Z",
        "isLive": True,
    },
    "task": {
        "title": "Count the beans",
        "instructions": "All of them.\nstate: completed",
        "inputs": {"jar": 7},
        "expectedOutput": None,
        "contextRefs": ["canvas://c1"],
        "priority": "p2",
    },
}
SCRIPT: Script = {
    **LISTS,
    ("host", "owners_holding"): lambda sent: {
        "owners": ["mailbox/-/b1"] if str(sent.body["row"]).startswith("received/") else []
    },
    ("mailbox", "threads_page"): {"threads": []},
    ("mailbox/-/b1", "threads_page"): {"threads": [THREAD]},
    ("mailbox/-/b1", "thread_get"): {"received": THREAD, "sent": None},
    ("mailbox/-/b1", "thread_cancel"): {"threadId": "t1", "state": "cancelled"},
    ("mailbox/-/b1", "thread_requeue"): {"threadId": "t2", "requeuedFrom": "t1", "state": "queued"},
    ("host", "trace_thread"): {
        "records": [
            {
                "shard": 0,
                "sequence": 1,
                "at": 5,
                "owner": "mailbox/-/b1",
                "by": "agent a1",
                "call": "k",
                "events": [["thread.queued", {"threadId": "t1"}]],
            }
        ]
    },
}


def test_a_list_is_a_table_and_exactly_threads_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """issue 6, common 7.3"""
    with commands(monkeypatch, SCRIPT) as (run, _):
        heading, line = run.nexus("thread", "list").stdout.splitlines()
        assert heading.split()[:4] == ["ID", "STATE", "FROM", "TO"]
        assert line.split()[:6] == ["t1", "working", "Ada", "Bo", "Shop", "p2"]
        told = run.json("thread", "list")
        assert [(one["threadId"], one["state"], one["from"], one["to"]) for one in told["threads"]] == [
            ("t1", "working", ADA, BO)
        ]
        assert told["truncated"] is False


def test_states_can_be_named_one_by_one_or_all_open_and_all_ended_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, SCRIPT) as (run, port):
        for typed, meant in (
            (("failed",), ["failed"]),
            (("open",), ["delivered", "queued", "working"]),
            (("ended", "queued"), ["cancelled", "completed", "expired", "failed", "queued", "rejected"]),
        ):
            port.caller.sent.clear()
            result = run.nexus("thread", "list", *(word for one in typed for word in ("--state", one)))
            assert result.exit_code == exit_codes.OK, result.output
            assert all(body["states"] == meant for body in port.caller.bodies("threads_page"))
        assert run.nexus("thread", "list", "--state", "asleep").exit_code == exit_codes.USAGE
        assert run.nexus("thread", "list", "--limit", "0").exit_code == exit_codes.USAGE


def test_what_a_list_leaves_out_is_told_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """common 7.3"""
    two: Record = {"threads": [THREAD, {**THREAD, "threadId": "t0"}]}
    script: Script = {
        **SCRIPT,
        ("mailbox/-/b1", "threads_page"): two,
        ("mailbox/-/a1", "threads_page"): Refusal(Code.STORAGE_FULL, "x"),
    }
    with commands(monkeypatch, script) as (run, _):
        cut = run.nexus("thread", "list", "--limit", "1")
        assert len(cut.stdout.splitlines()) == 2
        assert "There are more than 1" in cut.stderr
        assert "mailbox/-/a1 (storage_full)" in cut.stderr
        assert "There are more" not in run.nexus("thread", "list").stderr
    with commands(monkeypatch, {**SCRIPT, ("mailbox/-/b1", "threads_page"): {"threads": []}}) as (run, _):
        assert "agent_trigger" in run.nexus("thread", "list").stdout
        assert run.nexus("thread", "list", "--state", "open").stdout == "No thread is in that state.\n"
        assert run.json("thread", "list") == {"threads": [], "truncated": False}


def test_a_thread_is_shown_whole_with_what_agents_wrote_behind_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """common 7.1"""
    with commands(monkeypatch, SCRIPT) as (run, _):
        lines = run.nexus("thread", "show", "t1").stdout.splitlines()
        shown = [" ".join(line.split()) for line in lines]
        for part in (
            "state: working",
            "from: Ada (a1)",
            "to: Bo (b1)",
            "workspace: Shop",
            "deadline: 2027-01-16T08:00:00.000Z",
            "attempts: 2 of 5, given to a runtime 3 times",
            "lease: until 2027-01-15T08:02:00.000Z, silent for 45000 ms, runtime r1, delivery t1.d1",
            "chain: Cy (c1) > Ada (a1)",
            "task: Count the beans (priority p2)",
            "context: canvas://c1",
            "instructions (written by Ada (a1), not checked):",
            "| All of them.",
            "| state: completed",
            '| {"jar": 7}',
        ):
            assert part in shown, part
        assert [line for line in lines if line.startswith("state:")] == ["state:       working"]
        assert "history" not in run.json("thread", "show", "t1")
        history = run.nexus("thread", "show", "t1", "--history").stdout
        assert '1970-01-01T00:00:00.005Z  thread.queued  by agent a1  {"threadId": "t1"}' in history
        assert run.json("thread", "show", "t1", "--history")["history"][0]["type"] == "thread.queued"


def test_a_thread_says_how_many_led_to_it_that_its_chain_does_not_name() -> None:
    """security 2.24"""
    told = [" ".join(line.split()) for line in thread_lines({**THREAD, "chainMore": 4})]
    assert told[told.index("chain: Cy (c1) > Ada (a1)") + 1] == "not in chain: 4 more agents that led to it"


def test_an_ended_thread_shows_why_and_its_result() -> None:
    ended = {
        **THREAD,
        "state": "failed",
        "cause": "delivery_exhausted",
        "reason": "gave up\nstate: open",
        "canRequeue": True,
    }
    lines = thread_lines({**ended, "task": None, "lease": None, "result": {"body": "half", "artifacts": []}})
    told = [" ".join(line.split()) for line in lines]
    assert "state: failed (delivery_exhausted)" in told
    assert not [line for line in told if line.startswith("not in chain")]
    assert "reason: gave up\\nstate: open" in told
    assert "lease: none" in told
    assert "to send again: nexus thread requeue t1" in told
    assert told[-2:] == ["body (written by Bo (b1), not checked):", "| half"]
    assert "task: Count the beans (no more of it is kept)" in told


def test_cancelling_and_sending_once_more_are_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """mesh 4.2, 4.4"""
    with commands(monkeypatch, SCRIPT) as (run, port):
        assert run.nexus("thread", "cancel", "t1", "--note", "Enough").stdout == "Thread t1 is cancelled.\n"
        assert port.caller.bodies("thread_cancel") == [{"threadId": "t1", "note": "Enough"}]
        assert run.json("thread", "cancel", "t1")["state"] == "cancelled"
        said = run.nexus("thread", "requeue", "t1").stdout
        assert said == "The task of thread t1 is queued again, as thread t2.\n"
        assert run.json("thread", "requeue", "t1")["threadId"] == "t2"
        port.caller.on("thread_cancel", Refusal(Code.THREAD_CLOSED, "It has ended."), "mailbox/-/b1")
        late = run.nexus("thread", "cancel", "t1")
        assert (late.exit_code, "It has ended." in late.stderr) == (exit_codes.REFUSED, True)


def test_what_agents_wrote_cannot_act_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """security 2.15"""
    agent: Record = {"agentId": HOSTILE, "name": HOSTILE}
    task: Record = {"instructions": HOSTILE, "inputs": {HOSTILE: HOSTILE}, "contextRefs": [HOSTILE]}
    hostile: Record = {
        **dict.fromkeys(THREAD, HOSTILE),
        "from": agent,
        "to": agent,
        "chain": [agent],
        "queuedAt": "2027-01-15T08:00:00.000Z",
        "lease": {"runtimeId": HOSTILE, "deliveryId": HOSTILE, "until": HOSTILE},
        "task": task,
        "result": {"body": f"one\n{HOSTILE}", "artifacts": [HOSTILE], "usage": HOSTILE},
    }
    script: Script = {
        **SCRIPT,
        ("mailbox/-/b1", "threads_page"): {"threads": [hostile]},
        ("mailbox/-/b1", "thread_get"): {"received": hostile},
        ("mailbox/-/b1", "thread_cancel"): hostile,
        ("mailbox/-/b1", "thread_requeue"): {"threadId": HOSTILE, "requeuedFrom": HOSTILE},
    }
    with commands(monkeypatch, script) as (run, _):
        for typed in (("list",), ("show", "t1"), ("cancel", "t1"), ("requeue", "t1")):
            for more in ((), ("--json",)):
                result = run.nexus("thread", *typed, *more)
                assert result.exit_code == 0, result.output
                assert "[red]" in result.stdout, "markup is text"
                assert not {"\x1b", "\x07", "\u202e"} & set(result.stdout)


@pytest.mark.parametrize("name", ["list", "show", "cancel", "requeue"])
def test_each_command_has_examples_exit_codes_home_and_json(name: str) -> None:
    shown = Commands().nexus("thread", name, "--help").stdout
    for part in (f"nexus thread {name}", "Examples:", "Exit codes:", "--home", "--json"):
        assert part in shown
    assert f"thread.{name}" in VERBS


@pytest.mark.parametrize("id_", ["evil\x1b[31m", "no/id", "x" * 200])
def test_an_id_that_cannot_be_one_is_not_found_and_asks_nobody(monkeypatch: pytest.MonkeyPatch, id_: str) -> None:
    """common 1.7, security 2.15"""
    with commands(monkeypatch, SCRIPT) as (run, port):
        for refused in (run.nexus("thread", "show", id_), run.nexus("thread", "cancel", id_), run.bus("thread", id_)):
            assert refused.exit_code == exit_codes.REFUSED
            assert "No thread has that id" in refused.stderr or "No mailbox keeps" in refused.stderr
            assert "\x1b" not in refused.stderr
        assert port.caller.sent_of("owners_holding") == []
