"""Approvals in the agent's owner: one card a call, decided by the person alone, used once (common 5)."""

from __future__ import annotations

import pytest

from actors.agent.approval import TRANSITIONS, Approval, Happening, State
from actors.decision import PrincipalKind
from bus import address
from bus.limits import approval_denied_ms, approval_granted_ms, approval_pending_ms, approvals_pending_max
from bus.value import Record
from tests.actors.agent.approving import (
    AGENT,
    OTHER_HASH,
    a_home,
    ask,
    asked,
    decide,
    persona_of,
    raw_admission,
    states,
)
from tests.support.admitting import Caller
from tests.support.bench import GATEWAY, PERSON, owner
from tests.support.exchange import Home
from tests.support.reading import at
from tools.agent import AGENT_UPDATE_SELF
from tools.errors import Code


@pytest.fixture
def home() -> Home:
    return a_home()


def test_a_call_that_needs_approval_makes_one_card_however_often_it_is_repeated(home: Home) -> None:
    """common 5.1"""
    first = asked(home)
    assert asked(home) == first
    assert states(home) == ["pending"]
    assert persona_of(home) is None


def test_after_approve_the_next_identical_call_runs_once(home: Home) -> None:
    """common 5.2"""
    decide(home, asked(home))
    assert ask(home).ok is not None
    assert persona_of(home) == "Counts beans."
    assert states(home) == ["used"]
    assert ask(home, "Counts beans.").code == Code.APPROVAL_REQUIRED, "once"


def test_what_was_approved_is_not_another_call(home: Home) -> None:
    """common 5.2"""
    decide(home, asked(home))
    assert ask(home, "Counts stars.").code == Code.APPROVAL_REQUIRED
    assert states(home) == ["approved", "pending"]


def test_an_approval_is_of_no_use_in_another_workspace(home: Home) -> None:
    """common 3.5"""
    decide(home, asked(home))
    state = home.bench(AGENT).state
    state.head = state.head.model_copy(update={"workspaceId": "w2"})
    assert ask(home).code == Code.APPROVAL_REQUIRED
    assert persona_of(home) is None


def test_a_granted_approval_is_over_after_a_quarter_of_an_hour(home: Home) -> None:
    """common 5.2"""
    decide(home, asked(home))
    home.clock.advance(approval_granted_ms)
    assert ask(home).code == Code.APPROVAL_REQUIRED
    assert states(home) == ["expired", "pending"]


def test_a_denied_call_is_told_the_persons_note_in_a_fence(home: Home) -> None:
    """common 5.2"""
    decide(home, asked(home), "deny", "Not\nnow.")
    came = ask(home)
    assert came.code == "approval_denied"
    assert at(came.error, "note") == {"untrusted": True, "source": "person's note", "text": "Not\nnow."}
    home.clock.advance(approval_denied_ms)
    assert ask(home).code == Code.APPROVAL_REQUIRED


def test_what_nobody_decides_expires_and_is_still_seen(home: Home) -> None:
    """common 5.3"""
    first = asked(home)
    bench = home.bench(AGENT)
    bench.fire(f"approval/{first.partition('.')[2]}")
    assert home.clock.now_ms() >= approval_pending_ms
    assert states(home) == ["expired"]
    assert home.events[-1].type == "approval.expired"


def test_a_late_timer_does_not_keep_an_approval_open(home: Home) -> None:
    """common 5.3"""
    first = asked(home)
    home.clock.advance(approval_pending_ms)
    refusal = home.refused(
        AGENT, "approval_decide", {"approvalId": first, "decision": "approve", "how": "command"}, PERSON
    )
    assert refusal.code is Code.WRONG_STATE
    assert states(home) == ["expired"]


@pytest.mark.parametrize("second", ["approve", "deny"])
def test_deciding_twice_is_an_error_that_the_person_sees(home: Home, second: str) -> None:
    """common 5.5"""
    first = asked(home)
    decide(home, first, "deny")
    refusal = home.refused(
        AGENT, "approval_decide", {"approvalId": first, "decision": second, "how": "console"}, PERSON
    )
    assert refusal.code is Code.WRONG_STATE
    assert at(home.ok(AGENT, "approval_show", {"approvalId": first}, PERSON), "decision", "how") == "command"


