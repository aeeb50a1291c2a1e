"""How large a text is drawn and where it wraps, estimated without fonts (canvas 4.3; real metrics come later).

Widths are counted in grapheme-like clusters: wide characters and emoji about one em, others by a small table that
errs on the wide side, so that a label fits its container when the editor opens it.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final

_NARROW: Final = frozenset("iljI.,:;'|!`()[]{}ftr\"")
_BROAD: Final = frozenset("mwMW@%&")
_WIDTH_NARROW: Final = 0.36
_WIDTH_BROAD: Final = 0.95
_WIDTH_SPACE: Final = 0.35
_WIDTH_CAPITAL: Final = 0.70
_WIDTH_OTHER: Final = 0.58
_WIDTH_WIDE: Final = 1.0
_JOINER: Final = "\u200d"
_CLUSTER_CHARACTERS_MAX: Final = 32


@dataclass(frozen=True, slots=True)
class Font:
    size: float
    line_height: float
    """As a factor of the size."""


@dataclass(frozen=True, slots=True)
class Measured:
    """`text` as it is drawn, with the line breaks that wrapping added."""

    text: str
    width: float
    height: float


def measured(text: str, font: Font, width_max: float | None = None) -> Measured:
    """The size of `text`, wrapped to `width_max` scene units unless that is None."""
    lines = text.split("\n")
    if width_max is not None:
        room = max(width_max / font.size, _WIDTH_WIDE)
        lines = [part for line in lines for part in _wrapped(line, room)]
    widest = max(_line_ems(line) for line in lines)
    return Measured(
        "\n".join(lines),
        round(max(widest, _WIDTH_NARROW) * font.size, 3),
        round(len(lines) * font.size * font.line_height, 3),
    )


def clusters(text: str) -> list[str]:
    """`text` cut where a reader sees character borders: marks, joined emoji and flags stay whole."""
    cut: list[str] = []
    for character in text:
        # Bounded, so that a text of nothing but marks is not copied once for each of them.
        if cut and len(cut[-1]) < _CLUSTER_CHARACTERS_MAX and _continues(cut[-1], character):
            cut[-1] += character
        else:
            cut.append(character)
    return cut


def _continues(before: str, character: str) -> bool:
    code = ord(character)
    if before.endswith(_JOINER) or character == _JOINER:
        return True
    if (
        unicodedata.category(character) in ("Mn", "Me", "Mc")
        or 0x1F3FB <= code <= 0x1F3FF
        or 0xE0020 <= code <= 0xE007F
    ):
        return True
    if 0x1160 <= code <= 0x11FF:  # medial and final jamo
        return True
    return len(before) == 1 and _is_flag_letter(before) and _is_flag_letter(character)


def _is_flag_letter(character: str) -> bool:
    return 0x1F1E6 <= ord(character) <= 0x1F1FF


def _cluster_ems(cluster: str) -> float:
    character = cluster[0]
    if character in " \t\u00a0":
        return _WIDTH_SPACE
    if character in _NARROW:
        return _WIDTH_NARROW
    if _breaks_anywhere(cluster):
        return _WIDTH_WIDE
    if character in _BROAD:
        return _WIDTH_BROAD
    if unicodedata.category(character) in ("Cf", "Mn", "Me"):
        return 0.0
    return _WIDTH_CAPITAL if character.isupper() else _WIDTH_OTHER


def _breaks_anywhere(cluster: str) -> bool:
    """Wide characters: a line may end before and after each."""
    return unicodedata.east_asian_width(cluster[0]) in ("W", "F") or _is_flag_letter(cluster[0]) or len(cluster) > 2


def _line_ems(line: str) -> float:
    return sum(map(_cluster_ems, clusters(line)))


def _wrapped(line: str, room: float) -> list[str]:
    """`line` in pieces at most `room` ems wide; spaces at a break are dropped, words too long are cut."""
    done: list[str] = []
    current: list[str] = []
    width = 0.0
    for word in _words(line):
        ems, is_space = sum(map(_cluster_ems, word)), word[0].isspace()
        if width + ems <= room or (is_space and current):
            current, width = current + word, width + ems
            continue
        if current:
            done.append("".join(current).rstrip(" "))
            current, width = [], 0.0
            if is_space:
                continue
        for cluster in word:
            size = _cluster_ems(cluster)
            if current and width + size > room:
                done.append("".join(current))
                current, width = [], 0.0
            current.append(cluster)
            width += size
    last = "".join(current)
    done.append(last.rstrip(" ") if done else last)
    return done


def _words(line: str) -> list[list[str]]:
    """Runs of spaces, runs of other narrow characters, and single wide ones, each as its clusters."""
    words: list[list[str]] = []
    for cluster in clusters(line):
        last = words[-1][-1] if words else None
        if (
            last is not None
            and last.isspace() == cluster.isspace()
            and not _breaks_anywhere(cluster)
            and not _breaks_anywhere(last)
        ):
            words[-1].append(cluster)
        else:
            words.append([cluster])
    return words
