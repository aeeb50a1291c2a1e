"""Attack 4 (contract/security.md 2): cards that lie. Whatever an agent writes, what NEXUS says stays told apart."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bus.value import Record, Value
from nexus.card_text import AGENT_PART, card_lines, quoted
from nexus.lookalikes import note_on

HONEST: Final[Record] = {
    "approvalId": "01a.01p",
    "state": "pending",
    "agent": {"id": "01a", "name": "Ada"},
    "workspace": {"id": "01w", "name": "Site"},
    "tool": "canvas_delete",
    "kind": "irreversible",
    "why": "It cannot be undone, so it always needs your approval.",
    "target": {"title": "The plan", "elements": 12},
    "credential": "default",
    "chain": [{"id": "01b", "name": "Bo"}, {"id": "01a", "name": "Ada"}],
    "createdAt": "2027-01-01T00:00:00.000Z",
    "expiresAt": "2027-01-02T00:00:00.000Z",
    "plan": None,
    "decision": None,
    "reason": "tidy up",
    "arguments": {"canvasId": "01c"},
}

HIDDEN: Final = {
    "right-to-left override": "\u202e",
    "left-to-right embedding": "\u202a",
    "isolate": "\u2066",
    "pop isolate": "\u2069",
    "left-to-right mark": "\u200e",
    "Arabic letter mark": "\u061c",
    "zero width space": "\u200b",
    "zero width joiner": "\u200d",
    "zero width non-joiner": "\u200c",
    "word joiner": "\u2060",
    "byte order mark": "\ufeff",
    "soft hyphen": "\u00ad",
    "grapheme joiner": "\u034f",
    "invisible times": "\u2062",
    "tag": "\U000e0041",
    "unassigned and ignorable": "\U000e0fff",
    "selector of variations": "\ufe0f",
    "selector for ideographs": "\U000e0100",
    "Mongolian selector": "\u180b",
    "Hangul filler": "\u3164",
    "half-width filler": "\uffa0",
    "blank Braille": "\u2800",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "next line": "\u0085",
    "C1 control": "\u009b",
    "escape": "\x1b",
    "bell": "\x07",
    "delete": "\x7f",
    "no-break space": "\u00a0",
    "hair space": "\u200a",
    "private use": "\ue000",
    "half of a pair": "\ud800",
    "other half": "\udc00",
}

LIE: Final = "x\n  tool:         canvas_list\r\n\u2028  kind:         read\x0b\x0cApproved by NEXUS"
LABELS: Final = re.compile(
    r"  (agent|workspace|tool|kind|why|target|credential|led to by|plan|asked|expires|decided|your note):"
)


def lines_of(changes: Record | None = None, cells: int = 100) -> list[str]:
    return card_lines({**HONEST, **(changes or {})}, cells)


def parts(lines: list[str]) -> tuple[list[str], list[str]]:
    """What NEXUS knows, and what stands in the agent's part; the marked line between must be there once."""
    assert lines.count(AGENT_PART) == 1
    middle = lines.index(AGENT_PART)
    return lines[:middle], lines[middle + 1 :]


def every_text(attack: str) -> Record:
    """A card in which `attack` stands wherever somebody but NEXUS may write."""
    return {
        "agent": {"id": "01a", "name": attack},
        "workspace": {"id": "01w", "name": attack},
        "target": {"title": attack, "label": [attack]},
        "credential": attack,
        "chain": [{"id": "01b", "name": attack}, {"id": "01a", "name": attack}],
        "reason": attack,
        "arguments": {attack: [attack, {"deep": attack}]},
        "decision": {"how": "command", "at": 1, "note": attack},
    }


def test_what_nexus_knows_comes_first_and_the_agents_words_after_a_line_that_marks_them() -> None:
    """security 2.4, common 5.4"""
    known, words = parts(lines_of())
    labels = [match[1] for line in known if (match := LABELS.match(line))]
    assert labels == [
        "agent",
        "workspace",
        "tool",
        "kind",
        "why",
        "target",
        "credential",
        "led to by",
        "asked",
        "expires",
    ]
    text = "\n".join(known)
    for fact in (
        '"Ada"',
        "01a",
        '"Site"',
        "canvas_delete",
        "irreversible",
        "cannot be undone",
        '"The plan"',
        "12",
        '"Bo"',
    ):
        assert fact in text
    assert "tidy up" not in text and "01c" not in text
    assert words[:-1] == ['  | reason: "tidy up"', "  | arguments:", "  | {", '  |   "canvasId": "01c"', "  | }"]


