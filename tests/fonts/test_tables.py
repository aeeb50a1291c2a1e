"""The tables are what the tool makes of the fonts in the package that the judge has installed (canvas 4.3)."""

from __future__ import annotations

import json
from importlib import import_module

import pytest

from tests.browser.editor_bundle import BUNDLE
from tests.fonts.__main__ import EAST_ASIAN, FAMILIES, fonts_of
from tests.fonts.declared import declared_characters
from tests.fonts.writing import Family, fallback_module_text, module_text

PACKAGE = BUNDLE.folder / "node_modules" / "@excalidraw" / "excalidraw"


@pytest.mark.parametrize("family", [*FAMILIES, EAST_ASIAN], ids=lambda family: family.module)
def test_a_table_is_that_of_the_font_that_is_shipped(family: Family) -> None:
    """canvas 4.3"""
    if BUNDLE.why_missing() is not None or not PACKAGE.is_dir():
        pytest.skip("The Excalidraw editor is not installed: python -m tests.browser.editor_bundle")
    fonts = fonts_of(family, PACKAGE, declared_characters(PACKAGE))
    version = json.loads((PACKAGE / "package.json").read_text("utf-8"))["version"]
    made = (fallback_module_text if family is EAST_ASIAN else module_text)(family, fonts, f"Excalidraw {version}")
    names: dict[str, object] = {}
    exec(made, names)
    table = vars(import_module(f"actors.canvas.fonts.{family.module}"))
    constants = [name for name in names if name.isupper()]
    assert "ADVANCES" in constants
    assert {name: table[name] for name in constants} == {name: names[name] for name in constants}
    assert version in str(table["__doc__"])
