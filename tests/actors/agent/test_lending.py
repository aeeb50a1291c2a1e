"""Credentials that are lent for as long as a connection lasts: the durable rules (decision 0012, common 2.1)."""

from __future__ import annotations

import pytest

from actors.decision import PrincipalKind, TellHosts
from bus import address
from bus.limits import leases_per_agent_max
from bus.value import Record, records
from tests.support.admitting import Caller
from tests.support.bench import GATEWAY, PERSON
from tests.support.exchange import TOKEN_HASH, Home
from tools.agent import AGENT_UPDATE_SELF
from tools.errors import Code

AGENT = address.agent("a1")
LENT_HASH = bytes([7] * 32)
LEND: Record = {"name": "mcp-1", "tokenHash": LENT_HASH, "gateway": "g1", "again": False}
AGAIN: Record = {**LEND, "gateway": "g2", "again": True}


@pytest.fixture
def home() -> Home:
    home = Home()
    home.add_workspace("w1")
    home.add_agent("a1")
    return home


def is_known(home: Home, token_hash: bytes = LENT_HASH) -> bool:
    return home.ok(AGENT, "authenticate", {"tokenHash": token_hash}, GATEWAY)["authenticated"] is True


def names(home: Home) -> list[object]:
    return [one["name"] for one in records(home.ok(AGENT, "agent_facts", {}, PERSON), "credentials")]


def test_a_lent_credential_works_and_ends_with_its_gateways_connection(home: Home) -> None:
    home.ok(AGENT, "credential_lend", LEND, PERSON)
    assert is_known(home)
    [lent] = [one for one in records(home.ok(AGENT, "agent_facts", {}, PERSON), "credentials") if one.get("isLent")]
    assert lent["name"] == "mcp-1"
    assert home.ok(AGENT, "lease_end", {"name": "mcp-1", "gateway": "g1"}, PERSON)["revoked"] == 1
    assert not is_known(home) and is_known(home, TOKEN_HASH)
    assert home.ok(AGENT, "lease_end", {"name": "mcp-1", "gateway": "g1"}, PERSON)["revoked"] == 0


def test_its_end_tells_every_host_like_any_revocation(home: Home) -> None:
    """common 2.1, security 2.10"""
    home.ok(AGENT, "credential_lend", LEND, PERSON)
    ends: list[tuple[str, Record]] = [
        ("lease_end", {"name": "mcp-1", "gateway": "g1"}),
        ("leases_end", {"gateway": "g2"}),
    ]
    for verb, body in ends:
        decision = home.bench(AGENT).decide(verb, body, PERSON)
        assert [effect for effect in decision.effects if isinstance(effect, TellHosts)]


def test_it_stays_lent_when_it_is_used(home: Home) -> None:
    """The note of its last use must not make it one that stays."""
    home.ok(AGENT, "credential_lend", LEND, PERSON)
    assert is_known(home)
    assert home.ok(AGENT, "leases_end", {"gateway": "g2"}, PERSON)["revoked"] == 1


def test_the_next_gateway_lends_the_same_again_and_the_former_no_longer_ends_it(home: Home) -> None:
    home.ok(AGENT, "credential_lend", LEND, PERSON)
    home.ok(AGENT, "credential_lend", AGAIN, PERSON)
    assert home.ok(AGENT, "lease_end", {"name": "mcp-1", "gateway": "g1"}, PERSON)["revoked"] == 0
    assert home.ok(AGENT, "leases_end", {"gateway": "g2"}, PERSON)["revoked"] == 0
    assert is_known(home)


def test_what_nobody_asked_for_again_ends_with_the_grace_and_the_persons_own_stay(home: Home) -> None:
    home.ok(AGENT, "credential_lend", LEND, PERSON)
    home.ok(AGENT, "credential_lend", {**LEND, "name": "mcp-2", "tokenHash": bytes([8] * 32)}, PERSON)
    home.ok(AGENT, "credential_lend", {**LEND, "name": "mcp-3", "tokenHash": bytes([9] * 32)}, PERSON)
    home.ok(AGENT, "credential_lend", AGAIN, PERSON)
    left = [home.ok(AGENT, "leases_end", {"gateway": "g2"}, PERSON)["left"] for _ in range(3)]
    assert left == [1, 0, 0]
    assert names(home) == ["default", "mcp-1"]


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


def test_what_it_asked_for_goes_on_when_it_is_lent_again_and_ends_with_it(home: Home) -> None:
    """common 2.1"""
    home.ok(AGENT, "agent_set_mode", {"mode": "approval"}, PERSON)
    home.ok(AGENT, "credential_lend", LEND, PERSON)
    assert Caller(home, "a1", LENT_HASH).call(AGENT_UPDATE_SELF, {"persona": "x"}).code == "approval_required"
    home.ok(AGENT, "credential_lend", AGAIN, PERSON)
    assert len(records(home.ok(AGENT, "approvals_list", {}, PERSON), "approvals")) == 1
    home.ok(AGENT, "lease_end", {"name": "mcp-1", "gateway": "g2"}, PERSON)
    assert records(home.ok(AGENT, "approvals_list", {}, PERSON), "approvals") == []


def test_an_agent_is_lent_a_bounded_number(home: Home) -> None:
    """common 8.5"""
    for number in range(leases_per_agent_max):
        home.ok(AGENT, "credential_lend", {**LEND, "name": f"mcp-{number}"}, PERSON)
    assert home.refused(AGENT, "credential_lend", {**LEND, "name": "one-more"}, PERSON).code is Code.WRONG_STATE
    home.ok(AGENT, "credential_add", {"name": "laptop", "tokenHash": bytes(32)}, PERSON)


@pytest.mark.parametrize("verb", ["credential_lend", "lease_end", "leases_end"])
def test_no_agent_and_no_gateway_lends_or_ends_anything(home: Home, verb: str) -> None:
    """common 2.4, 5.5"""
    assert home.bench(AGENT).rules.verbs[verb].callers == {PrincipalKind.PERSON}


def test_a_removed_agent_is_lent_nothing(home: Home) -> None:
    assert home.refused(address.agent("nobody"), "credential_lend", LEND, PERSON).code is Code.NOT_FOUND
