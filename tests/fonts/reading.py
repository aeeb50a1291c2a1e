"""What a browser takes from a font to know how wide a text is: advances, kerning by pairs, ligatures of two letters.

A browser draws word by word, so it does not kern with spaces; and it draws a character from the file whose declared
range holds it, and kerns only within a file.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fontTools.ttLib import TTFont

_EXTENSION_POSITIONING = 9
_EXTENSION_SUBSTITUTION = 7
_PAIR_ADJUSTMENT = 2
_SINGLE_SUBSTITUTION = 1
_LIGATURE_SUBSTITUTION = 4
_CHAINED_SUBSTITUTION = 6
_LIGATURES = "liga"


class FontFile:
    """One font file: `advances` by character, and `kerning` by pair of characters, in its units.

    `drawn` says which characters are taken from it; all when it is None.
    """

    def __init__(self, path: Path, drawn: frozenset[int] | None = None) -> None:
        self._font = TTFont(path)
        self.units_per_em: int = self._font["head"].unitsPerEm
        self._glyphs = {
            chr(code): glyph
            for code, glyph in self._font.getBestCmap().items()
            if (drawn is None or code in drawn) and _is_drawn(chr(code))
        }
        self.advances: dict[str, int] = {
            character: self._font["hmtx"][glyph][0] for character, glyph in self._glyphs.items()
        }
        self.kerning = self._kerning()

    def named(self, number: int) -> str:
        """The entry of that number in the font's table of names, on one line."""
        return " ".join((self._font["name"].getDebugName(number) or "").split())

    def _kerning(self) -> dict[tuple[str, str], int]:
        pairs = Counter[tuple[str, str]]()
        for lookup in self._lookups("GPOS", "kern"):
            pairs.update(self._adjusted(lookup))
        width = self._font["hmtx"]
        for first, second, ligature in self._ligatures():
            pairs[first, second] = width[ligature][0] - width[first][0] - width[second][0]
        for first, second, replaced in self._replaced_before():
            pairs[first, second] += width[replaced][0] - width[first][0]
        characters: dict[str, list[str]] = {}
        for character, glyph in self._glyphs.items():
            characters.setdefault(glyph, []).append(character)
        return {
            (left, right): value
            for (first, second), value in pairs.items()
            if value
            for left in characters.get(first, ())
            for right in characters.get(second, ())
            if not (left + right).count(" ")
        }

    def _lookups(self, table: str, feature: str) -> Iterator[Any]:
        found = self._font.get(table)
        if found is None or not found.table.FeatureList:
            return
        records = [record for record in found.table.FeatureList.FeatureRecord if record.FeatureTag == feature]
        for index in sorted({index for record in records for index in record.Feature.LookupListIndex}):
            yield found.table.LookupList.Lookup[index]

    def _adjusted(self, lookup: Any) -> dict[tuple[str, str], int]:
        """The pairs of a lookup: of its tables the first that knows a pair decides."""
        pairs: dict[tuple[str, str], int] = {}
        for table in lookup.SubTable:
            if table.LookupType == _EXTENSION_POSITIONING:
                table = table.ExtSubTable
            assert table.LookupType == _PAIR_ADJUSTMENT, "kerning by context is not read"
            rows = self._single_rows(table) if table.Format == 1 else self._class_rows(table)
            for pair, value in rows:
                pairs.setdefault(pair, value)
        return pairs

    def _single_rows(self, table: Any) -> Iterator[tuple[tuple[str, str], int]]:
        for first, row in zip(table.Coverage.glyphs, table.PairSet, strict=True):
            for record in row.PairValueRecord:
                yield (first, record.SecondGlyph), _advance(record.Value1)

    def _class_rows(self, table: Any) -> Iterator[tuple[tuple[str, str], int]]:
        firsts, seconds = table.ClassDef1.classDefs, table.ClassDef2.classDefs
        known = set(self._glyphs.values())
        for first in table.Coverage.glyphs:
            row = table.Class1Record[firsts.get(first, 0)].Class2Record
            for second in known:
                yield (first, second), _advance(row[seconds.get(second, 0)].Value1)

    def _ligatures(self) -> Iterator[tuple[str, str, str]]:
        for lookup in self._lookups("GSUB", _LIGATURES):
            for table in lookup.SubTable:
                if table.LookupType == _EXTENSION_SUBSTITUTION:
                    table = table.ExtSubTable
                if table.LookupType != _LIGATURE_SUBSTITUTION:
                    continue
                for first, ligatures in table.ligatures.items():
                    yield from (
                        (first, found.Component[0], found.LigGlyph) for found in ligatures if len(found.Component) == 1
                    )

    def _replaced_before(self) -> Iterator[tuple[str, str, str]]:
        """(glyph, glyph behind it, what the first becomes there)."""
        for lookup in self._lookups("GSUB", _LIGATURES):
            if lookup.LookupType != _CHAINED_SUBSTITUTION:
                continue
            for table in lookup.SubTable:
                assert table.Format == 1, "classes of glyphs in chains are not read"
                for first, rules in zip(table.Coverage.glyphs, table.ChainSubRuleSet, strict=True):
                    for rule in rules.ChainSubRule:
                        if rule.Backtrack or rule.Input or len(rule.LookAhead) != 1:
                            continue
                        for record in rule.SubstLookupRecord:
                            inner = self._font["GSUB"].table.LookupList.Lookup[record.LookupListIndex]
                            if inner.LookupType == _SINGLE_SUBSTITUTION:
                                yield first, rule.LookAhead[0], inner.SubTable[0].mapping[first]


def _advance(value: Any) -> int:
    return getattr(value, "XAdvance", 0) if value else 0


def _is_drawn(character: str) -> bool:
    """Marks stand on the letter before them and format characters show nothing, whatever the font says of them."""
    return unicodedata.category(character) not in ("Mn", "Me", "Cf", "Cc")
