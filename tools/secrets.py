"""Finding credentials in text that others wrote (common 7.2, security 2.19). Reports rule and place, never the value.

Rules are data. Each is run only where one of its anchors - literals that every match holds - occurs, so ordinary text
costs little more than looking for the anchors. Text is looked at as it is shown (without invisible characters), with
tokens that a line break cuts in two put together again, and with what base64 wraps taken out.

Every rule takes time linear in the text. `linear` says why, always for one of these reasons:
- bounded: a failing start has read at most a fixed number of characters;
- consumed: what was read is part of the match, or the next start lies behind it;
- at run starts: a start lies only where a run of such characters begins, and possessive quantifiers give nothing back.
"""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, TypeAlias

from tools.secret_rules import OWN_RULES, RULES, Rule, word_characters_min

secret_characters_max: Final = 4_096
"""Of the secrets that are found whole; of a longer one the beginning is found, by rules that need no end."""

Found: TypeAlias = tuple[str, int, int]
"""Rule id, and the place in the text: start, and end behind it."""

_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]+"
)
_OF_A_TOKEN: Final = "[0-9A-Za-z_+/=.-]"
_BREAK: Final = re.compile(
    rf"(?:\n(?<={_OF_A_TOKEN}\n)|\r(?<={_OF_A_TOKEN}\r)\n|\\(?<={_OF_A_TOKEN}\\)\r?\n)[ \t>|#*]{{0,16}}"
    rf"(?={_OF_A_TOKEN})"
)
"""A line break inside of what could be a token, with the next line's indentation or quotation marks."""
_WRAPPED: Final = re.compile(r"[0-9A-Za-z+/_-]{27,}+={0,2}")
"""Of base64; the shortest credential has 20 characters."""
_stepped_characters_max: Final = 2_048
_piece_characters_min: Final = 24
_MIXED: Final = re.compile(r"[a-z][A-Z]|[0-9][A-Za-z]|[A-Za-z][0-9]")
_WHOLE: Final = str.maketrans("-_", "+/")


@dataclass(frozen=True, slots=True)
class _View:
    """A text with parts left out, and where each of its characters stood."""

    text: str
    cuts: list[int] = field(default_factory=list)
    """Places in `text` where something was left out, growing."""
    left_out: list[int] = field(default_factory=list)
    """How many characters were left out up to and including each cut."""

    def place(self, at: int) -> int:
        """Where the character at `at` stood."""
        before = bisect_right(self.cuts, at)
        return at + (self.left_out[before - 1] if before else 0)

    def span(self, start: int, end: int) -> tuple[int, int]:
        return self.place(start), self.place(end - 1) + 1


def find_secrets(text: str, rules: tuple[Rule, ...] = RULES) -> list[Found]:
    """Where credentials stand in `text`: in order, none overlapping another."""
    seen = _View(text) if text.isascii() else _without(_INVISIBLE, text)
    joined = _without(_BREAK, seen.text) if "\n" in seen.text else _View(seen.text)
    words = _long_words(joined.text)
    found: list[Found] = []
    if possible := _possible(seen.text, words, rules):
        found += [(rule.id, *seen.span(start, end)) for rule, start, end in _matches(seen.text, possible)]
        if joined.cuts:
            for rule, start, end in _matches(joined.text, tuple(rule for rule in possible if rule.joins)):
                if (whole_end := _end_over_breaks(joined, rule, start, end)) is not None:
                    found.append((rule.id, *seen.span(*joined.span(start, whole_end))))
    if wrapped := _WRAPPED.findall(words):
        found += [(name, *seen.span(*joined.span(*place))) for name, *place in _wrapped(joined.text, wrapped, rules)]
    return _apart(found) if found else found


def holds_own_token(text: str) -> bool:
    """Whether a token or a login code of NEXUS itself stands in `text`."""
    return bool(find_secrets(text, OWN_RULES))


def _long_words(text: str) -> str:
    return " ".join(word for word in text.split() if len(word) >= word_characters_min)


