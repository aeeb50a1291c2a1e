"""`python -m tests.fonts FOLDER`: write actors/canvas/fonts anew.

FOLDER is that of the unpacked npm package `@excalidraw/excalidraw` (the one with package.json in it).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.fonts.declared import declared_characters
from tests.fonts.reading import FontFile
from tests.fonts.writing import Family, fallback_module_text, module_text

_TABLES: Final = Path(__file__).resolve().parents[2] / "actors" / "canvas" / "fonts"
_OFL: Final = "SIL Open Font License 1.1"

FAMILIES: Final = (
    Family("virgil", "Virgil", "Virgil", "*.woff2", _OFL),
    Family("cascadia", "Cascadia Code", "Cascadia", "*.woff2", _OFL),
    Family("excalifont", "Excalifont", "Excalifont", "*.woff2", _OFL),
    Family("nunito", "Nunito", "Nunito", "*.woff2", _OFL),
    Family("lilita_one", "Lilita One", "Lilita", "*.woff2", _OFL),
    Family("comic_shanns", "Comic Shanns Mono", "ComicShanns", "*.woff2", "MIT"),
    Family("liberation_sans", "Liberation Sans", "Liberation", "*.woff2", f"GPL 2 with font exception (2.x: {_OFL})"),
    Family("assistant", "Assistant", "Assistant", "*-Regular.woff2", _OFL),
)

EAST_ASIAN: Final = Family("xiaolai", "Xiaolai", "Xiaolai", "*.woff2", _OFL)


def fonts_of(family: Family, package: Path, declared: Mapping[str, frozenset[int] | None]) -> list[FontFile]:
    """The family's files. The one with the most characters first: it is the one whose names the table tells."""
    folder = package / "dist" / "prod" / "fonts"
    files = sorted(folder.joinpath(family.folder).glob(family.pattern))
    read = [FontFile(file, declared.get(file.relative_to(folder).as_posix())) for file in files]
    return sorted(read, key=lambda font: -len(font.advances))


def main(package: Path) -> None:
    """Write every table. Raises OSError when the folder is none of the package."""
    about = json.loads((package / "package.json").read_text("utf-8"))
    source = f"{about['name']} {about['version']}"
    declared = declared_characters(package)
    for family in (*FAMILIES, EAST_ASIAN):
        fonts = fonts_of(family, package, declared)
        target = _TABLES / f"{family.module}.py"
        text = fallback_module_text if family is EAST_ASIAN else module_text
        target.write_text(text(family, fonts, source), encoding="utf-8")
        print(f"{target.name}: {len(fonts)} files, {sum(len(font.advances) for font in fonts)} characters")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
