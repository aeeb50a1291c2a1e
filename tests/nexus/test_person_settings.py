"""`nexus settings`: what is typed, what is asked of the owner, what is shown (workspace.md, settings_*)."""

from __future__ import annotations

import json

import pytest

from bus.value import Record
from nexus import exit_codes
from tests.nexus.test_person_cli import commands
from tests.support.person_port import ask, refused_code, running_port
from tests.support.scripted_caller import Script, Sent
from tools.errors import NOT_FOUND
from tools.setting_catalogue import DESKTOP_NOTIFICATIONS, GRID_COLUMNS

COLUMNS: Record = {
    "name": GRID_COLUMNS.name,
    "meaning": GRID_COLUMNS.meaning,
    "type": "integer",
    "value": 3,
    "default": 2,
}


def owner() -> Script:
    def change(sent: Sent) -> Record:
        return {"name": sent.body["name"], "value": sent.body.get("value", 2), "oldValue": 2, "changed": True}

    return {
        ("settings/-/settings", "settings_list"): {"settings": [{**COLUMNS, "tier": "writable"}], "truncated": False},
        ("settings/-/settings", "settings_get"): {"setting": {**COLUMNS, "tier": "writable"}},
        ("settings/-/settings", "settings_set"): change,
        ("settings/-/settings", "settings_reset"): change,
    }


@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        (GRID_COLUMNS.name, "12", 12),
        (GRID_COLUMNS.name, "+3", 3),
        (DESKTOP_NOTIFICATIONS.name, "false", False),
        (DESKTOP_NOTIFICATIONS.name, "ON", True),
        (DESKTOP_NOTIFICATIONS.name, "no", False),
    ],
)
def test_what_is_typed_becomes_a_value_of_the_settings_type(name: str, typed: str, value: object) -> None:
    with running_port(owner()) as port:
        assert ask(port, "settings.set", {"name": name, "value": typed})["ok"]["value"] is value
        assert port.caller.bodies("settings_set") == [{"name": name, "value": value}]


@pytest.mark.parametrize(
    ("name", "typed", "problem"),
    [
        (GRID_COLUMNS.name, "many", "must be a whole number"),
        (GRID_COLUMNS.name, "1.5", "must be a whole number"),
        (GRID_COLUMNS.name, "٣", "must be a whole number"),
        (GRID_COLUMNS.name, "13", "must be between 1 and 12"),
        (GRID_COLUMNS.name, "9" * 30, "must be a whole number"),
        (DESKTOP_NOTIFICATIONS.name, "1", "must be true or false (or yes, no, on, off)"),
    ],
)
def test_what_does_not_fit_is_refused_in_words_and_asks_nobody(name: str, typed: str, problem: str) -> None:
    with running_port(owner()) as port:
        answer = ask(port, "settings.set", {"name": name, "value": typed})
        assert answer["error"]["fields"] == [{"path": "value", "problem": problem}]
        assert port.caller.sent == []


@pytest.mark.parametrize("verb", ["settings.get", "settings.set", "settings.reset"])
def test_an_unknown_setting_is_said_to_the_person_in_its_own_words(verb: str) -> None:
    with running_port({("settings/-/settings", "settings_get"): NOT_FOUND}) as port:
        value = {"value": "1"} if verb == "settings.set" else {}
        answer = ask(port, verb, {"name": "no.such", **value})
        assert refused_code(answer) == "not_found"
        assert "nexus settings list" in answer["error"]["message"]


def test_settings_are_shown_and_changed_in_words_or_json(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, owner()) as (run, _):
        assert GRID_COLUMNS.name in run.nexus("settings", "list").stdout
        assert GRID_COLUMNS.meaning in run.nexus("settings", "get", GRID_COLUMNS.name).stdout
        changed = run.nexus("settings", "set", GRID_COLUMNS.name, "3")
        assert changed.stdout == "workspaces.gridColumns is now 3; it was 2.\n"
        assert run.json("settings", "set", GRID_COLUMNS.name, "3")["oldValue"] == 2
        assert run.json("settings", "reset", GRID_COLUMNS.name)["value"] == 2
        refused = run.nexus("settings", "set", GRID_COLUMNS.name, "99")
        assert refused.exit_code == exit_codes.REFUSED
        assert "value: must be between 1 and 12" in refused.stderr
        assert json.loads(run.nexus("settings", "list", "--json").stdout)["truncated"] is False


def test_a_setting_that_has_the_value_already_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    same: Record = {"name": GRID_COLUMNS.name, "value": 2, "oldValue": 2, "changed": False}
    with commands(monkeypatch, {("settings/-/settings", "settings_reset"): same}) as (run, _):
        assert run.nexus("settings", "reset", GRID_COLUMNS.name).stdout == "workspaces.gridColumns was 2 already.\n"
