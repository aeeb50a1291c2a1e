"""`nexus agent` and `nexus guest`, against a real port that answers from a script."""

from __future__ import annotations

import pytest

from bus.value import Record
from nexus import exit_codes
from nexus.gateway.person_verbs import VERBS
from tests.nexus.test_person_cli import HOSTILE, Commands, commands
from tests.nexus.test_person_port import LISTS
from tests.support.scripted_caller import Script
from tools.errors import NOT_FOUND

FACTS: Record = {
    "agentId": "b1",
    "mode": "approval",
    "capabilities": ["mesh"],
    "withheld": [{"tool": "canvas_list", "by": "agent"}],
    "inherits": True,
    "paused": True,
    "blocked": ["a1", "gone"],
    "createdAt": "2027-01-01T00:00:00.000Z",
    "persona": None,
    "credentials": [
        {"name": "default", "createdAt": "2027-01-01T00:00:00.000Z", "lastUsedAt": None},
        {
            "name": "laptop",
            "createdAt": "2027-01-02T00:00:00.000Z",
            "lastUsedAt": "2027-01-03T00:00:00.000Z",
            "families": ["canvas", "agent"],
        },
    ],
    "budget": {"usedLifetime": 3, "lifetime": 200, "usedThisHour": 1, "perHour": 10},
}
SCRIPT: Script = {
    **LISTS,
    ("agent", "agent_facts"): FACTS,
    ("agent/-/b1", "agent_set_mode"): {},
    ("agent/-/b1", "agent_set_capability"): {},
    ("agent/-/b1", "agent_set_withheld"): {},
    ("agent/-/b1", "agent_pause"): {},
    ("agent/-/b1", "agent_block"): {},
    ("agent/-/b1", "agent_set_budget"): {},
    ("agent/-/b1", "credential_add"): {},
    ("agent/-/b1", "credential_revoke"): {},
    ("agent/-/b1", "credential_narrow"): {"families": ["canvas"]},
    ("agent/-/b1", "token_replace"): {},
    ("app/-/directory", "agent_pin"): {"agentId": "b1", "name": "Bo", "workspaceId": "w1"},
    ("app/-/directory", "agent_inherit"): {"agentId": "b1", "name": "Bo", "workspaceId": "w2"},
    ("app/-/directory", "agent_rename"): {"agentId": "b1", "name": "Grace"},
    ("agent/-/guest", "guest_on"): {},
    ("agent/-/guest", "guest_off"): {},
}

CHANGES = [
    (("agent", "mode", "Bo", "plan_collect"), "agent_set_mode", {"mode": "plan_collect"}, "in mode plan_collect"),
    (
        ("agent", "capability", "Bo", "mesh", "--on"),
        "agent_set_capability",
        {"capability": "mesh", "held": True},
        "has the capability mesh",
    ),
    (
        ("agent", "capability", "Bo", "mesh", "--off"),
        "agent_set_capability",
        {"capability": "mesh", "held": False},
        "no longer has the capability mesh",
    ),
    (
        ("agent", "withhold", "Bo", "canvas_list"),
        "agent_set_withheld",
        {"tool": "canvas_list", "withheld": True},
        "may no longer use canvas_list",
    ),
    (
        ("agent", "withhold", "Bo", "canvas_list", "--restore"),
        "agent_set_withheld",
        {"tool": "canvas_list", "withheld": False},
        "may use canvas_list",
    ),
    (
        ("agent", "budget", "Bo", "--lifetime", "7", "--reset"),
        "agent_set_budget",
        {"lifetime": 7, "reset": True},
        "3 of 200 surfaces in all, 1 of 10 within the hour",
    ),
    (
        ("agent", "credential", "families", "Bo", "laptop", "canvas, agent"),
        "credential_narrow",
        {"name": "laptop", "families": ["canvas", "agent"]},
        "The credential laptop of agent Bo (b1) is served: canvas",
    ),
    (
        ("agent", "credential", "families", "Bo", "laptop", "all"),
        "credential_narrow",
        {"name": "laptop", "families": None},
        "The credential laptop of agent Bo (b1) is served: canvas",
    ),
    (("agent", "pause", "Bo"), "agent_pause", {"paused": True}, "is paused"),
    (("agent", "resume", "Bo"), "agent_pause", {"paused": False}, "is offered tasks again"),
    (
        ("agent", "block", "Bo", "--from", "a1"),
        "agent_block",
        {"agentId": "a1", "blocked": True},
        "Agent Ada (a1) cannot send to Bo (b1).",
    ),
    (
        ("agent", "unblock", "Bo", "--from", "a1"),
        "agent_block",
        {"agentId": "a1", "blocked": False},
        "Agent Ada (a1) is no longer blocked from sending to Bo (b1).",
    ),
    (
        ("agent", "credential", "revoke", "Bo", "laptop"),
        "credential_revoke",
        {"name": "laptop"},
        "The credential laptop of agent Bo (b1) has stopped",
    ),
]

