"""Idempotency keys: the first use decides the call id, other arguments are refused, old keys go (common 8.2)."""

from __future__ import annotations

import pytest

from actors.agent import keys
from actors.agent.keys import GivenKey, UsedKey, UsedKeys, digest_of, forgotten, kept, known
from actors.decision import Delete, Put, RowEffect
from bus.limits import answers_kept_ms
from tools.errors import Code, Refusal

NOW = 1_800_000_000_000


def given(key: str = "k", arguments: bytes = b"a" * 32, call: str = "call-1") -> GivenKey:
    return GivenKey(key=key, arguments=arguments, callId=call)


class Keys:
    """The keys of one agent, as its rows would hold them."""

    def __init__(self) -> None:
        self.used = UsedKeys()

    def use(self, key: GivenKey, now_ms: int = NOW, tool: str = "t", workspace: str = "w") -> str | Refusal:
        """The call id that the call goes out under."""
        first = known(self.used, workspace, tool, key, now_ms)
        if isinstance(first, Refusal):
            return first
        if first is not None:
            return first.callId
        self.apply(kept(self.used, digest_of(workspace, tool, key.key), key, now_ms))
        return key.callId

    def apply(self, effects: tuple[RowEffect, ...]) -> None:
        for effect in effects:
            digest = keys.digest_in(effect.row.removeprefix("key/"))
            if isinstance(effect, Put):
                self.used.put(digest, UsedKey.model_validate(effect.value))
            else:
                assert isinstance(effect, Delete)
                assert self.used.get(digest) is not None
                self.used.drop(digest)

    def calls(self) -> list[str]:
        """Of what clients used, oldest first."""
        return [used.callId for used in self.used.clients.values()]


def test_a_repeat_is_sent_under_the_call_id_of_the_first_use_and_changes_nothing() -> None:
    """common 8.2"""
    agent = Keys()
    assert agent.use(given()) == "call-1"
    assert agent.use(given(call="call-2"), NOW + 5) == "call-1"
    assert agent.calls() == ["call-1"]


def test_other_arguments_under_the_same_key_are_refused() -> None:
    """common 8.2"""
    agent = Keys()
    agent.use(given())
    refused = agent.use(given(arguments=b"b" * 32, call="call-2"))
    assert isinstance(refused, Refusal)
    assert refused.code is Code.IDEMPOTENCY_MISMATCH
    assert refused.code.value == "idempotency_mismatch"


def test_a_key_belongs_to_its_tool_and_workspace() -> None:
    """common 3.5, 8.2"""
    agent = Keys()
    agent.use(given())
    assert agent.use(given(call="call-2"), tool="other") == "call-2"
    assert agent.use(given(call="call-3"), workspace="other") == "call-3"


def test_a_key_is_forgotten_with_its_answer_and_may_then_stand_for_a_new_call() -> None:
    agent = Keys()
    agent.use(given())
    later = NOW + answers_kept_ms + 1
    assert agent.use(given(call="call-2"), later) == "call-2"
    assert agent.calls() == ["call-2"]


def test_old_keys_go_with_new_ones_a_few_at_a_time() -> None:
    agent = Keys()
    for number in range(20):
        agent.use(given(f"old-{number}"))
    later = NOW + answers_kept_ms + 1
    sizes = []
    for number in range(3):
        agent.use(given(f"new-{number}"), later)
        sizes.append(len(agent.calls()))
    assert sizes == [13, 6, 3]


def test_more_keys_than_are_kept_drop_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "idempotency_keys_max", 5)
    agent = Keys()
    for number in range(9):
        agent.use(given(f"k{number}", call=f"call-{number}"), NOW + number)
    assert agent.calls() == [f"call-{number}" for number in range(4, 9)]


def shims(number: int) -> GivenKey:
    return given(f"shim-{number:032x}", call=f"shims-{number}")


def test_a_busy_shim_never_costs_a_client_a_key_and_no_client_costs_a_shim_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """common 8.2: whatever the client shows again is known, also when the shim in between makes a key a call."""
    monkeypatch.setattr(keys, "idempotency_keys_max", 3)
    monkeypatch.setattr(keys, "shim_keys_max", 2)
    agent = Keys()
    for number in range(3):
        agent.use(given(f"k{number}", call=f"call-{number}"), NOW + number)
    for number in range(20):
        assert agent.use(shims(number), NOW + 10 + number) == f"shims-{number}"
        assert agent.use(shims(number), NOW + 10 + number) == f"shims-{number}", "its repeat is known"
    assert agent.calls() == ["call-0", "call-1", "call-2"]
    assert [used.callId for used in agent.used.shims.values()] == ["shims-18", "shims-19"]
    for number in range(3):
        assert agent.use(given(f"k{number}", call="other"), NOW + 40) == f"call-{number}"
    agent.use(given("k3", call="call-3"), NOW + 50)
    assert agent.calls() == ["call-1", "call-2", "call-3"] and len(agent.used.shims) == 2


@pytest.mark.parametrize("key", ["shim-", "shim-" + "0" * 31, "shim-" + "0" * 33, "shim-" + "G" * 32, "x" * 37])
def test_only_what_the_shim_makes_counts_as_its_own(key: str) -> None:
    agent = Keys()
    agent.use(given(key))
    assert agent.calls() == ["call-1"]


def test_a_key_whose_call_was_refused_for_now_may_be_used_anew() -> None:
    """common 8.2"""
    agent = Keys()
    agent.use(given())
    agent.apply(forgotten(agent.used, digest_of("w", "t", "k")))
    assert agent.use(given(call="call-2")) == "call-2"
