"""Where a line of text may be broken and where it is, as Excalidraw breaks it (canvas 4.3).

It may be broken before and after white space, after hyphens, around East Asian characters but for signs that must not
begin or end a line, between a closing and an opening bracket, and around emoji, which stay whole. A line takes what
fits; white space may hang over at its end and is dropped; a word wider than a line is cut between characters as a
reader sees them. (Excalidraw cuts it between code points, and so sometimes inside a character.)
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate, pairwise
from operator import add
from typing import Final

from actors.canvas.fonts.table import FontTable
from actors.canvas.graphemes import clusters, emoji_spans, is_east_asian_letter, is_extending, is_joining
from bus.limits import kinds_remembered_max

_CLOSE_EMS: Final = 1e-6
"""Sums of the same widths in another order differ by less."""

_WHITE_SPACE: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f"
    "\u3000\ufeff"
)
"""What JavaScript takes for it: in Excalidraw a no-break space does not hold a line together."""

# Kinds of characters, a letter each: a line is turned into the letters of its characters, and those are searched.
_SPACE, _HYPHEN, _OPENING, _CLOSING, _EXTENDING, _OTHER = "s", "h", "o", "l", "m", "x"
_EAST_ASIAN, _CURRENCY, _EAST_ASIAN_OPENING, _EAST_ASIAN_CLOSING = "c", "y", "O", "L"
_NAMED_KINDS: Final = {
    **dict.fromkeys(map(ord, _WHITE_SPACE), _SPACE),
    ord("-"): _HYPHEN,
    **dict.fromkeys(map(ord, "<([{"), _OPENING),
    **dict.fromkeys(map(ord, ">)]}.,:;!?…/"), _CLOSING),
    **dict.fromkeys(map(ord, "（［｛〈《｟｢「『【〖〔〘〚＜〝"), _EAST_ASIAN_OPENING),
    **dict.fromkeys(map(ord, "）］｝〉》｠｣」』】〗〕〙〛＞。．，、〟‥？！：；・〜〞"), _EAST_ASIAN_CLOSING),
    **dict.fromkeys(map(ord, "￥￦￡￠＄"), _CURRENCY),
    **dict.fromkeys(map(ord, "｀＇＾〃〰〆＃＆＊＋－ー／＼＝｜￤〒￢￣"), _EAST_ASIAN),
}
_BREAK: Final = re.compile(
    "(?=s)|(?<=[sh])"  # around white space, behind hyphens
    "|(?<![oO])(?=[cyO])"  # before East Asian characters, currencies and brackets
    "|(?<=c)(?![hlL])|(?<=L)(?![lL])"  # behind East Asian characters and signs
    "|(?<=l)(?=o)"  # between closing and opening ones
)
_EXTENDED: Final = re.compile("([^ms])(m+)")
_PLAIN_TOKEN: Final = re.compile(r"\s+|[^\s-]*-|[^\s-]+", re.ASCII)
_CLOSING_BEFORE_OPENING: Final = re.compile(r"[>)\]}.,:;!?/][<(\[{]")


class _Kinds(dict[int, str]):
    """The kind of each code point, found out when first asked for. Begun anew when there are too many, as widths are.

    Threads may share it: what another one has just thrown away is found out again.
    """

    def __missing__(self, code: int) -> str:
        if len(self) >= kinds_remembered_max:
            self.clear()
        kind = self[code] = _NAMED_KINDS.get(code) or _found_kind(chr(code))
        return kind


def _found_kind(character: str) -> str:
    if is_extending(character):
        return _EXTENDING
    return _EAST_ASIAN if is_east_asian_letter(character) else _OTHER


_KINDS: Final = _Kinds()


def wrapped(line: str, room: float, table: FontTable) -> list[tuple[str, float]]:
    """`line`, which has no line end, in lines of at most `room` ems, each with its width in ems.

    A single character wider than `room` stands on a line of its own.
    """
    width = table.width(line)
    if width <= room + _CLOSE_EMS or len(line) == 1:
        return [(line, width)]
    return _filled(line, tokens(line), room + _CLOSE_EMS, table)


def tokens(line: str) -> list[str]:
    """`line` cut at every place where it may be broken."""
    if line.isascii() and _CLOSING_BEFORE_OPENING.search(line) is None:
        return _PLAIN_TOKEN.findall(line)
    borders = [0, *_breaks(line), len(line)]
    return [line[start:end] for start, end in pairwise(borders) if start < end]


def _breaks(line: str) -> list[int]:
    letters = line.translate(_KINDS)
    shown = letters
    if _EXTENDING in letters:
        # A mark is of the kind of what it stands on.
        shown = _EXTENDED.sub(lambda found: found[1] * len(found[0]), letters)
    breaks = [found.start() for found in _BREAK.finditer(shown)]
    return _between_characters(line, letters, breaks) if is_joining(line) else breaks


def _between_characters(line: str, letters: str, breaks: list[int]) -> list[int]:
    """The breaks, those around emoji with them, that part nothing that a reader sees as one."""
    allowed = set(accumulate(map(len, clusters(line))))
    # White space gives its line up even if a mark stands on it.
    allowed.update(place + 1 for place, letter in enumerate(letters) if letter == _SPACE)
    around: set[int] = set()
    for start, end in emoji_spans(line):
        around.update((start, end))
        allowed.difference_update(range(start + 1, end))
    return sorted(around.union(breaks) & allowed)


def _filled(line: str, parts: list[str], room: float, table: FontTable) -> list[tuple[str, float]]:
    """The lines that `parts` fill. `ends` says how wide everything up to the end of each part is in one line."""
    widths = table.widths(parts)
    ends = list(accumulate(map(add, widths, table.kernings(parts))))
    offsets = [0, *accumulate(map(len, parts))]
    is_space = [part[0] in _WHITE_SPACE for part in parts]
    lines: list[tuple[str, float]] = []
    cut: dict[str, list[tuple[str, float]]] = {}
    first, count = 0, len(parts)
    while first < count:
        start, begin = offsets[first], ends[first] - widths[first]
        beyond = bisect_right(ends, begin + room, first)
        if beyond == first:
            beyond += 1
            if not is_space[first] and len(parts[first]) > 1:
                word = parts[first]
                if word not in cut:
                    cut[word] = _cut(word, room, table)
                *whole, (rest, width) = cut[word]
                lines += whole
                # What is left of a word goes on as the beginning of the next line.
                start, begin = offsets[first + 1] - len(rest), ends[first] - width
                beyond = max(bisect_right(ends, begin + room, first), beyond)
        while beyond < count and is_space[beyond]:
            beyond += 1
        if beyond == count:
            lines.append(_last(line[start:], room, table))
            break
        shown = beyond - 1
        while shown > first and is_space[shown]:
            shown -= 1
        lines.append(("", 0.0) if is_space[shown] else (line[start : offsets[shown + 1]], ends[shown] - begin))
        first = beyond
    return lines


def _cut(word: str, room: float, table: FontTable) -> list[tuple[str, float]]:
    """A word in pieces that fit, at least one character each; an emoji is a piece, however wide.

    Where it is cut is counted without kerning, as Excalidraw does.
    """
    characters = list(word) if word.isascii() else clusters(word)
    pieces: list[tuple[str, float]] = []
    piece, filled = "", 0.0
    for character, width in zip(characters, table.widths(characters), strict=True):
        if piece and filled + width > room:
            pieces.append((piece, filled if len(piece) == 1 else table.width(piece)))
            piece, filled = "", 0.0
        piece += character
        filled += width
    pieces.append((piece, table.width(piece)))
    return pieces


def _last(line: str, room: float, table: FontTable) -> tuple[str, float]:
    """White space at the end of the last line stays as far as it fits."""
    width = table.width(line)
    shown = line.rstrip(_WHITE_SPACE)
    if width <= room or shown == line:
        return line, width
    if not shown:
        return "", 0.0
    width = table.width(shown)
    for space in line[len(shown) :]:
        more = width + table.width(space)
        if more > room:
            break
        shown, width = shown + space, more
    return shown, width
