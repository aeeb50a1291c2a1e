"""Where an arrow's end meets the shape that it is tied to (canvas 4.2). Pure geometry.

A tied end *aims* at a point of its shape, usually its centre, and stops `gap` before the outline on the way there.
Both versions of the editor do that, in terms of their own: 0.18.1 writes the aim as `focus`, a signed share of the
shape's diagonals (a diamond's axes), main as `fixedPoint`, a share of its width and height before rotation. What is
computed here is what both compute when somebody moves the shape, so the arrow stays where NEXUS put it.
"""

from __future__ import annotations

import itertools
import math
from typing import Final

from actors.canvas.geometry import Point, centre_of, number, rotated
from actors.canvas.plain import is_number
from bus.value import Record, Value

RATIO_MAX: Final = 10
"""A fixedPoint further out is cut to this by the editor."""

_BESIDE_THE_MIDDLE: Final = 0.5001  # what the editor itself stores instead of 0.5
_MIDDLE_SLACK: Final = 0.000_11
_SIZE_MIN: Final = 1.0
"""What is smaller has no inside to aim at but its centre."""
_ROUND_SHARE: Final = 0.25
_ROUND_RADIUS: Final = 32
_ADAPTIVE: Final = 3
_CORNER_STEPS: Final = 4
_NOTHING: Final = 1e-9
_GAP_STEPS: Final = 40
_DIGITS: Final = 6  # what is beyond is the noise of the arithmetic


def outline_hit(shape: Record, gap: float, seen_from: Point, aim: Point) -> Point | None:
    """The first point on the way from `seen_from` to `aim` that is `gap` from the outline.

    None when the way begins within that distance already, or does not come so near.
    """
    start, end = _inner(shape, seen_from), _inner(shape, aim)
    if _is_ellipse(shape):
        is_near = _ellipse_power(shape, gap, start) < 1 - _NOTHING
        share = None if is_near else _ellipse_entry(shape, gap, start, end)
    else:
        share = _entry(shape, gap, start, end)
    if share is None:
        return None
    x, y = seen_from.x + (aim.x - seen_from.x) * share, seen_from.y + (aim.y - seen_from.y) * share
    return Point(round(x, _DIGITS), round(y, _DIGITS))


def is_within(shape: Record, gap: float, point: Point) -> bool:
    """Whether the point lies inside the shape or less than `gap` away from it."""
    inner = _inner(shape, point)
    if _is_ellipse(shape):
        return _ellipse_power(shape, gap, inner) < 1 - _NOTHING
    return not _is_beside_box(shape, gap, inner) and _is_within(_corners(shape), gap, inner)


def covered_bends(shape: Record, gap: float, bends: list[Point], far: Point) -> int:
    """How many of an arrow's bends, counted from its end at this shape, it must lose to begin outside the shape.

    `far` is where its other end leads. From outside the shape, the arrow begins behind the last bend that the shape
    covers; from inside, before its first bend outside. 0 for an arrow that is inside as a whole.
    """
    inside = [is_within(shape, gap, bend) for bend in bends]
    if True not in inside:
        return 0
    if not is_within(shape, gap, far):
        return len(inside) - inside[::-1].index(True)
    return inside.index(False) if False in inside else 0


def _is_within(corners: list[Point], gap: float, inner: Point) -> bool:
    return _is_inside(corners, inner) or _outside_distance(corners, inner) < gap - _NOTHING


def _is_beside_box(shape: Record, gap: float, inner: Point) -> bool:
    """Whether the point is certain to be at least `gap` away, which costs less than to measure how far."""
    x, y = inner.x - number(shape, "x"), inner.y - number(shape, "y")
    return x < -gap or y < -gap or x > number(shape, "width") + gap or y > number(shape, "height") + gap


def distance_from(shape: Record, point: Point) -> float:
    """How far outside the outline the point lies; below 0 inside."""
    inner = _inner(shape, point)
    if _is_ellipse(shape):
        return _ellipse_distance(shape, inner)
    corners = _corners(shape)
    distance = _outside_distance(corners, inner)
    return -distance if _is_inside(corners, inner) else distance


