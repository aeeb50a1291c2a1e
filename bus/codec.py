"""Bytes for envelopes and for stored rows; the only importer of msgpack.

Invariants:
- No envelope is larger than every receiver takes: a wire cuts the connection on a larger frame, the link would open
  again and send the same bytes, for ever.
- What `pack` takes, `unpack` gives back: keys are text, integers fit 64 bits, text is valid UTF-8 (no lone
  surrogates), nesting is bounded. Everything else is refused before it can spoil a batch (`Unencodable`).
- `unpack` never trusts its input: sizes and nesting are bounded, so a hostile or torn frame costs an exception.
- A stored row carries the record's version and a checksum; a row that fails it raises `CorruptRow`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
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
    Listen,
    Mark,
    Notice,
    Onward,
    Parcel,
    Ping,
    Pong,
    Rejected,
    Reply,
    Resend,
    Welcome,
)
from bus.limits import envelope_bytes_max, frame_bytes_max, string_bytes_max, value_depth_max, value_items_max
from bus.value import Record, Value

ROW_VERSION: Final = 1
_CHECKSUM_BYTES: Final = 4
_SCALARS: Final = frozenset({type(None), bool, int, float, str, bytes})


class Unencodable(ValueError):
    """The value is not plain data, or too large. A defect of whoever made it; it never reaches a batch."""


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
    if len(data) > frame_bytes_max:
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
                max_array_len=value_items_max,
                max_map_len=value_items_max,
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
    if len(body) > envelope_bytes_max:
        raise Unencodable("the value is over the limit")
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
    """What msgpack would take and not give back: other keys than text, tuples, too deep a nesting. The rest (integers
    over 64 bits, lone surrogates, foreign types) it refuses itself, so plain items are not looked at one by one."""
    if type(value) in _SCALARS:
        return
    if depth > value_depth_max:
        raise Unencodable("the value is nested too deeply")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise Unencodable("a key is not text")
            if type(item) not in _SCALARS:
                _check(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            if type(item) not in _SCALARS:
                _check(item, depth + 1)
    elif not isinstance(value, str | int | float | bytes):  # a kind of text or number, as enumerations are
        raise Unencodable("the value is not plain data")


# Envelopes: an array whose first item is the number of its kind. Numbers are never reused.


def encode_envelope(envelope: Envelope) -> bytes:
    """One envelope, to be joined into a frame. Raises Unencodable, so that a bad one never spoils a frame."""
    encoded = pack(_to_array(envelope))
    if len(encoded) > envelope_bytes_max:
        raise Unencodable("the envelope is over the limit")
    return encoded


def join_frame(encoded: Sequence[bytes]) -> bytes:
    """All envelopes of one turn to one peer as one frame: an array of what `encode_envelope` gave."""
    return _array_header(len(encoded)) + b"".join(encoded)


def _array_header(items: int) -> bytes:
    """msgpack's own needs a Packer with its buffer of 256 KiB, once a frame."""
    if items < 16:
        return bytes((0x90 | items,))
    return b"\xdc" + items.to_bytes(2, "big") if items < 1 << 16 else b"\xdd" + items.to_bytes(4, "big")


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
        case Call(call_id, to, verb, body, stamp, deadline_ms, onward):
            call: list[Value] = [1, call_id, str(to), verb, body, stamp, deadline_ms]
            if onward is not None:
                call.append([onward.call_id, str(onward.to), onward.verb, onward.body, onward.workspace_id])
            return call
        case Reply(call_id, ok, error, None):
            return [2, call_id, ok, error]
        case Reply(call_id, ok, error, admission):
            return [2, call_id, ok, error, admission]
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
        case Listen(added, dropped):
            return [13, [*added], [*dropped]]
        case Notice(topic, data):
            return [14, topic, data]


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


def _texts(value: Value) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return tuple(_text(item) for item in value)


def _record(value: Value) -> Record:
    if not isinstance(value, dict):
        raise TypeError("not a record")
    return value


def _call(a: list[Value]) -> Call:
    """Checked in place, as replies are: these two make up nearly all frames."""
    call_id, to, verb, body, stamp, deadline_ms = a[:6]
    if (
        type(call_id) is str
        and type(to) is str
        and type(verb) is str
        and type(body) is dict
        and (stamp is None or type(stamp) is dict)
        and type(deadline_ms) is int
    ):
        onward = None if len(a) == 6 else _onward(a[6])
        return Call(call_id, Address.parse(to), verb, body, stamp, deadline_ms, onward)
    raise TypeError("not a call")


def _onward(value: Value) -> Onward:
    if not isinstance(value, list):
        raise TypeError("not a call that rides along")
    call_id, to, verb, body, workspace_id = value[:5]
    return Onward(_text(call_id), Address.parse(_text(to)), _text(verb), _record(body), _text(workspace_id))


def _reply(a: list[Value]) -> Reply:
    call_id, ok, error = a[:3]
    if type(call_id) is str and (ok is None or type(ok) is dict) and (error is None or type(error) is dict):
        return Reply(call_id, ok, error) if len(a) == 3 else Reply(call_id, ok, error, _record(a[3]))
    raise TypeError("not a reply")


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
    13: lambda a: Listen(_texts(a[0]), _texts(a[1])),
    14: lambda a: Notice(_text(a[0]), _record(a[1])),
}
