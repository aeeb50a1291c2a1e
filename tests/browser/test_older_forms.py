"""What older editors and other tools write, taken in by NEXUS: editors find nothing to put right (canvas 4.1, 4.5).

Each case is the smallest one in which an editor once did.
"""

from __future__ import annotations

from typing import Final

import pytest

from bus.value import Record, Value
from tests.actors.canvas.board import rectangle
from tests.browser.editor import Editor, file_of
from tests.browser.repairs import repairs
from tests.browser.test_drawn_scenes import live_elements
from tests.browser.test_files import taken_in


def shape(**fields: Value) -> Record:
    return {**rectangle("a"), "angle": 0, **fields}


def text(**fields: Value) -> Record:
    size: Record = {"x": 0, "y": 0, "width": 50, "height": 25}
    return {"id": "t", "type": "text", **size, "text": "hi", "fontSize": 20, "fontFamily": 5, **fields}


def line(**fields: Value) -> Record:
    size: Record = {"x": 0, "y": 0, "width": 100, "height": 50}
    return {"id": "l", "type": "line", **size, "points": [[0, 0], [100, 50]], **fields}


def tied(binding: Record, **fields: Value) -> list[Record]:
    bound: Value = [{"id": "l", "type": "arrow"}]
    return [shape(boundElements=bound), line(type="arrow", startBinding={"elementId": "a", **binding}, **fields)]


LABEL: Final[Value] = [{"id": "t", "type": "text"}]
CASES: Final[dict[str, list[Record]]] = {
    "a stroke of no width": [shape(strokeWidth=0)],
    "empty colours": [shape(strokeColor="", backgroundColor="", fillStyle="", strokeStyle="")],
    "round corners by their old name": [shape(strokeSharpness="round")],
    "an old name beside null": [shape(strokeSharpness="round", roundness=None)],
    "a round line by its old name": [line(strokeSharpness="round")],
    "sharp corners by their old name": [shape(strokeSharpness="sharp")],
    "size and family in one field": [text(font="28px Cascadia")],
    "an unknown family in one field": [text(font="16.5px Papyrus")],
    "a drawing of old": [line(type="draw")],
    "a line of another size than its points": [line(width=7, height=9)],
    "an arrow of another size than its points": [line(type="arrow", width=7, height=9)],
    "an open polygon": [line(polygon=True)],
    "a closed polygon": [line(polygon=True, points=[[0, 0], [50, 0], [50, 50], [0, 0]])],
    "an elbow arrow that slants": [line(type="arrow", elbowed=True)],
    "an elbow arrow that slants a little": [line(type="arrow", elbowed=True, points=[[0, 0], [100, 0.5]])],
    "an elbow arrow without fixed segments": [
        line(type="arrow", elbowed=True, points=[[0, 0], [9, 0]], fixedSegments=[])
    ],
    "more pressures than points": [line(type="freedraw", pressures=[0.5, 0.5, 0.5])],
    "a picture that is not loaded": [{**shape(), "type": "image", "fileId": None, "status": "", "scale": [1, 1]}],
    "a label turned otherwise": [shape(angle=1, boundElements=LABEL), text(containerId="a", angle=0.5)],
    "an arrow's label turned": [line(type="arrow", id="a", boundElements=LABEL), text(containerId="a", angle=0.5)],
    "the release's binding": tied({"focus": 0.3, "gap": 4}),
    "the release's binding, empty": tied({"focus": None, "gap": None}),
    "main's binding": tied({"fixedPoint": [1, 0.3], "mode": "inside"}),
    "main's binding in the middle": tied({"fixedPoint": [1, 0.5], "mode": "orbit"}),
    "a binding nearly in the middle": tied({"fixedPoint": [0.50005, 0.49995], "mode": "orbit", "focus": 0, "gap": 1}),
    "an elbow arrow's binding": tied(
        {"fixedPoint": [0.50005, 1], "focus": 0, "gap": 1}, elbowed=True, points=[[0, 0], [99, 0]]
    ),
    "a binding of no mode": tied({"fixedPoint": [1, 0.2], "mode": "", "focus": 0, "gap": 1}),
    "a line longer than editors allow": [shape(), line(points=[[0, 0], [80_000, 0]], width=80_000, height=0)],
    "a shape of negative size": [shape(width=-50, height=-20)],
    "two elements of one index": [shape(index="a0"), text(index="a0")],
    "ghosts and doubles": [shape(boundElements=[{"id": "x", "type": "arrow"}, {"id": "x", "type": "arrow"}])],
    "links": [
        shape(link="https://a.example/?q=é#x"),
        text(link="mailto:a@b.example"),
        line(link="javascript:alert(1)"),
    ],
}


@pytest.mark.parametrize("case", CASES)
def test_editors_find_nothing_to_put_right(judge: Editor, case: str) -> None:
    """canvas 4.1, 4.2"""
    scene: Record = {"type": "excalidraw", "version": 2, "elements": [*CASES[case]], "appState": {}, "files": {}}
    written = taken_in(scene)
    assert live_elements(written) != []
    assert repairs(live_elements(written), judge.opened(file_of(written))) == []
