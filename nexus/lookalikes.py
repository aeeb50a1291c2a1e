"""Letters that look like other letters, in words for the person who must decide by what they read (security 2.4)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tools.confusables import skeleton
from tools.names import mixed_scripts

told_of_max: Final = 6
"""How many letters a note names; that there are more is said."""

_WORD: Final = re.compile(r"[^\W\d_]+")


def note_on(texts: Iterable[str]) -> str | None:
    """What to know about the letters of `texts` before one believes one's eyes; None when nothing is odd.

    Told of are words of several scripts that share shapes, texts in which every letter looks like an ASCII one but is
    none, and dressed ASCII letters.
    """
    odd: dict[str, None] = {}
    is_mixed = False
    for text in texts:
        if text.isascii():
            continue
        words = _WORD.findall(text)
        if all(_is_shaped_like_ascii(letter) for word in words for letter in word):
            odd |= dict.fromkeys(letter for word in words for letter in word)
        for word in words:
            if mixed_scripts(word):
                is_mixed = True
                odd |= dict.fromkeys(letter for letter in word if not _is_plain(letter))
            odd |= dict.fromkeys(letter for letter in word if _is_a_form_of_ascii(letter))
    if not odd and not is_mixed:
        return None
    return "; ".join(_sentences(is_mixed, list(odd)))


def _sentences(is_mixed: bool, odd: Sequence[str]) -> Iterator[str]:
    if is_mixed:
        yield "one word mixes letters of several scripts"
    if odd:
        named = [f"U+{ord(letter):04X} {unicodedata.name(letter, 'without a name')}" for letter in odd[:told_of_max]]
        more = f" and {len(odd) - told_of_max} more" if len(odd) > told_of_max else ""
        yield f"not the letters that they look like: {', '.join(named)}{more}"


def _is_plain(letter: str) -> bool:
    """Whether it is at home beside ASCII letters: those with accents are."""
    return unicodedata.name(letter, "").startswith("LATIN ") and not _is_shaped_like_ascii(letter)


def _is_shaped_like_ascii(letter: str) -> bool:
    looks = skeleton(letter)
    return not letter.isascii() and looks.isascii() and looks.isalpha()


def _is_a_form_of_ascii(letter: str) -> bool:
    """Full-width, mathematical and other dressed letters."""
    return not letter.isascii() and unicodedata.normalize("NFKC", letter).isascii()