def at_ratio(shape: Record, ratio: Value) -> Point:
    """Where a fixedPoint lies; the centre for a malformed one. The editor's 0.5001 is the middle."""
    across, down = (0.5, 0.5)
    if is_ratio(ratio):
        assert isinstance(ratio, list)
        across, down = (_exact(item) for item in ratio)
    x, y = number(shape, "x"), number(shape, "y")
    inner = Point(x + across * number(shape, "width"), y + down * number(shape, "height"))
    return rotated(inner, centre_of(shape), number(shape, "angle"))


def ratio_of(shape: Record, point: Point) -> list[Value]:
    """The fixedPoint of a point, as the editor would store it."""
    width, height = number(shape, "width"), number(shape, "height")
    if width < _SIZE_MIN or height < _SIZE_MIN:
        return [_BESIDE_THE_MIDDLE, _BESIDE_THE_MIDDLE]
    inner = rotated(point, centre_of(shape), -number(shape, "angle"))
    return [_ratio((inner.x - number(shape, "x")) / width), _ratio((inner.y - number(shape, "y")) / height)]


def is_ratio(value: Value) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(is_number, value))


def kept_ratio(ratio: Value) -> Value:
    """A fixedPoint as the editor would store it."""
    assert is_ratio(ratio) and isinstance(ratio, list)
    return [_ratio(item) for item in ratio if is_number(item)]


def is_middle(ratio: Value) -> bool:
    return is_ratio(ratio) and isinstance(ratio, list) and all(_exact(item) == 0.5 for item in ratio)


def focus_point(shape: Record, focus: float, seen_from: Point) -> Point:
    """The point that 0.18.1 aims at for this focus, from there.

    The four corners, drawn in towards the centre by `focus`, make a smaller shape; it is one of its corners, the one at
    the end of the side that is seen, clockwise for a focus above 0.
    """
    centre = centre_of(shape)
    if focus == 0:
        return centre
    share = abs(focus)
    corners = [
        rotated(Point(centre.x + corner.x * share, centre.y + corner.y * share), centre, number(shape, "angle"))
        for corner in _spokes(shape)
    ]
    for side in range(4):
        beside = (side + 1) % 4 if focus > 0 else (side - 1) % 4
        if _sees(corners, side, seen_from) > 0 and _sees(corners, beside, seen_from) < 0:
            return corners[(side + 1) % 4] if focus > 0 else corners[side]
    return corners[0] if focus > 0 else corners[3]


def focus_through(shape: Record, seen_from: Point, end: Point) -> tuple[float, Point]:
    """The focus of a line that comes from `seen_from` over `end`, and the point of the shape that it aims at."""
    centre = centre_of(shape)
    start, over = _inner(shape, seen_from), _inner(shape, end)
    crossings = _crossings(shape, centre, start, over)
    if not crossings:
        return 0, centre
    share, crossing = min(crossings)
    if share < _NOTHING:
        return 0, centre
    wanted = rotated(crossing, centre, number(shape, "angle"))
    return min((share, -share), key=lambda focus: math.dist(focus_point(shape, focus, seen_from), wanted)), wanted


def _crossings(shape: Record, centre: Point, start: Point, over: Point) -> list[tuple[float, Point]]:
    """Where the line crosses the diagonals: how far out, as a share of the diagonal, and the point."""
    across, down = over.x - start.x, over.y - start.y
    length = math.hypot(across, down)
    found: list[tuple[float, Point]] = []
    if length < _NOTHING:
        return found
    for spoke in _spokes(shape)[:2]:
        slant = across * spoke.y - down * spoke.x
        if abs(slant) < _NOTHING * length:
            continue
        share = ((start.x - centre.x) * -down + (start.y - centre.y) * across) / slant
        found.append((abs(share), Point(centre.x + spoke.x * share, centre.y + spoke.y * share)))
    return found


def _spokes(shape: Record) -> list[Point]:
    """From the centre to the corners, clockwise: of a diamond from the left, of others from the upper left."""
    half_width, half_height = number(shape, "width") / 2, number(shape, "height") / 2
    if shape.get("type") == "diamond":
        return [Point(-half_width, 0), Point(0, -half_height), Point(half_width, 0), Point(0, half_height)]
    return [
        Point(-half_width, -half_height),
        Point(half_width, -half_height),
        Point(half_width, half_height),
        Point(-half_width, half_height),
    ]


