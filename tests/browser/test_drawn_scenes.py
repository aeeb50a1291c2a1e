"""Whatever agents draw, editors open it as it is and draw all of it (canvas 4.1, 4.2)."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from bus.value import Record
from tests.browser.drawn import Drawing
from tests.browser.editor import Editor, file_of
from tests.browser.repairs import KNOWN_TYPES, repairs

SEEDS = range(50)
CALLS = 25


@pytest.fixture(scope="module")
def drawings() -> list[Drawing]:
    """One for each seed."""
    made = [Drawing(seed) for seed in SEEDS]
    for drawing in made:
        drawing.draw(CALLS)
    return made


def live_elements(scene: Record) -> list[Record]:
    """What stands in a file that NEXUS wrote."""
    elements = scene["elements"]
    assert isinstance(elements, list)
    return [element for element in elements if isinstance(element, dict)]


def test_what_is_drawn_is_worth_judging(drawings: list[Drawing]) -> None:
    """Most calls are applied, and every type and kind of tie is among what is left in the end."""
    elements = [element for drawing in drawings for element in live_elements(drawing.scene())]
    assert sum(len(drawing.calls) for drawing in drawings) > len(SEEDS) * CALLS / 2
    assert {element["type"] for element in elements} == KNOWN_TYPES - {"magicframe"}
    bound = [element for element in elements if element.get("startBinding") and element.get("endBinding")]
    assert len(bound) > 20
    assert len([element for element in bound if element["elbowed"]]) > 2
    assert len([element for element in elements if element.get("containerId")]) > 50


def test_editors_open_what_agents_drew_without_repairing_anything(judge: Editor, drawings: list[Drawing]) -> None:
    """canvas 4.1, 4.2"""
    found: list[str] = []
    for seed, drawing in zip(SEEDS, drawings, strict=True):
        scene = drawing.scene()
        found += [f"seed {seed}: {what}" for what in repairs(live_elements(scene), judge.opened(file_of(scene)))]
    assert found == []


def test_editors_draw_every_word_of_what_agents_drew(judge: Editor, drawings: list[Drawing]) -> None:
    """canvas 4.1, 4.3"""
    missing: list[str] = []
    for seed, drawing in zip(SEEDS, drawings, strict=True):
        scene = drawing.scene()
        shown = _without_spaces("".join(ET.fromstring(judge.svg(file_of(scene))).itertext()))
        for element in live_elements(scene):
            if element["type"] == "text":
                assert isinstance(element["text"], str)
                lines = map(_without_spaces, element["text"].split("\n"))
                missing += [f"seed {seed}: {line}" for line in lines if line not in shown]
    assert missing == []


def _without_spaces(text: str) -> str:
    return "".join(text.split())
