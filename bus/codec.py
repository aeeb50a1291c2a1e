"""Bytes for envelopes and for stored rows; the only importer of msgpack.

Invariants:
- What `pack` takes, `unpack` gives back: keys are text, integers fit 64 bits, text is valid UTF-8 (no lone
  surrogates), nesting is bounded. Everything else is refused before it can spoil a batch (`Unencodable`).
- `unpack` never trusts its input: sizes and nesting are bounded, so a hostile or torn frame costs an exception.
- A stored row carries the record's version and a checksum; a row that fails it raises `CorruptRow`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, cast

import msgpack

from bus.address import Address
from bus.envelope import (
    Acknowledgement,
    Call,
    Challenge,
    Envelope,
    Hello,
    Knock,
    LinkClass,
    Mark,
    Parcel,
    Ping,
    Pong,
    Rejected,
    Reply,
    Resend,
    Welcome,
)
from bus.limits import envelope_bytes_max, string_bytes_max, value_depth_max
from bus.value import Record, Value

ROW_VERSION: Final = 1
_CHECKSUM_BYTES: Final = 4
_ITEMS_MAX: Final = 4 * 1024 * 1024


class Unencodable(ValueError):
    """The value is not plain data. A defect of whoever made it; it never reaches a batch."""


class Undecodable(ValueError):
    """The bytes are not what this codec writes."""


class CorruptRow(Undecodable):
    """A stored row does not match its checksum, or is of a version that this release does not know."""


def pack(value: Value) -> bytes:
    """Raises Unencodable. Keys are trusted to be text here (the type says so); `pack_row` checks them."""
    try:
        return cast("bytes", msgpack.packb(value, use_bin_type=True))
    except (TypeError, ValueError, OverflowError) as problem:
        raise Unencodable("the value cannot be written") from problem


def unpack(data: bytes) -> Value:
    """Raises Undecodable."""
    if len(data) > envelope_bytes_max:
        raise Undecodable("the frame is over the limit")
    try:
        return cast(
            "Value",
            msgpack.unpackb(
                data,
                raw=False,
                strict_map_key=True,
                max_str_len=string_bytes_max,
                max_bin_len=string_bytes_max,
                max_array_len=_ITEMS_MAX,
                max_map_len=_ITEMS_MAX,
                max_ext_len=0,
            ),
        )
    except (ValueError, msgpack.exceptions.UnpackException, msgpack.exceptions.ExtraData) as problem:
        raise Undecodable("the frame cannot be read") from problem


def pack_row(value: Value, version: int = ROW_VERSION) -> bytes:
    """Version byte, checksum, then the value. Raises Unencodable, also for what would not come back the same.

    `version` is the record version, 1 to 255, that whoever reads the row judges its value by.
    """
    _check(value, 0)
    body = pack(value)
    return bytes((version,)) + zlib.crc32(body, version).to_bytes(_CHECKSUM_BYTES, "big") + body


def unpack_row(data: bytes) -> Value:
    """The value of a row that has only ever had one version. Raises CorruptRow."""
    version, value = unpack_versioned(data)
    if version != ROW_VERSION:
        raise CorruptRow("the row is of an unknown version")
    return value


def unpack_versioned(data: bytes) -> tuple[int, Value]:
    """The record version and the value of a row. Raises CorruptRow."""
    if len(data) <= 1 + _CHECKSUM_BYTES or data[0] == 0:
        raise CorruptRow("the row is torn")
    body = data[1 + _CHECKSUM_BYTES :]
    if zlib.crc32(body, data[0]) != int.from_bytes(data[1 : 1 + _CHECKSUM_BYTES], "big"):
        raise CorruptRow("the row does not match its checksum")
    try:
        return data[0], unpack(body)
    except Undecodable as problem:
        raise CorruptRow("the row cannot be read") from problem


def _check(value: Value, depth: int) -> None:
    """Most values of most rows are text, so those are told first and without a call of their own."""
    if depth > value_depth_max:
        raise Unencodable("the value is nested too deeply")
    items: Iterable[Value]
    match value:
        case list():
            items = value
        case dict():
            for key in value:
                if not isinstance(key, str):
                    raise Unencodable("a key is not text")
            items = value.values()
        case _:
            _check_scalar(value)
            return
    for item in items:
        if type(item) is str or item is None:
            continue
        if isinstance(item, list | dict):
            _check(item, depth + 1)
        else:
            _check_scalar(item)


def _check_scalar(value: Value) -> None:
    match value:
        case None | bool() | float() | str() | bytes():
            return
        case int():
            if not -(1 << 63) <= value < 1 << 64:
                raise Unencodable("an integer does not fit 64 bits")
        case _:
            raise Unencodable("the value is not plain data")


# Envelopes: an array whose first item is the number of its kind. Numbers are never reused.


def encode_envelope(envelope: Envelope) -> bytes:
    """One envelope, to be joined into a frame. Raises Unencodable, so that a bad one never spoils a frame."""
    return pack(_to_array(envelope))


def join_frame(encoded: Sequence[bytes]) -> bytes:
    """All envelopes of one turn to one peer as one frame: an array of what `encode_envelope` gave."""
    return cast("bytes", msgpack.Packer().pack_array_header(len(encoded))) + b"".join(encoded)


def encode_frame(envelopes: Sequence[Envelope]) -> bytes:
    """Raises Unencodable."""
    return join_frame([encode_envelope(envelope) for envelope in envelopes])


def decode_frame(frame: bytes) -> list[Envelope]:
    """Raises Undecodable; a frame is taken whole or not at all."""
    arrays = unpack(frame)
    if not isinstance(arrays, list):
        raise Undecodable("a frame is an array of envelopes")
    try:
        return [_READERS[cast("int", array[0])](array[1:]) for array in cast("list[list[Value]]", arrays)]
    except (KeyError, ValueError, TypeError, IndexError) as problem:
        raise Undecodable("an envelope has not the shape of its kind") from problem


def _to_array(envelope: Envelope) -> list[Value]:
    match envelope:
        case Call(call_id, to, verb, body, stamp, deadline_ms):
            return [1, call_id, str(to), verb, body, stamp, deadline_ms]
        case Reply(call_id, ok, error):
            return [2, call_id, ok, error]
        case Parcel(source, mark, sender, to, verb, body, message_id, origin_call):
            where: list[Value] = [3, source, mark.sequence, mark.index]
            return [*where, str(sender), str(to), verb, body, message_id, origin_call]
        case Acknowledgement(destination, mark):
            return [4, destination, mark.sequence, mark.index]
        case Knock():
            return [5]
        case Challenge(nonce):
            return [6, nonce]
        case Hello(link_class, name, protocol, incarnation, nonce, proof):
            return [7, link_class.value, name, protocol, incarnation, nonce, proof]
        case Welcome(shard, incarnation, now_ms, proof):
            return [8, shard, incarnation, now_ms, proof]
        case Rejected(reason):
            return [9, reason]
        case Ping(session, sent, heard):
            return [10, session, sent, heard]
        case Pong(session, sent, heard):
            return [11, session, sent, heard]
        case Resend(session, first):
            return [12, session, first]


def _text(value: Value) -> str:
    if not isinstance(value, str):
        raise TypeError("not text")
    return value


def _number(value: Value) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError("not a number")
    return value


def _bytes(value: Value) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError("not bytes")
    return value


def _record(value: Value) -> Record:
    if not isinstance(value, dict):
        raise TypeError("not a record")
    return value


def _maybe_record(value: Value) -> Record | None:
    return None if value is None else _record(value)


def _call(a: list[Value]) -> Call:
    stamp = _maybe_record(a[4])
    return Call(_text(a[0]), Address.parse(_text(a[1])), _text(a[2]), _record(a[3]), stamp, _number(a[5]))


def _reply(a: list[Value]) -> Reply:
    return Reply(_text(a[0]), _maybe_record(a[1]), _maybe_record(a[2]))


def _parcel(a: list[Value]) -> Parcel:
    mark = Mark(_number(a[1]), _number(a[2]))
    sender, to = Address.parse(_text(a[3])), Address.parse(_text(a[4]))
    return Parcel(_number(a[0]), mark, sender, to, _text(a[5]), _record(a[6]), _text(a[7]), _text(a[8]))


def _hello(a: list[Value]) -> Hello:
    return Hello(LinkClass(_text(a[0])), _text(a[1]), _number(a[2]), _text(a[3]), _bytes(a[4]), _bytes(a[5]))


_READERS: Final[Mapping[int, Callable[[list[Value]], Envelope]]] = {
    1: _call,
    2: _reply,
    3: _parcel,
    4: lambda a: Acknowledgement(_number(a[0]), Mark(_number(a[1]), _number(a[2]))),
    5: lambda a: Knock(),
    6: lambda a: Challenge(_bytes(a[0])),
    7: _hello,
    8: lambda a: Welcome(_number(a[0]), _text(a[1]), _number(a[2]), _bytes(a[3])),
    9: lambda a: Rejected(_text(a[0])),
    10: lambda a: Ping(_bytes(a[0]), _number(a[1]), _number(a[2])),
    11: lambda a: Pong(_bytes(a[0]), _number(a[1]), _number(a[2])),
    12: lambda a: Resend(_bytes(a[0]), _number(a[1])),
}
