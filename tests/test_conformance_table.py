"""docs/conformance.md names a test for each demand, and each of these tests exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.support.source import syntax_of

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "conformance.md"
_ROW = re.compile(r"^\| (?!section|---)(?P<section>[^|]+) \| (?P<demand>[^|]+) \| (?P<held>[^|]+) \|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_demand_names_a_test_that_exists() -> None:
    rows = list(_ROW.finditer(TABLE.read_text(encoding="utf-8")))
    assert len(rows) > 40
    missing = []
    for row in rows:
        named = _TEST.findall(row["held"])
        assert named, row["demand"]
        missing += [f"{file}::{name}" for file, name in named if name not in _tests_of(ROOT / file)]
    assert missing == []


def test_every_test_of_the_specification_stands_in_the_table() -> None:
    file = "tests/gateway/test_specification.py"
    text = TABLE.read_text(encoding="utf-8")
    absent = [name for name in _tests_of(ROOT / file) if f"{file}::{name}`" not in text]
    assert absent == []


def _tests_of(file: Path) -> set[str]:
    if not file.is_file():
        return set()
    return {
        node.name
        for node in syntax_of(file).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }
