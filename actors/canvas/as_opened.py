"""What editors make of an element by itself when they open a file: older forms in today's words (canvas 4.1, 4.4).

An import takes elements as an editor would show them, so that what is given out is opened as it is. Only what every
version of the editor reads so is done here. Elements may be malformed in any other way: what is no number, list or
text of the expected kind is left for element.py.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from actors.canvas.geometry import as_point, points_of, size_of
from actors.canvas.plain import is_number
from actors.canvas.shape import with_right_angles
from bus.value import Record, Value

_ADAPTIVE: Final = frozenset({"rectangle", "embeddable", "iframe", "image"})
_LEGACY_ROUNDNESS: Final = 1
_PROPORTIONAL_ROUNDNESS: Final = 2

_FAMILIES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "Virgil": 1,
        "Helvetica": 2,
        "Cascadia": 3,
        "Excalifont": 5,
        "Nunito": 6,
        "Lilita One": 7,
        "Comic Shanns": 8,
        "Liberation Sans": 9,
    }
)
_FAMILY_DEFAULT: Final = 5
_FONT: Final = re.compile(r"(\d+(?:\.\d+)?)px +(.+)")

_POLYGON_POINTS_MIN: Final = 4
_FIXED_SEGMENTS_POINTS_MIN: Final = 4
_SLANT_MAX: Final = 1.0
"""How far, in scene units, a part of an elbow arrow may lean before editors lead it anew."""


def as_opened(element: Record) -> Record:
    """The element in today's form; the same one if there is nothing to do."""
    if element.get("type") == "draw":
        element = {**element, "type": "line"}
    if "strokeSharpness" in element:
        element = _with_roundness(element)
    if element.get("type") == "text" and isinstance(element.get("font"), str):
        element = _with_font(element)
    if element.get("type") in ("line", "arrow", "freedraw") and _has_course(element):
        element = _with_course(element)
    return element


def _with_roundness(element: Record) -> Record:
    kept: Record = {name: value for name, value in element.items() if name != "strokeSharpness"}
    if element["strokeSharpness"] == "round" and not element.get("roundness"):
        kind = _LEGACY_ROUNDNESS if element.get("type") in _ADAPTIVE else _PROPORTIONAL_ROUNDNESS
        kept["roundness"] = {"type": kind}
    return kept


def _with_font(element: Record) -> Record:
    """Size and family once stood in one field, such as `20px Virgil`; it wins over those that there are."""
    kept: Record = {name: value for name, value in element.items() if name != "font"}
    found = _FONT.fullmatch(str(element["font"]))
    if found is not None:
        kept |= {"fontSize": float(found[1]), "fontFamily": _FAMILIES.get(found[2], _FAMILY_DEFAULT)}
    return kept


def _has_course(element: Record) -> bool:
    points = element.get("points")
    return isinstance(points, list) and len(points) >= 2 and all(as_point(point) is not None for point in points)


def _with_course(element: Record) -> Record:
    """Sizes, and what only some courses can have, as the points have it."""
    points = points_of(element)
    fields: Record = {}
    if element["type"] == "freedraw":
        pressures = element.get("pressures")
        if isinstance(pressures, list) and len(pressures) > len(points):
            fields["pressures"] = pressures[: len(points)]
        return {**element, **fields} if fields else element
    if element["type"] == "line" and element.get("polygon") is True:
        fields["polygon"] = len(points) >= _POLYGON_POINTS_MIN and points[0] == points[-1]
    if _is_led_anew(element):
        element = with_right_angles({"angle": 0, **element})
        points = points_of(element)
    if element.get("fixedSegments") is not None and len(points) < _FIXED_SEGMENTS_POINTS_MIN:
        fields["fixedSegments"] = None
    width, height = size_of(points)
    return {**element, **fields, "width": width, "height": height}


def _is_led_anew(element: Record) -> bool:
    """An elbow arrow that slants and is tied to nothing. A tied one is left until somebody moves it."""
    if element.get("elbowed") is not True or not {"x", "y"} <= element.keys():
        return False
    if _is_tied(element.get("startBinding")) or _is_tied(element.get("endBinding")):
        return False
    if not all(is_number(element.get(name, 0)) for name in ("x", "y", "angle")):
        return False
    return any(
        min(abs(one.x - other.x), abs(one.y - other.y)) >= _SLANT_MAX
        for one, other in itertools.pairwise(points_of(element))
    )


def _is_tied(binding: Value) -> bool:
    return isinstance(binding, dict)
