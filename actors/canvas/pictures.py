"""What a picture in a scene is, told by its content alone (canvas 4.5, security 2.19). Pure.

The declared type is not believed: a browser judges by content too. The number of pixels is read from the header, since
it is what a browser needs memory for, however small the file. A picture whose size does not stand in what was given of
its beginning is none.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Final

from bus.limits import picture_pixels_max

_DATA_URL: Final = re.compile(
    r"data:image/[a-z0-9.+-]{1,40}(?:;[a-z0-9-]{1,40}=[^;,\"]{0,100})*;base64,", re.IGNORECASE
)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_TAIL_CHARACTERS: Final = 2
"""As many as padding can have: it may be cut in two."""
_JPEG_FRAMES: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""The markers that carry the size of a JPEG; the three others in the range are tables."""
_JPEG_BARE: Final = frozenset({0x01, *range(0xD0, 0xD9)})
"""Markers without a length."""
_SVG_BEFORE: Final = re.compile(r"\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*>", re.DOTALL | re.IGNORECASE)
_SVG_ROOT: Final = re.compile(r"<(?:[A-Za-z_][\w.-]{0,40}:)?svg[\s/>]")


class NoPicture(Exception):
    """It is none that a scene may hold. The text goes on a sentence: "its file ..."."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A picture as its beginning tells."""

    media_type: str
    words: str
    """The beginning again, with the media type of the content."""


def picture_begun(beginning: str) -> Begun:
    """What the data URL that begins so holds. Raises NoPicture."""
    head = _DATA_URL.match(beginning)
    if head is None:
        raise NoPicture("is not a picture in a data URL in base64")
    digits = beginning[head.end() :]
    if _BASE64.fullmatch(digits) is None:
        raise NoPicture("is not in base64")
    try:
        content = base64.b64decode(digits[: len(digits) // 4 * 4], validate=True)
    except binascii.Error:
        raise NoPicture("is not in base64") from None
    media_type, pixels = _judged(content)
    if pixels > picture_pixels_max:
        raise NoPicture(f"is a picture of more than {picture_pixels_max // (1024 * 1024)} megapixels")
    return Begun(media_type, f"data:{media_type};base64,{digits}")


def picture_goes_on(before: str, words: str) -> bool:
    """Whether `words` go on in base64 where the data URL ended so far with `before`: nothing follows padding."""
    tail = before[-_TAIL_CHARACTERS:].rpartition(",")[2]
    return _BASE64.fullmatch(tail + words) is not None


def _judged(content: bytes) -> tuple[str, int]:
    """Media type and number of pixels; an svg has none of its own. Raises NoPicture."""
    for media_type, size_of in (("png", _png), ("jpeg", _jpeg), ("gif", _gif), ("webp", _webp)):
        size = size_of(content)
        if size is not None:
            width, height = size
            if width < 1 or height < 1:
                raise NoPicture("is a picture without a size in what was read of its beginning")
            return f"image/{media_type}", width * height
    _must_be_svg(content)
    return "image/svg+xml", 0


def _png(content: bytes) -> tuple[int, int] | None:
    if not content.startswith(b"\x89PNG\r\n\x1a\n"):
        return None
    if content[12:16] != b"IHDR" or len(content) < 24:
        return 0, 0
    return int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")


def _gif(content: bytes) -> tuple[int, int] | None:
    """The screen on which the frames are drawn, or the first frame if that is larger: browsers make room for it."""
    if not content.startswith((b"GIF87a", b"GIF89a")):
        return None
    width, height = int.from_bytes(content[6:8], "little"), int.from_bytes(content[8:10], "little")
    if len(content) < 13:
        return 0, 0
    at = 13 + (3 << (content[10] & 7) + 1 if content[10] & 0x80 else 0)
    while content[at : at + 1] == b"!":  # an extension: a label, then blocks up to an empty one
        at += 2
        while (length := int.from_bytes(content[at : at + 1], "little")) > 0:
            at += length + 1
        at += 1
    if content[at : at + 1] == b"," and len(content) >= at + 9:
        left, top, wide, high = (int.from_bytes(content[at + n : at + n + 2], "little") for n in (1, 3, 5, 7))
        width, height = max(width, left + wide), max(height, top + high)
    return width, height


def _jpeg(content: bytes) -> tuple[int, int] | None:
    """The picture's own frame: that of a thumbnail lies inside a segment and is skipped with it."""
    if not content.startswith(b"\xff\xd8\xff"):
        return None
    at = 2
    while at + 9 <= len(content) and content[at] == 0xFF:
        marker = content[at + 1]
        if marker == 0xFF:
            at += 1  # a fill byte
        elif marker in _JPEG_BARE:
            at += 2
        elif marker in _JPEG_FRAMES:
            return int.from_bytes(content[at + 7 : at + 9], "big"), int.from_bytes(content[at + 5 : at + 7], "big")
        else:
            at += 2 + int.from_bytes(content[at + 2 : at + 4], "big")
    return 0, 0


def _webp(content: bytes) -> tuple[int, int] | None:
    if not content.startswith(b"RIFF") or content[8:12] != b"WEBP":
        return None
    kind = content[12:16]
    if kind == b"VP8X" and len(content) >= 30:
        return int.from_bytes(content[24:27], "little") + 1, int.from_bytes(content[27:30], "little") + 1
    if kind == b"VP8L" and len(content) >= 25 and content[20] == 0x2F:
        bits = int.from_bytes(content[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and len(content) >= 30 and content[23:26] == b"\x9d\x01\x2a":
        return int.from_bytes(content[26:28], "little") & 0x3FFF, int.from_bytes(content[28:30], "little") & 0x3FFF
    return 0, 0


def _must_be_svg(content: bytes) -> None:
    """It is never parsed here: it is only ever drawn as an image, in which nothing runs or loads (canvas 4.5)."""
    words = content.decode("utf-8-sig", errors="ignore")  # a character may be cut at the end of what was given
    at = 0
    while (before := _SVG_BEFORE.match(words, at)) is not None:
        at = before.end()
    if _SVG_ROOT.match(words, at) is None or "\x00" in words:
        raise NoPicture("is not a png, jpeg, gif, webp or svg picture")
