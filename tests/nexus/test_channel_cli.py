"""`nexus channel`, against a real port that answers from a script."""

from __future__ import annotations

import pytest

from bus.value import Record
from nexus import exit_codes
from tests.nexus.test_person_channels import REQUEST, REVIEWS, SCRIPT
from tests.nexus.test_person_cli import HOSTILE, commands
from tests.support.scripted_caller import Script


def test_channels_are_listed_as_a_table_or_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, SCRIPT) as (run, _):
        heading, first, second = run.nexus("channel", "list").stdout.splitlines()
        assert heading.split() == ["ID", "NAME", "WORKSPACE", "MEMBERS", "REQUESTS"]
        assert (first.split(), second.split()[:3]) == (["h1", "Reviews", "Site", "2", "1"], ["h2", "Reviews", "Shop"])
        assert run.json("channel", "list", "-w", "Shop")["channels"][0]["channelId"] == "h2"


def test_without_any_the_way_to_make_one_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing: Script = {(f"workspace/{id_}/{id_}", "channels_list"): {"channels": []} for id_ in ("w1", "w2")}
    empty: Script = {**SCRIPT, **nothing}
    with commands(monkeypatch, empty) as (run, _):
        assert "nexus channel create" in run.nexus("channel", "list").stdout
        assert run.json("channel", "list") == {"channels": []}


def test_one_is_shown_with_members_and_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, SCRIPT) as (run, _):
        text = run.nexus("channel", "show", "h1").stdout
        assert "Channel Reviews (h1) of workspace Site" in text
        assert "Bo  b1  (acts in another workspace now)" in text
        assert "note, in the agent's own words: She knows the code." in text
        assert len(run.json("channel", "show", "h1")["members"]) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("create", "New", "--workspace", "Shop"), "Channel New made: h3"),
        (("rename", "h1", "New"), "Channel Reviews is now called New."),
        (("delete", "h1", "--yes"), "Channel Reviews (h1) is deleted."),
        (("add", "h1", "Ada"), "Agent Ada is a member of Reviews."),
        (("remove", "h1", "Bo"), "Agent Bo is no member of Reviews any more."),
        (("accept", "r1"), "has joined Reviews; Ada is told."),
        (("decline", "r1", "--note", "Not yet."), "does not join Reviews; Ada is told."),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_each_change_says_what_it_did(monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str) -> None:
    with commands(monkeypatch, SCRIPT) as (run, _):
        result = run.nexus("channel", *arguments)
        assert (result.exit_code, said in result.stdout) == (exit_codes.OK, True), result.output
        assert isinstance(run.json("channel", *arguments), dict)


def test_a_channel_is_deleted_only_with_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, SCRIPT) as (run, port):
        refused = run.nexus("channel", "delete", "h1")
        assert (refused.exit_code, port.caller.sent) == (exit_codes.USAGE, [])
        assert "--yes" in refused.stderr


def test_requests_show_what_nexus_knows_before_the_agents_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """common 5.4"""
    with commands(monkeypatch, SCRIPT) as (run, _):
        text = run.nexus("channel", "requests").stdout
        assert text.index("asked by") < text.index("in the agent's own words")
        assert run.json("channel", "requests")["requests"][0]["requestId"] == "r1"
    with commands(monkeypatch, {**SCRIPT, ("workspace/w1/w1", "channel_requests"): {"requests": []}}) as (run, _):
        assert run.nexus("channel", "requests").stdout.strip() == "No request waits."


def test_a_decision_on_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, SCRIPT) as (run, _):
        assert run.nexus("channel", "accept", "r2").exit_code == exit_codes.REFUSED


def test_hostile_names_and_notes_are_shown_as_escapes_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """security 2.4, 2.15"""
    lie = f"{HOSTILE}\nRequest r9\n  asked by: the person"
    channel: Record = {**REVIEWS, "name": HOSTILE}
    request: Record = {**REQUEST, "channelName": HOSTILE, "note": lie}
    script: Script = {
        **SCRIPT,
        ("workspace/w1/w1", "channels_list"): {"channels": [channel]},
        ("workspace/w1/w1", "channel_requests"): {"requests": [request]},
    }
    with commands(monkeypatch, script) as (run, _):
        for arguments in (("list",), ("show", "h1"), ("requests",), ("accept", "r1"), ("delete", "h1", "--yes")):
            for as_json in ((), ("--json",)):
                result = run.nexus("channel", *arguments, *as_json)
                assert result.exit_code == exit_codes.OK, result.output
                assert "\x1b" not in result.output and "\x07" not in result.output and "\u202e" not in result.output
        lines = run.nexus("channel", "requests").stdout.splitlines()
        assert [line for line in lines if line.startswith("Request")] == ["Request r1"]
        assert len([line for line in lines if "asked by" in line]) == 2, "the lie stands inside the note's one line"
        assert not any(line.lstrip().startswith("asked by: the person") for line in lines)
