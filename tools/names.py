"""When two names are the same name (ARCHITECTURE, Owners, Addresses; security 2.4).

Two measures, since looking alike is no equivalence: `I` is `i` in another case and looks like `l`, yet `i` and `l` are
told apart. So what may not stand beside each other shares one of two keys, and what somebody typed is found by folding
alone - a name that merely looks like it is another one.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from tools.confusables import skeleton, without_ignorable

_SCRIPTS: Final = ("LATIN", "CYRILLIC", "GREEK")
"""Those whose letters pass for one another's."""


def folded(name: str) -> str:
    """The same for names that differ in case, compatibility forms, spaces or invisible characters only."""
    # Case folding can undo normalisation and the reverse, so both are repeated until neither changes anything.
    text = without_ignorable(name)
    for _ in range(3):
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(text.split())


def name_keys(name: str) -> frozenset[str]:
    """Names may stand beside each other if they share none of these. Empty for a name that shows nothing.

    Those are: how the folded name looks, and how the name looks as it is written, folded.
    """
    written = " ".join(unicodedata.normalize("NFKC", without_ignorable(name)).split())
    keys = (" ".join(skeleton(folded(name)).split()), folded(skeleton(written)))
    return frozenset(key for key in keys if key)


def mixed_scripts(text: str) -> bool:
    """Whether a word of `text` has letters of more than one of the Latin, Cyrillic and Greek scripts (security 2.4).

    Words end at white space. Letters of other scripts do not count: they pass for none of these.
    """
    return any(len(_scripts_of(word)) > 1 for word in text.split())


def _scripts_of(word: str) -> set[str]:
    """Of its letters, by the first word of their names: what looks like a plain letter is one after NFKC."""
    letters = [character for character in unicodedata.normalize("NFKC", word) if character.isalpha()]
    named = (unicodedata.name(letter, "").partition(" ")[0] for letter in letters)
    return {script for script in named if script in _SCRIPTS}
