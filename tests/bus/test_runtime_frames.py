"""Frames of the runtimes' protocol: what one end makes the other reads, and nothing else is read (mesh 5.1)."""

from __future__ import annotations

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus.codec import Undecodable, Unencodable
from bus.runtime_frames import (
    VERBS,
    Answered,
    Bye,
    Credit,
    Deliver,
    Hello,
    Lost,
    Ping,
    Pong,
    Refused,
    Request,
    RuntimeFrame,
    Unknown,
    Welcome,
    decode_runtime_frame,
    encode_runtime_frame,
)
from bus.runtime_limits import (
    runtime_credit_bytes_max,
    runtime_credit_bytes_min,
    runtime_credit_deliveries_max,
    runtime_frame_bytes_max,
    runtime_holding_max,
)

FRAMES: list[RuntimeFrame] = [
    Hello(1, "nx_ada_secret", "r-1", ("t1.a", "t2.b")),
    Welcome(1, "ada"),
    Refused("rate_limited", "Later.", True),
    Credit(3, runtime_credit_bytes_min),
    Deliver(60_000, {"threadId": "t1", "task": {"title": "ü"}}),
    Request(1, "renew", {"deliveryIds": ["t1.a"]}),
    Answered(1, {"renewed": []}, None),
    Answered(2, None, {"code": "wrong_state"}),
    Lost("t1.a", "t1", "thread_closed", "cancelled"),
    Ping(),
    Pong(),
    Bye(),
    Unknown(),
]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__name__)
def test_each_kind_of_frame_comes_back_as_it_was(frame: RuntimeFrame) -> None:
    """mesh 5.1"""
    assert decode_runtime_frame(encode_runtime_frame(frame)) == frame


@pytest.mark.parametrize(
    "array",
    [
        None,
        {},
        [],
        [0],
        [99],
        ["1"],
        [True],
        [[]],
        [9, 1],
        [1, 1, "nx_a_b", "r"],
        [1, 1, "nx_a_b", "no such id!", []],
        [1, 1, "nx_a_b", "", []],
        [1, 1, "nx_a_b", "r" * 65, []],
        [1, 1, "x" * 401, "r", []],
        [1, True, "nx_a_b", "r", []],
        [1, 1, "nx_a_b", "r", ["d"] * (runtime_holding_max + 1)],
        [1, 1, "nx_a_b", "r", ["d" * 201]],
        [1, 1, "nx_a_b", "r", [1]],
        [4, -1, runtime_credit_bytes_min],
        [4, runtime_credit_deliveries_max + 1, runtime_credit_bytes_min],
        [4, 1, runtime_credit_bytes_min - 1],
        [4, 1, runtime_credit_bytes_max + 1],
        [4, 1.0, runtime_credit_bytes_min],
        [6, 1, "lease", {}],
        [6, 1, "mail_start", {}],
        [6, 1, "start", []],
        [6, -1, "start", {}],
        [6, 1, "start", None],
        [7, 1, [], None],
        [8, "d", "t", None, "s"],
    ],
    ids=repr,
)
def test_what_has_not_the_shape_of_its_kind_is_not_read(array: object) -> None:
    """mesh 5.1; security 2.19"""
    with pytest.raises(Undecodable):
        decode_runtime_frame(msgpack.packb(array))


def test_a_frame_over_the_bound_is_neither_made_nor_read() -> None:
    """security 2.19"""
    large = Request(1, "finish", {"body": "x" * runtime_frame_bytes_max})
    with pytest.raises(Unencodable):
        encode_runtime_frame(large)
    with pytest.raises(Undecodable):
        decode_runtime_frame(msgpack.packb([6, 1, "finish", {"body": "x" * runtime_frame_bytes_max}]))


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x91" * 5_000, b"\xdd\xff\xff\xff\xff", b"\xc7\x01\x05x"])
def test_bytes_that_are_no_message_are_not_read(data: bytes) -> None:
    """security 2.19"""
    with pytest.raises(Undecodable):
        decode_runtime_frame(data)


@given(st.binary(max_size=200))
def test_no_bytes_do_more_than_not_to_be_read(data: bytes) -> None:
    """security 2.19"""
    try:
        frame = decode_runtime_frame(data)
    except Undecodable:
        return
    assert decode_runtime_frame(encode_runtime_frame(frame)) == frame


def test_a_token_is_in_no_representation_of_a_frame() -> None:
    """common 2.2, 7.4"""
    assert "secret" not in repr(Hello(1, "nx_ada_secret", "r", ()))


def test_a_runtime_can_ask_for_nothing_but_its_deliveries() -> None:
    """mesh 5.1"""
    assert sorted(VERBS) == ["finish", "progress", "release", "renew", "start"]
