"""`nexus provider` and `nexus agent provider`: what the person sees and says of agent programs (knowledge.md)."""

from __future__ import annotations

import pytest

from bus.value import Record, Value
from nexus import exit_codes
from nexus.gateway.provider_answers import ProviderSources
from nexus.provider_file import Known
from tests.nexus.test_person_cli import HOSTILE, commands
from tests.nexus.test_person_port import LISTS
from tests.support.machine import ScriptedMachine
from tests.support.scripted_caller import Script, Sent
from tools.provider_table import PROVIDERS, Provider, Sign


def owner(**enabled: str) -> Script:
    def choice(sent: Sent) -> Record:
        return {"agentId": sent.body["agentId"], "providerId": sent.body["providerId"], "changed": True}

    rows: list[Value] = [{"providerId": id_, "path": path, "enabledAt": "-"} for id_, path in enabled.items()]
    return {
        **LISTS,
        ("providers/-/providers", "providers_enabled"): {"enabled": rows},
        ("providers/-/providers", "provider_enable"): lambda sent: {**sent.body, "changed": True},
        ("providers/-/providers", "provider_disable"): lambda sent: {**sent.body, "changed": bool(enabled)},
        ("providers/-/providers", "agent_give_provider"): choice,
        ("agent/-/b1", "agent_drop_provider"): {"agentId": "b1", "providerId": None, "changed": True},
    }


def sources(**installed: str) -> tuple[ScriptedMachine, ProviderSources]:
    machine = ScriptedMachine()
    for provider_id, path in installed.items():
        machine.install(provider_id, path, "1.2.3")
    return machine, ProviderSources(machine)


def test_the_person_sees_where_each_program_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    _, known = sources(codex="/opt/codex/bin/codex", claude="/opt/claude")
    with commands(monkeypatch, owner(codex="/opt/codex/bin/codex", claude="/former"), known) as (run, _):
        listed = {one["id"]: one for one in run.json("provider", "list")["providers"]}
        assert [*listed] == [*PROVIDERS]
        assert (listed["codex"]["realPath"], listed["codex"]["enabled"]) == ("/opt/codex/bin/codex", True)
        assert (listed["claude"]["changed"], listed["claude"]["enabledPath"]) == (True, "/former")
        text = run.nexus("provider", "list", "--installed").stdout
        assert "/opt/codex/bin/codex" in text and "another program was; enable it anew" in text
        assert "gemini" not in text
        shown = run.nexus("provider", "show", "claude").stdout
        assert "/former" in shown and "/opt/claude" in shown and "CLAUDE.md" in shown


def test_the_program_that_is_there_is_enabled_by_its_real_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """security 2.16"""
    _, known = sources(codex="/opt/codex/bin/codex")
    with commands(monkeypatch, owner(), known) as (run, port):
        said = run.nexus("provider", "enable", "codex").stdout
        assert said == "Codex is enabled: /opt/codex/bin/codex\n"
        assert port.caller.bodies("provider_enable") == [
            {"providerId": "codex", "name": "Codex", "path": "/opt/codex/bin/codex"}
        ]
        absent = run.nexus("provider", "enable", "claude")
        assert absent.exit_code == exit_codes.REFUSED and "not installed" in absent.stderr
        assert "provider_list" not in absent.stderr, "that is an agent's word"
        assert len(port.caller.bodies("provider_enable")) == 1


def test_what_is_enabled_can_be_disabled_also_when_it_is_not_known_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    with commands(monkeypatch, owner(gone="/opt/gone")) as (run, _):
        assert run.nexus("provider", "disable", "gone").stdout == "gone is disabled.\n"
    with commands(monkeypatch, owner()) as (run, _):
        assert run.nexus("provider", "disable", "codex").stdout == "codex was not enabled.\n"
        unknown = run.nexus("provider", "disable", "unknown")
        assert unknown.exit_code == exit_codes.REFUSED and "knows no provider" in unknown.stderr


def test_an_agent_is_given_what_is_installed_and_enabled(monkeypatch: pytest.MonkeyPatch) -> None:
    """mesh 1"""
    _, known = sources(codex="/opt/codex", claude="/opt/claude", gemini="/opt/gemini")
    with commands(monkeypatch, owner(codex="/opt/codex", claude="/former", amp="/opt/amp"), known) as (run, port):
        assert run.nexus("agent", "provider", "Bo", "codex").stdout == "Agent Bo (b1) is run with codex.\n"
        for provider, why in (
            ("claude", "another one"),
            ("gemini", "not enabled"),
            ("amp", "not on your PATH"),
            ("unknown", "knows no provider"),
        ):
            refused = run.nexus("agent", "provider", "Bo", provider)
            assert refused.exit_code == exit_codes.REFUSED and why in refused.stderr, provider
        assert port.caller.bodies("agent_give_provider") == [{"agentId": "b1", "providerId": "codex"}]
        assert "no program of its own" in run.nexus("agent", "provider", "Bo", "--none").stdout
        assert run.nexus("agent", "provider", "Bo").exit_code == exit_codes.REFUSED
        assert run.nexus("agent", "provider", "Bo", "codex", "--none").exit_code == exit_codes.REFUSED


def test_a_bad_file_is_complained_of_and_the_rest_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, known = sources(codex="/opt/codex")
    machine.known = Known(PROVIDERS, "/home-of-nexus/providers.toml is left out as a whole: it is not UTF-8")
    with commands(monkeypatch, owner(), known) as (run, _):
        result = run.nexus("provider", "list")
        assert result.exit_code == 0 and "codex" in result.stdout and "it is not UTF-8" in result.stderr
        assert "it is not UTF-8" in run.json("provider", "list")["complaint"]
        assert "it is not UTF-8" in run.nexus("provider", "show", "mine").stderr


def test_no_text_of_a_program_or_a_file_acts_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """security 2.15"""
    machine, known = sources(mine=f"/opt/{HOSTILE}")
    machine.known = Known(
        {
            "mine": Provider(
                "mine", HOSTILE, ("mine",), HOSTILE, None, (HOSTILE,), (HOSTILE,), (), Sign((), (), HOSTILE)
            )
        },
        HOSTILE,
    )
    with commands(monkeypatch, owner(), known) as (run, _):
        for arguments in (("list",), ("show", "mine"), ("enable", "mine"), ("enable", HOSTILE), ("disable", HOSTILE)):
            result = run.nexus("provider", *arguments)
            assert "\x1b" not in result.stdout + result.stderr and "\u202e" not in result.stdout + result.stderr