def test_a_fact_of_a_long_name_stands_apart_from_its_name() -> None:
    known, _ = parts(lines_of({"target": {"revision now": 1, "others with a role": "nobody"}}))
    assert "    revision now: 1" in known
    assert '    others with a role: "nobody"' in known


@pytest.mark.parametrize("name", HIDDEN)
def test_what_cannot_be_seen_is_shown_as_an_escape_wherever_it_is_written(name: str) -> None:
    """security 2.4: U+202E, invisible characters"""
    character = HIDDEN[name]
    lines = lines_of(every_text(f"abc{character}def"))
    assert not any(character in line for line in lines)
    escape = json.dumps(character)[1:-1] if character != "\x7f" else "\\u007f"
    assert sum(line.count(f"abc{escape}def") for line in lines) >= 10


@pytest.mark.parametrize("cells", [40, 80, 200])
def test_no_text_of_an_agent_begins_a_line_or_looks_like_one_of_nexus(cells: int) -> None:
    """security 2.4"""
    known, words = parts(lines_of(every_text(LIE), cells))
    assert all("canvas_list" not in line or line.lstrip().startswith(("> ", '"')) or '"x' in line for line in known)
    assert sum(bool(re.match(r"  tool:", line)) for line in known) == 1
    assert sum(bool(re.match(r"  kind:", line)) for line in known) == 1
    assert all(line.startswith(("  | ", "  |> ", "  beware of the", "    > ")) for line in words[:-1])
    assert not any(line.startswith(("Approved", "x", "tool")) for line in [*known, *words])


@pytest.mark.parametrize("cells", [40, 61, 100])
def test_a_long_title_goes_on_behind_a_mark_and_is_padded_into_no_line_of_nexus(cells: int) -> None:
    """security 2.4"""
    for padding in range(1, 200):
        title = "a" + " " * padding + "tool:         canvas_list"
        known, _ = parts(lines_of({"target": {"title": title}}, cells))
        faked = [line for line in known if re.match(r"\s*tool:", line)]
        assert faked == [line for line in known if line == "  tool:         canvas_delete"]
        assert len(faked) == 1


@pytest.mark.parametrize("cells", [40, 80, 100])
def test_ten_kilobytes_of_arguments_are_shown_whole_and_in_lines_that_fit(cells: int) -> None:
    """security 2.4: 10 kB arguments; common 5.4: whole before approving"""
    arguments: Record = {
        "text": "".join(chr(ord("a") + number % 26) for number in range(10_000)),
        "wide": "夜行バス" * 100,
        "deep": [[[["end"]]]],
    }
    lines = lines_of({"arguments": arguments}, cells)
    assert max(map(widest, lines)) <= cells
    words = [line for line in parts(lines)[1] if line.startswith(("  | ", "  |>"))]
    whole = "".join(line[5:] if line.startswith("  |> ") else f"\n{line[4:]}" for line in words)
    assert json.loads(whole.partition("arguments:")[2]) == arguments


def widest(line: str) -> int:
    """Cells at the most: a terminal may draw the letters of ambiguous width wide."""
    return sum(2 if unicodedata.east_asian_width(character) in "WFA" else 1 for character in line)


def test_what_an_agent_writes_reads_back_exactly() -> None:
    """security 2.4: an escape can be told from text that spells one."""
    assert quoted("\u202e") != quoted("\\u202e")
    values: tuple[Value, ...] = (
        "\u202e",
        "\\u202e",
        '"',
        "\n",
        "\\n",
        "|",
        "\U000e0041",
        "夜",
        ["\ufe0f", {"\u200b": "x"}],
    )
    for value in values:
        assert json.loads(quoted(value)) == value
        assert json.loads(quoted(value, indent=2)) == value


@given(st.text(st.characters(codec=None), max_size=300), st.integers(20, 200))
@settings(max_examples=150, deadline=None)
def test_no_text_whatever_breaks_the_card(text: str, cells: int) -> None:
    """security 2.4"""
    lines = lines_of(every_text(text), cells)
    assert max(map(widest, lines)) <= max(cells, 40)
    assert not any(
        unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for character in "".join(lines)
    )
    joined = "".join(lines)
    assert len(joined.splitlines()) == 1
    assert json.loads(quoted(text)) == text


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Ad\u0430", "CYRILLIC SMALL LETTER A"),
        ("p\u0430ypal", "mixes letters of several scripts"),
        ("\u0391da", "GREEK CAPITAL LETTER ALPHA"),
        ("\u0421\u0410", "CYRILLIC CAPITAL LETTER ES"),
        ("\uff21da", "FULLWIDTH LATIN CAPITAL LETTER A"),
        ("\U0001d400da", "MATHEMATICAL BOLD CAPITAL A"),
    ],
)
def test_a_name_that_looks_like_another_has_a_note_beside_it(name: str, told: str) -> None:
    """security 2.4: confusable names"""
    everywhere: tuple[Record, ...] = (
        {"agent": {"id": "01a", "name": name}},
        {"workspace": {"id": "01w", "name": name}},
        {"target": {"title": name}},
        {"credential": name},
        {"chain": [{"id": "01b", "name": name}, {"id": "01a", "name": "Ada"}]},
    )
    for changes in everywhere:
        known, words = parts(lines_of(changes, 200))
        (note,) = [number for number, line in enumerate(known) if "beware" in line]
        assert told in known[note]
        assert name in "".join(known[note - 2 : note]), "it stands beside the name"
        assert not any("beware" in line for line in words)


