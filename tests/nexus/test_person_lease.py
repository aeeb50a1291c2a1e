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
import structlog

from bus.client import DeadlinePassed
from bus.clock import ManualClock
from bus.value import Record
from nexus.gateway import person_lease, person_port
from nexus.gateway.person_lease import Leases
from nexus.gateway.person_owners import Owners
from nexus.gateway.person_port import PersonPort
from nexus.gateway.person_scenes import Talk
from nexus.lineage import Lineage
from tests.nexus.test_person_port import DIRECTORY, LISTS
from tests.support.person_port import GATEWAY, RunningPort, ask, refused_code, running_port
from tests.support.scripted_caller import Script, ScriptedCaller, Sent
from tests.support.waiting import eventually
from tools.errors import NOT_FOUND, Code, Refusal, unavailable

LEND = ("agent/-/b1", "credential_lend")
END = ("agent/-/b1", "lease_end")
SCRIPT: Script = {**LISTS, LEND: {}, END: {"ended": 1}}


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
            "connection": body["connection"],
            "again": False,
        }
        assert port.caller.sent_of("lease_end") == [], "it is held"


def test_the_credential_ends_when_its_connection_does() -> None:
    """decision 0012: however the process that held it ended"""
    with running_port(SCRIPT) as port:
        with lent(port, {"agent": "Bo"}) as told:
            pass
        [body] = eventually(lambda: port.caller.bodies("lease_end"))
        [asked] = port.caller.bodies("credential_lend")
        assert body == {"name": told["credential"], "gateway": GATEWAY, "connection": asked["connection"]}


def test_two_connections_have_two_credentials() -> None:
    with running_port(SCRIPT) as port, lent(port, {"agent": "Bo"}) as one, lent(port, {"agent": "Bo"}) as other:
        assert one["credential"] != other["credential"] and one["token"] != other["token"]


def test_each_connection_ends_what_it_holds_itself() -> None:
    """Also when both hold the same credential: the former's end may be noticed after the other has it."""
    again = {"agent": "Bo", "credential": "mcp-1", "token": "nx_b1_secret"}
    with running_port(SCRIPT) as port, ExitStack() as former:
        former.enter_context(lent(port, again))
        with lent(port, again):
            former.close()
            [body] = eventually(lambda: port.caller.bodies("lease_end"))
            first, second = (asked["connection"] for asked in port.caller.bodies("credential_lend"))
            assert body["connection"] == first != second


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
        assert (body["name"], body["tokenHash"], body["again"]) == ("mcp-1", digest(token), True)


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


