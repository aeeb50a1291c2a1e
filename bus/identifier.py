"""Ids that sort by the time they were made: 48 bits of milliseconds, then 80 random bits, as 26 characters.

The alphabet is Crockford's base 32 in lower case, so an id survives file names, URLs and being read aloud, and holds
no underscore (a token is `nx_<agentId>_<secret>`). Time-ordered ids also keep the store's keys growing in order,
which is worth a factor of 2.5 in commits (docs/decisions). Pure: time and randomness are arguments.
"""

from __future__ import annotations

import hashlib
from typing import Final

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_CHARACTERS: Final = 26
_PAIRS: Final = [first + second for first in _ALPHABET for second in _ALPHABET]
"""Two characters at once: half the steps, and every call and event takes an id."""
_PAIR_SHIFTS: Final = range(10 * (_CHARACTERS // 2 - 1), -1, -10)
_RANDOM_BYTES: Final = 10


def time_ordered_id(milliseconds: int, random: bytes) -> str:
    """`milliseconds` since the epoch and exactly 10 random bytes as one id."""
    if len(random) != _RANDOM_BYTES:
        raise ValueError("a time-ordered id takes 10 random bytes")
    number = (milliseconds & (1 << 48) - 1) << 80 | int.from_bytes(random, "big")
    return "".join([_PAIRS[number >> shift & 1023] for shift in _PAIR_SHIFTS])


def milliseconds_of(identifier: str) -> int:
    """The time at which a time-ordered id was made. Raises ValueError for other text."""
    number = 0
    for character in identifier:
        number = number << 5 | _ALPHABET.index(character)
    return number >> 80


def derived_id(milliseconds: int, seed: str, label: str) -> str:
    """An id that depends only on its arguments, so that deciding again after a crash gives the same one."""
    digest = hashlib.blake2b(f"{seed}\x00{label}".encode(), digest_size=_RANDOM_BYTES)
    return time_ordered_id(milliseconds, digest.digest())


def made_id(call_id: str, kind: str) -> str:
    """The id of what a call makes (`canvas`, `workspace`): every try of the call makes the same one. Raises ValueError
    when `call_id` is no time-ordered id."""
    return derived_id(milliseconds_of(call_id), call_id, kind)


def derived_number(seed: str, label: str) -> int:
    """A number in 0..2**31-1 that depends only on its arguments (Excalidraw's seed and versionNonce)."""
    digest = hashlib.blake2b(f"{seed}\x00{label}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") >> 1
