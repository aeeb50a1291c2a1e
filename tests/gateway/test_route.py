"""Where calls go (common 3)."""

from __future__ import annotations

import pytest

from bus import address
from bus.address import Address, is_id
from bus.clock import ManualClock
from bus.value import Record
from nexus.gateway.route import NEVER_AN_ID, claimed_workspace, owner_of
from tests.support.gateway_bench import AGENT, STAMP, WORKSPACE, CanvasInput, WorkspaceGetInput, tool
from tools.base import Route

CALL = ManualClock().new_id()


@pytest.mark.parametrize(
    ("route", "arguments", "expected"),
    [
        (Route.CANVAS, {"canvasId": "c1"}, address.canvas(WORKSPACE, "c1")),
        (Route.WORKSPACE, {"workspaceId": "another"}, address.workspace(WORKSPACE)),
        (Route.OWN_AGENT, {}, address.agent(AGENT)),
        (Route.NAMED_AGENT, {"agentId": "a1"}, address.agent("a1")),
        (Route.OWN_MAILBOX, {}, address.mailbox(AGENT)),
        (Route.DIRECTORY, {}, address.DIRECTORY),
    ],
)
def test_each_route_names_one_owner(route: Route, arguments: Record, expected: Address) -> None:
    assert owner_of(tool("canvas_read", route), arguments, STAMP, CALL) == expected


@pytest.mark.parametrize("named", ["-", "a/b", "../x", "ä", "x" * 65, "c 1", "", "\u202e"])
def test_an_id_that_no_owner_can_have_goes_to_an_owner_that_never_has_state(named: str) -> None:
    """common 1.7, 3.3"""
    to = owner_of(tool("canvas_read", Route.CANVAS), {"canvasId": named}, STAMP, CALL)
    assert to == address.canvas(WORKSPACE, NEVER_AN_ID)
    assert Address.parse(str(to)) == to


def test_the_id_of_nothing_is_well_formed_and_never_made() -> None:
    assert is_id(NEVER_AN_ID)
    assert "-" not in ManualClock().new_id()


def test_a_new_canvas_gets_a_new_id_in_the_callers_workspace() -> None:
    clock, new = ManualClock(), tool("canvas_new", Route.NEW_CANVAS)
    first, second = (owner_of(new, {}, STAMP, clock.new_id()) for _ in range(2))
    assert first.workspace == second.workspace == WORKSPACE
    assert first.id != second.id


def test_a_repeat_of_a_creating_call_reaches_the_same_new_owner() -> None:
    """common 8.2"""
    new = tool("canvas_new", Route.NEW_CANVAS)
    assert owner_of(new, {}, STAMP, CALL) == owner_of(new, {}, STAMP, CALL)


def test_a_composed_tool_has_no_single_owner() -> None:
    with pytest.raises(ValueError, match="composed"):
        owner_of(tool("canvas_read", Route.COMPOSED), {}, STAMP, CALL)


def test_the_workspace_is_checked_against_the_scope_unless_it_is_the_target() -> None:
    """common 3.2"""
    reads_canvas = tool("canvas_read", Route.CANVAS, arguments=CanvasInput)
    assert claimed_workspace(reads_canvas, {"workspaceId": "w"}) == "w"
    assert claimed_workspace(reads_canvas, {}) is None
    reads_workspace = tool("workspace_get", Route.WORKSPACE, arguments=WorkspaceGetInput)
    assert claimed_workspace(reads_workspace, {"workspaceId": "w"}) is None
