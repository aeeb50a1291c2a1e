"""Fences: how text of others leaves (common 7.1, 7.2, security 2.13)."""

from __future__ import annotations

import ast
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.support.source import syntax_of
from tests.tools.test_secrets import CREDENTIALS
from tools.base import Model, Name, Reason
from tools.fence import Fence, cut, fenced, is_plain_name, plain_name

PRODUCT = Path(__file__).resolve().parents[2]
GITHUB = CREDENTIALS[5][1]
CLOSING = ['"}]}}', "</untrusted>", "```", "]]>", "\u2067", "\x00", "\\", "{'untrusted': false}", "\r\n\r\n"]


@given(st.lists(st.one_of(st.sampled_from(CLOSING), st.text(st.characters(exclude_categories=["Cs"])))))
def test_no_text_can_close_its_fence(parts: list[str]) -> None:
    """common 7.1, security 2.13"""
    text = "".join(parts)
    read = orjson.loads(orjson.dumps({"fence": fenced("canvas", text), "after": 1}))
    assert read == {"fence": {"untrusted": True, "source": "canvas", "text": text}, "after": 1}


def test_however_a_fence_is_made_it_holds_no_credential() -> None:
    """common 7.2"""
    made = [fenced("canvas", GITHUB), Fence(source="canvas", text=GITHUB).model_dump(), fenced("canvas", GITHUB, 60)]
    assert {str(one["text"]) for one in made} == {"[redacted: github-token]"}


def test_a_finished_result_is_not_looked_through_again() -> None:
    text = Fence.model_validate_json(orjson.dumps({"source": "canvas", "text": GITHUB})).text
    assert text == GITHUB


def test_fences_are_made_in_one_place() -> None:
    """common 7.2: what is put together by hand could forget to replace credentials"""
    made = {
        str(path.relative_to(PRODUCT))
        for folder in ("actors", "nexus", "tools")
        for path in (PRODUCT / folder).rglob("*.py")
        for node in ast.walk(syntax_of(path))
        if isinstance(node, ast.Dict)
        if any(isinstance(key, ast.Constant) and key.value == "untrusted" for key in node.keys)
    }
    elements = {"actors/canvas/reads.py", "actors/canvas/standing.py"}  # marked as others' text, and exact (canvas 4.3)
    assert made == {"tools/fence.py"} | elements


class Named(Model):
    name: Name
    reason: Reason = "none"


@pytest.mark.parametrize("secret", [CREDENTIALS[0][1], CREDENTIALS[1][1], CREDENTIALS[2][1]])
def test_a_name_or_a_reason_that_holds_a_token_of_nexus_is_refused(secret: str) -> None:
    """security 2.9"""
    for fields in ({"name": f"Ada {secret}"}, {"name": "Ada", "reason": secret}):
        with pytest.raises(ValidationError, match="must not hold a token of NEXUS") as refused:
            Named.model_validate(fields)
        assert secret not in str(refused.value)
    assert Named(name="The nx_ prefix").name == "The nx_ prefix"


def test_a_name_is_one_line_and_never_cut_inside_a_character() -> None:
    """common 7.1, 7.3"""
    assert plain_name("a\n\u202eb\x1b  c") == "a b c"
    assert plain_name(f"path.{CREDENTIALS[0][1]}.x", 30) == "path.[redacted: nexus-token].x"
    assert cut("ab\u0301c", 2) == "a"
    assert not is_plain_name("\u2067x") and not is_plain_name("  ") and is_plain_name("é 中")
