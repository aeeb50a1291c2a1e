"""What a host finds in its store of one thread and of one row: the journal's events, and the owners that keep it."""

from __future__ import annotations

from typing import Any

import pytest

from actors import waiting
from actors.waiting import Waiting
from bus import address
from bus.address import Address
from bus.codec import pack_row
from bus.store import journal_key, state_key
from bus.store_memory import MemoryStore
from bus.value import Record, Value

THREAD = "01k500000000000000000000tt"


def record(*events: tuple[str, Record]) -> bytes:
    happened: list[Value] = [[kind, data] for kind, data in events]
    return pack_row({"at": 1, "owner": "mailbox/-/b", "by": "agent a", "call": "c", "events": happened, "sent": []})


def of_thread(looked: Waiting, thread_id: str = THREAD) -> list[Any]:
    found: list[Any] = []
    after: Value = 0
    while after is not None:
        step: Any = looked.trace_thread({"thread": thread_id, "after": after})
        found += step["records"]
        after = step.get("next")
    return found


def test_a_threads_records_hold_its_events_alone_also_as_what_another_thread_comes_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """mesh 4.7"""
    monkeypatch.setattr(waiting, "inspection_step_rows", 2)
    store = MemoryStore()
    rows = [
        record(("thread.queued", {"threadId": THREAD}), ("thread.queued", {"threadId": "another"})),
        record(("thread.queued", {"threadId": "another"})),
        record(("thread.progress", {"threadId": "another", "text": f"about {THREAD}"})),
        record(("thread.requeued", {"threadId": "third", "requeuedFrom": THREAD})),
        b"\x00torn" + THREAD.encode(),
    ]
    store.commit([(journal_key(sequence), row) for sequence, row in enumerate(rows, 1)])
    found = of_thread(Waiting(0, store))
    assert [(one["sequence"], [event[0] for event in one["events"]]) for one in found] == [
        (1, ["thread.queued"]),
        (4, ["thread.requeued"]),
    ]
    assert of_thread(Waiting(0, store), "absent") == []


def test_a_calls_trace_holds_what_its_admission_committed_under_an_id_of_its_own() -> None:
    """common 8.4"""
    store = MemoryStore()
    rows = [
        record(("surface.charged", {"agentId": "a", "callId": "wanted"})),
        record(("surface.charged", {"agentId": "a", "callId": "another"})),
        record(("canvas.changed", {"what": "about wanted"})),
    ]
    store.commit([(journal_key(sequence), row) for sequence, row in enumerate(rows, 1)])
    found: Any = Waiting(0, store).trace_records({"call": "wanted"})
    assert [one["sequence"] for one in found["records"]] == [1]


def test_the_owners_that_keep_a_row_are_found_step_by_step_among_those_of_their_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "inspection_step_rows", 3)
    store = MemoryStore()
    row = f"received/{THREAD}"
    boxes = [address.mailbox(f"a{number}") for number in range(8)]
    keeping = [boxes[0], boxes[5], boxes[7]]
    store.commit([(state_key(one, "facts"), pack_row({})) for one in boxes])
    store.commit([(state_key(one, row), pack_row({})) for one in (*keeping, Address("counter", "-", "x"))])
    found: list[str] = []
    body: Record = {"kind": "mailbox", "row": row}
    steps = 0
    while True:
        step: Any = Waiting(0, store).owners_holding(body)
        found, steps = found + step["owners"], steps + 1
        if "next" not in step:
            break
        body = {**body, "after": step["next"]}
    assert found == [str(one) for one in keeping]
    assert steps == 3
