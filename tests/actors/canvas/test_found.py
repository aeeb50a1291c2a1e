"""canvas_create, canvas_import and canvas_grant (canvas 1, 2; decision 0001)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from actors import canvas
from actors.canvas import RULES
from actors.decision import PrincipalKind
from bus.value import Record, records
from tests.actors.canvas.board import EDITOR, STRANGER, Board, board_of, empty_board, rectangle
from tests.support.bench import PERSON
from tests.support.source import syntax_of
from tools.canvas.outputs import CanvasCreateOutput
from tools.errors import NOT_FOUND, Code

_OWN = ("actors.canvas", "actors.decision", "actors.parsed")


def test_creating_a_canvas_grants_its_creator_owner_and_tells_the_workspace_before_the_reply() -> None:
    """canvas 1.1, 2"""
    board = Board()
    reply = board.answer("canvas_create", {"title": "Plan", "reason": "to think"})
    assert reply == {"outcome": "applied", "canvasId": "canvas1", "revision": 1}
    CanvasCreateOutput.model_validate(reply)
    (sent,) = board.bench.sent
    assert (str(sent.to), sent.verb, sent.before_reply) == ("workspace/w1/w1", "canvas_indexed", True)
    assert sent.body == {"canvasId": "canvas1", "title": "Plan", "roles": {EDITOR.agent_id: "owner"}}
    assert board.answer("canvas_summary", {})["role"] == "owner"
    assert [event.type for event in board.bench.events] == ["canvas.created"]


def test_a_canvas_can_begin_with_a_scene() -> None:
    """canvas 2"""
    board = Board()
    scene: Record = {"elements": [rectangle("a"), {**rectangle("b"), "width": 0, "height": 0}]}
    reply = board.answer("canvas_create", {"title": "Plan", "reason": "r", "fromScene": scene})
    CanvasCreateOutput.model_validate(reply)
    assert (reply["revision"], reply["elementCount"], reply["leftOutCount"]) == (1, 1, 1)


def test_a_canvas_is_created_once() -> None:
    assert empty_board().refused("canvas_create", {"title": "Again", "reason": "r"}).code is Code.WRONG_STATE


def test_an_imported_canvas_has_no_roles_until_the_person_grants_them() -> None:
    """canvas 1.1"""
    board = Board()
    board.bring_in({"elements": []})
    assert board.bench.sent[0].body["roles"] == {}
    assert board.refused("canvas_get_state", {"canvasId": "canvas1"}) == NOT_FOUND


def test_a_grant_tells_the_workspace_and_leaves_the_revision() -> None:
    """canvas 1.1, 3.3"""
    board = board_of("checkout")
    board.bench.sent.clear()
    board.answer("canvas_grant", {"agentId": STRANGER.agent_id, "role": "viewer"}, PERSON)
    assert board.bench.sent[0].body["roles"] == {
        "editor-agent": "editor", "viewer-agent": "viewer", "commenter-agent": "commenter", "stranger-agent": "viewer",
    }  # fmt: skip
    assert board.revision == 1
    board.answer("canvas_grant", {"agentId": STRANGER.agent_id, "role": "none"}, PERSON)
    assert board.refused("canvas_get_state", {"canvasId": "canvas1"}, STRANGER) == NOT_FOUND
    assert board.bench.reloaded() == board.state


def test_a_grant_that_changes_nothing_writes_nothing() -> None:
    board = board_of("checkout")
    assert board.bench.decide("canvas_grant", {"agentId": EDITOR.agent_id, "role": "editor"}, PERSON).effects == ()


@pytest.mark.parametrize("agent_id", ["no/slash", "-", "x" * 65, "é"])
def test_a_role_is_granted_only_to_what_can_be_an_agent(agent_id: str) -> None:
    refusal = board_of("checkout").refused("canvas_grant", {"agentId": agent_id, "role": "viewer"}, PERSON)
    assert refusal.code is Code.INVALID_ARGUMENTS


@pytest.mark.parametrize("verb", ["import_begin", "import_part", "import_finish", "canvas_export", "canvas_grant"])
def test_only_the_person_imports_exports_and_grants(verb: str) -> None:
    """canvas 1.1: no tool grants or changes a role"""
    assert RULES.verbs[verb].callers == {PrincipalKind.PERSON}


def test_nothing_is_granted_on_a_canvas_that_does_not_exist() -> None:
    """common 3.3"""
    assert Board().refused("canvas_grant", {"agentId": "a", "role": "viewer"}, PERSON) == NOT_FOUND


def test_nothing_is_exported_of_a_canvas_that_does_not_exist() -> None:
    """common 3.3"""
    assert Board().refused("canvas_export", {}, PERSON) == NOT_FOUND


def test_the_rules_are_pure() -> None:
    """ARCHITECTURE, Owners: decide takes time and ids from its context, and does no input or output"""
    impure = {"asyncio", "threading", "time", "random", "os", "socket", "zmq", "lmdb", "pathlib", "subprocess"}
    for file in Path(canvas.__file__).parent.glob("*.py"):
        for node in ast.walk(syntax_of(file)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & impure, file.name
            assert all(not name.startswith("actors.") or name.startswith(_OWN) for name in names), file.name


def test_the_person_reads_every_role_without_the_scene() -> None:
    """canvas 1.1, 5"""
    board = board_of("checkout")
    told = board.answer("canvas_roles", {}, PERSON)
    assert {str(one["agentId"]): one["role"] for one in records(told, "roles")} == board.state.roles
    assert RULES.verbs["canvas_roles"].head_only
    assert Board().refused("canvas_roles", {}, PERSON) == NOT_FOUND
