"""The person's verbs about threads, over scripted mailboxes: one list of many, who holds one, what cannot be read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from bus.client import DeadlinePassed
from bus.limits import person_reads_at_once_max
from bus.value import Record, Value, records
from nexus.gateway import person_threads
from tests.support.person_port import RunningPort, ask, refused_code, running_port
from tests.support.scripted_caller import Answerer, Script, Sent
from tools.errors import NOT_FOUND, Refusal, unavailable
from tools.times import milliseconds_of, rfc3339

AGENTS = 5
T0 = 1_800_000_000_000


def directory() -> Record:
    return {
        "workspaces": [{"workspaceId": "w1", "name": "Site"}, {"workspaceId": "w2", "name": "Shop"}],
        "agents": [{"agentId": f"a{n}", "name": f"A{n}", "workspaceId": "w1"} for n in range(AGENTS - 1)],
        "removed": [{"agentId": f"a{AGENTS - 1}", "name": "Gone", "workspaceId": "w1"}],
    }


def threads_of(agent: int, count: int) -> list[Record]:
    """Newest first; interleaved in time with those of the others, some of them in the same millisecond."""
    return [
        {
            "threadId": f"t{number:04}-{agent}",
            "state": "queued" if number % 3 else "failed",
            "from": {"agentId": f"a{(agent + 1) % AGENTS}", "name": "x"},
            "to": {"agentId": f"a{agent}", "name": "x"},
            "workspaceId": "w2" if number % 10 == 0 else "w1",
            "queuedAt": rfc3339(T0 + number - number % 2),
        }
        for number in reversed(range(count))
    ]


def paging(kept: dict[str, list[Record]]) -> Answerer:
    """As mailboxes page: newest first, filtered by state, `before` a place."""

    def answer(sent: Sent) -> Record:
        limit, states, before = sent.body["limit"], sent.body.get("states"), sent.body.get("before")
        assert isinstance(limit, int)
        found = [
            one
            for one in kept[sent.to.id]
            if (not isinstance(states, list) or one["state"] in states)
            and (
                not isinstance(before, dict)
                or (queued_ms(one), one["threadId"]) < (before["queuedAt"], before["threadId"])
            )
        ]
        page: list[Value] = [*found[:limit]]
        last = found[limit - 1] if len(found) > limit else None
        following = None if last is None else {"queuedAt": queued_ms(last), "threadId": last["threadId"]}
        return {"threads": page, "nextBefore": following}

    return answer


def queued_ms(one: Record) -> int:
    return milliseconds_of(str(one["queuedAt"]))


def place(one: Record) -> tuple[Any, Any]:
    return one["queuedAt"], one["threadId"]


def mailboxes(count: int = 30) -> tuple[Script, list[Record]]:
    kept = {f"a{agent}": threads_of(agent, count) for agent in range(AGENTS)}
    every = sorted((one for each in kept.values() for one in each), key=place, reverse=True)
    return {("app/-/directory", "directory_list"): directory(), ("mailbox", "threads_page"): paging(kept)}, every


def listed(port: RunningPort, **asked: object) -> tuple[list[str], bool]:
    ok = ask(port, "thread.list", asked)["ok"]
    return [one["threadId"] for one in ok["threads"]], ok["truncated"]


def ids(threads: list[Record], is_meant: Callable[[Record], bool] = lambda _: True) -> list[Value]:
    return [one["threadId"] for one in threads if is_meant(one)]


@pytest.mark.parametrize("limit", [1, 7, 60, 149, 150, 1000])
def test_threads_of_all_mailboxes_are_one_list_newest_first_and_say_when_it_is_cut(limit: int) -> None:
    """common 7.3: those of removed agents too"""
    script, every = mailboxes()
    with running_port(script, shards=2) as port:
        found, truncated = listed(port, limit=limit)
        assert found == ids(every)[:limit]
        assert truncated == (limit < len(every))


def test_a_short_list_of_long_mailboxes_reads_little_of_each() -> None:
    script, every = mailboxes(500)
    with running_port(script) as port:
        assert listed(port, limit=20)[0] == ids(every)[:20]
        assert sum(int(str(body["limit"])) for body in port.caller.bodies("threads_page")) < 200


def test_a_list_is_narrowed_to_states_an_agent_and_a_workspace() -> None:
    script, every = mailboxes()
    with running_port(script) as port:
        assert listed(port, states=["failed"]) == (ids(every, lambda one: one["state"] == "failed"), False)
        assert all(body["states"] == ["failed"] for body in port.caller.bodies("threads_page"))

        def is_of_a1(one: Record) -> bool:
            return any(isinstance(side, dict) and side["agentId"] == "a1" for side in (one["from"], one["to"]))

        assert listed(port, agent="A1") == (ids(every, is_of_a1), False)
        assert listed(port, workspace="Shop") == (ids(every, lambda one: one["workspaceId"] == "w2"), False)
        narrow = {"agent": "a1", "limit": 5}
        assert listed(port, **narrow) == (ids(every, is_of_a1)[:5], True)
        assert [one["workspace"] for one in ask(port, "thread.list", {"workspace": "w2"})["ok"]["threads"]][:1] == [
            "Shop"
        ]
        assert refused_code(ask(port, "thread.list", {"states": ["asleep"]})) == "invalid_arguments"


def test_a_list_that_leaves_most_threads_out_ends_at_a_bound_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """common 7.3"""
    monkeypatch.setattr(person_threads, "threads_looked_at_max", 40)
    script, _ = mailboxes(100)
    with running_port(script) as port:
        found, truncated = listed(port, workspace="Shop", limit=1000)
        assert truncated and len(found) < 50


def test_a_mailbox_that_cannot_be_read_is_named_and_the_others_are_listed() -> None:
    script, every = mailboxes()
    broken: Script = {
        **script,
        ("mailbox/-/a2", "threads_page"): Refusal.from_record({"code": "internal", "message": "x", "retryable": False}),
        ("mailbox/-/a3", "threads_page"): NOT_FOUND,
    }
    with running_port(broken) as port:
        ok = ask(port, "thread.list")["ok"]
        assert ok["unread"] == [{"mailbox": "mailbox/-/a2", "code": "internal"}]
        rest = ids(every, lambda one: not str(one["threadId"]).endswith(("-2", "-3")))
        assert [one["threadId"] for one in ok["threads"]] == rest


def test_a_shard_that_does_not_answer_is_waited_for_once() -> None:
    script, _ = mailboxes()
    with running_port({**script, ("mailbox", "threads_page"): DeadlinePassed(was_sent=True)}) as port:
        reads = person_reads_at_once_max
        agents: Record = {"agents": [{"agentId": f"b{n}", "name": "x", "workspaceId": "w1"} for n in range(3 * reads)]}
        port.caller.on("directory_list", {**directory(), **agents}, "app/-/directory")
        ok = ask(port, "thread.list")["ok"]
        assert len(ok["unread"]) == 3 * reads + 1
        assert len(port.caller.sent_of("threads_page")) <= reads


def test_a_damaged_mailbox_hides_no_other_of_its_shard() -> None:
    """A damaged owner says `unavailable` at once, which is not silence."""
    script, _ = mailboxes()
    with running_port({**script, ("mailbox/-/bad", "threads_page"): unavailable()}) as port:
        listed = directory()
        agents = listed["agents"]
        assert isinstance(agents, list)
        damaged: Record = {"agentId": "bad", "name": "Bad", "workspaceId": "w1"}
        port.caller.on("directory_list", {**listed, "agents": [damaged, *agents]}, "app/-/directory")
        ok = ask(port, "thread.list")["ok"]
        assert [one["mailbox"] for one in ok["unread"]] == ["mailbox/-/bad"]
        assert ok["threads"]


def holders(*places: tuple[str, str]) -> Answerer:
    """The hosts' answer to who keeps a row; each step looks at one owner."""

    def answer(sent: Sent) -> Record:
        assert sent.body["kind"] == "mailbox"
        found: list[Value] = [to for to, row in places if row == sent.body["row"]]
        return {"owners": found, "next": "mailbox/-/a0"} if "after" not in sent.body else {"owners": []}

    return answer


