"""A workspace's owner: what it shows, to whom, and its index of canvases."""

from __future__ import annotations

import pytest

from actors.workspace import owner as workspace
from actors.workspace.state import WorkspaceState
from bus import address
from bus.address import DIRECTORY
from bus.clock import ManualClock
from bus.limits import canvases_per_workspace_max
from bus.value import Record, Value
from tests.support.bench import PERSON, OwnerBench, agent, owner
from tests.support.reading import at
from tools.errors import NOT_FOUND, Code, Refusal
from tools.workspace import WorkspaceGetOutput


@pytest.fixture
def bench() -> OwnerBench[WorkspaceState]:
    made = OwnerBench(workspace.RULES, address.workspace("w1"), ManualClock())
    body: Record = {"name": "One", "root": "/srv/garden", "createdAt": 1_800_000_000_000, "gridColumns": 2}
    made.send("workspace_created", body, owner(DIRECTORY))
    return made


def _index(bench: OwnerBench[WorkspaceState], canvas_id: str, title: str, **roles: Value) -> None:
    body: Record = {"canvasId": canvas_id, "title": title, "roles": roles}
    bench.send("canvas_indexed", body, owner(address.canvas("w1", canvas_id)))


def test_ones_own_workspace_is_shown_as_its_output_model_says(bench: OwnerBench[WorkspaceState]) -> None:
    reply = bench.send("workspace_get", {"workspaceId": "w1"}, agent("a1", "w1"))
    shown = WorkspaceGetOutput.model_validate(reply).workspace
    assert (shown.id, shown.name, shown.createdAt) == ("w1", "One", "2027-01-15T08:00:00.000Z")
    assert "garden" not in str(reply), "common 7.4: no path"


def test_any_other_workspace_is_a_scope_mismatch_whether_it_exists_or_not(
    bench: OwnerBench[WorkspaceState],
) -> None:
    """common 3.2"""
    reply = bench.send("workspace_get", {"workspaceId": "w2"}, agent("a1", "w1"))
    assert isinstance(reply, Refusal)
    assert reply.code is Code.SCOPE_MISMATCH


def test_a_workspace_that_never_was_is_not_found() -> None:
    bench = OwnerBench(workspace.RULES, address.workspace("w1"))
    assert bench.send("workspace_get", {"workspaceId": "w1"}, agent("a1", "w1")) == NOT_FOUND


def test_an_agent_reads_the_canvases_on_which_it_has_a_role(bench: OwnerBench[WorkspaceState]) -> None:
    """canvas 1.2"""
    _index(bench, "c1", "Plan", a1="owner", a2="viewer")
    _index(bench, "c2", "Secret", a1="owner")
    reply = bench.send("readable_canvases", {"limit": 10}, agent("a2", "w1"))
    assert reply == {"canvases": [{"canvasId": "c1", "title": "Plan", "role": "viewer"}], "nextAfter": None}


def test_the_person_reads_every_canvas_as_owner(bench: OwnerBench[WorkspaceState]) -> None:
    _index(bench, "c1", "Plan", a1="viewer")
    reply = bench.send("readable_canvases", {"limit": 10}, PERSON)
    assert at(reply, "canvases", 0, "role") == "owner"


def test_pages_cover_every_readable_canvas_once_and_end_without_a_next(
    bench: OwnerBench[WorkspaceState],
) -> None:
    for number in range(7):
        _index(bench, f"c{number}", f"Canvas {number}", **({"a1": "viewer"} if number != 3 else {}))
    seen: list[Value] = []
    after: Value = None
    for _ in range(3):
        reply = bench.send("readable_canvases", {"limit": 2, "after": after}, agent("a1", "w1"))
        seen.extend(canvas["canvasId"] for canvas in at(reply, "canvases"))
        after = at(reply, "nextAfter")
    assert (seen, after) == (["c0", "c1", "c2", "c4", "c5", "c6"], None)


def test_an_agent_of_another_workspace_finds_nothing(bench: OwnerBench[WorkspaceState]) -> None:
    """common 3.3"""
    _index(bench, "c1", "Plan", a1="owner")
    assert bench.send("readable_canvases", {"limit": 10}, agent("a1", "w2")) == NOT_FOUND


def test_a_full_workspace_takes_no_more_canvases_until_one_is_gone(bench: OwnerBench[WorkspaceState]) -> None:
    """common 8.5"""
    for number in range(canvases_per_workspace_max):
        assert bench.send("room_for_canvas", {}, PERSON) == {}
        _index(bench, f"c{number}", "Plan")
    for principal in (agent("a1", "w1"), PERSON):
        refusal = bench.send("room_for_canvas", {}, principal)
        assert isinstance(refusal, Refusal)
        assert (refusal.code, refusal.details) == (Code.WRONG_STATE, {"limit": canvases_per_workspace_max})
    bench.send("canvas_gone", {"canvasId": "c7"}, owner(address.canvas("w1", "c7")))
    assert bench.send("room_for_canvas", {}, agent("a1", "w1")) == {}


def test_another_workspaces_room_is_told_to_nobody(bench: OwnerBench[WorkspaceState]) -> None:
    """common 3.3"""
    assert bench.send("room_for_canvas", {}, agent("a1", "w2")) == NOT_FOUND


def test_a_canvas_is_indexed_anew_only_when_something_changed(bench: OwnerBench[WorkspaceState]) -> None:
    _index(bench, "c1", "Plan", a1="owner")
    body: Record = {"canvasId": "c1", "title": "Plan", "roles": {"a1": "owner"}}
    assert bench.decide("canvas_indexed", body, owner(address.canvas("w1", "c1"))).effects == ()


def test_a_canvas_cannot_index_another(bench: OwnerBench[WorkspaceState]) -> None:
    body: Record = {"canvasId": "c2", "title": "Plan", "roles": {}}
    with pytest.raises(ValueError, match="of itself"):
        bench.decide("canvas_indexed", body, owner(address.canvas("w1", "c1")))


def test_the_workspace_reloads_to_what_it_was(bench: OwnerBench[WorkspaceState]) -> None:
    _index(bench, "c2", "Plan", a1="owner")
    _index(bench, "c1", "Plan", a1="owner")
    _index(bench, "c2", "New plan", a1="owner")
    assert bench.reloaded() == bench.state