def _sees(corners: list[Point], side: int, point: Point) -> float:
    """Above 0 when the point lies beyond that side."""
    one, other = corners[side], corners[(side + 1) % 4]
    return (point.x - one.x) * (other.y - one.y) - (other.x - one.x) * (point.y - one.y)


def _inner(shape: Record, point: Point) -> Point:
    """The point as the shape has it, when the shape is turned upright."""
    return rotated(point, centre_of(shape), -number(shape, "angle"))


def _exact(ratio: Value) -> float:
    assert is_number(ratio)
    return 0.5 if abs(ratio - 0.5) <= _MIDDLE_SLACK else ratio


def _ratio(ratio: float) -> float:
    ratio = min(max(ratio, -RATIO_MAX), RATIO_MAX)
    return _BESIDE_THE_MIDDLE if abs(ratio - 0.5) < 0.0001 else ratio


def _is_ellipse(shape: Record) -> bool:
    return shape.get("type") == "ellipse"


def _ellipse_power(shape: Record, gap: float, inner: Point) -> float:
    """Below 1 inside the ellipse that is `gap` larger on all sides: the editor's notion of a distance from it."""
    centre = centre_of(shape)
    across = (inner.x - centre.x) / max(number(shape, "width") / 2 + gap, _NOTHING)
    down = (inner.y - centre.y) / max(number(shape, "height") / 2 + gap, _NOTHING)
    return across * across + down * down


def _ellipse_distance(shape: Record, inner: Point) -> float:
    low = -min(number(shape, "width"), number(shape, "height")) / 2
    high = math.dist(inner, centre_of(shape))
    for _ in range(_GAP_STEPS):
        middle = (low + high) / 2
        if _ellipse_power(shape, middle, inner) < 1:
            high = middle
        else:
            low = middle
    return high


def _ellipse_entry(shape: Record, gap: float, start: Point, end: Point) -> float | None:
    centre = centre_of(shape)
    wide = max(number(shape, "width") / 2 + gap, _NOTHING)
    high = max(number(shape, "height") / 2 + gap, _NOTHING)
    at = Point((start.x - centre.x) / wide, (start.y - centre.y) / high)
    way = Point((end.x - start.x) / wide, (end.y - start.y) / high)
    return _circle_entry(at, way, 1)


def _circle_entry(at: Point, way: Point, radius: float) -> float | None:
    """Which share of `way` leads from `at` into the circle around 0, 0; None when it does not, or begins inside."""
    square = way.x * way.x + way.y * way.y
    if square < _NOTHING * _NOTHING:
        return None
    half = at.x * way.x + at.y * way.y
    root = half * half - square * (at.x * at.x + at.y * at.y - radius * radius)
    share = (-half - math.sqrt(root)) / square if root >= 0 else -1.0
    return share if -_NOTHING <= share <= 1 else None


def _entry(shape: Record, gap: float, start: Point, end: Point) -> float | None:
    """Which share of the way leads to a shape with corners, grown by `gap`: sides moved out, discs at the corners."""
    way = Point(end.x - start.x, end.y - start.y)
    # Round corners only matter near corners: where the way meets a straight side, it meets it in either case. Not so
    # with diamonds, whose sides are drawn between the ends of the roundings, which need not lie on the plain sides.
    plain = [_moved(centre_of(shape), spoke) for spoke in _spokes(shape)]
    is_near = not _is_beside_box(shape, gap, start)
    if not is_near and shape.get("roundness") is not None and shape.get("type") != "diamond":
        share = _polygon_entry(plain, gap, start, way)
        if share is None:
            return None
        at = Point(start.x + way.x * share, start.y + way.y * share)
        far = gap + math.hypot(*_radii(shape))
        if all(math.dist(at, corner) > far for corner in plain):
            return share
    corners = plain if shape.get("roundness") is None else _corners(shape)
    return None if is_near and _is_within(corners, gap, start) else _polygon_entry(corners, gap, start, way)


def _moved(centre: Point, spoke: Point) -> Point:
    return Point(centre.x + spoke.x, centre.y + spoke.y)


