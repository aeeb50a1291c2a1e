"""How the roles of an agent end that is not one of the workspace any more: over the directory, the workspace and its
canvases, in memory."""

from __future__ import annotations

import pytest

from actors.canvas.state import CanvasState
from bus import address
from bus.address import DIRECTORY
from bus.limits import roles_ended_at_once_max, saga_retry_ms_max
from bus.value import Record
from tests.support.bench import PERSON, owner
from tests.support.channel_home import ChannelHome, channel_home
from tools.errors import Refusal

W1 = address.workspace("w1")


@pytest.fixture
def home() -> ChannelHome:
    return channel_home()


def _draw(home: ChannelHome, canvas_id: str, *, by: str = "a1", **roles: str) -> None:
    """A canvas with one element, made by that agent, and these roles beside."""
    to = address.canvas("w1", canvas_id)
    home.ok(to, "canvas_create", {"title": f"Plan {canvas_id}", "reason": "a plan"}, home.as_agent(by))
    box: Record = {"id": "box", "type": "rectangle", "x": 0, "y": 0, "width": 40, "height": 20}
    home.ok(to, "canvas_create_elements", _write(canvas_id, 1, elements=[box]), home.as_agent(by))
    for agent_id, role in roles.items():
        home.ok(to, "canvas_grant", {"agentId": agent_id, "role": role}, PERSON)


def _write(canvas_id: str, revision: int, **more: object) -> Record:
    return {"canvasId": canvas_id, "expectedRevision": revision, "reason": "a plan", **more}  # type: ignore[dict-item]


def _canvas(home: ChannelHome, canvas_id: str) -> CanvasState:
    state = home.bench(address.canvas("w1", canvas_id)).state
    assert isinstance(state, CanvasState)
    return state


def _listed(home: ChannelHome, canvas_id: str) -> dict[str, str]:
    roles: dict[str, str] = home.bench(W1).state.canvases[canvas_id].roles
    return roles


def _pin(home: ChannelHome, agent_id: str, workspace_id: str) -> None:
    home.ok(DIRECTORY, "agent_pin", {"agentId": agent_id, "workspaceId": workspace_id}, PERSON)


@pytest.mark.parametrize("way", ["removed", "pinned elsewhere"])
def test_an_agent_that_is_gone_has_no_role_and_no_lock(home: ChannelHome, way: str) -> None:
    """canvas 1.1, common 2.1: what it had locked is free for the next write."""
    _draw(home, "c1", a2="editor", a3="editor")
    to = address.canvas("w1", "c1")
    lock = _write("c1", 2, elementIds=["box"], locked=True, seconds=3600)
    assert home.ok(to, "canvas_lock_elements", lock, home.as_agent("a2"))["outcome"] == "applied"
    move = _write("c1", 2, moves=[{"id": "box", "dx": 5, "dy": 5}])
    assert home.ok(to, "canvas_move_elements", move, home.as_agent("a3"))["outcome"] == "rejected"
    if way == "removed":
        home.remove_agent("a2")
    else:
        _pin(home, "a2", "w2")
    assert _canvas(home, "c1").roles == _listed(home, "c1") == {"a1": "owner", "a3": "editor"}
    assert not _canvas(home, "c1").locks.all()
    assert home.ok(to, "canvas_move_elements", move, home.as_agent("a3"))["outcome"] == "applied"


def test_the_proposals_of_a_removed_agent_are_the_persons_alone_to_approve(home: ChannelHome) -> None:
    """canvas 1.1, 3.4"""
    _draw(home, "c1", a2="commenter", a3="editor")
    to = address.canvas("w1", "c1")
    move = _write("c1", 2, moves=[{"id": "box", "dx": 5, "dy": 5}])
    proposal = home.ok(to, "canvas_move_elements", move, home.as_agent("a2"))["proposalId"]
    home.remove_agent("a2")
    approval = _write("c1", 2, proposalId=proposal)
    assert home.ok(to, "canvas_approve_proposal", approval, home.as_agent("a3"))["outcome"] == "rejected"
    assert home.ok(to, "canvas_approve_proposal", approval, PERSON)["outcome"] == "applied"


def test_the_role_of_who_made_the_canvas_ends_too_and_the_person_goes_on(home: ChannelHome) -> None:
    _draw(home, "c1")
    home.remove_agent("a1")
    assert _canvas(home, "c1").roles == _listed(home, "c1") == {}
    home.ok(address.canvas("w1", "c1"), "canvas_grant", {"agentId": "a2", "role": "owner"}, PERSON)
    assert _listed(home, "c1") == {"a2": "owner"}


def test_who_comes_back_is_granted_a_role_anew(home: ChannelHome) -> None:
    _draw(home, "c1", a2="editor")
    _pin(home, "a2", "w2")
    _pin(home, "a2", "w1")
    assert _listed(home, "c1") == {"a1": "owner"}
    home.ok(address.canvas("w1", "c1"), "canvas_grant", {"agentId": "a2", "role": "viewer"}, PERSON)
    assert _listed(home, "c1") == {"a1": "owner", "a2": "viewer"}


