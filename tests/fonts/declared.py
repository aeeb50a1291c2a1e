"""Which characters Excalidraw draws from which font file, as its package declares it.

A family is cut into files, each declared for ranges of characters; where ranges overlap, the later file counts. What
no file is declared for is drawn in another font, even when a file has it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_FILE: Final = re.compile(r'^var (\w+) = "\./fonts/([\w/.-]+\.woff2)";$', re.MULTILINE)
_FACE: Final = re.compile(r"uri: (\w+)(?:,\s*descriptors: \{(.*?)\})?\s*\}", re.DOTALL)
_RANGES: Final = re.compile(r'unicodeRange: (?:"([^"]*)"|(\w+)\.(\w+))')
_NAMED_RANGES: Final = re.compile(r'^  (\w+): "(U\+[^"]*)"', re.MULTILINE)


def declared_characters(package: Path) -> dict[str, frozenset[int] | None]:
    """Code points by file (its path under `fonts/`), read from the package's unminified sources; None for all."""
    sources = [path.read_text("utf-8") for path in sorted((package / "dist" / "dev").glob("*.js"))]
    source = next(text for text in sources if _FILE.search(text))
    files = dict(_FILE.findall(source))
    named = dict(_NAMED_RANGES.findall(source))
    declared: dict[str, frozenset[int] | None] = {}
    for variable, descriptors in _FACE.findall(source):
        if variable not in files:
            continue
        found = _RANGES.search(descriptors)
        drawn = None if found is None else _code_points(found[1] or named[found[3]])
        family = files[variable].split("/")[0]
        for other, characters in declared.items():
            if other.split("/")[0] == family and characters is not None and drawn is not None:
                declared[other] = characters - drawn
        declared[files[variable]] = drawn
    return declared


def _code_points(ranges: str) -> frozenset[int]:
    """`U+41-5a, U+e9`"""
    points: set[int] = set()
    for part in ranges.split(","):
        first, _, last = part.strip().removeprefix("U+").partition("-")
        points.update(range(int(first, 16), int(last or first, 16) + 1))
    return frozenset(points)