PLACES = [
    (("pin", "Bo", "Site"), "agent_pin", {"agentId": "b1", "workspaceId": "w1"}, "Agent Bo (b1) is pinned to Site."),
    (
        ("inherit", "Bo", "--on"),
        "agent_inherit",
        {"agentId": "b1", "inherits": True},
        "Agent Bo (b1) goes along with the active workspace, now Shop.",
    ),
    (
        ("inherit", "Bo", "--off"),
        "agent_inherit",
        {"agentId": "b1", "inherits": False},
        "Agent Bo (b1) stays in Shop.",
    ),
    (
        ("rename", "Bo", "Grace"),
        "agent_rename",
        {"agentId": "b1", "name": "Grace"},
        "Agent Bo is called Grace (b1) now.",
    ),
]


@pytest.mark.parametrize(("typed", "verb", "body", "said"), PLACES)
def test_where_an_agent_acts_and_its_name_are_changed_by_the_directory(
    monkeypatch: pytest.MonkeyPatch, typed: tuple[str, ...], verb: str, body: Record, said: str
) -> None:
    """common 3.1"""
    with commands(monkeypatch, SCRIPT) as (run, port):
        assert run.nexus("agent", *typed).stdout == f"{said}\n"
        assert port.caller.bodies(verb) == [body]
        assert run.json("agent", *typed)["agentId"] == "b1"


@pytest.mark.parametrize(("typed", "verb", "body", "said"), CHANGES)
def test_a_change_is_sent_and_told_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, typed: tuple[str, ...], verb: str, body: Record, said: str
) -> None:
    with commands(monkeypatch, SCRIPT) as (run, port):
        result = run.nexus(*typed)
        assert result.exit_code == exit_codes.OK, result.output
        assert said in result.stdout and "Bo (b1)" in result.stdout
        assert len(result.stdout.splitlines()) == 1
        assert port.caller.bodies(verb) == [body]
        assert run.json(*typed)["agentId"] == "b1"


def test_a_capability_is_never_changed_by_leaving_the_word_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, SCRIPT) as (run, port):
        assert run.nexus("agent", "capability", "Bo", "mesh").exit_code == exit_codes.USAGE
        assert run.nexus("agent", "mode", "Bo", "god").exit_code == exit_codes.USAGE
        assert port.caller.sent == []


def test_a_budget_is_shown_when_nothing_is_to_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, SCRIPT) as (run, port):
        assert "3 of 200 surfaces" in run.nexus("agent", "budget", "Bo").stdout
        assert run.json("agent", "budget", "Bo") == {"agentId": "b1", "name": "Bo", "budget": FACTS["budget"]}
        assert port.caller.sent_of("agent_set_budget") == []


@pytest.mark.parametrize(
    ("typed", "start"),
    [
        (("agent", "credential", "add", "Bo", "laptop"), "nx_b1_"),
        (("agent", "token", "Bo", "--replace"), "nx_b1_"),
        (("guest", "on"), "nx_guest_"),
    ],
)
def test_a_token_is_printed_once_with_how_to_keep_it(
    monkeypatch: pytest.MonkeyPatch, typed: tuple[str, ...], start: str
) -> None:
    """common 2.1, 2.2"""
    with commands(monkeypatch, SCRIPT) as (run, _):
        text = run.nexus(*typed).stdout
        assert text.count("nx_") == text.count(start) == 1
        assert "NEXUS_TOKEN," in text
        assert run.json(*typed)["token"].startswith(start)


