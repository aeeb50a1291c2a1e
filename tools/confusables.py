"""What a text looks like: the skeleton of UTS #39, so that two texts that look the same have the same one.

The data is in confusables.txt beside this file, read when it is first needed and never again: it is a part of the
program, like the tables of `unicodedata`.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from importlib.resources import files
from typing import Final

_DATA: Final = "confusables.txt"

_IGNORABLE: Final = (
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
"""Unicode's Default_Ignorable_Code_Point: what shows nothing by itself, such as joiners and variation selectors."""


def skeleton(text: str) -> str:
    """Equal for texts that look the same; not to be shown to anybody. UTS #39, section 4, internalSkeleton."""
    prototypes = _prototypes()
    seen = without_ignorable(unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFD", "".join([prototypes.get(character, character) for character in seen]))


def without_ignorable(text: str) -> str:
    """`text` without the characters that show nothing."""
    return "".join([character for character in text if not _is_ignorable(ord(character))])


def _is_ignorable(code_point: int) -> bool:
    return code_point >= _IGNORABLE[0][0] and any(first <= code_point <= last for first, last in _IGNORABLE)


@cache
def _prototypes() -> dict[str, str]:
    found: dict[str, str] = {}
    for line in files(__package__).joinpath(_DATA).read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        for pair in line.split():
            character, _, prototype = pair.partition(">")
            found[chr(int(character, 16))] = "".join(chr(int(part, 16)) for part in prototype.split("+"))
    return found
