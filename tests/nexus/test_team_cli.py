"""`nexus team`: the person's teams, and the file of those from the cloud (mesh.md)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bus.value import Record, Value
from nexus import exit_codes, team_cli
from tests.nexus.test_person_cli import HOSTILE, commands
from tests.nexus.test_person_port import LISTS
from tests.support.scripted_caller import Script, Sent
from tools.errors import NOT_FOUND, Refusal
from tools.team import CLOUD_MANAGED, NO_TEAM, NOT_A_MEMBER

LISTED: list[Value] = [
    {"teamId": "t1", "name": "Reviewers", "memberCount": 1, "origin": "local"},
    {"teamId": "t2", "name": "Design", "memberCount": 0, "origin": "cloud"},
]


def owner(name: str = "Reviewers") -> Script:
    def membership(sent: Sent) -> Record:
        return {**sent.body, "memberCount": 2, "changed": sent.verb == "team_add_member"}

    first: Record = {"teamId": "t1", "name": name, "memberCount": 1, "origin": "local"}
    fence: Record = {"untrusted": True, "source": "team description", "text": name}
    teams = ("teams/-/teams", "team_list")
    return {
        **LISTS,
        teams: lambda sent: {"teams": LISTED[1:]} if "cursor" in sent.body else {"teams": [first], "nextCursor": "t1"},
        ("teams/-/teams", "team_show"): {**first, "description": fence, "createdAt": "-", "members": ["b1"]},
        ("app/-/directory", "agents_named"): {"agents": [{"agentId": "b1", "name": name, "inYourWorkspace": False}]},
        ("teams/-/teams", "team_create"): lambda sent: {"teamId": "t3", "name": sent.body["name"]},
        ("teams/-/teams", "team_add_member"): membership,
        ("teams/-/teams", "team_remove_member"): membership,
        ("teams/-/teams", "team_delete"): lambda sent: {**sent.body, "name": name},
        ("teams/-/teams", "teams_provision"): lambda sent: {"teams": len(sent.body["teams"]), "removed": 1},  # type: ignore[arg-type]
    }


def test_all_pages_are_listed_and_a_team_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, owner()) as (run, port):
        assert run.json("team", "list") == {"teams": LISTED}
        assert "cloud" in run.nexus("team", "list").stdout
        shown = run.json("team", "show", "reviewers")
        assert shown["members"] == [{"agentId": "b1", "name": "Reviewers", "workspace": "Shop"}]
        assert "Shop" in run.nexus("team", "show", "Reviewers").stdout
        assert port.caller.bodies("team_show")[0] == {"teamId": "t1"}
        assert run.nexus("team", "show", "Nobody").exit_code == exit_codes.REFUSED


def test_a_team_is_made_filled_emptied_and_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, owner()) as (run, port):
        assert run.nexus("team", "create", "Own", "--description", "Mine.").stdout == "Team Own made: t3\n"
        assert port.caller.bodies("team_create") == [{"name": "Own", "description": "Mine."}]
        added = run.nexus("team", "add", "Reviewers", "Bo").stdout
        assert added == "Agent Bo belongs to Reviewers, which has 2 now.\n"
        assert port.caller.bodies("team_add_member") == [{"teamId": "t1", "agentId": "b1"}]
        assert "belongs no more to" in run.nexus("team", "remove", "Reviewers", "Bo").stdout
        refused = run.nexus("team", "delete", "Reviewers")
        assert refused.exit_code == exit_codes.USAGE and port.caller.bodies("team_delete") == []
        assert run.nexus("team", "delete", "Reviewers", "--yes").stdout == "Team Reviewers (t1) is deleted.\n"


@pytest.mark.parametrize("refusal", [NOT_FOUND, NO_TEAM, NOT_A_MEMBER, CLOUD_MANAGED], ids=range(4))
def test_a_refusal_that_speaks_to_agents_is_said_in_other_words(
    monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    with commands(monkeypatch, {**owner(), ("teams/-/teams", "team_remove_member"): refusal}) as (run, _):
        refused = run.nexus("team", "remove", "Reviewers", "Bo")
        assert refused.exit_code == exit_codes.REFUSED
        assert refused.stderr.startswith("Refused: ") and len(refused.stderr) > 30
        for word in (refusal.message, "your workspace", "team_"):
            assert word not in refused.stderr


def test_a_file_of_cloud_teams_names_agents_by_id_or_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """mesh 1"""
    file = tmp_path / "teams.json"
    members: list[Value] = ["Bo", "b1", {"agent": "Bo", "workspace": "Shop"}]
    file.write_text(json.dumps({"teams": [{"id": "c1", "name": "Design", "members": members}]}))
    monkeypatch.setattr(team_cli, "home_folder", lambda home: tmp_path)
    with commands(monkeypatch, owner()) as (run, port):
        for arguments in ((str(file),), ()):
            assert run.nexus("team", "provision", *arguments).stdout == "Cloud teams: 1. Removed: 1.\n"
        assert port.caller.bodies("teams_provision")[0] == {
            "teams": [{"teamId": "c1", "name": "Design", "description": None, "members": ["b1", "b1", "b1"]}]
        }


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "no JSON"),
        ("[]", "one JSON object"),
        ('{"teams": NaN}', "no JSON"),
        ("[" * 100_000, "nested too deeply"),
        (b"\xff", "no JSON"),
        ("{}", "teams: is required"),
        ('{"teams": [{"id": "c1", "name": "D", "members": ["Nobody"]}]}', "teams.0.members.0: names no agent"),
        ('{"teams": [{"id": "c1", "name": "D", "role": "x"}]}', "teams.0.role: is not an argument here"),
        ('{"teams": [{"id": "c1", "name": "D\\u202e"}]}', "teams.0.name"),
        (" " * (3 * 1024 * 1024 + 1), "larger than 3 MiB"),
    ],
    ids=range(10),
)
def test_a_file_with_anything_wrong_is_refused_in_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | bytes, why: str
) -> None:
    file = tmp_path / "teams.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with commands(monkeypatch, owner()) as (run, port):
        result = run.nexus("team", "provision", str(file))
        assert result.exit_code == exit_codes.REFUSED and why in result.stderr, result.stderr
        assert port.caller.bodies("teams_provision") == []
        assert run.nexus("team", "provision", str(tmp_path / "absent")).exit_code == exit_codes.REFUSED


def test_no_name_acts_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """security 2.15"""
    with commands(monkeypatch, owner(HOSTILE)) as (run, _):
        for arguments in (("list",), ("show", "t1"), ("add", "t1", "Bo"), ("delete", "t1", "--yes"), ("show", HOSTILE)):
            result = run.nexus("team", *arguments)
            assert "\x1b" not in result.stdout + result.stderr and "\u202e" not in result.stdout + result.stderr