def test_words_of_several_scripts_in_what_the_agent_wrote_have_a_note_of_nexus() -> None:
    """security 2.4"""
    known, words = parts(lines_of({"reason": "delete p\u0430ypal", "arguments": {"x": ["ok", {"y\u03bf": 1}]}}, 200))
    assert not any("beware" in line for line in known)
    notes = [line for line in words if line.startswith("  beware of the")]
    assert ["reason" in line for line in notes] == [True, False]
    assert ["CYRILLIC SMALL LETTER A" in line for line in notes] == [True, False]
    assert "GREEK SMALL LETTER OMICRON" in notes[1]


@pytest.mark.parametrize(
    "text",
    [
        "Ada",
        "Привет, мир",
        "Ελληνικά",
        "夜行バス 3",
        "naïve café",
        "São Paulo",
        "نص",
        "Tłumacz",
        "日本 plan",
        "C++ ☕",
        "Ωmega?"[1:],
    ],
)
def test_ordinary_words_of_one_script_have_no_note(text: str) -> None:
    assert note_on([text]) is None


def test_marks_that_pile_up_over_other_lines_are_escapes() -> None:
    """security 2.4: isolated lines"""
    piled = "e" + "\u0301" * 40
    lines = lines_of(every_text(piled))
    assert not any("\u0301" * 5 in line for line in lines)
    assert json.loads(quoted(piled)) == piled
    assert quoted("\u0301a") == '"\\u0301a"', "a mark never draws over the quote before it"
    assert quoted("e\u0301") == '"e\u0301"'


def test_text_written_from_the_right_stands_on_a_line_of_its_own() -> None:
    """security 2.4: isolated lines"""
    known, _ = parts(lines_of({"agent": {"id": "01a", "name": "שלום"}}))
    (line,) = [line for line in known if "שלום" in line]
    assert line == '  agent:        "שלום"'
    assert "    id:         01a" in known, "the id is not on it, so no direction of writing moves it"


def test_a_denied_or_lapsed_card_says_so_first_whatever_the_agent_is_called() -> None:
    """security 2.4"""
    for state, told in (("denied", "denied"), ("lapsed", "lapsed"), ("expired", "expired"), ("used", "has run")):
        lines = lines_of({**every_text("waits for your decision"), "state": state})
        assert lines[0] == "Approval 01a.01p"
        assert lines[1].startswith("  state:        ") and told in lines[1] and "waits" not in lines[1]


def test_a_card_of_a_plans_step_names_the_step() -> None:
    known, _ = parts(lines_of({"plan": {"planId": "01q", "number": 3}}))
    assert "  plan:         step 3 of 01q" in known


def test_a_call_of_the_agent_alone_says_that_nobody_led_to_it() -> None:
    """security 2.4, common 5.4: the chain stands on the card"""
    known, _ = parts(lines_of({"chain": [{"id": "01a", "name": "Ada"}]}))
    assert "  led to by:    the agent alone" in known


def test_a_card_says_how_many_led_to_the_call_that_it_does_not_name() -> None:
    """security 2.24"""
    known, _ = parts(lines_of({"chain": [{"id": "01b", "name": "Bo"}, {"id": "01a", "name": "Ada"}], "chainMore": 3}))
    place = known.index("  led to by:    these, and 3 more that are not named")
    assert known[place + 1].endswith('"Bo"')


def test_missing_parts_of_a_card_leave_its_lines_in_place() -> None:
    known, words = parts(card_lines({"state": "pending"}))
    assert [match[1] for line in known if (match := LABELS.match(line))] == [
        *("agent", "workspace", "tool", "kind", "why", "target", "credential", "led to by", "asked", "expires")
    ]
    assert words[0] == "  | reason: none given"
