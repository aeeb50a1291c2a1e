"""What commands print: nothing typed by others reaches the terminal as an escape sequence."""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import replace

import pytest
import typer
from rich.cells import cell_len

from bus.value import Value
from nexus import output
from nexus.output import error_lines, escape, fields, json_text, progress, shown, table, time_text
from tools.tiers import TierFacts, delivery_refusal

ATTACKS = (
    "\x1b]52;c;cm0gLXJmIH4=\x07",  # clipboard
    "\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\",  # hyperlink
    "\x1b]0;title\x07",
    "\x1b[201~rm -rf ~\n",  # end of a bracketed paste
    "\x9b2J",  # C1 form of CSI
    "safe\u202egnp.exe",
    "\u2066isolated\u2069",
    "zero\u200bwidth",
    "\ufefftag\U000e0041",
    "line\u2028separator",
    "two\r\nlines\x00\x7f",
    "\u3164blank",
    "data in\ufe00\ufe01\U000e0100selectors\ufe0f",
    "\U000e0000\U000e0002\U000e0fffunassigned",
    "grapheme\u034fjoiner\u17b4\u180b\u2065\ufff0",
    "half\ud800",
)


def _acts_on_a_terminal(text: str) -> bool:
    return any(output.is_hidden(character, before) for before, character in zip(" " + text, text, strict=False))


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_sequence_survives_in_text_cells_fields_or_json(attack: str) -> None:
    """security 2.15"""
    record: dict[str, Value] = {"message": attack, attack: attack, "code": attack, "nested": {attack: [attack]}}
    printed = [
        escape(attack),
        shown(attack),
        shown([attack, attack]),
        shown({"deep": attack}),
        json_text(record),
        *table(("name",), [[attack], [record]]),
        *fields(record),
        *error_lines(
            {
                **record,
                "fields": [record],
                "candidates": [{"id": attack, "name": attack}],
                "withheld": [{"detail": attack}],
            }
        ),
    ]
    assert not any(_acts_on_a_terminal(line) for line in printed)


def test_escapes_tell_which_character_was_there() -> None:
    assert escape("a\x1bb\u202ec\nd\U000e0041") == "a\\x1bb\\u202ec\\nd\\U000e0041"


def test_scripts_and_emoji_stay_exact() -> None:
    for text in ("夜行バス", "נחמד", "می‌خواهم", "👩‍💻", "é", "❤\ufe0f", "1\ufe0f\u20e3", "葛\U000e0100"):
        assert escape(text) == text


def test_brackets_are_no_markup() -> None:
    assert shown("[red]name[/red]") == "[red]name[/red]"


def test_columns_stay_straight_with_wide_characters() -> None:
    lines = table(("name", "id"), [("夜行", "1"), ("abcd", "2"), ("x", "3")])
    assert lines == ["NAME  ID", "夜行  1", "abcd  2", "x     3"]


def test_a_long_cell_is_cut_and_says_so() -> None:
    (_, line) = table(("name",), [("x" * 500,)])
    assert line.endswith("…")
    assert len(line) == output.cell_characters_max


def test_json_is_one_line_that_reads_back() -> None:
    value = {"name": "a\nb\x1b\x7f", "list": [1, None, True]}
    assert "\n" not in json_text(value)
    assert json.loads(json_text(value)) == value


def test_times_are_rfc_3339_in_utc_with_milliseconds() -> None:
    """common 1.7"""
    assert time_text(1_800_000_000_123) == "2027-01-15T08:00:00.123Z"
    assert time_text(None) == "-"
    assert time_text(10**30) == str(10**30)


def test_bad_fields_are_named_in_place_of_a_sentence_meant_for_agents() -> None:
    record: dict[str, Value] = {
        "message": "Some arguments do not fit this tool.",
        "fields": [{"path": "name", "problem": "is blank"}],
    }
    assert error_lines(record) == ["Refused: correct this and try again.", "  name: is blank"]


def test_a_refusal_names_candidates_and_that_a_retry_may_help() -> None:
    lines = error_lines(
        {
            "code": "invalid_arguments",
            "message": "More than one.",
            "retryable": True,
            "candidates": [{"id": "01a", "name": "Ada", "workspaceId": "w1"}],
        }
    )
    assert lines == [
        "Refused: More than one.",
        "  01a  Ada  (workspace w1)",
        "It may work when tried again in a moment.",
    ]


def test_a_refused_delivery_names_each_reason_once() -> None:
    """mesh 2.2"""
    caller = TierFacts("a1", "w1", mesh=True, ran=True, revoked=False)
    refusal = delivery_refusal(caller, replace(caller, agent_id="a2", mesh=False))
    assert refusal is not None
    assert error_lines(refusal.to_record())[1:] == [
        "  That agent does not have the mesh capability; only the person can give it."
    ]


def test_progress_is_said_once_it_takes_longer_than_the_threshold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spoken = threading.Event()

    def echo(text: str, *, err: bool) -> None:
        print(text, file=sys.stderr if err else sys.stdout)
        spoken.set()

    monkeypatch.setattr(output, "progress_after_ms", 1)
    monkeypatch.setattr(typer, "echo", echo)
    with progress("Importing"):
        assert spoken.wait(10)
    assert "Importing ..." in capsys.readouterr().err


def test_progress_says_nothing_about_what_is_quick(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("Importing"):
        pass
    assert capsys.readouterr().err == ""


def test_the_last_column_is_cut_to_the_width_of_the_terminal_and_not_to_nothing() -> None:
    rows: list[list[Value]] = [
        ["t1", "A title that is longer than there is room for"],
        ["t2", "\u7d50" * 30],
        ["t3", "Short"],
    ]
    lines = table(("id", "title"), rows, 30)
    assert [cell_len(line) <= 30 for line in lines] == [True] * 4
    assert (lines[1].endswith("\u2026"), lines[2].endswith("\u2026"), lines[3]) == (True, True, "t3  Short")
    assert "A title that is lon" in table(("id", "title"), rows, 3)[1]
    assert table(("id", "title"), rows)[1].endswith("room for")
