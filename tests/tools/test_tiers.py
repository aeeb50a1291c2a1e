"""How far one agent may reach another, and why not further (mesh 2)."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from bus.value import Record
from tools.tiers import TierFacts, capability_tier, withheld_records

ADA = TierFacts("a1", "w1", mesh=True, ran=True, revoked=False)
EVE = TierFacts("a2", "w1", mesh=True, ran=True, revoked=False)


def test_two_agents_with_mesh_that_ran_deliver_to_each_other() -> None:
    """mesh 2.1"""
    assert capability_tier(ADA, EVE) == ("deliver", ())


@pytest.mark.parametrize(
    ("caller", "callee", "tier", "reasons"),
    [
        (replace(ADA, mesh=False), EVE, "reference", ["caller_lacks_mesh", "caller_lacks_mesh"]),
        (ADA, replace(EVE, mesh=False), "reference", ["callee_lacks_mesh", "callee_lacks_mesh"]),
        (ADA, replace(EVE, ran=False), "read", ["callee_never_ran"]),
        (ADA, ADA, "read", ["self"]),
        (ADA, replace(EVE, paused=True), "read", ["callee_paused"]),
        (ADA, replace(EVE, blocked=frozenset({"a1"})), "read", ["blocked_by_person"]),
        (ADA, replace(EVE, blocked=frozenset({"a1"}), paused=True, ran=False), "read", ["blocked_by_person"]),
        (ADA, replace(EVE, blocked=frozenset({"a3"})), "deliver", []),
        (replace(ADA, paused=True, blocked=frozenset({"a2"})), EVE, "deliver", []),
        (ADA, replace(EVE, revoked=True), "reference", ["identity_revoked", "identity_revoked"]),
        (replace(ADA, ran=False), EVE, "deliver", []),
    ],
)
def test_each_reason_withholds_the_tiers_it_should(
    caller: TierFacts, callee: TierFacts, tier: str, reasons: list[str]
) -> None:
    """mesh 2.1"""
    reached, withheld = capability_tier(caller, callee)
    assert (reached, [entry.reason for entry in withheld]) == (tier, reasons)


def test_exactly_the_tiers_above_the_one_reached_are_withheld() -> None:
    """mesh 2.1"""
    tiers = ["reference", "read", "deliver"]
    for mesh, ran, revoked, other in product([True, False], [True, False], [True, False], [True, False]):
        callee = TierFacts("a2" if other else "a1", "w1", mesh=mesh, ran=ran, revoked=revoked)
        reached, withheld = capability_tier(ADA, callee)
        assert [entry.tier for entry in withheld] == tiers[tiers.index(reached) + 1 :]


def test_records_carry_tier_reason_and_a_sentence() -> None:
    _, withheld = capability_tier(ADA, ADA)
    assert withheld_records(withheld) == [{"tier": "deliver", "reason": "self", "detail": "That agent is you."}]


def test_facts_are_read_from_what_owners_tell() -> None:
    told: Record = {"workspaceId": "w1", "mesh": True, "ran": True, "revoked": False, "name": "Eve", "agentId": "a2"}
    assert TierFacts.from_record("a2", told) == EVE
    more: Record = {**told, "paused": True, "blocked": ["a1"]}
    assert TierFacts.from_record("a2", more) == replace(EVE, paused=True, blocked=frozenset({"a1"}))
