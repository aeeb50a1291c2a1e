"""An agent's share of the disk: what it is told of, and the refusal of writes beyond it."""

from __future__ import annotations

import pytest

from actors import agent
from actors.agent.state import AgentState
from actors.agent.stored import refusal
from actors.decision import Context
from bus.address import Address
from bus.value import Record
from nexus.gateway.admitting import call_facts
from tests.support.bench import GATEWAY, OwnerBench, owner
from tests.support.exchange import TOKEN_HASH, Home
from tools.catalogue import TOOLS
from tools.errors import Code, Refusal
from tools.setting_catalogue import STORED_MEBIBYTES, Snapshot

MIB = 1 << 20
ME = Address("agent", "-", "a1")
CANVAS, OTHER, MAILBOX = Address("canvas", "w1", "c1"), Address("canvas", "w1", "c2"), Address("mailbox", "-", "a1")


@pytest.fixture
def bench() -> OwnerBench[AgentState]:
    return OwnerBench(agent.RULES, ME)


def tell(bench: OwnerBench[AgentState], place: Address, size: int) -> None:
    body: Record = {"place": str(place), "bytes": size}
    assert bench.send("stored", body, owner(place)) == {}


def refused(bench: OwnerBench[AgentState], mebibytes: int = STORED_MEBIBYTES.default) -> Refusal | None:
    settings = Snapshot(1, {STORED_MEBIBYTES.name: mebibytes})
    return refusal(bench.state, Context(1, GATEWAY, "call", ME, settings=settings))


def test_what_places_tell_is_summed_and_a_place_tells_its_whole(bench: OwnerBench[AgentState]) -> None:
    """common 8.5"""
    tell(bench, CANVAS, 3 * MIB)
    tell(bench, MAILBOX, MIB)
    tell(bench, CANVAS, 5 * MIB)
    assert bench.state.stored.total == 6 * MIB
    tell(bench, CANVAS, 0)
    assert bench.state.stored.total == MIB
    assert bench.rows.keys() == {f"stored/{MAILBOX}"}
    assert bench.reloaded().stored == bench.state.stored


def test_a_place_that_tells_the_same_again_writes_nothing(bench: OwnerBench[AgentState]) -> None:
    tell(bench, CANVAS, MIB)
    assert bench.decide("stored", {"place": str(CANVAS), "bytes": MIB}, owner(CANVAS)).effects == ()
    assert bench.decide("stored", {"place": str(OTHER), "bytes": 0}, owner(OTHER)).effects == ()


@pytest.mark.parametrize("sender", [OTHER, Address("workspace", "-", "w1")])
def test_nobody_tells_of_another_place(bench: OwnerBench[AgentState], sender: Address) -> None:
    with pytest.raises(ValueError, match=r"tell|verb"):
        bench.decide("stored", {"place": str(CANVAS), "bytes": 1}, owner(sender))


def test_writes_are_refused_when_the_share_is_used_up_and_pass_when_something_is_deleted(
    bench: OwnerBench[AgentState],
) -> None:
    """common 8.5, security 2.23"""
    tell(bench, CANVAS, 7 * MIB)
    assert refused(bench, 8) is None
    tell(bench, OTHER, MIB)
    refusal = refused(bench, 8)
    assert refusal is not None
    assert (refusal.code, refusal.details) == (Code.STORAGE_FULL, {"limit": 8, "limitName": "storedMebibytes"})
    assert refused(bench, 9) is None, "the person may give it more"
    tell(bench, CANVAS, 0)
    assert refused(bench, 8) is None


def test_admission_refuses_what_writes_and_passes_what_reads_or_frees_space() -> None:
    """common 4.1, 8.5"""
    home = Home()
    home.add_workspace("w1")
    home.add_agent("a1")
    bench = home.bench(ME)
    bench.settings = Snapshot(1, {STORED_MEBIBYTES.name: 2})
    bench.send("stored", {"place": str(CANVAS), "bytes": 2 * MIB}, owner(CANVAS))
    verdicts = {}
    for tool in TOOLS:
        facts = call_facts(tool)
        reply = home.ok(ME, "admit", {**facts, "tokenHash": TOKEN_HASH, "arguments": "valid"}, GATEWAY)
        refused = reply.get("refusal")
        verdicts[tool] = refused["code"] if isinstance(refused, dict) else "admitted"
    for tool, verdict in verdicts.items():
        passes = tool.is_read or tool.frees_space or tool.passes_when_stopped
        assert (verdict != "storage_full") is passes, tool.name


def test_below_the_least_that_can_be_set_nothing_is_refused(bench: OwnerBench[AgentState]) -> None:
    tell(bench, CANVAS, MIB - 1)
    assert refused(bench, 1) is None


def test_only_tools_that_leave_less_behind_pass_when_the_share_is_used_up() -> None:
    """common 8.5: elements that are deleted stay for restoring, so deleting them frees nothing. What an agent answers
    is the share of whoever asked, and a proposal that is rejected that of its proposer."""
    frees = {tool.name for tool in TOOLS if tool.frees_space}
    deletes = {"canvas_delete", "workspace_delete"}
    assert frees == deletes | {"agent_reject", "agent_reply", "canvas_reject_proposal"}
