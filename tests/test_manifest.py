"""Each rule of the contract, each tool and each refusal code is held by a test, or said to be not built yet."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.manifest import CODES_NOT_BUILT, NOT_BUILT, PARTLY_BUILT, RULES
from tests.support.source import syntax_of
from tools.catalogue import TOOLS
from tools.errors import Code

ROOT: Final = Path(__file__).parent.parent
NOT_BUILT_MAX: Final = 10
"""Only ever lowered: what is built is not taken back."""

PARTLY_BUILT_MAX: Final = 22

_NAMED: Final = re.compile(r"\b(common|canvas|mesh|security) (\d+(?:\.\d+)?(?:, \d+(?:\.\d+)?)*)\b")
"""A family and one or more of its rules: "common 1.6, 4.4"."""


@cache
def _trees() -> tuple[ast.Module, ...]:
    files = (ROOT / "tests").rglob("test_*.py")
    return tuple(syntax_of(path) for path in files if path != Path(__file__))


@cache
def _held() -> frozenset[str]:
    """The rules that docstrings of tests and test files name."""
    docstrings = (
        ast.get_docstring(node) or ""
        for tree in _trees()
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_")
    )
    return frozenset(
        f"{family} {number}"
        for text in docstrings
        for family, numbers in _NAMED.findall(text)
        for number in numbers.split(", ")
    )


@cache
def _words() -> frozenset[str]:
    """Every string and name that stands in the tests."""
    words = set()
    for tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                words.update(re.findall(r"[a-z]+(?:_[a-z]+)*", node.value))
            elif isinstance(node, ast.Attribute):
                words.add(node.attr.lower())
    return frozenset(words)


@cache
def _product() -> str:
    folders = ("bus", "tools", "actors", "nexus")
    return "\n".join(path.read_text() for folder in folders for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_is_held_by_a_test_or_listed_as_not_built_and_never_both(rule: str) -> None:
    if rule in NOT_BUILT:
        assert rule not in _held(), f"{rule} has a test now: take it out of NOT_BUILT"
    else:
        assert rule in _held(), f"no test names {rule}: {RULES[rule]}"


def test_tests_name_no_rule_that_the_contract_does_not_have() -> None:
    assert _held() - RULES.keys() == frozenset()


def test_what_is_not_built_are_rules_of_the_contract_and_grow_fewer() -> None:
    assert RULES.keys() >= NOT_BUILT
    assert len(NOT_BUILT) <= NOT_BUILT_MAX
    assert RULES.keys() >= PARTLY_BUILT.keys()
    assert len(PARTLY_BUILT) <= PARTLY_BUILT_MAX
    assert not NOT_BUILT & PARTLY_BUILT.keys()


@pytest.mark.parametrize("tool", [tool.name for tool in TOOLS])
def test_every_tool_is_called_by_a_test(tool: str) -> None:
    assert tool in _words()


@pytest.mark.parametrize("code", [code.value for code in Code])
def test_a_refusal_code_is_answered_and_tested_or_neither(code: str) -> None:
    is_used = f"Code.{code.upper()}" in _product().replace("Code(", "")
    if code in CODES_NOT_BUILT:
        assert not is_used, f"{code} is answered now: take it out of CODES_NOT_BUILT and test it"
    else:
        assert is_used, f"nothing answers {code}"
        assert code in _words(), f"no test names {code}"
