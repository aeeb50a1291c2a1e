"""Where elements lie: points, boxes and extents in scene units. `y` grows downwards, angles are clockwise radians."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

from actors.canvas.plain import is_number
from bus.value import Record, Value

POINT_BASED: Final = frozenset({"line", "arrow", "freedraw"})
"""Types drawn through `points`, which are relative to x, y."""


class Point(NamedTuple):
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Box:
    """An upright rectangle; the edges belong to it."""

    left: float
    top: float
    right: float
    bottom: float

    def intersects(self, other: Box) -> bool:
        return (
            self.left <= other.right
            and other.left <= self.right
            and self.top <= other.bottom
            and other.top <= self.bottom
        )

    def contains(self, other: Box) -> bool:
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.top <= other.top
            and other.bottom <= self.bottom
        )


def number(element: Record, field: str) -> float:
    """A numeric field of a stored element, 0 when it is absent (unknown types may lack some)."""
    value = element.get(field)
    if type(value) is float and math.isfinite(value):  # the usual one, asked for a hundred times for each arrow
        return value
    return value if is_number(value) else 0


def text(element: Record, field: str) -> str:
    value = element.get(field)
    return value if isinstance(value, str) else ""


def points_of(element: Record) -> list[Point]:
    """The points of a line, arrow or drawing, relative to x, y; empty for malformed ones."""
    listed = element.get("points")
    if not isinstance(listed, list):
        return []
    return [point for item in listed if (point := as_point(item)) is not None]


def points_count(element: Record) -> int:
    """How many points it lists, without looking at them."""
    listed = element.get("points")
    return len(listed) if isinstance(listed, list) else 0


def as_point(item: Value) -> Point | None:
    if isinstance(item, list) and len(item) >= 2:
        x, y = item[0], item[1]
        if is_number(x) and is_number(y):
            return Point(x, y)
    return None


def rotated(point: Point, centre: Point, angle: float) -> Point:
    if angle == 0:
        return point
    cosine, sine = math.cos(angle), math.sin(angle)
    across, down = point.x - centre.x, point.y - centre.y
    return Point(centre.x + across * cosine - down * sine, centre.y + across * sine + down * cosine)


def absolute_points(element: Record) -> list[Point]:
    """The points of a line, arrow or drawing where they are seen: moved to x, y and rotated about their centre."""
    x, y, angle = number(element, "x"), number(element, "y"), number(element, "angle")
    points = [Point(x + point.x, y + point.y) for point in points_of(element)]
    if angle == 0 or not points:
        return points
    around = _box_of(points)
    centre = Point((around.left + around.right) / 2, (around.top + around.bottom) / 2)
    return [rotated(point, centre, angle) for point in points]


def centre_of(element: Record) -> Point:
    x, y = number(element, "x"), number(element, "y")
    return Point(x + number(element, "width") / 2, y + number(element, "height") / 2)


def box_of(element: Record) -> Box:
    """The smallest upright rectangle around the element as it is seen, rotation and shape taken into account."""
    x, y, angle = number(element, "x"), number(element, "y"), number(element, "angle")
    if element.get("type") in POINT_BASED:
        points = points_of(element) if angle == 0 else absolute_points(element)
        if points:
            return _box_of(points) if angle else _moved(_box_of(points), x, y)
    width, height = number(element, "width"), number(element, "height")
    if angle == 0:
        return Box(min(x, x + width), min(y, y + height), max(x, x + width), max(y, y + height))
    centre = centre_of(element)
    if element.get("type") == "ellipse":
        across = math.hypot(width / 2 * math.cos(angle), height / 2 * math.sin(angle))
        down = math.hypot(width / 2 * math.sin(angle), height / 2 * math.cos(angle))
        return Box(centre.x - across, centre.y - down, centre.x + across, centre.y + down)
    if element.get("type") == "diamond":
        corners = [Point(centre.x, y), Point(x + width, centre.y), Point(centre.x, y + height), Point(x, centre.y)]
    else:
        corners = [Point(x, y), Point(x + width, y), Point(x + width, y + height), Point(x, y + height)]
    return _box_of([rotated(corner, centre, angle) for corner in corners])


def middle_of(points: list[Point]) -> Point:
    """Where a line's label sits: its middle point, or the middle of its middle segment."""
    half = len(points) // 2
    if len(points) % 2:
        return points[half]
    before, behind = points[half - 1], points[half]
    return Point((before.x + behind.x) / 2, (before.y + behind.y) / 2)


def with_points(element: Record, points: list[Point]) -> Record:
    """The fields that draw `element` through these absolute points: x, y, points, width, height, angle 0."""
    first = points[0]
    relative = [Point(point.x - first.x, point.y - first.y) for point in points]
    listed: list[Value] = [[point.x, point.y] for point in relative]
    width, height = size_of(relative)  # to the last digit what an editor computes from them
    return {"x": first.x, "y": first.y, "points": listed, "width": width, "height": height, "angle": 0}


def size_of(points: list[Point]) -> tuple[float, float]:
    around = _box_of(points)
    return around.right - around.left, around.bottom - around.top


def _moved(box: Box, x: float, y: float) -> Box:
    return Box(x + box.left, y + box.top, x + box.right, y + box.bottom)


def _box_of(points: list[Point]) -> Box:
    across, down = [point.x for point in points], [point.y for point in points]
    return Box(min(across), min(down), max(across), max(down))