def test_no_agent_sends_what_decides_or_shows_an_approval(home: Home) -> None:
    """common 5.5"""
    verbs = home.bench(AGENT).rules.verbs
    deciding = [verb for verb in verbs if verb.startswith(("approval", "agent_set", "credential", "guest"))]
    assert len(deciding) >= 10
    assert verbs["approval_state"].callers == {PrincipalKind.GATEWAY}, "it only tells how the caller's own one stands"
    deciding.remove("approval_state")
    for verb in deciding:
        assert verbs[verb].callers <= {PrincipalKind.PERSON, PrincipalKind.TIMER}


def test_an_approval_of_another_agent_is_like_none(home: Home) -> None:
    """common 3.3"""
    first = asked(home)
    other = address.agent("a2")
    for approval_id in (first, "a1.nothing", "nothing"):
        refusal = home.refused(other, "approval_show", {"approvalId": approval_id}, PERSON)
        assert refusal.code is Code.NOT_FOUND


def test_the_twenty_first_card_is_refused_and_repeats_still_find_theirs(home: Home) -> None:
    """common 5.1, security 2.5"""
    first = asked(home)
    for number in range(approvals_pending_max - 1):
        assert ask(home, f"Persona {number}").code == Code.APPROVAL_REQUIRED
    came = ask(home, "One more")
    assert came.code == Code.RATE_LIMITED
    assert at(came.error, "limit") == approvals_pending_max == 20
    assert asked(home) == first
    decide(home, first, "deny")
    assert ask(home, "One more").code == Code.APPROVAL_REQUIRED


def test_a_waiting_card_whose_target_changed_makes_way_for_another_even_when_no_more_fit(home: Home) -> None:
    """common 5.1, 5.3"""
    first = at(raw_admission(home, {"title": "Plan"}), "refusal", "approvalId")
    for number in range(approvals_pending_max - 1):
        assert ask(home, f"Persona {number}").code == Code.APPROVAL_REQUIRED
    assert at(raw_admission(home, {"title": "Plan"}), "refusal", "approvalId") == first
    refusal = at(raw_admission(home, {"title": "Secret plan"}), "refusal")
    assert at(refusal, "code") == Code.APPROVAL_LAPSED
    assert at(refusal, "approvalId") != first
    assert sorted(states(home)) == ["lapsed", *["pending"] * approvals_pending_max]


def test_a_call_that_is_certain_to_fail_makes_no_card(home: Home) -> None:
    """common 4.6"""
    came = Caller(home, "a1").call(AGENT_UPDATE_SELF, {"name": "Agent a2"})
    assert came.code == Code.APPROVAL_REQUIRED, "the directory decides about names, so that is not certain"
    home.ok(address.DIRECTORY, "agent_remove", {"agentId": "a1"}, PERSON)
    assert home.ok(AGENT, "admit", {"tokenHash": OTHER_HASH, "tool": "x", "arguments": "valid"}, GATEWAY) == {
        "authenticated": False,
        "waiting": 0,
    }


def test_what_changed_nothing_gives_the_approval_back(home: Home) -> None:
    """common 5.2"""
    body: Record = {"name": "Agent a2"}
    came = Caller(home, "a1").call(AGENT_UPDATE_SELF, body)
    assert came.error is not None
    decide(home, came.error["approvalId"])
    assert Caller(home, "a1").call(AGENT_UPDATE_SELF, body).code == Code.INVALID_ARGUMENTS
    assert states(home) == ["approved"]
    home.ok(address.DIRECTORY, "agent_remove", {"agentId": "a2"}, PERSON)
    assert Caller(home, "a1").call(AGENT_UPDATE_SELF, body).ok is not None
    assert states(home) == ["used"]


def test_one_that_is_in_use_is_not_used_by_a_second_call(home: Home) -> None:
    """common 5.2"""
    decide(home, asked(home))
    assert ask(home, settles=False).was_dispatched
    came = Caller(home, "a1").admitted_only(AGENT_UPDATE_SELF, {"persona": "Counts beans."})
    assert came == "unavailable"
    home.settle()
    assert states(home) == ["used"]


