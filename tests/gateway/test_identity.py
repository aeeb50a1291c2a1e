"""Tokens and what an agent owner says of them (common 2.1, 2.3)."""

from __future__ import annotations

import hashlib

import pytest

from bus import address
from bus.client import DeadlinePassed
from nexus.gateway.identity import Credential, authenticate, parse_authorization, parse_token
from tests.support.gateway_bench import AGENT, SECRET, TOKEN, TOKEN_HASH, in_loop
from tests.support.scripted_caller import ScriptedCaller
from tools.errors import Code, Refusal

CREDENTIAL = Credential(AGENT, TOKEN_HASH)


def test_a_token_is_an_agent_id_and_the_hash_of_a_secret_that_may_hold_underscores() -> None:
    credential = parse_token(TOKEN)
    assert credential == Credential(AGENT, hashlib.sha256(SECRET.encode()).digest())


@pytest.mark.parametrize(
    "token",
    [
        "",
        "nx_",
        "nx_a",
        "nx_a_",
        "nx__secret",
        "ny_a_secret",
        "nx_a b_secret",
        "nx_-_secret",
        "nx_a_se cret",
        TOKEN + "\n",
    ],
)
def test_what_has_not_the_form_of_a_token_is_none(token: str) -> None:
    assert parse_token(token) is None


@pytest.mark.parametrize(
    "values", [[], [TOKEN], [f"Basic {TOKEN}"], [f"Bearer {TOKEN}", f"Bearer {TOKEN}"], [f"Bearer{TOKEN}"]]
)
def test_only_one_bearer_header_counts(values: list[str]) -> None:
    assert parse_authorization(values) is None


def test_the_scheme_is_read_in_any_case() -> None:
    assert parse_authorization([f"bEARER  {TOKEN}"]) == CREDENTIAL


@in_loop
async def test_the_agent_owner_of_the_claimed_id_is_asked_with_the_hash_alone() -> None:
    caller = ScriptedCaller()
    caller.on("authenticate", {"authenticated": True, "agentId": AGENT, "workspaceId": "w", "waiting": 2})
    identity = await authenticate(caller, CREDENTIAL, "call", 1_000)
    assert identity is not None and (identity.agent_id, identity.waiting) == (AGENT, 2)
    assert caller.sent[0].to == address.agent(AGENT)
    assert caller.sent[0].body == {"tokenHash": TOKEN_HASH}
    assert caller.sent[0].stamp is None


@in_loop
async def test_a_credential_that_the_owner_does_not_know_is_none() -> None:
    caller = ScriptedCaller()
    caller.on("authenticate", {"authenticated": False})
    assert await authenticate(caller, CREDENTIAL, "call", 1_000) is None


@in_loop
async def test_an_owner_in_trouble_is_not_a_bad_token() -> None:
    """common 2.3"""
    caller = ScriptedCaller()
    caller.on("authenticate", Refusal(Code.STORAGE_FULL, "The disk is full."))
    with pytest.raises(DeadlinePassed):
        await authenticate(caller, CREDENTIAL, "call", 1_000)
