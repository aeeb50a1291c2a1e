"""The end of a workspace: what holds from its first commit on, and that everything is gone at the last."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.decision import Context, Message, Send
from actors.directory import RULES
from actors.workspace.state import WorkspaceState
from bus import address
from bus.address import DIRECTORY, Address
from bus.limits import destroyed_at_once_max, saga_retry_ms, saga_retry_ms_max
from bus.value import Record
from tests.support.bench import GATEWAY, PERSON, agent, owner
from tests.support.exchange import TOKEN_HASH, Home
from tools.errors import NOT_FOUND, Code, Refusal

REPEATED = ("destroy", "destroyed", "workspace_destroyed", "clear_rows")


def _home(canvases: int = 0) -> Home:
    home = Home()
    home.add_workspace("w1", "One")
    home.add_workspace("w2", "Two")
    home.add_agent("a1")
    home.add_agent("b1", "w2")
    for number in range(canvases):
        _create(home, f"c{number:03}")
    return home


def _create(home: Home, canvas_id: str) -> Record | Refusal:
    body: Record = {"title": f"Plan {canvas_id}", "reason": "a test"}
    return home.call(address.canvas("w1", canvas_id), "canvas_create", body, agent("a1", "w1"))


def _begin(home: Home) -> str:
    return home.begin(DIRECTORY, "workspace_delete", {"workspaceId": "w1"}, PERSON)


def _left_of(home: Home, workspace_id: str) -> dict[str, list[str]]:
    """The rows that owners of the workspace still have, but for what tells that they are gone."""
    return {
        str(to): [*bench.rows]
        for to, bench in home.benches.items()
        if to.workspace == workspace_id and [*bench.rows] != ["gone"]
    }


def test_nothing_of_a_deleted_workspace_is_left_when_the_person_is_answered() -> None:
    home = _home(canvases=3 * destroyed_at_once_max)
    assert home.ok(DIRECTORY, "workspace_delete", {"workspaceId": "w1"}, PERSON) == {"id": "w1", "name": "One"}
    assert _left_of(home, "w1") == {}
    assert not home.bench(DIRECTORY).timers
    assert not home.bench(address.workspace("w1")).timers
    kinds = [event.type for event in home.events]
    assert kinds.count("canvas.deleted") == 3 * destroyed_at_once_max
    assert kinds.count("workspace.deleted") == 1
    home.assert_reloads()


def test_the_last_workspace_is_refused_before_anything_else() -> None:
    """common 4.6"""
    home = _home()
    home.ok(DIRECTORY, "workspace_delete", {"workspaceId": "w1"}, PERSON)
    decision = home.bench(DIRECTORY).decide("workspace_delete", {"workspaceId": "w2"}, agent("b1", "w2"))
    assert isinstance(decision.reply, Refusal)
    assert (decision.reply.code, decision.effects) == (Code.LAST_WORKSPACE, ())
    assert decision.reply.code.value == "last_workspace"


def test_a_workspace_that_is_being_deleted_does_not_count_as_one_that_stays() -> None:
    home = _home()
    _begin(home)
    refusal = home.bench(DIRECTORY).decide("workspace_delete", {"workspaceId": "w2"}, PERSON).reply
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.LAST_WORKSPACE


def test_from_the_first_commit_on_it_is_there_for_nobody() -> None:
    home = _home(canvases=1)
    _begin(home)
    listed = home.bench(DIRECTORY).decide("directory_list", {}, PERSON).reply
    assert isinstance(listed, dict)
    assert [one["workspaceId"] for one in cast("list[Record]", listed["workspaces"])] == ["w2"]
    assert listed["deleting"] == [{"workspaceId": "w1", "name": "One"}]
    seen = home.bench(DIRECTORY).decide("workspaces_seen", {}, agent("b1", "w2")).reply
    assert seen == {"workspaces": [{"workspaceId": "w2", "name": "Two"}], "activeWorkspaceId": "w2"}
    for verb in ("workspace_delete", "workspace_use"):
        assert home.bench(DIRECTORY).decide(verb, {"workspaceId": "w1"}, PERSON).reply == NOT_FOUND
    update: Record = {"workspaceId": "w1", "color": "#123456"}
    assert home.bench(DIRECTORY).decide("workspace_update", update, PERSON).reply == NOT_FOUND
    added: Record = {"agentId": "x", "name": "X", "workspaceId": "w1", "mode": "auto", "capabilities": []}
    added["tokenHash"] = TOKEN_HASH
    assert home.bench(DIRECTORY).decide("agent_add", added, PERSON).reply == NOT_FOUND
    home.step((DIRECTORY, address.workspace("w1")))
    workspace = home.bench(address.workspace("w1"))
    assert workspace.decide("workspace_get", {"workspaceId": "w1"}, PERSON).reply == NOT_FOUND
    assert workspace.decide("readable_canvases", {"limit": 9}, PERSON).reply == NOT_FOUND


def test_agents_that_were_pinned_there_are_nowhere_until_they_are_pinned_anew() -> None:
    """common 3.1"""
    home = _home()
    home.add_agent("a2")
    home.ok(DIRECTORY, "workspace_delete", {"workspaceId": "w1"}, PERSON)
    asked: Record = {"tokenHash": TOKEN_HASH, "tool": "canvas_list", "arguments": "valid", "kind": "read"}
    asked["scope"] = "workspace"
    reply = home.ok(address.agent("a1"), "admit", asked, GATEWAY)
    assert cast("Record", reply["refusal"])["code"] == "scope_unresolved"
    trigger = home.trigger("a1", "a2")
    assert isinstance(trigger, Refusal)
    assert trigger.code is Code.NOT_FOUND, "two that are nowhere are not together"
    assert home.refused(address.agent("a2"), "agent_get", {"agentId": "a2"}, agent("a1", "")).code is Code.NOT_FOUND
    peers = home.ok(DIRECTORY, "agents_in_scope", {"limit": 9}, agent("a1", ""))
    assert peers == {"agents": [], "nextAfter": None}
    home.ok(DIRECTORY, "agent_pin", {"agentId": "a1", "workspaceId": "w2"}, PERSON)
    assert home.ok(address.agent("a1"), "admit", asked, GATEWAY).get("refusal") is None
    home.assert_reloads()


def test_the_answer_waits_for_every_agent_that_was_left_behind() -> None:
    home = _home()
    home.ok(DIRECTORY, "workspace_delete", {"workspaceId": "w1"}, PERSON)
    again = _home()
    _begin(again)
    decision = again.bench(DIRECTORY).decide(
        "workspace_destroyed", {"workspaceId": "w1"}, owner(address.workspace("w1"))
    )
    sends = [(str(one.to), one.verb, one.before_reply) for one in decision.effects if isinstance(one, Send)]
    assert sends == [("agent/-/a1", "scope_changed", True)]


def test_the_active_workspace_moves_to_the_oldest_of_the_others_and_takes_along_who_inherits() -> None:
    home = _home()
    home.clock.advance(1)
    home.add_workspace("w0")
    home.ok(DIRECTORY, "agent_inherit", {"agentId": "b1", "inherits": True}, PERSON)
    home.ok(DIRECTORY, "workspace_delete", {"workspaceId": "w1"}, PERSON)
    assert home.ok(DIRECTORY, "directory_list", {}, PERSON)["activeWorkspaceId"] == "w2"
    head = home.bench(address.agent("b1")).state.head
    assert (head.workspaceId, head.inherits) == ("w2", True)


def test_its_name_is_free_again_when_it_is_gone_and_not_before() -> None:
    home = _home()
    _begin(home)
    refusal = home.bench(DIRECTORY).decide("workspace_add", {"workspaceId": "w9", "name": "ONE"}, PERSON).reply
    assert isinstance(refusal, Refusal)
    assert "just being deleted" in str(refusal.details)
    home.settle()
    home.ok(DIRECTORY, "workspace_add", {"workspaceId": "w9", "name": "ONE"}, PERSON)


def test_no_more_than_a_bounded_number_of_canvases_is_told_at_once() -> None:
    home = _home(canvases=destroyed_at_once_max + 5)
    _begin(home)
    home.step((DIRECTORY, address.workspace("w1")))
    told = [stream for stream in home.waiting_streams if stream[0] == address.workspace("w1")]
    assert len(told) == destroyed_at_once_max
    home.settle()
    assert _left_of(home, "w1") == {}


def test_a_canvas_that_is_made_while_its_workspace_goes_is_destroyed_too() -> None:
    home = _home(canvases=2)
    _begin(home)
    home.step((DIRECTORY, address.workspace("w1")))
    late = home.begin(address.canvas("w1", "zz"), "canvas_create", {"title": "Z", "reason": "z"}, agent("a1", "w1"))
    early = home.begin(address.canvas("w1", "aa"), "canvas_create", {"title": "A", "reason": "a"}, agent("a1", "w1"))
    home.settle()
    assert not isinstance(home.answers[late], Refusal)
    assert not isinstance(home.answers[early], Refusal)
    assert _left_of(home, "w1") == {}


def test_a_canvas_that_comes_when_its_workspace_is_gone_is_destroyed_too() -> None:
    home = _home()
    home.ok(DIRECTORY, "workspace_delete", {"workspaceId": "w1"}, PERSON)
    assert not isinstance(_create(home, "late"), Refusal)
    assert _left_of(home, "w1") == {}
    home.assert_reloads()


def test_the_directory_reminds_the_workspace_later_each_time() -> None:
    home = _home(canvases=1)
    _begin(home)
    directory = home.bench(DIRECTORY)
    waits = []
    for _ in range(10):
        waits.append(directory.timers["deleting/w1"].due_ms - home.clock.now_ms())
        directory.fire("deleting/w1")
    assert waits[:3] == [saga_retry_ms, 2 * saga_retry_ms, 4 * saga_retry_ms]
    assert waits[-1] == saga_retry_ms_max
    assert [send.verb for send in directory.sent] == ["destroy"] * 10
    home.settle()
    assert _left_of(home, "w1") == {}


def test_a_message_about_a_scope_that_nobody_could_decide_is_sent_again() -> None:
    home = _home()
    directory = home.bench(DIRECTORY)
    died: Record = {"verb": "scope_changed", "body": {"agentId": "a1", "workspaceId": "w1", "inherits": False}}
    directory.send("message_died", died, owner(address.agent("a1")))
    directory.fire("tell/a1")
    assert [(send.verb, str(send.to)) for send in directory.sent] == [
        ("scope_changed", "agent/-/a1"),
        ("renamed", "agent/-/a1"),
    ]
    assert directory.decide("message_died", {"verb": "agent_removed", "body": {}}, owner(DIRECTORY)).effects == ()


def test_a_workspace_tells_only_of_its_own_end() -> None:
    home = _home()
    _begin(home)
    with pytest.raises(ValueError, match="itself"):
        home.bench(DIRECTORY).decide("workspace_destroyed", {"workspaceId": "w1"}, owner(address.workspace("w2")))


def test_a_card_shows_the_workspace_by_name_and_id() -> None:
    """common 5.3"""
    home = _home()
    state = home.bench(DIRECTORY).state
    context = Context(0, PERSON, "c", DIRECTORY)
    for verb in ("workspace_delete", "workspace_update"):
        fingerprint = RULES.verbs[verb].fingerprint
        assert fingerprint is not None
        assert fingerprint(state, Message(verb, {"workspaceId": "w1"}), context) == {"name": "One", "workspaceId": "w1"}
        assert fingerprint(state, Message(verb, {"workspaceId": "none"}), context) == {}


@given(st.data())
def test_whatever_the_order_and_whatever_is_repeated_nothing_is_left_and_the_call_is_answered_once(
    data: st.DataObject,
) -> None:
    """common 8.1"""
    home = _home(canvases=data.draw(st.integers(0, 4)))
    call = _begin(home)
    begun = 0
    for _ in range(400):
        streams = home.waiting_streams
        if not streams:
            break
        stream = data.draw(st.sampled_from(streams))
        send = home.streams[stream][0].send
        may_repeat = isinstance(send, Send) and send.verb in (
            "destroy",
            "destroyed",
            "workspace_destroyed",
            "clear_rows",
        )
        if may_repeat and begun < 6 and data.draw(st.booleans()):
            begun += 1
            home.step(stream, repeat=True)
        elif begun < 6 and data.draw(st.integers(0, 9)) == 0:
            begun += 1
            home.begin(
                address.canvas("w1", f"{data.draw(st.sampled_from('am'))}{begun}"),
                "canvas_create",
                {"title": "Late", "reason": "late"},
                agent("a1", "w1"),
            )
        else:
            home.step(stream)
    home.settle()
    assert home.answers[call] == {"id": "w1", "name": "One"}
    assert _left_of(home, "w1") == {}
    home.assert_reloads()


def test_a_workspace_whose_canvases_do_not_answer_tells_them_again() -> None:
    home = _home(canvases=2)
    _begin(home)
    workspace = home.bench(address.workspace("w1"))
    workspace.send("destroy", {}, owner(DIRECTORY))
    workspace.sent.clear()  # as if nobody could decide them
    workspace.fire("destruction_due")
    assert [str(send.to) for send in workspace.sent] == ["canvas/w1/c000", "canvas/w1/c001"]
    assert workspace.timers["destruction_due"].due_ms == home.clock.now_ms() + 2 * saga_retry_ms
    state = workspace.state
    assert isinstance(state, WorkspaceState)
    for canvas_id in ("c000", "c001"):
        workspace.send("destroyed", {"canvasId": canvas_id}, owner(Address("canvas", "w1", canvas_id)))
    assert state.is_gone
    assert not workspace.timers


def test_a_late_canvas_that_could_not_be_told_is_told_again() -> None:
    home = _home()
    home.ok(DIRECTORY, "workspace_delete", {"workspaceId": "w1"}, PERSON)
    workspace = home.bench(address.workspace("w1"))
    died: Record = {"verb": "destroy", "body": {"canvasId": "late"}}
    workspace.send("message_died", died, owner(address.canvas("w1", "late")))
    workspace.fire("destroy/late")
    assert [(str(send.to), send.verb) for send in workspace.sent] == [("canvas/w1/late", "destroy")]