def test_a_message_that_died_gives_the_approval_back(home: Home) -> None:
    """common 8.1"""
    decide(home, asked(home))
    ask(home, settles=False)
    [call_id] = home.bench(AGENT).state.dispatched
    home.bench(AGENT).send("message_died", {"verb": "call_admitted", "body": {"callId": call_id}}, owner(AGENT))
    assert states(home) == ["approved"]
    assert home.bench(AGENT).state.dispatched == {}


def test_revoking_the_credential_that_asked_ends_what_it_asked_for(home: Home) -> None:
    """common 2.1, security 2.10"""
    home.ok(AGENT, "credential_add", {"name": "laptop", "tokenHash": OTHER_HASH}, PERSON)
    laptop = Caller(home, "a1", OTHER_HASH)
    pending = laptop.call(AGENT_UPDATE_SELF, {"persona": "One"})
    granted = laptop.call(AGENT_UPDATE_SELF, {"persona": "Two"})
    assert pending.error is not None
    assert granted.error is not None
    decide(home, granted.error["approvalId"])
    kept = asked(home)
    decide(home, kept)
    home.ok(AGENT, "credential_revoke", {"name": "laptop"}, PERSON)
    assert states(home) == ["voided", "voided", "approved"]
    assert ask(home).ok is not None, "another credential's approval holds"
    assert ask(home, "Two").code == Code.APPROVAL_REQUIRED


def test_the_same_call_by_another_credential_uses_the_approval(home: Home) -> None:
    """common 5.2"""
    decide(home, asked(home))
    home.ok(AGENT, "credential_add", {"name": "laptop", "tokenHash": OTHER_HASH}, PERSON)
    assert Caller(home, "a1", OTHER_HASH).call(AGENT_UPDATE_SELF, {"persona": "Counts beans."}).ok is not None


def test_a_card_tells_what_is_known_and_then_what_the_agent_says_whole(home: Home) -> None:
    """common 5.4"""
    persona = "x" * 3_000
    came = ask(home, persona)
    assert came.error is not None
    card = home.ok(AGENT, "approval_show", {"approvalId": came.error["approvalId"]}, PERSON)
    names = list(card)
    assert names.index("target") < names.index("reason") < names.index("arguments")
    assert card["arguments"] == {"persona": persona}
    assert card["chain"] == ["a1"]
    assert card["agent"] == {"id": "a1", "name": "Agent a1"}
    assert card["credential"] == "default"


def test_arguments_that_no_card_could_show_are_refused(home: Home) -> None:
    """common 5.4"""
    body: Record = {"tokenHash": bytes(range(32)), "tool": "agent_update_self", "arguments": "valid"}
    body |= {"kind": "write", "scope": "workspace", "capability": "mesh"}
    body["call"] = {
        "arguments": {},
        "argumentsBytes": 300_000,
        "target": str(AGENT),
        "callId": "c",
        "sameCall": bytes(32),
        "workspaceId": "w1",
        "deadlineMs": 1,
    }
    reply = home.ok(AGENT, "admit", body, GATEWAY)
    assert at(reply, "refusal", "code") == Code.TOO_LARGE


def test_what_is_absent_from_the_table_leaves_an_approval_as_it_was() -> None:
    """common 5.5"""
    for state in State:
        for happening in Happening:
            approval = Approval(
                tool="t",
                kind="write",
                workspaceId="w",
                sameCall=bytes(32),
                arguments={},
                fingerprint={},
                target="canvas/w/c",
                credential="default",
                credentialMadeMs=0,
                chain=["a"],
                askedMs=0,
                state=state,
                expiresMs=10**13,
            )
            following = approval.after(happening, 1)
            expected = TRANSITIONS.get((state, happening))
            assert (None if following is None else following.state) == expected


def test_rows_alone_give_the_same_approvals_after_a_restart(home: Home) -> None:
    """common 5.5"""
    decide(home, asked(home), "deny", "No.")
    asked_again = ask(home, "Else")
    assert asked_again.error is not None
    bench = home.bench(AGENT)
    assert bench.reloaded().approvals == bench.state.approvals
