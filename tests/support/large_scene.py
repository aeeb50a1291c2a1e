"""Scenes of any size with everything that ties elements together: labels, bound arrows, frames, groups, drawings."""

from __future__ import annotations

from bus.value import Record, Value

_ROW = 50
_STYLE: Record = {"strokeColor": "#1e1e1e", "backgroundColor": "#a5d8ff", "fillStyle": "solid", "strokeWidth": 2}


def large_scene(elements: int) -> Record:
    """A scene file of exactly that many elements, as an editor of 2022 wrote them: no indexes, one form of binding."""
    made: list[Value] = []
    cell = 0
    while len(made) < elements:
        made += _cell(cell)
        cell += 1
    return {
        "type": "excalidraw",
        "version": 2,
        "source": "tests",
        "elements": made[:elements],
        "appState": {"viewBackgroundColor": "#ffffff", "gridSize": None},
        "files": {},
    }


def _cell(number: int) -> list[Value]:
    """A labelled box, an arrow from it to the next cell's box, and now and then a drawing or a frame."""
    x, y = number % _ROW * 300, number // _ROW * 200
    box, words, way = f"box-{number}", f"words-{number}", f"way-{number}"
    tied: list[Value] = [{"id": words, "type": "text"}, {"id": way, "type": "arrow"}]
    cell: list[Value] = [
        {**_base(box, "rectangle", x, y, 160, 80), "boundElements": tied, "roundness": {"type": 3}},
        {
            **_base(words, "text", x + 5, y + 27, 150, 25),
            "text": f"Box {number}",
            "fontSize": 20,
            "fontFamily": 1,
            "containerId": box,
        },
        {
            **_base(way, "arrow", x + 160, y + 40, 140, 0),
            "points": [[0, 0], [140, 0]],
            "startBinding": {"elementId": box, "focus": 0, "gap": 1},
            "endBinding": {"elementId": f"box-{number + 1}", "focus": 0, "gap": 1},
        },
    ]
    if number % 10 == 0:
        points: list[Value] = [[step * 2, step % 7] for step in range(40)]
        cell.append({**_base(f"drawn-{number}", "freedraw", x, y + 100, 78, 6), "points": points, "pressures": []})
    if number % 50 == 0:
        cell.append({**_base(f"frame-{number}", "frame", x - 20, y - 20, 15_000, 180), "name": f"Row {number // _ROW}"})
    return cell


def _base(id_: str, kind: str, x: float, y: float, width: float, height: float) -> Record:
    return {
        "id": id_,
        "type": kind,
        "x": x,
        "y": y,
        "width": width,
        "height": height,
        "angle": 0,
        **_STYLE,
        "strokeStyle": "solid",
        "roughness": 1,
        "opacity": 100,
        "groupIds": [],
        "seed": 7,
        "version": 3,
        "versionNonce": 5,
        "isDeleted": False,
        "boundElements": [],
        "updated": 1,
        "link": None,
        "locked": False,
    }
