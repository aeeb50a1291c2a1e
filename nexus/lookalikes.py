"""Letters that look like other letters, in words for the person who must decide by what they read (security 2.4)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

told_of_max: Final = 6
"""How many letters a note names; that there are more is said."""

_WORD: Final = re.compile(r"[^\W\d_]+")
_ALIKE_SCRIPTS: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "COPTIC", "ARMENIAN", "CHEROKEE", "LISU"})
"""Scripts that share shapes of letters. Others beside Latin in one word are ordinary in their languages."""

_SHAPED_LIKE_ASCII: Final = frozenset(
    "АВЕЅІЈКМНОРСТУХаеѕіјорсухԁԛԝһӏґ"  # Cyrillic
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧανορυχϲϳ"  # Greek
    "ՕՏՍԼօոսց"  # Armenian
    "ᎠᎡᎢᎥᎪᎫᎬᎳᎷᎻᏀᏃᏆᏒᏙᏚᏞᏟᏢᏦᏴ"  # Cherokee
    "ıɑɡɩʟꓐꓑꓒꓓꓔꓖꓗꓙꓚꓜꓝꓞꓟꓠꓡꓢꓣꓤꓦꓧꓪꓬꓮꓰꓲꓳꓴꓵ"  # Latin's own and Lisu
)


def note_on(texts: Iterable[str]) -> str | None:
    """What to know about the letters of `texts` before one believes one's eyes; None when nothing is odd.

    Told of are words of several scripts that share shapes, texts in which every letter looks like an ASCII one but is
    none, and dressed ASCII letters.
    """
    odd: dict[str, None] = {}
    scripts: set[str] = set()
    for text in texts:
        words = _WORD.findall(text)
        if all(_is_shaped_like_ascii(letter) for word in words for letter in word):
            odd |= dict.fromkeys(letter for word in words for letter in word)
        for word in words:
            mixed = _scripts(word) & _ALIKE_SCRIPTS
            if len(mixed) > 1:
                scripts |= mixed
                odd |= dict.fromkeys(letter for letter in word if not letter.isascii() and _is_alike(letter))
            odd |= dict.fromkeys(letter for letter in word if _is_a_form_of_ascii(letter))
    if not odd and not scripts:
        return None
    return "; ".join(_sentences(sorted(scripts), list(odd)))


def _sentences(scripts: list[str], odd: list[str]) -> Iterator[str]:
    if scripts:
        yield f"one word mixes letters of {' and '.join(script.capitalize() for script in scripts)}"
    if odd:
        named = [f"U+{ord(letter):04X} {unicodedata.name(letter, 'without a name')}" for letter in odd[:told_of_max]]
        more = f" and {len(odd) - told_of_max} more" if len(odd) > told_of_max else ""
        yield f"not the letters that they look like: {', '.join(named)}{more}"


def _scripts(word: str) -> set[str]:
    return {unicodedata.name(letter, "").partition(" ")[0] for letter in word}


def _is_alike(letter: str) -> bool:
    """Whether a mixed word's letter is the foreign one; Latin letters with accents are at home."""
    return not unicodedata.name(letter, "").startswith("LATIN ") or _is_shaped_like_ascii(letter)


def _is_shaped_like_ascii(letter: str) -> bool:
    return letter in _SHAPED_LIKE_ASCII or _is_a_form_of_ascii(letter)


def _is_a_form_of_ascii(letter: str) -> bool:
    """Full-width, mathematical and other dressed letters."""
    return not letter.isascii() and unicodedata.normalize("NFKC", letter).isascii()
