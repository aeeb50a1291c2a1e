"""How far a point lies from the outline of a shape: own geometry, so that NEXUS is not judged by its own. Pure."""

from __future__ import annotations

import math
from typing import Final

from bus.value import Record
from tests.actors.canvas.board import number
from tests.browser.editor import Place

_SIDES_OF_AN_ELLIPSE: Final = 720


def distance_to_outline(shape: Record, point: Place) -> float:
    """In scene units. Corners are taken as sharp."""
    corners = _corners(shape)
    return min(_distance(point, one, other) for one, other in zip(corners, corners[1:] + corners[:1], strict=True))


def end_of(arrow: Record, last: bool) -> Place:
    """Where the arrow begins, or ends, in the scene. It must not be rotated."""
    points = arrow["points"]
    assert isinstance(points, list) and arrow["angle"] == 0
    point = points[-1 if last else 0]
    assert isinstance(point, list)
    x, y = point
    assert isinstance(x, int | float) and isinstance(y, int | float)
    return Place(number(arrow, "x") + x, number(arrow, "y") + y)


def centre(shape: Record) -> Place:
    """The middle of its box."""
    x, y = (number(shape, edge) + number(shape, length) / 2 for edge, length in (("x", "width"), ("y", "height")))
    return Place(x, y)


def _corners(shape: Record) -> list[Place]:
    wide, high, middle = number(shape, "width") / 2, number(shape, "height") / 2, centre(shape)
    match shape["type"]:
        case "ellipse":
            turns = [2 * math.pi * step / _SIDES_OF_AN_ELLIPSE for step in range(_SIDES_OF_AN_ELLIPSE)]
            around = [(wide * math.cos(turn), high * math.sin(turn)) for turn in turns]
        case "diamond":
            around = [(wide, 0.0), (0.0, high), (-wide, 0.0), (0.0, -high)]
        case _:
            around = [(wide, high), (-wide, high), (-wide, -high), (wide, -high)]
    sine, cosine = math.sin(number(shape, "angle")), math.cos(number(shape, "angle"))
    return [Place(middle.x + x * cosine - y * sine, middle.y + x * sine + y * cosine) for x, y in around]


def _distance(point: Place, one: Place, other: Place) -> float:
    """To the stretch between two points."""
    across, down = other.x - one.x, other.y - one.y
    length = across * across + down * down
    share = ((point.x - one.x) * across + (point.y - one.y) * down) / length if length else 0.0
    share = min(max(share, 0.0), 1.0)
    return math.hypot(point.x - one.x - share * across, point.y - one.y - share * down)