def _polygon_entry(corners: list[Point], gap: float, start: Point, way: Point) -> float | None:
    shares: list[float] = []
    for one, other in itertools.pairwise([*corners, corners[0]]):
        length = math.dist(one, other)
        if length > _NOTHING:
            out = Point((other.y - one.y) / length * gap, (one.x - other.x) / length * gap)  # clockwise: to the left
            side = Point(other.x - one.x, other.y - one.y)
            shares += _segment_entry(start, way, Point(one.x + out.x, one.y + out.y), side)
        if gap > 0:
            share = _circle_entry(Point(start.x - one.x, start.y - one.y), way, gap)
            shares += [] if share is None else [share]
    return max(min(shares), 0.0) if shares else None


def _segment_entry(start: Point, way: Point, one: Point, side: Point) -> list[float]:
    slant = way.x * side.y - way.y * side.x
    if abs(slant) < _NOTHING:
        return []
    across, down = one.x - start.x, one.y - start.y
    share = (across * side.y - down * side.x) / slant
    along = (across * way.y - down * way.x) / slant
    return [share] if -_NOTHING <= share <= 1 and -_NOTHING <= along <= 1 + _NOTHING else []


def _is_inside(corners: list[Point], point: Point) -> bool:
    inside = False
    for one, other in itertools.pairwise([*corners, corners[0]]):
        if (one.y > point.y) != (other.y > point.y):
            at = one.x + (point.y - one.y) / (other.y - one.y) * (other.x - one.x)
            inside = inside != (point.x < at)
    return inside


def _outside_distance(corners: list[Point], point: Point) -> float:
    return min(_segment_distance(one, other, point) for one, other in itertools.pairwise([*corners, corners[0]]))


def _segment_distance(one: Point, other: Point, point: Point) -> float:
    across, down = other.x - one.x, other.y - one.y
    square = across * across + down * down
    share = ((point.x - one.x) * across + (point.y - one.y) * down) / square if square > 0 else 0.0
    share = min(max(share, 0.0), 1.0)
    return math.hypot(point.x - one.x - across * share, point.y - one.y - down * share)


def _corners(shape: Record) -> list[Point]:
    """The outline before rotation, clockwise from above; round corners as the editor draws them, in short pieces."""
    centre = centre_of(shape)
    corners = [_moved(centre, spoke) for spoke in _spokes(shape)]
    across, down = _radii(shape)
    pull = 1.0 if shape.get("type") == "diamond" else 2 / 3
    if across <= 0 or down <= 0:
        return corners
    rounded: list[Point] = []
    for place, corner in enumerate(corners):
        before, behind = corners[place - 1], corners[(place + 1) % 4]
        rounded += _rounded(corner, _along(corner, before, across, down), _along(corner, behind, across, down), pull)
    return rounded


def _radii(shape: Record) -> tuple[float, float]:
    """How far the rounding of a corner reaches, across and down."""
    width, height = number(shape, "width"), number(shape, "height")
    if shape.get("type") == "diamond":
        return _radius(shape, width / 2), _radius(shape, height / 2)
    radius = _radius(shape, min(width, height))
    return radius, radius


def _along(corner: Point, other: Point, across: float, down: float) -> Point:
    """Where the rounding of `corner` ends on the side to `other`."""
    return Point(
        corner.x + math.copysign(across, other.x - corner.x) * (other.x != corner.x),
        corner.y + math.copysign(down, other.y - corner.y) * (other.y != corner.y),
    )


def _rounded(corner: Point, start: Point, end: Point, pull: float) -> list[Point]:
    """A cubic curve from `start` to `end` whose handles reach that far to the corner."""
    curve: list[Point] = []
    for step in range(_CORNER_STEPS + 1):
        late = step / _CORNER_STEPS
        early = 1 - late
        first, last = early**3 + 3 * early * early * late * (1 - pull), late**3 + 3 * early * late * late * (1 - pull)
        handles = 3 * early * late * pull
        curve.append(
            Point(
                first * start.x + last * end.x + handles * corner.x, first * start.y + last * end.y + handles * corner.y
            )
        )
    return curve


def _radius(shape: Record, length: float) -> float:
    roundness = shape.get("roundness")
    if not isinstance(roundness, dict) or length <= 0:
        return 0
    if roundness.get("type") != _ADAPTIVE:
        return length * _ROUND_SHARE
    value = roundness.get("value")
    radius = value if is_number(value) and value > 0 else _ROUND_RADIUS
    return min(length * _ROUND_SHARE, radius)
