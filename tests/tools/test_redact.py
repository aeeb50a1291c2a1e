"""Credentials replaced in what leaves (common 7.2)."""

from __future__ import annotations

from itertools import pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus.value import Value
from tests.tools.test_secrets import CREDENTIALS, HARMLESS, INSIDE
from tools.fence import fenced, fenced_data
from tools.redact import redacted, redacted_beginning, redacted_data
from tools.secrets import find_secrets, secret_characters_max

GITHUB = CREDENTIALS[5][1]
PEM = next(secret for name, secret in CREDENTIALS if name == "private-key")
SECRETS = [secret for _, secret in CREDENTIALS] + [before + secret + "@x" for _, before, secret in INSIDE]


def test_a_credential_is_replaced_by_a_form_that_names_its_rule() -> None:
    """common 7.2"""
    assert redacted(f"use {GITHUB} now") == "use [redacted: github-token] now"
    assert redacted(f"a\n{PEM}\nb") == "a\n[redacted: private-key]\nb"
    assert redacted("postgres://app:Xk29sLqP0vTz@db") == "postgres://[redacted]@db"


@pytest.mark.parametrize("text", HARMLESS, ids=range(len(HARMLESS)))
def test_harmless_text_stays_as_it_is(text: str) -> None:
    assert redacted(text) is text
    assert redacted_data({"a": [text]}) == {"a": [text]}


@given(
    st.lists(
        st.one_of(
            st.sampled_from(SECRETS),
            st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
            st.sampled_from([" ", "\n", "://", "="]),
        )
    )
)
def test_what_is_redacted_is_never_longer_and_is_redacted_once_and_for_all(parts: list[str]) -> None:
    """common 7.2: bounds on what was stored hold for what is shown"""
    text = " ".join(parts)
    shown = redacted(text)
    assert len(orjson.dumps(shown)) <= len(orjson.dumps(text))
    assert all(secret not in shown for secret in SECRETS)
    places = find_secrets(text)
    assert all(start < end <= len(text) for _, start, end in places)
    assert all(one[2] <= other[1] for one, other in pairwise(places))


@pytest.mark.parametrize("shift", range(0, 60, 7))
def test_half_a_key_does_not_pass_a_cut(shift: int) -> None:
    """common 7.2"""
    text = "x" * (119 - shift) + " " + GITHUB + " and more"
    shown = fenced("canvas", text, 120)["text"]
    assert isinstance(shown, str)
    assert len(shown) <= 120
    assert GITHUB[:8] not in shown
    assert GITHUB[-8:] not in shown


def test_what_stands_behind_the_cut_is_not_drawn_into_view() -> None:
    """A secret that is replaced by something shorter makes no room for what was cut."""
    text = f"{PEM} after"
    assert redacted_beginning(text, 30) == "[redacted: private-key]"
    assert redacted_beginning("y" * 10_000, 30) == "y" * 30
    begun = "-----BEGIN " + "PRIVATE KEY-----\n" + "\n".join([PEM.split("\n")[1]] * 200)
    assert len(begun) > 2 * secret_characters_max
    assert redacted_beginning(begun, 40) == "[redacted: private-key]"


def test_nested_data_is_redacted_in_texts_and_in_names_of_fields() -> None:
    """common 7.2"""
    data: Value = {"k": [1, None, True, {"deep": [f"a {GITHUB}"]}], GITHUB: 1, GITHUB + "\n": 2}
    shown = redacted_data(data)
    assert shown == {
        "k": [1, None, True, {"deep": ["a [redacted: github-token]"]}],
        "[redacted: github-token]": 1,
        "[redacted: github-token]\n": 2,
    }
    fence = fenced_data("another agent", data)
    assert fence == {"untrusted": True, "source": "another agent", "data": shown}


def test_fields_whose_names_become_the_same_are_kept_apart() -> None:
    others = [GITHUB[:-1] + last for last in "abc"]
    shown = redacted_data({name: number for number, name in enumerate(others)})
    assert isinstance(shown, dict)
    assert sorted(str(value) for value in shown.values()) == ["0", "1", "2"]
    assert all(name.startswith("[redacted: github-token]") for name in shown)


def test_data_without_credentials_is_not_copied() -> None:
    data: Value = {"k": [HARMLESS[20], 1]}
    assert redacted_data(data) is data
