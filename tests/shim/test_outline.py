"""The outline of a line that is too long to be read whole (common 2.5)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bus.limits import shim_outline_bytes_max, shim_outline_text_bytes_max
from nexus.shim.messages import too_long
from nexus.shim.outline import Outline

LONGEST = "x" * (shim_outline_text_bytes_max - 2)
TEXTS = st.text() | st.sampled_from((LONGEST, LONGEST + "x", LONGEST * 2))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def outline_of(*pieces: bytes) -> bytes:
    outline = Outline()
    for piece in pieces:
        outline.take(piece)
    return outline.whole()


def written(value: Any, is_ascii: bool) -> bytes:
    return json.dumps(value, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")


def elided(value: Any, is_ascii: bool, instead: str | None = None) -> Any:
    is_long = isinstance(value, str) and len(written(value, is_ascii)) > shim_outline_text_bytes_max
    return instead if is_long or isinstance(value, list | dict) else value


# so few members that the outline itself is never too long
@given(st.dictionaries(TEXTS, VALUES, max_size=16), st.booleans(), st.integers(min_value=1, max_value=9))
@example({"\u0331" * 200: None}, True, 1)  # too long only as it is escaped
@example({LONGEST + "x": LONGEST + "x", "": 1, "id": 2}, True, 1)
def test_it_is_the_outermost_object_with_each_list_and_object_as_null_however_it_comes(
    message: dict[str, Any], is_ascii: bool, size: int
) -> None:
    line = written(message, is_ascii)
    pieces = [line[at : at + size] for at in range(0, len(line), size)]
    found = json.loads(outline_of(*pieces).decode("utf-8", "surrogatepass"))
    assert found == {elided(name, is_ascii, ""): elided(value, is_ascii) for name, value in message.items()}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"id":1,"method":"m","params":{"id":2,"a":[{"id":3}]}}', 1),
        (b'{"params":{"text":"}\\"],{\\\\"},"method":"m","id":"seven"}', "seven"),
        (b'{"id":1,"method":"m","id":2}', 2),
        (b'{"\\u0069d":1,"method":"m"}', 1),
        (b'{"method":"m"}', None),
        (b'{"id":1,"result":{}}', None),
        (b'{"id":true,"method":"m"}', None),
        (b'{"id":[1],"method":"m"}', None),
        (b'[{"id":1,"method":"m"}]', None),
        (b'{"id":1,"method":"m"', None),
        (b'}}}{"id":1,"method":"m"}', None),
        (b"]" * 50_000 + b"[" * 60_000, None),
        (b"\xff\xfe", None),
        (b"", None),
    ],
)
def test_only_a_request_is_answered_under_its_id(line: bytes, found: object) -> None:
    assert too_long(outline_of(line)).id == found


def test_a_text_that_is_too_long_is_none_and_never_another_text() -> None:
    for text, found in ((LONGEST, LONGEST), (LONGEST + "x", None), (LONGEST * 3, None)):
        line = json.dumps({"id": text, "method": "m"}).encode()
        assert too_long(outline_of(line)).id == found
        assert too_long(outline_of(*(line[at : at + 100] for at in range(0, len(line), 100)))).id == found


@pytest.mark.parametrize("blank", [b"", b" \t\r "])
def test_a_name_that_is_too_long_costs_no_answer(blank: bytes) -> None:
    name = json.dumps(LONGEST + "x").encode()
    for members in ((name + b":1", b'"id":7'), (b'"id":7', name + b":" + blank + name), (b'"id":7', name + b":{}")):
        line = b"{" + blank + (b"," + blank).join((*members, b'"method":"m"')) + b"}"
        assert too_long(outline_of(line)).id == 7
        assert too_long(outline_of(*(line[at : at + 1] for at in range(len(line))))).id == 7
    line = b'{"id"' + blank + b":" + blank + name + b',"method":"m"}'
    assert too_long(outline_of(line)).id is None


@pytest.mark.parametrize("member", [b'"x":[],', b'"x":"y",', b'"x":1,', b" " * 7])
def test_what_is_kept_is_bounded(member: bytes) -> None:
    outline = Outline()
    outline.take(b'{"id":1,"method":"m",')
    for _ in range(shim_outline_bytes_max // len(member) + 10):
        outline.take(member)
        assert len(outline._kept) <= shim_outline_bytes_max + 1 + len(b"null")
    outline.take(b'"y":0}')
    assert outline.whole() == b""
    assert too_long(outline.whole()).id is None