def test_what_was_lent_before_waits_for_a_full_disk_and_what_is_new_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process lives, and must not lose it for good."""
    monkeypatch.setattr(person_lease, "lease_retry_ms", 1)
    full = Refusal(Code.STORAGE_FULL, "Full.")
    answers: list[Record | Refusal] = [full, full, {}]
    with running_port({**SCRIPT, LEND: lambda _: answers.pop(0) if len(answers) > 1 else answers[0]}) as port:
        assert refused_code(ask(port, "agent.credential_lease", {"agent": "Bo"})) == "storage_full"
        with lent(port, {"agent": "Bo", "credential": "mcp-1", "token": "nx_b1_secret"}):
            assert len(port.caller.sent_of("credential_lend")) == 3


def test_what_former_gateways_lent_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person_lease, "lease_retry_ms", 1)
    tries: list[Sent] = []

    def at_the_second(sent: Sent) -> Record | Refusal:
        tries.append(sent)
        return unavailable() if len(tries) == 1 else {"ended": 1, "left": 1 if len(tries) == 2 else 0}

    caller = ScriptedCaller({**LISTS, ("agent", "leases_end"): at_the_second})
    asyncio.run(Leases().end_former(Owners(caller, ManualClock(), 1, GATEWAY)))
    assert {body["gateway"] for body in caller.bodies("leases_end")} == {GATEWAY}
    asked = {str(sent.to) for sent in caller.sent_of("leases_end")}
    assert {"agent/-/b1"} < asked and len(tries) == len(asked) + 2, "every agent, and one until nothing was left"


@pytest.mark.parametrize("is_lent_at_last", [True, False])
def test_what_is_asked_for_again_is_spared_until_whoever_asks_has_it_or_leaves(
    monkeypatch: pytest.MonkeyPatch, is_lent_at_last: bool
) -> None:
    """decision 0012: no process that still lives loses its credential to the cleaning up, and none keeps it that is
    gone."""
    monkeypatch.setattr(person_lease, "lease_retry_ms", 1)
    may_lend, has_left, was_asked, was_spared_twice = (asyncio.Event() for _ in range(4))
    holders, spared = {"mcp-1": "gateway-1"}, []

    def lend(sent: Sent) -> Record | Refusal:
        was_asked.set()
        if not may_lend.is_set():
            return unavailable()
        holders["mcp-1"] = GATEWAY
        return {}

    def leases_end(sent: Sent) -> Record:
        if str(sent.to) != "agent/-/b1" or holders.get("mcp-1", GATEWAY) == GATEWAY:
            return {"ended": 0, "left": 0}
        if sent.body["spared"] == ["mcp-1"]:
            spared.append(sent)
            if len(spared) == 2:
                was_spared_twice.set()
            return {"ended": 0, "left": 1}
        del holders["mcp-1"]
        return {"ended": 1, "left": 0}

    async def scenario() -> None:
        caller = ScriptedCaller({**SCRIPT, LEND: lend, ("agent", "leases_end"): leases_end})
        owners, leases = Owners(caller, ManualClock(), 1, GATEWAY), Leases()
        asked: Record = {"agent": "Bo", "credential": "mcp-1", "token": "nx_b1_secret"}
        told: asyncio.Queue[Record] = asyncio.Queue()
        asking = asyncio.create_task(leases.lend(owners, asked, _talk(told, has_left)))
        await asyncio.wait_for(was_asked.wait(), 10)
        ending = asyncio.create_task(leases.end_former(owners))
        await asyncio.wait_for(was_spared_twice.wait(), 10)
        assert holders == {"mcp-1": "gateway-1"} and not ending.done()
        if is_lent_at_last:
            may_lend.set()
            assert (await told.get())["credential"] == "mcp-1"
            await asyncio.wait_for(ending, 10)
            assert holders == {"mcp-1": GATEWAY}
            has_left.set()
        else:
            has_left.set()
            await asyncio.wait_for(ending, 10)
            assert holders == {}
        await asyncio.wait_for(asking, 10)

    asyncio.run(scenario())


def _talk(told: asyncio.Queue[Record], has_left: asyncio.Event) -> Talk:
    async def no_line() -> Record:
        raise AssertionError("nothing more is read")

    async def left() -> None:
        await has_left.wait()

    return Talk(no_line, told.put, left)


def test_a_defect_while_former_leases_end_is_logged_and_that_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("lease_grace_ms", "lease_retry_ms"):
        monkeypatch.setattr(person_port, limit, 1)
    troubles: list[Record | Refusal | Exception] = [
        RuntimeError("nx_b1_secret"),
        Refusal(Code.STORAGE_FULL, "Full."),
        DIRECTORY,
    ]
    script: Script = {
        ("app/-/directory", "directory_list"): lambda _: troubles.pop(0),
        ("agent", "leases_end"): {"ended": 0, "left": 0},
    }
    caller = ScriptedCaller(script)
    port = PersonPort(caller, ManualClock(), 1, gateway=GATEWAY, lineage=lambda _: Lineage.OUTSIDE)
    with structlog.testing.capture_logs() as logged:
        asyncio.run(asyncio.wait_for(port.end_former_leases(), 10))
    assert troubles == [] and "agent/-/b1" in {str(sent.to) for sent in caller.sent_of("leases_end")}
    defect, refusal = logged
    assert (defect["log_level"], refusal["log_level"]) == ("error", "error")
    assert "RuntimeError" in defect["trace"] and defect["incident"] and refusal["code"] == "storage_full"
