"""Editing TOML: comments, order and other servers stay."""

from __future__ import annotations

import tomllib

import pytest

from bus.value import Record
from nexus.connect.document import with_entry, without_entry
from nexus.connect.syntax import Broken
from nexus.connect.toml_text import Toml

TOML = Toml()
PATH = ("mcp_servers", "nexus")
ENTRY: Record = {"command": "/opt/nexus", "args": ["mcp", "--token-file", "/h/x"]}
BEFORE = """# my codex
model = "large" # the best

[mcp_servers.other] # mine
command = "x"

[profiles.fast]
model = "small"
"""


def test_an_entry_is_added_and_taken_out_and_all_else_stays() -> None:
    edited = with_entry(TOML, BEFORE, PATH, ENTRY)
    assert tomllib.loads(edited)["mcp_servers"] == {"other": {"command": "x"}, "nexus": ENTRY}
    for line in BEFORE.splitlines():
        assert line in edited.splitlines()
    assert with_entry(TOML, edited, PATH, ENTRY) == edited
    assert tomllib.loads(without_entry(TOML, edited, PATH)) == tomllib.loads(BEFORE)
    assert "# mine" in without_entry(TOML, edited, PATH)


@pytest.mark.parametrize(
    "before",
    [
        *("", "model = 1\n", 'mcp_servers = {other = {command = "x"}}\n', "[mcp_servers]\n"),
        *('mcp_servers.a.command = "x"\n', "[mcp_servers.nexus]\nurl = 1\n"),
        '[mcp_servers.a]\ncommand = "x"\n[b]\nc = 1\n[mcp_servers.d]\ncommand = "y"\n',
    ],
)
def test_however_servers_are_written_the_entry_is_the_one_change(before: str) -> None:
    data = tomllib.loads(before)
    edited = with_entry(TOML, before, PATH, ENTRY)
    wanted = {**data, "mcp_servers": {**data.get("mcp_servers", {}), "nexus": ENTRY}}
    assert tomllib.loads(edited) == wanted
    gone = tomllib.loads(without_entry(TOML, edited, PATH))
    assert "nexus" not in gone.get("mcp_servers", {})
    assert {name: one for name, one in gone.items() if name != "mcp_servers"} == {
        name: one for name, one in data.items() if name != "mcp_servers"
    }


@pytest.mark.parametrize("text", ["a = ", "[x", "a = 1\na = 2\n", "mcp_servers = 3\n"])
def test_what_is_no_toml_or_has_no_place_for_servers_is_broken(text: str) -> None:
    with pytest.raises(Broken):
        with_entry(TOML, text, PATH, ENTRY)
