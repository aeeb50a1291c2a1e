"""When two names are the same name: unique under NFKC and case folding (ARCHITECTURE, Owners, Addresses)."""

from __future__ import annotations

import unicodedata


def name_key(name: str) -> str:
    """What two names share exactly when one may not stand beside the other. Spaces around and between count once."""
    # Case folding can undo normalisation and the reverse, so both are repeated until neither changes anything.
    folded = name
    for _ in range(3):
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", folded).casefold())
    return " ".join(folded.split())
