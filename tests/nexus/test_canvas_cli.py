"""`nexus canvas`: history, past revisions, the way back, roles, proposals and locks, as a person types them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bus.value import Record, Value
from nexus import exit_codes
from tests.actors.canvas.board import COMMENTER, EDITOR, board_of, rectangle, tied_pair
from tests.actors.canvas.proposing import shared_pair
from tests.actors.canvas.test_history import live
from tests.nexus.test_person_cli import HOSTILE, Commands, commands
from tests.support.served_canvas import DIRECTORY, served


def test_history_as_json_has_exactly_what_the_contract_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """canvas 4.6"""
    board = tied_pair()
    board.applied("move", moves=[{"id": "a", "dx": 5, "dy": 0}])
    with commands(monkeypatch, served(board)) as (run, _):
        printed = run.json("canvas", "history", "Plan")
        assert list(printed) == ["revisions"]
        assert all(list(one) == ["revision", "by", "at", "reason", "elementIds"] for one in printed["revisions"])
        assert [one["revision"] for one in printed["revisions"]] == [3, 2, 1]
        assert printed["revisions"][1]["by"] == EDITOR.agent_id
        assert printed["revisions"][1]["elementIds"] == ["a", "b", "a-label", "ab", "ab-label"]
        assert [one["revision"] for one in run.json("canvas", "history", "Plan", "--limit", "1")["revisions"]] == [3]
        assert run.nexus("canvas", "history", "Plan", "--limit", "0").exit_code == exit_codes.USAGE


def test_history_as_text_is_a_table_with_names_and_nothing_in_it_acts(monkeypatch: pytest.MonkeyPatch) -> None:
    """canvas 4.6, security 2.15"""
    board = board_of("checkout")
    proposal = board.write("move", COMMENTER, moves=[{"id": "gateway", "dx": 5, "dy": 0}])["proposalId"]
    body: Record = {"canvasId": "canvas1", "expectedRevision": 1, "reason": "fine", "proposalId": proposal}
    board.answer("canvas_approve_proposal", body, EDITOR)
    board.create(rectangle("late"))
    hostile: Record = {
        **DIRECTORY,
        "agents": [{"agentId": EDITOR.agent_id, "name": HOSTILE, "workspaceId": "w1"}],
    }
    with commands(monkeypatch, {**served(board), ("app/-/directory", "directory_list"): hostile}) as (run, _):
        printed = run.nexus("canvas", "history", "Plan").stdout
    heading, newest, approved, first = printed.splitlines()
    assert heading.split() == ["REVISION", "AT", "BY", "WHAT", "ELEMENTS", "REASON"]
    assert newest.split()[0] == "3"
    assert "Ada\\x1b" in newest
    assert "commenter-agent, approved by Ada\\x1b" in approved
    assert first.split()[0] == "1"
    assert "\x1b" not in printed


def test_a_past_revision_is_written_as_a_file_and_to_standard_output(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """canvas 4.6, 4.5"""
    board = board_of("checkout")
    then = live(board)
    board.applied("delete", elementIds=["gateway", "cache"])
    file = tmp_path / "before.excalidraw"
    with commands(monkeypatch, served(board)) as (run, _):
        answer = run.json("canvas", "at", "Plan", "1", str(file))
        assert answer == {"canvasId": "canvas1", "revision": 1, "file": str(file), "elements": len(then)}
        scene: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        assert scene["type"] == "excalidraw"
        assert {one["id"]: one for one in scene["elements"]} == then
        assert scene["files"], "pictures come along"
        assert json.loads(run.nexus("canvas", "at", "Plan", "1").stdout) == scene
        assert json.loads(run.nexus("canvas", "at", "Plan", "1", "-").stdout) == scene
        assert "as of revision 1" in run.nexus("canvas", "at", "Plan", "1", str(file)).stdout


def test_a_revision_that_there_is_not_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """canvas 4.6"""
    with commands(monkeypatch, served(tied_pair())) as (run, _):
        for command in (("at", "Plan", "9", str(tmp_path / "f")), ("revert", "Plan", "9")):
            result = run.nexus("canvas", *command)
            assert result.exit_code == exit_codes.REFUSED
            assert "no revision 9: it is at 2" in result.stderr
        assert not (tmp_path / "f").exists()
        for revision in ("0", "first"):
            assert run.nexus("canvas", "at", "Plan", revision).exit_code == exit_codes.USAGE


def test_a_canvas_is_reverted(monkeypatch: pytest.MonkeyPatch) -> None:
    """canvas 4.6"""
    board = tied_pair()
    board.applied("delete", elementIds=["a"])
    with commands(monkeypatch, served(board)) as (run, _):
        answer = run.json("canvas", "revert", "Plan", "2", "--reason", "wrong branch")
        assert (answer["revision"], answer["to"], set(answer["elementIds"])) == (4, 2, {"a", "a-label", "ab"})
        again = run.nexus("canvas", "revert", "Plan", "2", "--yes")
        assert again.stdout == "Plan is as it was at revision 2 already: nothing was changed.\n"
        assert run.json("canvas", "history", "Plan")["revisions"][0]["reason"] == "wrong branch"
        refused = run.nexus("canvas", "revert", "Plan", "1", "--reason", "two\nlines")
        assert refused.exit_code == exit_codes.REFUSED
        assert "reason" in refused.stderr


def test_on_a_terminal_it_asks_before_it_reverts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        def __init__(self, line: str) -> None:
            self.line = line

        def isatty(self) -> bool:
            return True

    board = tied_pair()
    with commands(monkeypatch, served(board)) as (run, _):
        for answer, revision in ((False, 2), (True, 3)):
            monkeypatch.setattr("nexus.canvas_history_cli.sys", type("Sys", (), {"stdin": Terminal("")}))
            monkeypatch.setattr("typer.confirm", lambda question, default, answer=answer: answer)
            result = run.nexus("canvas", "revert", "Plan", "1")
            assert result.exit_code == (exit_codes.OK if answer else exit_codes.REFUSED)
            assert board.revision == revision
    assert sys.stdin is not None


def test_a_role_is_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """canvas 1.1"""
    board = board_of("checkout")
    with commands(monkeypatch, served(board)) as (run, _):
        assert run.nexus("canvas", "revoke", "Plan", "Edda").stdout == "Agent Edda has no role on Plan any more.\n"
        assert EDITOR.agent_id not in board.state.roles


def test_proposals_are_listed_and_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """canvas 1.2, 3.4"""
    board = board_of("checkout")
    with commands(monkeypatch, served(board)) as (run, _):
        assert run.nexus("canvas", "proposals", "Plan").stdout == "No proposal waits.\n"
        first, second = (
            str(board.write("move", COMMENTER, moves=[{"id": id_, "dx": 5, "dy": 0}])["proposalId"])
            for id_ in ("gateway", "cache")
        )
        heading, *rows = run.nexus("canvas", "proposals", "Plan").stdout.splitlines()
        assert heading.split()[:3] == ["ID", "AT", "BY"]
        assert [(row.split()[0], row.split()[2]) for row in rows] == [(first, "Col"), (second, "Col")]
        shown = run.nexus("canvas", "proposals", "Plan", first).stdout
        assert "approving:" in shown
        assert "would make revision 2" in shown
        assert run.nexus("canvas", "approve", "Plan", first).stdout == "Approved: Plan is at revision 2.\n"
        rejected = run.nexus("canvas", "reject", "Plan", second, "--reason", "not now")
        assert rejected.stdout == "Rejected; Plan stays as it is.\n"
        told = run.nexus("canvas", "proposals", "Plan", second).stdout
        assert "not now" in told
        assert "person" in told
        assert [one["stage"] for one in run.json("canvas", "proposals", "Plan", "--all")["proposals"]] == [
            "approved",
            "rejected",
        ]
        assert run.nexus("canvas", "approve", "Plan", second).exit_code == exit_codes.REFUSED


def test_a_proposal_tells_what_approving_it_would_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """canvas 1.2, 3.4, security 2.15"""
    board = shared_pair()
    board.create({"id": "gone", "type": "text", "x": 0, "y": 500, "text": "Old"})
    box: Record = {"id": "p", "type": "rectangle", "x": 10, "y": 20, "width": 160, "height": 80}
    with commands(monkeypatch, served(board)) as (run, _):

        def told(verb: str, **arguments: Value) -> list[str]:
            proposal = str(board.write(verb, COMMENTER, **arguments)["proposalId"])
            lines = run.nexus("canvas", "proposals", "Plan", proposal).stdout.splitlines()
            return [line.strip() for line in lines if line.startswith("  ")]

        assert told("create", elements=[{**box, "label": "Proposed", "glow": 1}]) == [
            "creates rectangle 'Proposed' (160 x 80 at 10, 20) (fields that Excalidraw does not know: glow)"
        ]
        assert told("create", elements=[{**box, "label": "\x1b]0;x\u202e"}])[0].startswith(
            "creates rectangle '\\x1b]0;x\\u202e'"
        )
        assert told("update", updates=[{"id": "b", "set": {"backgroundColor": "#a5d8ff"}}]) == [
            "b: backgroundColor transparent -> #a5d8ff"
        ]
        assert told("move", moves=[{"id": "a", "dx": 20, "dy": 0}])[0] == "moves 'Label' by 20, 0"
        assert told("delete", elementIds=["gone"]) == ["deletes text 'Old'"]
        assert told("connect", connections=[{"fromId": "b", "toId": "a", "label": "asks"}]) == [
            "connects b -> 'Label' ('asks')"
        ]
        many: list[Value] = [{**box, "id": f"m{n}", "y": n * 100} for n in range(35)]
        lines = told("create", elements=many)
        assert (len(lines), lines[-1]) == (31, "and 5 more; --json prints the elements")


def test_locks_are_taken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """canvas 1.2, 3.3"""
    board = board_of("checkout")
    board.applied("lock", elementIds=["gateway", "cache"])
    with commands(monkeypatch, served(board)) as (run, _):
        assert "gateway  Edda until " in run.nexus("canvas", "show", "Plan").stdout
        assert run.json("canvas", "unlock", "Plan", "cache")["elementIds"] == ["cache"]
        assert run.nexus("canvas", "unlock", "Plan").stdout == "1 element of Plan is not locked any more.\n"
        assert run.nexus("canvas", "unlock", "Plan").stdout == "None was locked.\n"


@pytest.mark.parametrize(
    "name", ["plan.gif", "plan.JPG", "plan.jpeg", "plan.webp", "plan.pdf", "plan.bmp", "plan.tiff"]
)
def test_a_picture_of_another_format_is_refused_and_none_is_named_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    """canvas 4.5"""
    with commands(monkeypatch, served(board_of("checkout"))) as (run, _):
        refused = run.nexus("canvas", "export", "Plan", str(tmp_path / name))
        assert refused.exit_code == exit_codes.USAGE
        assert ".svg or .png" in refused.stderr
        assert [*tmp_path.iterdir()] == []
        told = run.nexus("canvas", "export", "Plan", str(tmp_path / name), "--format", "excalidraw")
        assert told.exit_code == exit_codes.OK


def test_an_ambiguous_title_is_refused_with_the_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    two: Record = {"canvases": [{"canvasId": "c1", "title": "Plan"}, {"canvasId": "c2", "title": "plan"}]}
    script = {**served(tied_pair()), ("workspace/w1/w1", "readable_canvases"): two}
    with commands(monkeypatch, script) as (run, _):
        for command in (("history", "PLAN"), ("at", "PLAN", "1"), ("revert", "PLAN", "1"), ("unlock", "PLAN")):
            result = run.nexus("canvas", *command)
            assert result.exit_code == exit_codes.REFUSED
            assert "c1" in result.stderr
            assert "c2" in result.stderr


def test_without_a_running_nexus_each_command_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for command in (("history", "P"), ("at", "P", "1"), ("revert", "P", "1"), ("proposals", "P"), ("unlock", "P")):
        result = Commands().nexus("canvas", *command, "--home", str(tmp_path))
        assert result.exit_code == exit_codes.NOT_RUNNING, result.output
