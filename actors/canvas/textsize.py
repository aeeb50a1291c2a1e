"""How large a text is drawn and where it wraps, by the widths of the fonts that Excalidraw ships (canvas 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from actors.canvas.fonts.table import font_table
from actors.canvas.wrapping import wrapped
from bus.limits import measured_line_bytes

_TAB: Final = " " * 8
"""A canvas draws a tab as one space, so Excalidraw draws spaces instead; `originalText` keeps the tab."""


@dataclass(frozen=True, slots=True)
class Font:
    """`family` is Excalidraw's number, `size` in scene units, `line_height` a factor of the size."""

    family: int
    size: float
    line_height: float


@dataclass(frozen=True, slots=True)
class Measured:
    """`text` as it is drawn, with the line breaks that wrapping added; `width` and `height` in scene units."""

    text: str
    width: float
    height: float


def measured(text: str, font: Font, width_max: float | None = None) -> Measured:
    """The size of `text`, wrapped to `width_max` scene units.

    It is not wrapped when that is None or below 0, where Excalidraw does not wrap either.
    """
    table = font_table(font.family)
    hard_lines = _drawn(text).split("\n")
    if width_max is None or width_max < 0:
        lines = [(line, table.width(line)) for line in hard_lines]
    else:
        room = width_max / font.size
        lines = [part for line in hard_lines for part in wrapped(line, room, table)]
    # A line of nothing is as wide as a space, so that no text is without width.
    width = max(width for _, width in lines) or table.width(" ")
    # Not rounded: a container is made to fit this, and a text that is wider by a hair would be wrapped again.
    height = font.size * font.line_height * len(lines)
    return Measured("\n".join([line for line, _ in lines]), width * font.size, height)


def bytes_measured(text: str) -> int:
    """What `measured` has to look at: the text as it is drawn, in UTF-8, and so many bytes for each line end.

    Short lines cost more than their bytes, whatever is in them.
    """
    return len(_drawn(text).encode()) + text.count("\n") * measured_line_bytes


def _drawn(text: str) -> str:
    return text.replace("\t", _TAB)
