"""Writes a font's numbers as a Python module of short text lines (actors/canvas/fonts/decoding.py reads them)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.fonts.reading import FontFile

_WIDTH = 108

HANGUL_FIRST, HANGUL_LAST = 0xAC00, 0xD7A3
HANGUL_SIGN_FIRST = ord(" ")

_KERNED = ((0x20, 0x17F), (0x400, 0x45F), (0x490, 0x491), (0x2010, 0x203A), (0x20AC, 0x20AC))
"""Between which characters kerning is kept: Latin, Cyrillic and their punctuation. Others count unkerned."""


@dataclass(frozen=True)
class Family:
    """A family as Excalidraw ships it. `folder` and `pattern` say which files; `licence` is told in the table."""

    module: str
    name: str
    folder: str
    pattern: str
    licence: str


def module_text(family: Family, fonts: list[FontFile], source: str) -> str:
    """The whole module. The files draw different characters, and the first tells its names."""
    advances: dict[str, int] = {}
    kerning: dict[tuple[str, str], int] = {}
    for font in fonts:
        assert font.units_per_em == fonts[0].units_per_em
        for character, advance in font.advances.items():
            advances.setdefault(character, advance)
        kerning.update({pair: value for pair, value in font.kerning.items() if all(map(_is_kerned, pair))})
    return "\n".join(
        [
            *_header(family, fonts[0], source),
            "",
            "from typing import Final",
            "",
            f"UNITS_PER_EM: Final = {fonts[0].units_per_em}",
            f"ADVANCES: Final = {_literal(' '.join(_advance_entries(advances)))}",
            f"KERNING: Final = {_literal(' '.join(_kerning_entries(kerning)))}",
            "",
        ]
    )


def fallback_module_text(family: Family, fonts: list[FontFile], source: str) -> str:
    """The module of the font for East Asian text: its thousands of Korean syllables are a sign each, in their order."""
    advances: dict[str, int] = {}
    for font in fonts:
        advances |= font.advances
    syllables = [advances.pop(chr(code), 0) for code in range(HANGUL_FIRST, HANGUL_LAST + 1)]
    narrowest = min(filter(None, syllables))
    shown = "".join(chr(HANGUL_SIGN_FIRST + max(width - narrowest, 0)) for width in syllables)
    assert max(shown) <= "~"
    return "\n".join(
        [
            *_header(family, fonts[0], source),
            "",
            "from typing import Final",
            "",
            f"UNITS_PER_EM: Final = {fonts[0].units_per_em}",
            f"ADVANCES: Final = {_literal(' '.join(_advance_entries(advances)))}",
            f"HANGUL_NARROWEST: Final = {narrowest}",
            f"HANGUL: Final = {_literal(shown)}",
            '"""Of the syllables from U+AC00: a space is as wide as the narrowest, each further sign one unit more."""',
            "",
        ]
    )


def _header(family: Family, font: FontFile, source: str) -> list[str]:
    copyright_ = font.named(0).split(" Permission is hereby")[0]
    return [
        f'"""How wide {family.name} is, as {source} ships it; made by `python -m tests.fonts`.',
        "",
        *textwrap.wrap(f"Font: {font.named(4)}, {font.named(5)}. {copyright_}", _WIDTH),
        *textwrap.wrap(f"Licence of the font: {family.licence}. Numbers only; no outline is kept here.", _WIDTH),
        '"""',
    ]


def _advance_entries(advances: Mapping[str, int]) -> list[str]:
    by_width: dict[int, set[str]] = {}
    for character, advance in advances.items():
        by_width.setdefault(advance, set()).add(character)
    return [f"{width}:{_ranges(by_width[width])}" for width in sorted(by_width)]


def _kerning_entries(kerning: Mapping[tuple[str, str], int]) -> list[str]:
    """`FIRSTS=VALUE:SECONDS/VALUE:SECONDS`, one entry for all first characters that are kerned alike."""
    rows: dict[str, dict[str, int]] = {}
    for (first, second), value in kerning.items():
        rows.setdefault(first, {})[second] = value
    alike: dict[tuple[tuple[str, int], ...], set[str]] = {}
    for first, row in rows.items():
        alike.setdefault(tuple(sorted(row.items())), set()).add(first)
    entries = []
    for pairs, firsts in sorted(alike.items(), key=lambda item: min(item[1])):
        by_value: dict[int, set[str]] = {}
        for second, value in pairs:
            by_value.setdefault(value, set()).add(second)
        values = "/".join(f"{value}:{_ranges(by_value[value])}" for value in sorted(by_value))
        entries.append(f"{_ranges(firsts)}={values}")
    return entries


def _ranges(characters: Iterable[str]) -> str:
    """Code points in hexadecimal, `41-5a,e9`."""
    parts: list[list[int]] = []
    for code in sorted(map(ord, characters)):
        if parts and parts[-1][1] == code - 1:
            parts[-1][1] = code
        else:
            parts.append([code, code])
    return ",".join(f"{first:x}" if first == last else f"{first:x}-{last:x}" for first, last in parts)


def _literal(text: str) -> str:
    lines = [text[start : start + _WIDTH] for start in range(0, len(text), _WIDTH)] or [""]
    quoted = ['"' + line.replace("\\", "\\\\").replace('"', '\\"') + '"' for line in lines]
    return "(\n" + "\n".join(f"    {line}" for line in quoted) + "\n)" if len(lines) > 1 else quoted[0]


def _is_kerned(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in _KERNED)
