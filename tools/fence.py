"""Text that people, pages or other agents wrote, wrapped so that no reader mistakes it for NEXUS (common 7.1).

Longer text comes back as `{"untrusted": true, "source", "text"}`. It is data in a JSON string, so no text can close
its fence. Short names stay plain one-line strings of at most 200 characters, made so by `plain_name`.
"""

from __future__ import annotations

import unicodedata

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator

from bus.limits import name_characters_max
from bus.value import Record, Value
from tools.redact import redacted, redacted_beginning, redacted_data
from tools.secret_rules import OWN_RULES


class Fence(BaseModel):
    """A fence, and its form in output models. `source` is one of NEXUS's own words for where the text came from, never
    something typed. However one is made, credentials are replaced (common 7.2); `fenced` also cuts, after that."""

    model_config = ConfigDict(extra="forbid")

    untrusted: bool = True
    source: str
    text: str

    @field_validator("text")
    @classmethod
    def _without_credentials(cls, text: str, info: ValidationInfo) -> str:
        # The gateway checks finished results, in JSON: what they hold was made into a fence here before.
        return text if info.mode == "json" else redacted(text)


def fenced(source: str, text: str, limit: int | None = None) -> Record:
    """The one way in which text of others leaves: credentials are replaced, and only then it is cut at `limit`
    characters, since half a key would pass (common 7.2)."""
    shown = redacted(text) if limit is None else cut(redacted_beginning(text, limit), limit)
    return {"untrusted": True, "source": source, "text": shown}


def fenced_data(source: str, data: Value) -> Record:
    """JSON that others wrote, in its own form, with the credentials in its texts replaced (common 7.2)."""
    return {"untrusted": True, "source": source, "data": redacted_data(data)}


def plain_name(text: str, limit: int = name_characters_max) -> str:
    """`text` on one line, without control or invisible direction characters, cut at `limit` characters.

    Such a line is never fenced, so a token of NEXUS in it is replaced here (a name cannot hold one: tools/base.py).
    """
    kept = "".join(character if _is_plain(character) else " " for character in redacted(text, OWN_RULES))
    return cut(" ".join(kept.split()), limit)


def is_plain_name(text: str) -> bool:
    """Whether `text` can be a name as it stands: one line, no control characters, not blank, at most 200 long."""
    return bool(text.strip()) and len(text) <= name_characters_max and all(map(_is_plain, text))


def cut(text: str, limit: int) -> str:
    """At most `limit` characters; never ends inside a surrogate pair's or combining sequence's character."""
    if len(text) <= limit:
        return text
    end = limit
    while end > 0 and (unicodedata.combining(text[end]) or text[end] in "\u200d\ufe0f\ufe0e"):
        end -= 1
    return text[:end]


_ALLOWED_FORMAT: frozenset[str] = frozenset("\u200d\u200c")  # joiners: emoji, Persian, Indic scripts


def _is_plain(character: str) -> bool:
    category = unicodedata.category(character)
    return category not in ("Cc", "Cs", "Zl", "Zp") and (category != "Cf" or character in _ALLOWED_FORMAT)
