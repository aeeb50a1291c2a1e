"""The agent programs that NEXUS knows (knowledge.md, provider_*)."""

from __future__ import annotations

import pytest

from nexus.connect.clients import CLIENTS
from nexus.gateway.provider_answers import config_files
from tools.fence import is_plain_name
from tools.provider_table import PROVIDERS, Provider, auth_hint

EACH = pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS)


def test_the_programs_that_the_contract_names_are_known() -> None:
    assert [*PROVIDERS] == [
        *("claude", "codex", "gemini", "opencode", "aider", "goose", "amp", "qwen", "copilot", "cursor-agent")
    ]


@EACH
def test_a_declaration_is_whole_and_of_plain_lines(provider: Provider) -> None:
    """common 7.1"""
    assert provider.programs and provider.version_arguments and provider.instruction_files and config_files(provider)
    assert provider.docs is not None and provider.docs.startswith("https://")
    words = (provider.name, provider.tagline, provider.docs, provider.sign.otherwise, *provider.instruction_files)
    assert all(map(is_plain_name, words))
    assert bool(provider.announces) == bool(provider.transport)


def test_no_two_providers_share_a_program_or_the_name_of_a_client() -> None:
    programs = [name for provider in PROVIDERS.values() for name in provider.programs]
    clients = [name for provider in PROVIDERS.values() for name in provider.announces]
    assert len(programs) == len(set(programs)) and len(clients) == len(set(clients))


@pytest.mark.parametrize(
    ("client", "provider"),
    [
        ("claude-code", "claude"),
        ("Claude-Code", "claude"),
        ("codex-mcp-client", "codex"),
        ("gemini-cli-mcp-client", "gemini"),
        ("gemini-cli-mcp-client-nexus", "gemini"),
        ("qwen-cli-mcp-client-nexus", "qwen"),
        ("github-copilot-developer", "copilot"),
        ("claude-code-router", None),
        ("my-codex", None),
        ("", None),
    ],
)
def test_a_client_is_known_by_how_it_calls_itself(client: str, provider: str | None) -> None:
    found = [one.id for one in PROVIDERS.values() if one.is_announced_by(client)]
    assert found == ([] if provider is None else [provider])


def test_what_nexus_connect_knows_is_not_written_twice() -> None:
    for provider in PROVIDERS.values():
        if provider.connects_as is not None:
            client = CLIENTS[provider.connects_as]
            assert set(client.project_files) <= set(config_files(provider))
            if provider.id != "cursor-agent":  # which shares the editor's file, and has a program of its own
                assert client.programs is provider.programs
    assert config_files(PROVIDERS["codex"]) == ["~/.codex/config.toml", ".codex/config.toml"]


def test_where_a_sign_in_lies_is_said_and_nothing_of_it() -> None:
    """knowledge.md: authHint is a display-safe hint, never a credential"""
    codex = PROVIDERS["codex"]
    assert auth_hint(codex, {"OPENAI_API_KEY"}, {"~/.codex/auth.json"}) == (
        "The environment variable OPENAI_API_KEY is set."
    )
    assert auth_hint(codex, (), {"~/.codex/auth.json"}) == "It has signed in: ~/.codex/auth.json exists."
    assert auth_hint(codex, (), ()).startswith("No sign-in can be seen")
