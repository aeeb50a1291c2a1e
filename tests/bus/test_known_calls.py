"""Which calls need not be looked up: never one whose answer is stored or on its way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bus.codec import pack_row
from bus.known_calls import KnownCalls
from bus.store import answer_key
from bus.store_memory import MemoryStore

ids = st.text("abcdef", min_size=1, max_size=4)


@given(st.lists(ids), st.lists(ids), st.integers(1, 5))
def test_whatever_is_stored_or_was_noted_may_be_known_however_few_are_kept(
    stored: list[str], noted: list[str], kept_max: int
) -> None:
    store = MemoryStore()
    store.commit([(answer_key(call_id), pack_row({"ok": {}})) for call_id in stored])
    known = KnownCalls(store, kept_max)
    for call_id in noted:
        known.note(call_id)
    assert all(known.may_be_known(call_id) for call_id in stored + noted)


def test_a_newer_call_than_all_others_need_not_be_looked_up() -> None:
    store = MemoryStore()
    store.commit([(answer_key("05"), pack_row({"ok": {}}))])
    known = KnownCalls(store, 2)
    for call_id in ("07", "06", "08"):
        known.note(call_id)
    assert [known.may_be_known(call_id) for call_id in ("03", "06", "07", "08", "09")] == [True] * 4 + [False]