def test_the_families_of_a_credential_are_shown_when_none_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """common 1.3"""
    with commands(monkeypatch, SCRIPT) as (run, port):
        told = run.nexus("agent", "credential", "families", "Bo", "laptop").stdout
        assert told == "The credential laptop of agent Bo (b1) is served: canvas, agent\n"
        assert run.json("agent", "credential", "families", "Bo", "default")["families"] is None
        assert run.nexus("agent", "credential", "families", "Bo", "other").exit_code == exit_codes.REFUSED
        assert port.caller.sent_of("credential_narrow") == []


def test_a_credential_is_made_narrow_and_what_is_no_family_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """common 1.3"""
    with commands(monkeypatch, SCRIPT) as (run, port):
        run.nexus("agent", "credential", "add", "Bo", "x", "--families", "canvas,agent")
        assert port.caller.bodies("credential_add")[0]["families"] == ["canvas", "agent"]
        wrong = run.nexus("agent", "credential", "add", "Bo", "y", "--families", "canvas,paint")
        assert wrong.exit_code == exit_codes.REFUSED
        assert "families.1: is no family of tools; these are: canvas, agent" in wrong.output
        assert len(port.caller.sent_of("credential_add")) == 1


def test_an_agent_is_shown_whole_and_listed_with_its_authority(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, SCRIPT) as (run, _):
        text = run.nexus("agent", "show", "Bo").stdout
        for part in ("approval", "mesh", "canvas_list (by the agent)", "Shop (inherits)", "3 of 200", "laptop"):
            assert part in text
        assert run.json("agent", "show", "Bo")["credentials"] == FACTS["credentials"]
        listed = run.nexus("agent", "list").stdout
        assert "WITHHELD" in listed and "canvas_list (by the agent)" in listed
        assert [line.split() for line in run.nexus("agent", "credential", "list", "Bo").stdout.splitlines()] == [
            ["NAME", "MADE", "LAST", "USED", "FAMILIES"],
            ["default", "2027-01-01T00:00:00.000Z", "-", "all"],
            ["laptop", "2027-01-02T00:00:00.000Z", "2027-01-03T00:00:00.000Z", "canvas,", "agent"],
        ]


def test_that_an_agent_is_paused_and_whom_it_is_closed_to_is_shown_and_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """mesh 2.1"""
    with commands(monkeypatch, SCRIPT) as (run, _):
        shown = [line.split(maxsplit=2) for line in run.nexus("agent", "show", "Bo").stdout.splitlines()]
        assert ["mode:", "approval", "(paused)"] in shown
        assert ["blocked", "senders:", "Ada, gone"] in shown
        listed = run.nexus("agent", "list").stdout
        assert "approval (paused)" in listed and "Ada, gone" in listed
        told = run.json("agent", "show", "Bo")
        assert told["paused"] is True
        assert told["blocked"] == [{"agentId": "a1", "name": "Ada"}, {"agentId": "gone", "name": ""}]


def test_for_whom_an_agent_works_is_shown_with_how_many_are_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """security 2.24"""
    working: Record = {"originators": [{"agentId": "a1", "name": "Ada\nmode: auto"}], "more": 3, "strictest": "plan"}
    for more, line in ((3, ["works for, unnamed: 3 more"]), (0, [])):
        facts: Record = {**FACTS, "workingFor": {**working, "more": more}}
        with commands(monkeypatch, {**SCRIPT, ("agent", "agent_facts"): facts}) as (run, _):
            text = run.nexus("agent", "show", "Bo").stdout
            lines = [" ".join(one.split()) for one in text.splitlines()]
            start = lines.index("works for: Ada\\nmode: auto (a1)")
            assert lines[start + 1 : start + 2 + len(line)] == [*line, "their mode: plan"]
            assert run.json("agent", "show", "Bo")["workingFor"]["more"] == more
    with commands(monkeypatch, SCRIPT) as (run, _):
        assert "works for" not in run.nexus("agent", "show", "Bo").stdout, "nobody gave it a task"


