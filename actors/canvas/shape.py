"""One element by itself, before it meets others: its points, its text, and what may be said about it at all."""

from __future__ import annotations

import itertools

from actors.canvas.draft import Draft
from actors.canvas.element import FRAMES, Problem, malformed_field
from actors.canvas.geometry import POINT_BASED, Point, number, points_of, size_of, text, with_points
from actors.canvas.labels import normalized
from actors.canvas.outcome import Rejected
from actors.canvas.routing import elbow
from bus.limits import frames_nested_max
from bus.value import Record, Value


def check_fields(element: Record, given: Record, place: str, known: Record | None = None) -> None:
    """Raises Rejected for fields that cannot be kept, or that another type of element has.

    `known` is the stored element that it was made from, whose fields need not be looked at again.
    """
    problem = malformed_field(element, known)
    if problem is None and "text" in given and element["type"] != "text":
        problem = Problem("field", "text", "belongs to text elements; a label is a text whose containerId is the shape")
    if problem is None and "points" in given and element["type"] not in POINT_BASED:
        problem = Problem("field", "points", "belongs to lines, arrows and drawings")
    if problem is not None:
        raise Rejected.because(problem, place)


def check_size(element: Record, place: str) -> None:
    """Raises Rejected for a shape that has no width or no height."""
    if element["type"] in POINT_BASED:
        return
    for field in ("width", "height"):
        if number(element, field) <= 0:
            raise Rejected.because(Problem("geometry", field, "must be above 0"), place)


def check_frame(draft: Draft, element: Record, place: str) -> None:
    """Raises Rejected unless frameId is null or names another live frame."""
    id_ = element["frameId"]
    if id_ is None:
        return
    frame = draft.find_live(str(id_))
    if id_ == element["id"]:
        raise Rejected("unknown_element", f"{place}: frameId names the element itself; no frame is inside itself.")
    if frame is None or frame["type"] not in FRAMES:
        raise Rejected("unknown_element", f"{place}: frameId names no frame of this canvas.")
    if element["type"] in FRAMES:
        _check_nesting(draft, element, frame, place)


def _check_nesting(draft: Draft, element: Record, frame: Record, place: str) -> None:
    """Raises Rejected for a frame in a circle of frames, or in more of them than may lie in each other."""
    around: Record | None = frame
    for _ in range(frames_nested_max):
        if around is None or around["frameId"] is None:
            return
        if around["frameId"] == element["id"]:
            raise Rejected("unknown_element", f"{place}: frameId names a frame that is inside the element itself.")
        around = draft.find_live(str(around["frameId"]))
    raise Rejected("limits", f"{place}: at most {frames_nested_max} frames lie in each other.")


def check_file(draft: Draft, element: Record, place: str) -> None:
    """Raises Rejected for an image without a picture: agents can use only files that the canvas holds."""
    if element["type"] == "image" and element["fileId"] not in draft.state.files:
        raise Rejected.because(Problem("field", "fileId", "must name a file that this canvas holds"), place)


def with_normal_points(element: Record) -> Record:
    """The element with its first point at x, y, and width and height as its points have them."""
    points = points_of(element)
    first = points[0]
    if first != (0, 0):
        listed: list[Value] = [[point.x - first.x, point.y - first.y] for point in points]
        moved: Record = {"x": number(element, "x") + first.x, "y": number(element, "y") + first.y, "points": listed}
        element = {**element, **moved}
    width, height = size_of(points_of(element))
    return {**element, "width": width, "height": height}


def with_right_angles(element: Record) -> Record:
    """An elbow arrow whose course has a slanting part is led anew; anything else is as it was."""
    points = points_of(element)
    if element.get("elbowed") is not True or all(
        one.x == other.x or one.y == other.y for one, other in itertools.pairwise(points)
    ):
        return element
    first = Point(number(element, "x"), number(element, "y"))
    course = [Point(first.x + point.x, first.y + point.y) for point in points]
    return {**element, **with_points(element, elbow(course[0], course[-1], course)), "angle": element["angle"]}


def stretched_points(element: Record, width: float, height: float) -> list[Value] | None:
    """The points when the element is resized to `width` by `height`; None when there is nothing to stretch."""
    points = points_of(element)
    was_wide, was_high = size_of(points)
    if (was_wide == 0 and width != 0) or (was_high == 0 and height != 0):
        return None
    across = width / was_wide if was_wide else 1.0
    down = height / was_high if was_high else 1.0
    return [[point.x * across, point.y * down] for point in points]


def with_text(element: Record) -> Record:
    """The element with `originalText`, line ends as the editor keeps them."""
    words = normalized(text(element, "text"))
    return {**element, "text": words, "originalText": normalized(text(element, "originalText")) or words}
