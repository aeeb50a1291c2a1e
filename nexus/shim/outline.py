"""Whose answer a line waits for that is too long to be read whole: what stands in its outermost members. Pure.

However long the line, only its outline is kept: the text of the outermost object, in which each list and object is
`null`. So is a text that is too long; as the name of a member it is the empty text, for `null` there would be no JSON
and cost the client its answer. So the id is found wherever it stands, before or after what makes the line long. Nothing
is judged here: a line that is no JSON has an outline that is none, or misleads nobody but the client that wrote it.
"""

from __future__ import annotations

import re
from typing import Final

from bus.limits import shim_outline_bytes_max, shim_outline_text_bytes_max

_REST_OF_TEXT: Final = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_BETWEEN: Final = re.compile(rb'[^"\[\]{}]*+')
# Inside of what is left out, whole texts and innermost lists and objects are passed over as well: most of a long line.
_LEFT_OUT: Final = re.compile(rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+"|\[[^"\[\]{}]*+\]|\{[^"\[\]{}]*+\})*+', re.DOTALL)
_OPENING: Final = re.compile(rb"[\[{]+")
_ELIDED: Final = b"null"
_ELIDED_NAME: Final = b'""'
_BLANK: Final = b" \t\r\n"


class Outline:
    """Of one line that comes in pieces."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._depth = 0
        self._text_from: int | None = None
        """Where in `_kept` the text begins in which the line is; None outside of texts."""
        self._is_escaped = False
        """The last piece ended between a backslash and what it escapes."""

    def take(self, piece: bytes) -> None:
        """The next piece of the line."""
        at = 0
        if self._is_escaped and piece:
            self._keep(piece[:1])
            at, self._is_escaped = 1, False
        while at < len(piece):
            at = self._after_text(piece, at) if self._text_from is not None else self._after_mark(piece, at)

    def whole(self) -> bytes:
        """The outline so far; empty when it is itself too long."""
        return b"" if len(self._kept) > shim_outline_bytes_max else bytes(self._kept)

    def _after_text(self, piece: bytes, at: int) -> int:
        assert self._text_from is not None
        found = _REST_OF_TEXT.match(piece, at)
        assert found is not None, "it matches nothing as well"
        end = found.end()
        self._keep(piece[at:end])
        if end == len(piece):
            return end
        self._keep(piece[end : end + 1])
        if piece[end : end + 1] == b"\\":  # the piece ends with it
            self._is_escaped = True
        else:
            if len(self._kept) - self._text_from > shim_outline_text_bytes_max:
                self._kept[self._text_from :] = _ELIDED if self._is_value(self._text_from) else _ELIDED_NAME
            self._text_from = None
        return end + 1

    def _after_mark(self, piece: bytes, at: int) -> int:
        found = (_BETWEEN if self._depth < 2 else _LEFT_OUT).match(piece, at)
        assert found is not None, "it matches nothing as well"
        end = found.end()
        self._keep(piece[at:end])
        if self._depth > 1 and (several := _OPENING.match(piece, end)) is not None:
            self._depth += several.end() - end
            return several.end()
        mark = piece[end : end + 1]
        if mark == b'"':
            self._text_from = len(self._kept)
            self._keep(mark)
        elif mark in (b"{", b"["):
            if self._depth == 1:
                self._keep(_ELIDED)
            self._depth += 1
            self._keep(mark)
        elif mark:
            self._keep(mark)
            self._depth -= 1
        return end + 1

    def _is_value(self, start: int) -> bool:
        """Whether what begins there in `_kept` is the value of a member: a colon stands before it."""
        at = start - 1
        while at >= 0 and self._kept[at] in _BLANK:
            at -= 1
        return at >= 0 and self._kept[at] == ord(":")

    def _keep(self, part: bytes) -> None:
        """Of a text only so much that it shows that it is too long, and likewise of the whole."""
        if self._depth > 1:
            return
        room = shim_outline_bytes_max + 1 - len(self._kept)
        if self._text_from is not None:
            room = min(room, self._text_from + shim_outline_text_bytes_max + 1 - len(self._kept))
        self._kept += part[: max(room, 0)]