def test_who_follows_the_person_keeps_its_roles_until_it_is_removed_wherever_it_is(home: ChannelHome) -> None:
    """common 3.1: it acts elsewhere for a while, and comes back with the person."""
    home.ok(DIRECTORY, "agent_inherit", {"agentId": "a2", "inherits": True}, PERSON)
    _draw(home, "c1", a2="editor")
    home.ok(DIRECTORY, "workspace_use", {"workspaceId": "w2"}, PERSON)
    assert _listed(home, "c1") == {"a1": "owner", "a2": "editor"}
    home.remove_agent("a2")
    assert _canvas(home, "c1").roles == _listed(home, "c1") == {"a1": "owner"}


def test_who_followed_the_person_and_is_pinned_elsewhere_loses_its_roles(home: ChannelHome) -> None:
    home.ok(DIRECTORY, "agent_inherit", {"agentId": "a2", "inherits": True}, PERSON)
    _draw(home, "c1", a2="editor")
    home.ok(DIRECTORY, "workspace_use", {"workspaceId": "w2"}, PERSON)
    home.ok(DIRECTORY, "agent_inherit", {"agentId": "a2", "inherits": False}, PERSON)
    assert _listed(home, "c1") == {"a1": "owner"}


def test_however_many_canvases_each_message_tells_a_bounded_number(home: ChannelHome) -> None:
    count = 2 * roles_ended_at_once_max + 3
    bench = home.bench(W1)
    for number in range(count):
        row: Record = {"canvasId": f"c{number}", "title": f"Plan {number}", "roles": {"a2": "editor"}}
        bench.send("canvas_indexed", row, owner(address.canvas("w1", f"c{number}")))
    bench.sent.clear()
    left: Record = {"agentId": "a2", "workspaceId": "w1"}
    bench.send("member_left", left, owner(DIRECTORY))
    told: list[str] = []
    while bench.sent:
        at_once = [send.to.id for send in bench.sent if send.verb == "role_ends"]
        assert len(at_once) <= roles_ended_at_once_max
        told += at_once
        onward = [send for send in bench.sent if send.verb == "roles_end_on"]
        bench.sent.clear()
        for send in onward:
            bench.send(send.verb, send.body, owner(W1))
    assert sorted(told) == sorted(f"c{number}" for number in range(count))


@pytest.mark.parametrize("is_removed", [True, False])
def test_a_role_that_was_on_its_way_ends_at_once(home: ChannelHome, is_removed: bool) -> None:
    """canvas 1.1: a call that was admitted before, or a grant, comes to its canvas after the agent is gone."""
    maker = home.as_agent("a2")
    if is_removed:
        home.remove_agent("a2")
    else:
        _pin(home, "a2", "w2")
    to = address.canvas("w1", "c9")
    made = home.call(to, "canvas_create", {"title": "Late", "reason": "a plan"}, maker)
    assert not isinstance(made, Refusal)
    assert _canvas(home, "c9").roles == _listed(home, "c9") == {}


def test_a_canvas_that_could_not_take_a_role_away_is_told_when_the_directory_says_so_again(home: ChannelHome) -> None:
    _draw(home, "c1", a2="editor")
    bench = home.bench(W1)
    bench.send("message_died", {"verb": "role_ends", "body": {"agentId": "a2"}}, owner(W1))
    assert bench.timers["member/a2"].due_ms == bench.clock.now_ms() + saga_retry_ms_max
    bench.fire("member/a2")
    home.settle_now(W1)
    assert _listed(home, "c1") == {"a1": "owner", "a2": "editor"}, "it was never gone"


def test_only_the_workspace_ends_roles_and_only_the_directory_has_it_done(home: ChannelHome) -> None:
    _draw(home, "c1", a2="editor")
    canvas = home.bench(address.canvas("w1", "c1"))
    for sender in (address.workspace("w2"), address.agent("a1"), DIRECTORY):
        with pytest.raises(ValueError, match="workspace"):
            canvas.decide("role_ends", {"agentId": "a2"}, owner(sender))
    with pytest.raises(ValueError, match="owners of kind"):
        home.bench(W1).decide("member_left", {"agentId": "a2", "workspaceId": "w1"}, owner(address.agent("a1")))
    with pytest.raises(ValueError, match="itself"):
        home.bench(W1).decide("roles_end_on", {"agentId": "a2", "after": "c1"}, owner(DIRECTORY))


def test_the_person_sees_on_how_many_canvases_an_agent_has_a_role_and_which_it_alone_owns(home: ChannelHome) -> None:
    _draw(home, "c1", a2="editor")
    _draw(home, "c2", a2="owner")
    _draw(home, "c3", by="a2")
    assert home.ok(W1, "roles_of", {"agentId": "a2"}, PERSON) == {"canvases": 3, "ownedAlone": 1}
    assert home.ok(W1, "roles_of", {"agentId": "a1"}, PERSON) == {"canvases": 2, "ownedAlone": 1}
    assert home.ok(W1, "roles_of", {"agentId": "a3"}, PERSON) == {"canvases": 0, "ownedAlone": 0}
