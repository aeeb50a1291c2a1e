"""What a reader sees as one character (Unicode UAX 29) and as one emoji (UTS 51); the one importer of `regex`."""

from __future__ import annotations

from typing import Final

import regex

# Flags by themselves first: at each half of one \X looks back to where the row of them begins.
_CLUSTER: Final = regex.compile(r"\p{RI}\p{RI}[\p{Grapheme_Extend}\p{GCB=SpacingMark}\u200D]*|\X")

# What Excalidraw keeps whole when it wraps: flags, and pictographs with their modifiers, joined by U+200D.
_TAIL: Final = r"(?:\p{Emoji_Modifier}|\uFE0F\u20E3?|[\U000E0020-\U000E007E]+\U000E007F)?"
_FLAG: Final = r"\p{Regional_Indicator}\p{Regional_Indicator}"
_EMOJI_PATTERN: Final = (
    rf"{_FLAG}|[\p{{Extended_Pictographic}}\p{{Emoji_Presentation}}]{_TAIL}(?:\u200D(?:{_FLAG}|\p{{Emoji}}{_TAIL}))*"
)
_EMOJI: Final = regex.compile(_EMOJI_PATTERN)
# A keycap is cut by Excalidraw where it must, but drawn as one sign.
_DRAWN_AS_ONE: Final = regex.compile(rf"{_EMOJI_PATTERN}|[0-9#*]\uFE0F?\u20E3")

# A text without any of these is one character a cluster, and holds no emoji.
_JOINING: Final = regex.compile(
    r"[\p{Extended_Pictographic}\p{Emoji_Presentation}\p{M}\p{Cf}\p{Grapheme_Extend}\p{GCB=V}"
    r"\p{GCB=T}\p{GCB=L}\p{GCB=Prepend}\p{GCB=SpacingMark}]"
)
_PICTURED: Final = regex.compile(r"[\p{Extended_Pictographic}\p{Emoji_Presentation}]")
_EXTENDING: Final = regex.compile(r"[\p{Grapheme_Extend}\p{M}\u200D\p{GCB=V}\p{GCB=T}\p{GCB=SpacingMark}]")
_EAST_ASIAN_LETTER: Final = regex.compile(r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]")
ONE_EMOJI: Final = "\U0001f600"


def clusters(text: str) -> list[str]:
    """`text` cut where a reader sees character borders: marks, joined emoji and flags stay whole."""
    return _CLUSTER.findall(text) if is_joining(text) else list(text)


def is_joining(text: str) -> bool:
    """False when every character of `text` stands alone and none of them is an emoji."""
    return _JOINING.search(text) is not None


def emoji_spans(text: str) -> list[tuple[int, int]]:
    """Begin and end of each emoji that a line break must not cut, sequences as one."""
    return [found.span() for found in _EMOJI.finditer(text)]


def with_single_emoji(text: str) -> str:
    """`text` with one emoji, as wide as any, for every sequence that is drawn as one."""
    return _DRAWN_AS_ONE.sub(lambda found: found[0] if len(found[0]) == 1 else ONE_EMOJI, text)


def is_pictured(character: str) -> bool:
    """Whether it may be drawn as an emoji."""
    return _PICTURED.match(character) is not None


def is_extending(character: str) -> bool:
    """Whether it belongs to the character before it: marks, joiners, later parts of Hangul syllables."""
    return _EXTENDING.match(character) is not None


def is_east_asian_letter(character: str) -> bool:
    """Whether a line may be broken on both of its sides: Chinese, Japanese and Korean script."""
    return _EAST_ASIAN_LETTER.match(character) is not None