def _possible(text: str, words: str, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules of which an anchor occurs: most often none. `words` are the long ones of the text."""
    folded: str | None = None
    possible = []
    for rule in rules:
        if rule.folds and folded is None:
            folded = _folded(text)
        looked_in = folded if rule.folds and folded is not None else words if rule.in_a_word else text
        for anchor in rule.anchors:
            if anchor in looked_in:
                possible.append(rule)
                break
    return tuple(possible)


def _matches(text: str, rules: tuple[Rule, ...]) -> Iterator[tuple[Rule, int, int]]:
    folded = _folded(text) if any(rule.folds for rule in rules) else ""
    for rule in rules:
        looked_in = folded if rule.folds else text
        for anchor in rule.anchors:
            if anchor not in looked_in:
                continue
            for match in _led_by(anchor, rule, text, looked_in) if rule.leads else rule.pattern.finditer(text):
                start, end = match.span(match.lastindex or 0)
                if rule.admits is None or rule.admits(text[start:end]):
                    yield rule, start, end


def _led_by(anchor: str, rule: Rule, text: str, looked_in: str) -> Iterator[re.Match[str]]:
    """A search for a literal and a match there is many times faster than a search by a pattern."""
    at = looked_in.find(anchor)
    while at >= 0:
        match = rule.pattern.match(text, at)
        if match is not None:
            yield match
        at = looked_in.find(anchor, at + len(anchor) if match is None else match.end())


def _folded(text: str) -> str:
    """With the letters A to Z in lower case, each character where it was."""
    try:
        return text.encode("latin-1").lower().decode("latin-1")
    except UnicodeEncodeError:
        return text.replace("\u0130", "i").lower()  # the one letter that becomes two


def _without(left_out: re.Pattern[str], text: str) -> _View:
    kept: list[str] = []
    cuts: list[int] = []
    sums: list[int] = []
    start = removed = length = 0
    for match in left_out.finditer(text):
        kept.append(text[start : match.start()])
        length += match.start() - start
        removed += match.end() - match.start()
        start = match.end()
        cuts.append(length)
        sums.append(removed)
    if not cuts:
        return _View(text)
    return _View("".join(kept) + text[start:], cuts, sums)


def _end_over_breaks(view: _View, rule: Rule, start: int, end: int) -> int | None:
    """The end of a match that goes on over line breaks, as far as what follows each one looks like more of a token
    and not like the next line's first word; None if it does not."""
    cuts = view.cuts[bisect_right(view.cuts, start) : bisect_right(view.cuts, end - 1)]
    last: int | None = None
    for cut, until in pairwise([*cuts, end]):
        piece = view.text[cut:until]
        if len(piece) < _piece_characters_min and not _MIXED.search(piece):
            break
        last = until
    return last if last is not None and rule.pattern.fullmatch(view.text, start, last) else None


def _wrapped(text: str, wrapped: list[str], rules: tuple[Rule, ...]) -> Iterator[Found]:
    """Those runs of base64 in `text` in which a credential is wrapped; `wrapped` are all its runs."""
    unwrapped = "\n".join(reading for run in wrapped for reading in _readings(run))
    sought = tuple(rule for rule in rules if rule.is_sought_in_base64)
    if possible := _possible(unwrapped, unwrapped, sought):
        yield from _wrapped_places(text, possible)


def _wrapped_places(text: str, rules: tuple[Rule, ...]) -> Iterator[Found]:
    runs: list[tuple[int, int]] = []
    readings: list[str] = []
    begins: list[int] = []
    length = 0
    for run in _WRAPPED.finditer(text):
        for reading in _readings(run[0]):
            runs.append(run.span())
            begins.append(length)
            readings.append(reading)
            length += len(reading) + 1
    for rule, start, end in _matches("\n".join(readings), rules):
        first, last = bisect_right(begins, start) - 1, bisect_right(begins, end - 1) - 1
        yield rule.id, runs[first][0], runs[last][1]


def _readings(run: str) -> Iterator[str]:
    """What a run of base64 says. A short one is read in each step: a word or path before it, or the end of the line
    before, may belong to the same run."""
    encoded = run.rstrip("=").translate(_WHOLE)
    for step in range(4 if len(encoded) <= _stepped_characters_max else 1):
        usable = len(encoded) - step
        usable -= usable % 4 == 1
        yield base64.b64decode(encoded[step : step + usable] + "=" * (-usable % 4)).decode("latin-1")


def _apart(found: list[Found]) -> list[Found]:
    """In order; those that overlap become one, named after the first (of two that begin together: the first rule's)."""
    order = {rule.id: place for place, rule in enumerate(RULES)}
    apart: list[Found] = []
    for name, start, end in sorted(found, key=lambda one: (one[1], order[one[0]])):
        if apart and start < apart[-1][2]:
            first, from_, until = apart[-1]
            apart[-1] = first, from_, max(until, end)
        else:
            apart.append((name, start, end))
    return apart
