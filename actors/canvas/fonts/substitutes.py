"""How wide a character is that no font of Excalidraw has: which one a browser takes depends on the machine.

Estimated a little on the wide side, as a label that is counted too narrow is cut off, and one that is counted too wide
only sits a little loosely.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from typing import Final

from actors.canvas.graphemes import is_pictured

EMOJI_EMS: Final = 1.25
"""Between Apple's 1.0 to 1.25 and Noto's 1.245, and Segoe's 1.37."""
_WIDE_EMS: Final = 1.0
_HANGUL_EMS: Final = 0.94
_HANGUL_FIRST, _HANGUL_LAST = "\uac00", "\ud7a3"
_HALF_EMS: Final = 0.5
_UNKNOWN_EMS: Final = 1.0

_SPACES: Final = {
    "\u1680": 0.6, "\u2000": 0.5, "\u2001": 1.0, "\u2002": 0.5, "\u2003": 1.0, "\u2004": 0.34, "\u2005": 0.25,
    "\u2006": 0.17, "\u2007": 0.64, "\u2008": 0.32, "\u2009": 0.2, "\u200a": 0.12, "\u202f": 0.2, "\u205f": 0.23,
    "\u3000": 1.0,
}  # fmt: skip

_HIDDEN_CATEGORIES: Final = frozenset({"Mn", "Me", "Cf", "Cc", "Zl", "Zp"})
_HIDDEN_LETTERS: Final = frozenset("\u115f\u1160\u3164\uffa0")
_PICTURED_CATEGORIES: Final = frozenset({"So", "Sk", "Sm", "Po", "Cn"})

_SCRIPTS: Final = (
    (0x0000, 0.65),  # Latin and its neighbours that not even the sans-serif has
    (0x0370, 0.65),  # Greek, Cyrillic
    (0x0530, 0.75),  # Armenian
    (0x0590, 0.6),  # Hebrew
    (0x0600, 0.55),  # Arabic, Syriac: joined, so a letter is narrower than it would be alone
    (0x0900, 0.7),  # Indic
    (0x0E00, 0.65),  # Thai, Lao
    (0x0F00, 0.7),  # Tibetan, Burmese
    (0x10A0, 0.65),  # Georgian
    (0x1161, 0.0),  # vowels and finals of Hangul, drawn within the syllable that their initial begins
    (0x1200, 0.8),  # Ethiopic, Cherokee
    (0x1400, 0.8),  # Canadian syllables
    (0x1780, 0.8),  # Khmer, Mongolian
    (0x1E00, 0.65),  # more Latin and Greek
    (0x2190, 0.9),  # arrows, operators, boxes, signs
    (0x2800, 0.75),  # Braille
    (0x2C00, 0.65),
    (0x2E80, 1.0),  # East Asian
    (0xA4D0, 0.75),
    (0xD7B0, 0.0),  # more of Hangul's vowels and finals
    (0xD800, 1.0),
    (0xFB50, 0.7),  # forms of Arabic letters
    (0xFE10, 1.0),
    (0x10000, 0.9),  # old scripts
    (0x12000, 1.5),  # cuneiform
    (0x12550, 1.1),
    (0x1D400, 0.85),  # letters of mathematics
    (0x1D800, 1.0),
)
_SCRIPT_STARTS: Final = [start for start, _ in _SCRIPTS]


def is_hidden(character: str) -> bool:
    """Whether it takes no room by itself: marks, joiners, selectors, controls."""
    return unicodedata.category(character) in _HIDDEN_CATEGORIES or character in _HIDDEN_LETTERS


def substitute_ems(character: str) -> float:
    """The width in ems of a character that neither the font nor a usual sans-serif has."""
    if is_hidden(character):
        return 0.0
    category = unicodedata.category(character)
    if category == "Zs":
        return _SPACES.get(character, _HALF_EMS)
    if category in _PICTURED_CATEGORIES and is_pictured(character):
        return EMOJI_EMS
    if _HANGUL_FIRST <= character <= _HANGUL_LAST:
        return _HANGUL_EMS
    wide = unicodedata.east_asian_width(character)
    if wide in "WF":
        return _WIDE_EMS
    if wide == "H":
        return _HALF_EMS
    if category in ("Cn", "Co"):
        return _UNKNOWN_EMS
    return _SCRIPTS[bisect_right(_SCRIPT_STARTS, ord(character)) - 1][1]
