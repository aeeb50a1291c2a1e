"""Editing JSON as text: what is said changes as asked, and what is not touched stays as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nexus.connect.document import entry_at, with_entry, without_entry
from nexus.connect.jsonc import Json, depth_max
from nexus.connect.syntax import Broken

JSON, JSONC = Json(comments=False), Json(comments=True)
PATH = ("mcpServers", "nexus")
ENTRY: dict[str, Any] = {"command": "/opt/nexus", "args": ["mcp", "ü"]}

COMMENTED = """// My settings
{
    "theme": "dark", // the only one
    /* servers */
    "mcpServers": {
        "other": {"command": "x"}, // keep
    },
}
"""


def test_an_entry_is_put_behind_the_others_in_their_manner() -> None:
    edited = with_entry(JSONC, COMMENTED, PATH, ENTRY)
    assert edited == COMMENTED.replace(
        "// keep\n",
        """// keep
        "nexus": {
            "command": "/opt/nexus",
            "args": [
                "mcp",
                "ü"
            ]
        },
""",
    )
    assert without_entry(JSONC, edited, PATH) == COMMENTED


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", '{\n  "s": {\n    "n": {\n      "a": 1\n    }\n  }\n}\n'),
        ("{}", '{\n  "s": {\n    "n": {\n      "a": 1\n    }\n  }\n}'),
        ('{"x":1}', '{"x":1, "s": {"n": {"a": 1}}}'),
        ('{"s":{}}', '{"s":{\n  "n": {\n    "a": 1\n  }\n}}'),
        ('{\n\t"s": {}\n}\n', '{\n\t"s": {\n\t\t"n": {\n\t\t\t"a": 1\n\t\t}\n\t}\n}\n'),
        ('{\r\n  "x": 1\r\n}', '{\r\n  "x": 1,\r\n  "s": {\r\n    "n": {\r\n      "a": 1\r\n    }\r\n  }\r\n}'),
        ('{\n  "s": {"n": {"a": 2}, "m": 1}\n}', '{\n  "s": {"n": {\n    "a": 1\n  }, "m": 1}\n}'),
    ],
)
def test_how_an_entry_is_written(text: str, wanted: str) -> None:
    assert with_entry(JSON, text, ("s", "n"), {"a": 1}) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"s": {"n": 1}}', '{"s": {}}'),
        ('{"s": {"m": 1, "n": 1}}', '{"s": {"m": 1}}'),
        ('{"s": {"n": 1, "m": 1}}', '{"s": {"m": 1}}'),
        ('{"s": {"n": 1, "m": 1, "n": 2}}', '{"s": {"m": 1}}'),
        ('{\n "s": {\n  "m": 1,\n  "n": 1\n }\n}', '{\n "s": {\n  "m": 1\n }\n}'),
        ('{\n "s": {\n  "n": 1,\n  "m": 1\n }\n}', '{\n "s": {\n  "m": 1\n }\n}'),
        ('{"s": {}}', '{"s": {}}'),
        ("{}", "{}"),
    ],
)
def test_how_an_entry_is_taken_out(text: str, wanted: str) -> None:
    assert without_entry(JSON, text, ("s", "n")) == wanted


def test_comments_beside_a_removed_entry_stay() -> None:
    text = '{"s": {\n  "a": 1, // about a\n  // about n\n  "n": 2 // more\n}}'
    edited = without_entry(JSONC, text, ("s", "n"))
    assert all(comment in edited for comment in ("// about a", "// about n", "// more"))
    assert JSONC.data(edited) == {"s": {"a": 1}}


@pytest.mark.parametrize(
    "text",
    [
        *("{", '{"a"}', '{"a": }', '{"a": 1,}', '{"a": 1} x', "[]", '"x"', '{"a": 01}', "{'a': 1}", '{"a": "\n"}'),
        *('{"a": "\\x"}', '{"a": nul}', "{// x\n}", '{"a": [1,]}', '{"a": 1 "b": 2}', '{"a":' * (depth_max + 1)),
    ],
)
def test_what_is_no_json_is_broken_and_says_where(text: str) -> None:
    with pytest.raises(Broken, match=r"line \d+: "):
        JSON.data(text)


@pytest.mark.parametrize("text", ["{/* no end", '{"a": 1,,}', "{,}", "[1]"])
def test_what_is_no_json_with_comments_either_is_broken(text: str) -> None:
    with pytest.raises(Broken):
        JSONC.data(text)


@pytest.mark.parametrize("text", ['{"mcpServers": []}', '{"mcpServers": null}', '{"mcpServers": "x"}'])
def test_a_place_that_is_no_object_is_not_written_over(text: str) -> None:
    with pytest.raises(Broken, match="`mcpServers` is not an object"):
        with_entry(JSON, text, PATH, ENTRY)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
documents = st.dictionaries(st.text(max_size=5), values, max_size=4)
servers = st.dictionaries(st.sampled_from(["a", "b", "nexus", "é"]), documents, max_size=3)


@settings(max_examples=200, deadline=None)
@given(documents, servers, st.sampled_from([None, 2, 4, "\t"]), st.booleans())
def test_whatever_the_file_says_an_edit_changes_the_entry_alone(
    rest: dict[str, Any], listed: dict[str, Any], indent: int | str | None, is_last: bool
) -> None:
    rest.pop("mcpServers", None)
    before = {**rest, "mcpServers": listed} if is_last else {"mcpServers": listed, **rest}
    text = json.dumps(before, indent=indent, ensure_ascii=False)
    for syntax in (JSON, JSONC):
        edited = with_entry(syntax, text, PATH, ENTRY)
        assert json.loads(edited) == {**before, "mcpServers": {**listed, "nexus": ENTRY}}
        assert with_entry(syntax, edited, PATH, ENTRY) == edited
        assert entry_at(syntax.data(edited), PATH) == ENTRY
        gone = without_entry(syntax, edited, PATH)
        listed_without = {name: one for name, one in listed.items() if name != "nexus"}
        assert json.loads(gone) == {**before, "mcpServers": listed_without}


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet='{}[],:"\\/* \n\tab01.-e', max_size=40))
def test_the_scanner_and_the_standard_library_agree_on_what_is_json(text: str) -> None:
    try:
        wanted = json.loads(text) if text.strip() else {}
    except ValueError:
        wanted = None
    if isinstance(wanted, dict):
        assert JSON.data(text) == wanted
    else:
        with pytest.raises(Broken):
            JSON.data(text)
