"""A font as numbers: how wide a line of text is drawn in it.

The numbers of each family are read from their text when it is first measured, and widths that were worked out are
remembered. What is remembered follows from the program alone and is bounded, so threads may share it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from operator import add
from typing import Final
from unicodedata import normalize

from actors.canvas.fonts import (
    assistant,
    cascadia,
    comic_shanns,
    excalifont,
    liberation_sans,
    lilita_one,
    nunito,
    virgil,
    xiaolai,
)
from actors.canvas.fonts.substitutes import is_hidden, substitute_ems
from actors.canvas.graphemes import is_joining, with_single_emoji
from bus.limits import widths_remembered_max

_FEW_PARTS: Final = 64

_EXCALIFONT: Final = 5
_SANS_SERIF: Final = 9
_LETTERS_SHARE: Final = 1.15
"""Which sans-serif a machine has is unknown: letters of DejaVu Sans are up to a sixth wider than Liberation's."""

_HANGUL_FIRST: Final = 0xAC00

_DRAWN_AS_SPACE: Final = "\t\v\f\r\n\u00a0"
"""By a canvas, or by a font that has no other no-break space."""


class _Remembered(dict[str, int]):
    """Widths by character, worked out when first asked for. Begun anew when there are too many."""

    def __init__(self, work_out: Callable[[str], int]) -> None:
        super().__init__()
        self._work_out = work_out

    def __missing__(self, character: str) -> int:
        if len(self) >= widths_remembered_max:
            self.clear()
        width = self[character] = self._work_out(character)
        return width


class FontTable:
    """Widths in ems of texts in one family. `substitute` says them of characters that the family lacks."""

    def __init__(self, units_per_em: int, advances: str, kerning: str, substitute: Callable[[str], float]) -> None:
        self._units = units_per_em
        self._substitute = substitute
        self._own = _advances(advances)
        self._advances = _Remembered(self._worked_out)
        self._kerning = _kerning(kerning)

    def width(self, line: str) -> float:
        """In ems, of a text on one line, as a browser's canvas draws it: kerned, sequences of emoji as one sign."""
        if not line.isascii() and is_joining(line):
            # Letters and their marks are drawn as one sign where the font has that.
            line = normalize("NFC", with_single_emoji(line))
        units = sum(map(self._advances.__getitem__, line))
        if self._kerning:
            units += sum(filter(None, map(self._kerning.get, map(add, line, line[1:]))))
        return units / self._units

    def widths(self, parts: Sequence[str]) -> list[float]:
        """In ems, of each part by itself."""
        advances, units = self._advances, self._units
        if len(parts) <= _FEW_PARTS:
            return [advances[part] / units if len(part) == 1 else self.width(part) for part in parts]
        # Many parts are seldom all different.
        known = {part: advances[part] / units if len(part) == 1 else self.width(part) for part in set(parts)}
        return [known[part] for part in parts]

    def kernings(self, parts: Sequence[str]) -> list[float]:
        """In ems, what stands between each part and the one before it; mostly 0, else mostly below."""
        if not self._kerning or not parts:
            return [0.0] * len(parts)
        between = map(add, (part[-1] for part in parts), (part[0] for part in parts[1:]))
        return [0.0, *(self._kerning.get(pair, 0) / self._units for pair in between)]

    def own_ems(self, character: str) -> float | None:
        """In ems; None for a character that the family itself lacks."""
        units = self._own.get(character)
        return None if units is None else units / self._units

    def _worked_out(self, character: str) -> int:
        units = self._own.get(character)
        if units is None and character in _DRAWN_AS_SPACE:
            units = self._own.get(" ")
        return round(self._substitute(character) * self._units) if units is None else units


def font_table(family: int) -> FontTable:
    """The table of one of Excalidraw's `fontFamily` numbers; unknown ones are drawn in the browser's own font."""
    return _made(family if family in _FAMILIES else _SANS_SERIF)