def test_a_thread_is_asked_of_its_two_mailboxes_alone_and_the_recipients_word_counts() -> None:
    """mesh 4.2"""
    script: Script = {
        ("app/-/directory", "directory_list"): directory(),
        ("host", "owners_holding"): holders(("mailbox/-/a1", "received/t1"), ("mailbox/-/a2", "sent/t1")),
        ("mailbox/-/a1", "thread_get"): {
            "received": {"threadId": "t1", "state": "completed", "workspaceId": "w2", "from": {"agentId": "a2"}},
            "sent": None,
        },
        ("mailbox/-/a2", "thread_get"): {"received": None, "sent": {"state": "working", "result": {"body": "done"}}},
    }
    with running_port(script) as port:
        ok = ask(port, "thread.show", {"threadId": "t1"})["ok"]
        assert (ok["state"], ok["workspace"]) == ("completed", "Shop")
        assert (ok["result"], ok["from"]) == ({"body": "done"}, {"agentId": "a2"})
        assert "history" not in ok
        assert sorted(str(sent.to) for sent in port.caller.sent_of("thread_get")) == ["mailbox/-/a1", "mailbox/-/a2"]


def test_the_history_of_a_thread_is_its_events_in_the_order_of_cause() -> None:
    """mesh 4.7"""

    def journal(sent: Sent) -> Record:
        assert sent.body["thread"] == "t1"
        shard = int(sent.to.id)
        offered: Record = {"shard": 0, "sequence": 9, "at": 7, "owner": "mailbox/-/a2", "by": "agent a2", "call": "k"}
        queued: Record = {**offered, "shard": 1, "sequence": 4, "at": 7, "owner": "mailbox/-/a1", "message": [0, 9, 0]}
        events: list[Value] = [["thread.queued" if shard else "thread.offered", {"threadId": "t1"}]]
        return {"records": [{**(queued if shard else offered), "events": events}]}

    script: Script = {
        ("app/-/directory", "directory_list"): directory(),
        ("host", "owners_holding"): holders(("mailbox/-/a1", "received/t1")),
        ("host", "trace_thread"): journal,
        ("mailbox/-/a1", "thread_get"): {"received": {"threadId": "t1", "state": "queued"}},
    }
    with running_port(script, shards=2) as port:
        history = ask(port, "thread.show", {"threadId": "t1", "history": True})["ok"]["history"]
        assert [event["type"] for event in history] == ["thread.offered", "thread.queued"]
        assert history[0] == {
            "shard": 0,
            "sequence": 9,
            "at": 7,
            "owner": "mailbox/-/a2",
            "by": "agent a2",
            "callId": "k",
            "type": "thread.offered",
            "data": {"threadId": "t1"},
        }


