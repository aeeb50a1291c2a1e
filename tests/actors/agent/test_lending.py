"""Credentials that are lent for as long as a connection lasts: the durable rules (decision 0012, common 2.1)."""

from __future__ import annotations

import pytest

from actors.agent import lending
from actors.decision import PrincipalKind, Put, TellHosts
from bus import address
from bus.limits import leases_per_agent_max
from bus.value import Record, Value, records
from nexus.gateway.admitting import call_facts
from tests.support.admitting import Caller
from tests.support.bench import PERSON, gateway
from tests.support.exchange import TOKEN_HASH, Home
from tools.agent import AGENT_UPDATE_SELF
from tools.errors import Code

AGENT = address.agent("a1")
LENT_HASH = bytes([7] * 32)
LEND: Record = {"name": "mcp-1", "tokenHash": LENT_HASH, "gateway": "g1", "connection": "c1", "again": False}
AGAIN: Record = {**LEND, "gateway": "g2", "connection": "c2", "again": True}
END: Record = {"name": "mcp-1", "gateway": "g1", "connection": "c1"}
TAKE_OVER: Record = {"gateway": "g2", "spared": []}


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    home.add_agent("a1")
    return home


def is_known(home: Home, token_hash: bytes = LENT_HASH, through: str = "g1") -> bool:
    body: Record = {"tokenHash": token_hash}
    return home.ok(AGENT, "authenticate", body, gateway(through))["authenticated"] is True


def names(home: Home) -> list[object]:
    return [one["name"] for one in records(home.ok(AGENT, "agent_facts", {}, PERSON), "credentials")]


def ended(home: Home, verb: str, body: Record) -> object:
    return home.ok(AGENT, verb, body, PERSON)["ended"]


def lapse(home: Home, **lent: Value) -> None:
    home.ok(AGENT, "credential_lend", {**LEND, **lent}, PERSON)
    end: Record = {**END, "name": lent.get("name", "mcp-1")}
    assert ended(home, "lease_end", end) == 1


def test_a_lent_credential_works_and_ends_with_its_connection(home: Home) -> None:
    home.ok(AGENT, "credential_lend", LEND, PERSON)
    assert is_known(home)
    [lent] = [one for one in records(home.ok(AGENT, "agent_facts", {}, PERSON), "credentials") if one.get("isLent")]
    assert lent["name"] == "mcp-1"
    assert ended(home, "lease_end", END) == 1
    assert not is_known(home) and is_known(home, TOKEN_HASH)
    assert names(home) == ["default"]
    assert ended(home, "lease_end", END) == 0


def test_it_counts_only_through_the_gateway_that_holds_it(home: Home) -> None:
    """decision 0012: what a former gateway lent admits nothing, whatever became of its process."""
    home.ok(AGENT, "credential_lend", LEND, PERSON)
    assert not is_known(home, through="g2") and not is_known(home, through="")
    admit: Record = {**call_facts(AGENT_UPDATE_SELF), "tokenHash": LENT_HASH}
    assert home.ok(AGENT, "admit", admit, gateway("g2"))["authenticated"] is False
    assert home.ok(AGENT, "admit", admit, gateway("g1"))["authenticated"] is True
    home.ok(AGENT, "credential_lend", AGAIN, PERSON)
    assert is_known(home, through="g2") and not is_known(home, through="g1")
    assert is_known(home, TOKEN_HASH, through="g2"), "the person's own counts through every one"


def test_its_end_tells_every_host_like_any_revocation(home: Home) -> None:
    """common 2.1, security 2.10"""
    home.ok(AGENT, "credential_lend", LEND, PERSON)
    for verb, body in (("lease_end", END), ("leases_end", TAKE_OVER)):
        decision = home.bench(AGENT).decide(verb, body, PERSON)
        assert [effect for effect in decision.effects if isinstance(effect, TellHosts)]


def test_it_stays_lent_when_it_is_used(home: Home) -> None:
    """The note of its last use must not make it one that stays."""
    home.ok(AGENT, "credential_lend", LEND, PERSON)
    assert is_known(home)
    assert ended(home, "lease_end", END) == 1


def test_the_next_gateway_lends_the_same_again_and_the_former_no_longer_ends_it(home: Home) -> None:
    home.ok(AGENT, "credential_lend", LEND, PERSON)
    home.ok(AGENT, "credential_lend", AGAIN, PERSON)
    assert ended(home, "lease_end", END) == 0
    assert ended(home, "leases_end", TAKE_OVER) == 0
    assert is_known(home, through="g2")


