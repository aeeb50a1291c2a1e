"""Frames and rows: what is written comes back, and nothing else is believed."""

from __future__ import annotations

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus import codec
from bus.address import Address
from bus.codec import (
    CorruptRow,
    Undecodable,
    Unencodable,
    decode_frame,
    encode_envelope,
    encode_frame,
    pack_row,
    unpack,
    unpack_row,
)
from bus.envelope import (
    Acknowledgement,
    Call,
    Challenge,
    Envelope,
    Hello,
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
from bus.value import Value

TO = Address("canvas", "w", "c")
ENVELOPES: list[Envelope] = [
    Call("id", TO, "verb", {"a": [1, 2.5, None, True, "é", b"\x00"]}, {"agentId": "a"}, 12),
    Call("id", TO, "verb", {}, None, 12),
    Call("id", TO, "admit", {}, None, 12, Onward("other", TO, "verb", {"a": []}, "w")),
    Reply("id", {"x": {}}, None),
    Reply("id", None, {"code": "not_found"}, {"stamp": {}}),
    Reply("id", None, {"code": "not_found"}),
    Parcel(1, Mark(2, 3), TO, TO, "verb", {}, "m", "o"),
    Acknowledgement(1, Mark(2, 3)),
    Challenge(b"n"),
    Hello(LinkClass.GATEWAY, "g", 1, "i", b"n", b"p"),
    Welcome(0, "i", 12, b"p"),
    Rejected("why"),
    Ping(b"s" * 8, 3, 2),
    Pong(b"s" * 8, 3, 2),
    Resend(b"s" * 8, 2),
    Listen(("mailbox/a", "authority/a"), ("approval/a.1",)),
    Notice("mailbox/a", {"waiting": 1}),
]

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def test_every_kind_of_envelope_comes_back_equal_in_order() -> None:
    assert decode_frame(encode_frame(ENVELOPES)) == ENVELOPES


@given(plain)
def test_any_plain_value_comes_back_from_a_row(value: Value) -> None:
    assert unpack_row(pack_row(value)) == value


@pytest.mark.parametrize(
    "value",
    [2**64, -(2**63) - 1, {1: "x"}, {"x": {2: 1}}, "\ud800", {"\ud800": 1}, {"a", "b"}, object(), [[[object()]]]],
    ids=lambda value: type(value).__name__,  # the same in every process: several share the tests
)
def test_what_would_not_come_back_is_refused_before_it_is_stored(value: Value) -> None:
    with pytest.raises(Unencodable):
        pack_row(value)


def test_too_deep_a_value_is_refused() -> None:
    value: Value = []
    for _ in range(200):
        value = [value]
    with pytest.raises(Unencodable):
        pack_row(value)


def test_what_no_receiver_would_take_is_refused_where_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sent on, it would cut the connection each time it is sent again."""
    monkeypatch.setattr(codec, "envelope_bytes_max", 100)
    assert decode_frame(encode_frame([Reply("id", {"x": "y" * 80}, None)]))
    with pytest.raises(Unencodable):
        encode_envelope(Reply("id", {"x": "y" * 100}, None))
    with pytest.raises(Unencodable):
        pack_row("y" * 100)


@given(st.binary(max_size=200))
def test_any_bytes_as_a_frame_are_refused_or_read_but_never_crash(data: bytes) -> None:
    """security 2.19: a hostile frame costs an exception."""
    try:
        decode_frame(data)
    except Undecodable:
        return


@pytest.mark.parametrize(
    "data",
    [
        b"\x91" * 100_000 + b"\x90",  # nesting
        b"\xdd\xff\xff\xff\xff",  # an array that claims 4 billion items
        b"\xdf\xff\xff\xff\xff",  # a map that claims as many
        b"\xc6\xff\xff\xff\xff",  # a byte string of 4 GiB
        msgpack.packb([[1, "id", "not an address", "v", {}, None, 1]]),
        msgpack.packb([[1, "id"]]),
        msgpack.packb([[99]]),
        msgpack.packb([7]),
        msgpack.packb({"a": 1}),
        msgpack.packb([[7, "nobody", "n", 1, "i", b"", b""]]),
    ],
    ids=range(10),
)
def test_msgpack_bombs_and_odd_shapes_are_refused(data: bytes) -> None:
    """security 2.19 (msgpack)."""
    with pytest.raises(Undecodable):
        decode_frame(data)


def test_keys_that_are_not_text_are_refused_when_read() -> None:
    with pytest.raises(Undecodable):
        unpack(msgpack.packb({1: 2}))


@given(st.integers(0, 40), st.integers(0, 7))
def test_a_flipped_bit_in_a_row_is_noticed(at: int, bit: int) -> None:
    row = bytearray(pack_row({"title": "a row with a checksum"}))
    row[at % len(row)] ^= 1 << bit
    with pytest.raises(CorruptRow):
        unpack_row(bytes(row))


@pytest.mark.parametrize("length", range(6))
def test_a_torn_row_is_noticed(length: int) -> None:
    with pytest.raises(CorruptRow):
        unpack_row(pack_row({"a": 1})[:length])