@pytest.mark.parametrize("verb", ["thread.show", "thread.cancel", "thread.requeue", "bus.redeliver"])
def test_what_no_mailbox_keeps_is_told_to_the_person_in_its_own_words(verb: str) -> None:
    """common 1.7: what cannot be an id names nothing either."""
    nobody: Script = {("app/-/directory", "directory_list"): directory(), ("host", "owners_holding"): {"owners": []}}
    gone: Script = {
        **nobody,
        ("host", "owners_holding"): holders(("mailbox/-/a1", "received/t1")),
        ("mailbox", "thread_get"): NOT_FOUND,
        ("mailbox", "thread_cancel"): NOT_FOUND,
        ("mailbox", "thread_requeue"): NOT_FOUND,
        ("mailbox", "mail_redeliver"): NOT_FOUND,
    }
    for script, thread_id in ((nobody, "t1"), (gone, "t1"), (nobody, "../t1")):
        with running_port(script) as port:
            answer = ask(port, verb, {"threadId": thread_id})
            assert refused_code(answer) == "not_found"
            assert "nexus thread list" in answer["error"]["message"]


def test_a_cancel_carries_the_note_to_the_recipients_mailbox() -> None:
    """mesh 4.2"""
    script: Script = {
        ("host", "owners_holding"): holders(("mailbox/-/a1", "received/t1"), ("mailbox/-/a2", "sent/t1")),
        ("mailbox/-/a1", "thread_cancel"): {"threadId": "t1", "state": "cancelled"},
    }
    with running_port(script) as port:
        assert ask(port, "thread.cancel", {"threadId": "t1", "note": "Enough."})["ok"]["state"] == "cancelled"
        assert ask(port, "thread.cancel", {"threadId": "t1"})["ok"]["state"] == "cancelled"
        assert port.caller.bodies("thread_cancel") == [{"threadId": "t1", "note": "Enough."}, {"threadId": "t1"}]


def test_only_an_originators_mirror_left_is_shown_and_cannot_be_cancelled() -> None:
    script: Script = {
        ("app/-/directory", "directory_list"): directory(),
        ("host", "owners_holding"): holders(("mailbox/-/a2", "sent/t1")),
        ("mailbox/-/a2", "thread_get"): {"sent": {"state": "completed"}},
    }
    with running_port(script) as port:
        ok = ask(port, "thread.show", {"threadId": "t1"})["ok"]
        assert (ok["state"], ok["from"]) == ("completed", {"agentId": "a2", "name": "A2"})
        assert refused_code(ask(port, "thread.cancel", {"threadId": "t1"})) == "not_found"


def test_reads_of_many_mailboxes_are_bounded_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person_threads, "person_reads_at_once_max", 2)
    under_way, most = 0, 0

    async def slow(sent: Sent) -> Record:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return {"threads": []}

    script, _ = mailboxes()
    with running_port({**script, ("mailbox", "threads_page"): slow}) as port:
        assert records(ask(port, "thread.list")["ok"], "threads") == []
    assert most == 2
