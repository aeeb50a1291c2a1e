"""The person's verb that lends a credential: what it asks of owners, and that it ends with its connection."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from bus.client import DeadlinePassed
from bus.clock import ManualClock
from bus.value import Record
from nexus.gateway import person_lease
from nexus.gateway.person_lease import end_former_leases
from nexus.gateway.person_owners import Owners
from nexus.lineage import Lineage
from tests.nexus.test_person_port import LISTS
from tests.support.person_port import GATEWAY, RunningPort, ask, refused_code, running_port
from tests.support.scripted_caller import Script, ScriptedCaller, Sent
from tests.support.waiting import eventually
from tools.errors import NOT_FOUND, Code, Refusal, unavailable

LEND = ("agent/-/b1", "credential_lend")
END = ("agent/-/b1", "lease_end")
SCRIPT: Script = {**LISTS, LEND: {}, END: {"revoked": 1}}


@contextmanager
def lent(port: RunningPort, arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a peer is told that stays until the end of the block."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(port.socket_path))
        connection.sendall(json.dumps({"verb": "agent.credential_lease", "arguments": arguments}).encode() + b"\n")
        with connection.makefile("rb") as lines:
            told: dict[str, Any] = json.loads(lines.readline())["event"]
            yield told


def digest(token: str) -> bytes:
    return hashlib.sha256(token.split("_", 2)[2].encode()).digest()


def test_the_token_is_told_to_its_connection_and_only_its_hash_to_the_owner() -> None:
    """common 2.1"""
    with running_port(SCRIPT) as port, lent(port, {"agent": "Bo"}) as told:
        assert told["agentId"] == "b1" and told["credential"].startswith("mcp-")
        [body] = port.caller.bodies("credential_lend")
        assert body == {
            "name": told["credential"],
            "tokenHash": digest(told["token"]),
            "gateway": GATEWAY,
            "again": False,
        }
        assert port.caller.sent_of("lease_end") == [], "it is held"


def test_the_credential_ends_when_its_connection_does() -> None:
    """decision 0012: however the process that held it ended"""
    with running_port(SCRIPT) as port:
        with lent(port, {"agent": "Bo"}) as told:
            pass
        [body] = eventually(lambda: port.caller.bodies("lease_end"))
        assert body == {"name": told["credential"], "gateway": GATEWAY}


def test_two_connections_have_two_credentials() -> None:
    with running_port(SCRIPT) as port, lent(port, {"agent": "Bo"}) as one, lent(port, {"agent": "Bo"}) as other:
        assert one["credential"] != other["credential"] and one["token"] != other["token"]


def test_a_gateway_that_ends_revokes_nothing() -> None:
    with ExitStack() as ending:
        port = ending.enter_context(running_port(SCRIPT))
        with lent(port, {"agent": "Bo"}):
            ending.close()
    assert port.caller.sent_of("lease_end") == []


def test_whoever_shows_the_token_is_lent_the_same_again() -> None:
    token = "nx_b1_secret"
    with running_port(SCRIPT) as port, lent(port, {"agent": "Bo", "credential": "mcp-1", "token": token}) as told:
        assert (told["credential"], told["token"]) == ("mcp-1", token)
        [body] = port.caller.bodies("credential_lend")
        assert body == {"name": "mcp-1", "tokenHash": digest(token), "gateway": GATEWAY, "again": True}


@pytest.mark.parametrize(
    "again",
    [
        {"credential": "mcp-1"},
        {"token": "nx_b1_secret"},
        {"credential": "mcp-1", "token": "nx_a1_secret"},
        {"credential": "mcp-1", "token": "secret"},
    ],
)
def test_half_of_what_was_lent_or_another_agents_is_refused(again: dict[str, str]) -> None:
    with running_port(SCRIPT) as port:
        assert refused_code(ask(port, "agent.credential_lease", {"agent": "Bo", **again})) == "invalid_arguments"
        assert port.caller.sent_of("credential_lend") == [] and port.caller.sent_of("lease_end") == []


def test_what_was_lent_and_is_gone_is_not_made_anew() -> None:
    asked = {"agent": "Bo", "credential": "mcp-1", "token": "nx_b1_secret"}
    with running_port({**SCRIPT, LEND: NOT_FOUND}) as port:
        answer = ask(port, "agent.credential_lease", asked)
        assert refused_code(answer) == "not_found" and "Start it again" in answer["error"]["message"]


def test_a_refused_lease_ends_nothing() -> None:
    """Another process may hold the credential of that name."""
    asked = {"agent": "Bo", "credential": "mcp-1", "token": "nx_b1_other"}
    with running_port({**SCRIPT, LEND: Refusal(Code.INVALID_ARGUMENTS, "No.")}) as port:
        assert refused_code(ask(port, "agent.credential_lease", asked)) == "invalid_arguments"
        assert port.caller.sent_of("lease_end") == []


@pytest.mark.parametrize("lineage", [Lineage.INSIDE, Lineage.UNKNOWN])
def test_what_runs_inside_of_nexus_is_lent_nothing(lineage: Lineage) -> None:
    """common 2.4, security 2.2"""
    with running_port(SCRIPT, lineage=lambda _: lineage) as port:
        assert refused_code(ask(port, "agent.credential_lease", {"agent": "Bo"})) == "unidentified_caller"
        assert port.caller.sent == []


def test_both_ends_are_asked_for_until_they_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person_lease, "lease_retry_ms", 1)

    def after_two(sent: Sent) -> Record | Refusal | DeadlinePassed:
        count = len(caller.sent_of(sent.verb))
        return {} if count > 2 else unavailable() if count > 1 else DeadlinePassed(was_sent=True)

    with running_port({**SCRIPT, LEND: after_two, END: after_two}) as port:
        caller = port.caller
        with lent(port, {"agent": "Bo"}):
            assert len(caller.sent_of("credential_lend")) == 3
        eventually(lambda: len(caller.sent_of("lease_end")) == 3)


def test_what_former_gateways_lent_ends_after_the_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person_lease, "lease_grace_ms", 1)
    monkeypatch.setattr(person_lease, "lease_retry_ms", 1)
    tries: list[Sent] = []

    def at_the_second(sent: Sent) -> Record | Refusal:
        tries.append(sent)
        return unavailable() if len(tries) == 1 else {"revoked": 1, "left": 1 if len(tries) == 2 else 0}

    caller = ScriptedCaller({**LISTS, ("agent", "leases_end"): at_the_second})
    asyncio.run(end_former_leases(Owners(caller, ManualClock(), 1, GATEWAY)))
    assert {body["gateway"] for body in caller.bodies("leases_end")} == {GATEWAY}
    asked = {str(sent.to) for sent in caller.sent_of("leases_end")}
    assert {"agent/-/b1"} < asked and len(tries) == len(asked) + 2, "every agent, and one until nothing was left"