@cache
def _made(family: int) -> FontTable:
    substitute = substitute_ems if family == _SANS_SERIF else _substitute
    return FontTable(*_FAMILIES[family], _substitute_of_excalifont if family == _EXCALIFONT else substitute)


def _substitute_of_excalifont(character: str) -> float:
    ems = _east_asian().ems(character)
    return _substitute(character) if ems is None else ems


def _substitute(character: str) -> float:
    sans_serif = _made(_SANS_SERIF).own_ems(character)
    if sans_serif is None:
        return substitute_ems(character)
    return sans_serif * _LETTERS_SHARE if character.isalpha() else sans_serif


class _EastAsian:
    """Xiaolai, from which Excalifont's missing characters come: too many to keep one by one."""

    def __init__(self) -> None:
        spans = sorted((first, last, width) for width, first, last in _spans(xiaolai.ADVANCES))
        self._firsts = [first for first, _, _ in spans]
        self._spans = spans

    def ems(self, character: str) -> float | None:
        """The width in ems; None for a character that it lacks."""
        code = ord(character)
        syllable = code - _HANGUL_FIRST
        if 0 <= syllable < len(xiaolai.HANGUL):
            return (xiaolai.HANGUL_NARROWEST + ord(xiaolai.HANGUL[syllable]) - ord(" ")) / xiaolai.UNITS_PER_EM
        place = bisect_right(self._firsts, code) - 1
        if place < 0 or code > self._spans[place][1] or is_hidden(character):
            return None
        return self._spans[place][2] / xiaolai.UNITS_PER_EM


@cache
def _east_asian() -> _EastAsian:
    return _EastAsian()


def _spans(text: str) -> Iterator[tuple[int, int, int]]:
    """(width, first, last) of `WIDTH:RANGES WIDTH:RANGES`, as tests/fonts writes them."""
    for entry in text.split():
        width, _, ranges = entry.partition(":")
        for first, last in _code_points(ranges):
            yield int(width), first, last


def _advances(text: str) -> dict[str, int]:
    return {chr(code): width for width, first, last in _spans(text) for code in range(first, last + 1)}


def _kerning(text: str) -> dict[str, int]:
    """`RANGES=VALUE:RANGES/VALUE:RANGES`, by pairs: first characters before the sign, second ones behind values."""
    pairs: dict[str, int] = {}
    for entry in text.split():
        firsts, _, values = entry.partition("=")
        for part in values.split("/"):
            value, _, ranges = part.partition(":")
            seconds, number = list(_characters(ranges)), int(value)
            pairs.update({first + second: number for first in _characters(firsts) for second in seconds})
    return pairs


def _characters(ranges: str) -> Iterator[str]:
    for first, last in _code_points(ranges):
        yield from map(chr, range(first, last + 1))


def _code_points(ranges: str) -> Iterator[tuple[int, int]]:
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        yield int(first, 16), int(last or first, 16)


_LIBERATION_SANS: Final = (liberation_sans.UNITS_PER_EM, liberation_sans.ADVANCES, liberation_sans.KERNING)
_FAMILIES: Final = {
    1: (virgil.UNITS_PER_EM, virgil.ADVANCES, virgil.KERNING),
    2: _LIBERATION_SANS,  # Helvetica, which every system has in the same widths under some name
    3: (cascadia.UNITS_PER_EM, cascadia.ADVANCES, cascadia.KERNING),
    _EXCALIFONT: (excalifont.UNITS_PER_EM, excalifont.ADVANCES, excalifont.KERNING),
    6: (nunito.UNITS_PER_EM, nunito.ADVANCES, nunito.KERNING),
    7: (lilita_one.UNITS_PER_EM, lilita_one.ADVANCES, lilita_one.KERNING),
    8: (comic_shanns.UNITS_PER_EM, comic_shanns.ADVANCES, comic_shanns.KERNING),
    _SANS_SERIF: _LIBERATION_SANS,
    10: (assistant.UNITS_PER_EM, assistant.ADVANCES, assistant.KERNING),
}