def test_one_that_was_removed_can_be_unblocked_and_not_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    directory: Record = {
        "workspaces": [],
        "agents": [{"agentId": "b1", "name": "Bo", "workspaceId": "w2"}],
        "removed": [{"agentId": "r1", "name": "Rex", "workspaceId": "w2"}],
    }
    with commands(monkeypatch, {**SCRIPT, ("app/-/directory", "directory_list"): directory}) as (run, port):
        assert run.nexus("agent", "block", "Bo", "--from", "Rex").exit_code == exit_codes.REFUSED
        assert run.nexus("agent", "unblock", "Bo", "--from", "Rex").exit_code == exit_codes.OK
        assert port.caller.bodies("agent_block") == [{"agentId": "r1", "blocked": False}]


def test_the_guest_is_off_until_it_is_switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """common 2.3"""
    with commands(monkeypatch, {**SCRIPT, ("agent/-/guest", "agent_facts"): NOT_FOUND}) as (run, port):
        assert "nexus guest on" in run.nexus("guest", "status").stdout
        assert run.json("guest", "status")["isOn"] is False
        port.caller.on("agent_facts", FACTS, "agent/-/guest")
        assert "last used 2027-01-03" in run.nexus("guest", "status").stdout
        assert run.nexus("guest", "off").stdout == "No guest is served.\n"


def test_what_others_typed_about_an_agent_cannot_act_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """security 2.15"""
    hostile: Record = {
        **FACTS,
        "persona": HOSTILE,
        "mode": HOSTILE,
        "blocked": [HOSTILE],
        "withheld": [{"tool": HOSTILE, "by": HOSTILE}, HOSTILE],
        "credentials": [{"name": HOSTILE, "createdAt": HOSTILE, "lastUsedAt": HOSTILE}],
        "budget": {"usedLifetime": HOSTILE},
    }
    directory: Record = {
        "workspaces": [{"workspaceId": "w1", "name": HOSTILE}],
        "agents": [{"agentId": "b1", "name": HOSTILE, "workspaceId": "w1"}],
        "activeWorkspaceId": "w1",
    }
    script: Script = {
        **SCRIPT,
        ("app/-/directory", "directory_list"): directory,
        ("agent", "agent_facts"): hostile,
    }
    typed = (("show",), ("budget",), ("credential", "list"), ("mode",), ("credential", "add"))
    rest = {("mode",): ("plan",), ("credential", "add"): ("x",)}
    with commands(monkeypatch, script) as (run, _):
        for one in typed:
            result = run.nexus("agent", *one, "b1", *rest.get(one, ()))
            assert result.exit_code == 0, result.output
            assert "[red]" in result.stdout, "markup is text"
            assert not {"\x1b", "\x07", "\u202e"} & set(result.stdout)


@pytest.mark.parametrize(
    "path",
    [
        ("agent", "show"),
        ("agent", "mode"),
        ("agent", "capability"),
        ("agent", "withhold"),
        ("agent", "budget"),
        ("agent", "pin"),
        ("agent", "inherit"),
        ("agent", "rename"),
        ("agent", "pause"),
        ("agent", "resume"),
        ("agent", "block"),
        ("agent", "unblock"),
        ("agent", "credential", "add"),
        ("agent", "credential", "families"),
        ("agent", "credential", "list"),
        ("agent", "credential", "revoke"),
        ("guest", "on"),
        ("guest", "off"),
        ("guest", "status"),
        ("approvals", "list"),
        ("approvals", "show"),
        ("approvals", "approve"),
        ("approvals", "deny"),
        ("approvals", "watch"),
    ],
)
def test_each_command_of_authority_has_examples_exit_codes_home_and_json(path: tuple[str, ...]) -> None:
    shown = Commands().nexus(*path, "--help").stdout
    for part in (f"nexus {' '.join(path)}", "Examples:", "Exit codes:", "--home", "--json"):
        assert part in shown
    verb = {"resume": "pause", "unblock": "block"}.get(path[-1], "_".join(path[1:]))
    if path[0] != "approvals":
        assert f"{path[0]}.{verb}" in VERBS
