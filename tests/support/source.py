"""The product's own source text, for tests that read it."""

from __future__ import annotations

import ast
from pathlib import Path


def syntax_of(path: Path) -> ast.Module:
    """The parsed module.

    CPython 3.11 counts the depth of its conversion to `ast` objects once an interpreter, so that another thread that
    formats a traceback meanwhile (which parses the line at fault) makes it raise SystemError. Nothing is wrong with
    the text then, and the next try finds nobody beside it.
    """
    text = path.read_text(encoding="utf-8")
    for _ in range(10):
        try:
            return ast.parse(text, str(path))
        except SystemError:
            continue
    return ast.parse(text, str(path))