def test_the_end_of_one_connection_does_not_end_what_another_of_the_same_gateway_holds(home: Home) -> None:
    """A process may have connected anew before its gateway noticed the end of the former connection."""
    home.ok(AGENT, "credential_lend", LEND, PERSON)
    home.ok(AGENT, "credential_lend", {**LEND, "connection": "c9", "again": True}, PERSON)
    assert ended(home, "lease_end", END) == 0
    assert is_known(home)
    assert ended(home, "lease_end", {**END, "connection": "c9"}) == 1


def test_what_nobody_asked_for_again_ends_with_the_grace_and_the_persons_own_stay(home: Home) -> None:
    home.ok(AGENT, "credential_lend", LEND, PERSON)
    home.ok(AGENT, "credential_lend", {**LEND, "name": "mcp-2", "tokenHash": bytes([8] * 32)}, PERSON)
    home.ok(AGENT, "credential_lend", {**LEND, "name": "mcp-3", "tokenHash": bytes([9] * 32)}, PERSON)
    home.ok(AGENT, "credential_lend", AGAIN, PERSON)
    left = [home.ok(AGENT, "leases_end", TAKE_OVER, PERSON)["left"] for _ in range(3)]
    assert left == [1, 0, 0]
    assert names(home) == ["default", "mcp-1"]


def test_what_is_being_asked_for_is_spared_and_counts_as_left(home: Home) -> None:
    """Whoever asks may still leave: then it must not stay."""
    home.ok(AGENT, "credential_lend", LEND, PERSON)
    home.ok(AGENT, "credential_lend", {**LEND, "name": "mcp-2", "tokenHash": bytes([8] * 32)}, PERSON)
    spared: Record = {**TAKE_OVER, "spared": ["mcp-1"]}
    assert home.ok(AGENT, "leases_end", spared, PERSON) == {"agentId": "a1", "ended": 1, "left": 1}
    assert home.ok(AGENT, "leases_end", spared, PERSON) == {"agentId": "a1", "ended": 0, "left": 1}
    assert names(home) == ["default", "mcp-1"]
    assert ended(home, "leases_end", TAKE_OVER) == 1


@pytest.mark.parametrize(("verb", "body"), [("lease_end", END), ("leases_end", TAKE_OVER)])
def test_whoever_lived_on_is_lent_the_same_again_though_it_had_ended(home: Home, verb: str, body: Record) -> None:
    """A process that asks late is not sent away; what had ended with the lease stays ended."""
    home.ok(AGENT, "agent_set_mode", {"mode": "approval"}, PERSON)
    home.ok(AGENT, "credential_lend", LEND, PERSON)
    made = home.bench(AGENT).state.credentials["mcp-1"].createdAt
    lent = Caller(home, "a1", LENT_HASH, gateway("g1"))
    assert lent.call(AGENT_UPDATE_SELF, {"persona": "x"}).code == "approval_required"
    assert ended(home, verb, body) == 1
    assert not is_known(home) and not is_known(home, through="g2")
    home.ok(AGENT, "credential_lend", AGAIN, PERSON)
    assert is_known(home, through="g2")
    assert records(home.ok(AGENT, "approvals_list", {}, PERSON), "approvals") == []
    assert not home.bench(AGENT).state.holds("mcp-1", made), "another than before"
    assert home.bench(AGENT).state.lapsed == {}
    home.assert_reloads()


def test_it_comes_back_as_narrow_as_it_was(home: Home) -> None:
    """common 1.3"""
    home.ok(AGENT, "credential_lend", LEND, PERSON)
    home.ok(AGENT, "credential_narrow", {"name": "mcp-1", "families": ["canvas"]}, PERSON)
    home.ok(AGENT, "leases_end", TAKE_OVER, PERSON)
    home.ok(AGENT, "credential_lend", AGAIN, PERSON)
    assert home.bench(AGENT).state.credentials["mcp-1"].families == ["canvas"]


def test_it_is_lent_again_only_under_its_own_secret_and_never_made_anew(home: Home) -> None:
    """A credential that the person revoked does not come back."""
    home.ok(AGENT, "credential_lend", LEND, PERSON)
    other: Record = {**AGAIN, "tokenHash": bytes(32)}
    assert home.refused(AGENT, "credential_lend", other, PERSON).code is Code.INVALID_ARGUMENTS
    taken: Record = {**AGAIN, "name": "default", "tokenHash": TOKEN_HASH}
    assert home.refused(AGENT, "credential_lend", taken, PERSON).code is Code.INVALID_ARGUMENTS
    home.ok(AGENT, "credential_revoke", {"name": "mcp-1"}, PERSON)
    assert home.refused(AGENT, "credential_lend", AGAIN, PERSON).code is Code.NOT_FOUND
    assert names(home) == ["default"]


def test_one_that_lapsed_is_lent_again_only_under_its_own_secret_and_can_be_revoked_for_good(home: Home) -> None:
    """common 2.1"""
    lapse(home)
    other: Record = {**AGAIN, "tokenHash": bytes(32)}
    assert home.refused(AGENT, "credential_lend", other, PERSON).code is Code.INVALID_ARGUMENTS
    assert home.refused(AGENT, "credential_lend", {**other, "again": False}, PERSON).code is Code.INVALID_ARGUMENTS
    home.ok(AGENT, "credential_revoke", {"name": "mcp-1"}, PERSON)
    assert home.refused(AGENT, "credential_lend", AGAIN, PERSON).code is Code.NOT_FOUND
    home.assert_reloads()


def test_only_the_latest_that_lapsed_are_kept(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """common 8.5"""
    monkeypatch.setattr(lending, "leases_lapsed_max", 2)
    for name in ("c", "a", "b"):
        lapse(home, name=name)
        home.clock.advance(1)
    assert {*home.bench(AGENT).state.lapsed} == {"a", "b"}
    assert home.refused(AGENT, "credential_lend", {**AGAIN, "name": "c"}, PERSON).code is Code.NOT_FOUND
    home.assert_reloads()


def test_a_removed_agent_has_none_that_lapsed(home: Home) -> None:
    lapse(home)
    home.ok(address.DIRECTORY, "agent_remove", {"agentId": "a1"}, PERSON)
    assert home.bench(AGENT).state.lapsed == {}
    assert home.refused(AGENT, "credential_lend", AGAIN, PERSON).code is Code.NOT_FOUND


def test_what_it_asked_for_goes_on_when_it_is_lent_again_and_ends_with_it(home: Home) -> None:
    """common 2.1"""
    home.ok(AGENT, "agent_set_mode", {"mode": "approval"}, PERSON)
    home.ok(AGENT, "credential_lend", LEND, PERSON)
    lent = Caller(home, "a1", LENT_HASH, gateway("g1"))
    assert lent.call(AGENT_UPDATE_SELF, {"persona": "x"}).code == "approval_required"
    home.ok(AGENT, "credential_lend", AGAIN, PERSON)
    assert len(records(home.ok(AGENT, "approvals_list", {}, PERSON), "approvals")) == 1
    home.ok(AGENT, "lease_end", {**END, "gateway": "g2", "connection": "c2"}, PERSON)
    assert records(home.ok(AGENT, "approvals_list", {}, PERSON), "approvals") == []


def test_an_agent_is_lent_a_bounded_number_and_whoever_had_one_before_waits(home: Home) -> None:
    """common 8.5"""
    lapse(home, name="former")
    for number in range(leases_per_agent_max):
        home.ok(AGENT, "credential_lend", {**LEND, "name": f"mcp-{number}"}, PERSON)
    assert home.refused(AGENT, "credential_lend", {**LEND, "name": "one-more"}, PERSON).code is Code.WRONG_STATE
    assert home.refused(AGENT, "credential_lend", {**AGAIN, "name": "former"}, PERSON).code is Code.UNAVAILABLE
    home.ok(AGENT, "credential_add", {"name": "laptop", "tokenHash": bytes(32)}, PERSON)
    home.ok(AGENT, "lease_end", {**END, "name": "mcp-0"}, PERSON)
    home.ok(AGENT, "credential_lend", {**AGAIN, "name": "former"}, PERSON)


@pytest.mark.parametrize("verb", ["credential_lend", "lease_end", "leases_end"])
def test_no_agent_and_no_gateway_lends_or_ends_anything(home: Home, verb: str) -> None:
    """common 2.4, 5.5"""
    assert home.bench(AGENT).rules.verbs[verb].callers == {PrincipalKind.PERSON}


def test_a_removed_agent_is_lent_nothing(home: Home) -> None:
    assert home.refused(address.agent("nobody"), "credential_lend", LEND, PERSON).code is Code.NOT_FOUND


def test_one_that_was_lent_before_connections_were_told_apart_ends_with_the_next_gateway(home: Home) -> None:
    """A row of an older release."""
    home.ok(AGENT, "credential_lend", LEND, PERSON)
    row = home.bench(AGENT).rows["credential/mcp-1"]
    assert isinstance(row, dict)
    older = {name: value for name, value in row.items() if name != "lentTo"}
    home.bench(AGENT).rules.apply(home.bench(AGENT).state, Put("credential/mcp-1", older))
    assert ended(home, "lease_end", END) == 0
    assert ended(home, "leases_end", TAKE_OVER) == 1
