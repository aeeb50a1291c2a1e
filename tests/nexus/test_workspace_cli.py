"""`nexus workspace` and `nexus canvas delete`, against a real port that answers from a script."""

from __future__ import annotations

import json

import pytest

from bus.value import Record, Value
from nexus import exit_codes
from tests.nexus.test_person_cli import HOSTILE, commands
from tests.nexus.test_person_port import LISTS
from tests.support.scripted_caller import Script

DIRECTORY = "app/-/directory"
DELETED: Script = {**LISTS, (DIRECTORY, "workspace_delete"): {"id": "w2", "name": "Shop"}}


def test_without_yes_a_deletion_only_shows_what_it_would_destroy(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, DELETED) as (run, port):
        result = run.nexus("workspace", "delete", "Shop")
        assert result.exit_code == exit_codes.USAGE
        assert "Plan" in result.stderr
        assert "1 channels, with who is a member" in result.stderr
        assert "Reviews" in result.stderr
        assert "2 agents pinned there" in result.stderr
        assert "--yes" in result.stderr
        as_json = json.loads(run.nexus("workspace", "delete", "Shop", "--json").stdout)
        assert as_json["error"]["contents"]["canvases"] == [{"canvasId": "c2", "title": "Plan"}]
        assert port.caller.sent_of("workspace_delete") == []


def test_with_yes_it_is_deleted_and_what_went_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, DELETED) as (run, port):
        result = run.nexus("workspace", "delete", "Shop", "--yes")
        assert result.exit_code == exit_codes.OK
        assert "Workspace Shop (w2) is deleted, with:" in result.stdout
        assert "Plan" in result.stdout
        assert len(port.caller.sent_of("workspace_delete")) == 1


def test_many_canvases_are_counted_and_some_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[Value] = [{"canvasId": f"c{n}", "title": f"Plan {n}", "role": "owner"} for n in range(30)]
    with commands(monkeypatch, {**DELETED, ("workspace/w2/w2", "readable_canvases"): {"canvases": listed}}) as (run, _):
        text = run.nexus("workspace", "delete", "Shop").stderr
        assert "30 canvases" in text
        assert text.count("Plan ") == 20
        assert "and 10 more" in text


def test_hostile_titles_are_shown_as_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """security 2.15"""
    listed: list[Value] = [{"canvasId": "c", "title": HOSTILE, "role": "owner"}]
    with commands(monkeypatch, {**DELETED, ("workspace/w2/w2", "readable_canvases"): {"canvases": listed}}) as (run, _):
        for arguments in (("workspace", "delete", "Shop"), ("workspace", "delete", "Shop", "--yes")):
            result = run.nexus(*arguments)
            assert "\x1b" not in result.output
            assert "\u202e" not in result.output


def test_a_workspace_that_is_being_deleted_is_listed_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    listed: Record = {**LISTS[DIRECTORY, "directory_list"], "deleting": [{"workspaceId": "w9", "name": "Old"}]}  # type: ignore[dict-item]
    with commands(monkeypatch, {**LISTS, (DIRECTORY, "directory_list"): listed}) as (run, _):
        last = run.nexus("workspace", "list").stdout.splitlines()[-1]
        assert last.split() == ["w9", "Old", "(being", "deleted)"]


def test_an_update_needs_something_to_change(monkeypatch: pytest.MonkeyPatch) -> None:
    script: Script = {**LISTS, (DIRECTORY, "workspace_update"): {"id": "w1", "name": "New", "updated": ["name"]}}
    with commands(monkeypatch, script) as (run, port):
        assert run.nexus("workspace", "update", "Site").exit_code == exit_codes.USAGE
        assert run.nexus("workspace", "update", "Site", "--grid-columns", "13").exit_code == exit_codes.USAGE
        assert run.json("workspace", "update", "Site", "--name", "New", "--color", "#2f9e44")["updated"] == ["name"]
        assert port.caller.bodies("workspace_update") == [{"workspaceId": "w1", "name": "New", "color": "#2f9e44"}]


def test_a_canvas_is_deleted_only_with_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    script: Script = {
        **LISTS,
        ("canvas/w2/c2", "canvas_summary"): {"revision": 7},
        ("canvas/w2/c2", "canvas_delete"): {"outcome": "applied", "revision": 7, "elementIds": []},
    }
    with commands(monkeypatch, script) as (run, port):
        refused = run.nexus("canvas", "delete", "c2")
        assert (refused.exit_code, port.caller.sent) == (exit_codes.USAGE, [])
        assert "--yes" in refused.stderr
        assert "Canvas Plan (c2) is deleted." in run.nexus("canvas", "delete", "c2", "--yes").stdout
