"""What a stored element holds: for each type its fields, what they accept and their defaults (canvas 4.1).

One table serves three readers: creation fills in defaults, import mends what is missing or malformed, and the last
check before a commit (`problem_of`) refuses anything that would make an editor drop the element or the whole scene.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from actors.canvas import fractional
from actors.canvas.geometry import POINT_BASED, as_point, points_of, size_of
from actors.canvas.plain import encoded_bytes, fault_of, is_number, is_whole_text
from bus.limits import (
    coordinate_max,
    element_bytes_max,
    element_type_characters_max,
    identifier_characters_max,
    line_length_max,
)
from bus.value import Record, Value

CONTAINERS: Final = frozenset({"rectangle", "diamond", "ellipse", "arrow"})
"""Types that can hold a label."""

FRAMES: Final = frozenset({"frame", "magicframe"})

_REQUIRED: Final = object()
_ABSENT: Final = object()
_VERSION_MAX: Final = 2**53


@dataclass(frozen=True, slots=True)
class Field:
    """`default` is `_REQUIRED` where nothing sensible can be made up."""

    accepts: Callable[[Value], bool]
    default: Value | object = _REQUIRED


def _is_text(value: Value) -> bool:
    return isinstance(value, str)


def _is_name(value: Value) -> bool:
    """For what editors take an empty text as absent."""
    return isinstance(value, str) and value != ""


def _is_flag(value: Value) -> bool:
    return isinstance(value, bool)


def _is_coordinate(value: Value) -> bool:
    return is_number(value) and abs(value) <= coordinate_max


def _is_size(value: Value) -> bool:
    return is_number(value) and 0 <= value <= coordinate_max


def _is_above_zero(value: Value) -> bool:
    return is_number(value) and 0 < value <= coordinate_max


def _is_whole(value: Value) -> bool:
    return is_number(value) and value == int(value) and abs(value) <= _VERSION_MAX


def _is_version(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < _VERSION_MAX


def _is_opacity(value: Value) -> bool:
    return is_number(value) and 0 <= value <= 100


def _is_record(value: Value) -> bool:
    return isinstance(value, dict)


def _is_id(value: Value) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= identifier_characters_max and is_whole_text(value)


def _is_id_list(value: Value) -> bool:
    return isinstance(value, list) and all(map(_is_id, value))


def _is_bound_list(value: Value) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, dict) and _is_id(item.get("id")) and item.get("type") in ("arrow", "text") for item in value
    )


def _is_binding(value: Value) -> bool:
    return isinstance(value, dict) and _is_id(value.get("elementId"))


def _is_roundness(value: Value) -> bool:
    return isinstance(value, dict) and is_number(value.get("type"))


def _is_points(value: Value) -> bool:
    return isinstance(value, list) and len(value) >= 2 and all(map(_is_near_point, value))


def _is_near_point(value: Value) -> bool:
    point = as_point(value)
    return point is not None and abs(point.x) <= coordinate_max and abs(point.y) <= coordinate_max


def _is_number_list(value: Value) -> bool:
    return isinstance(value, list) and all(map(is_number, value))


def _is_scale(value: Value) -> bool:
    return _is_number_list(value) and isinstance(value, list) and len(value) == 2


def _one_of(*words: str) -> Callable[[Value], bool]:
    return lambda value: value in words and isinstance(value, str)


def _or_none(accepts: Callable[[Value], bool]) -> Callable[[Value], bool]:
    return lambda value: value is None or accepts(value)


BASE: Final[Mapping[str, Field]] = MappingProxyType(
    {
        "id": Field(_is_id),
        "type": Field(lambda value: isinstance(value, str) and 1 <= len(value) <= element_type_characters_max),
        "x": Field(_is_coordinate),
        "y": Field(_is_coordinate),
        "width": Field(_is_size),
        "height": Field(_is_size),
        "angle": Field(_is_coordinate, 0),
        "strokeColor": Field(_is_name, "#1e1e1e"),
        "backgroundColor": Field(_is_name, "transparent"),
        "fillStyle": Field(_is_name, "solid"),
        "strokeWidth": Field(_is_above_zero, 2),
        "strokeStyle": Field(_is_name, "solid"),
        "roundness": Field(_or_none(_is_roundness), None),
        "roughness": Field(_is_size, 1),
        "opacity": Field(_is_opacity, 100),
        "seed": Field(_is_whole, 1),
        "version": Field(_is_version, 1),
        "versionNonce": Field(_is_whole, 0),
        "index": Field(fractional.is_valid),
        "isDeleted": Field(_is_flag, False),
        "groupIds": Field(_is_id_list, []),
        "frameId": Field(_or_none(_is_id), None),
        "boundElements": Field(_or_none(_is_bound_list), []),
        "updated": Field(_is_whole, 1),
        "link": Field(_or_none(_is_text), None),
        "locked": Field(_is_flag, False),
    }
)
_LINE: Final[Mapping[str, Field]] = {
    "points": Field(_is_points),
    "startBinding": Field(_or_none(_is_binding), None),
    "endBinding": Field(_or_none(_is_binding), None),
    "startArrowhead": Field(_or_none(_is_text), None),
    "endArrowhead": Field(_or_none(_is_text), None),
}
_OWN: Final[Mapping[str, Mapping[str, Field]]] = {
    "text": {
        "fontSize": Field(_is_above_zero, 20),
        "fontFamily": Field(_is_whole, 5),
        "text": Field(lambda value: isinstance(value, str) and value != ""),
        "originalText": Field(_is_text),
        "textAlign": Field(_one_of("left", "center", "right"), "left"),
        "verticalAlign": Field(_one_of("top", "middle", "bottom"), "top"),
        "containerId": Field(_or_none(_is_id), None),
        "autoResize": Field(_is_flag, True),
        "lineHeight": Field(_is_above_zero, 1.25),
    },
    "line": {**_LINE, "polygon": Field(_is_flag, False)},
    "arrow": {**_LINE, "endArrowhead": Field(_or_none(_is_text), "arrow"), "elbowed": Field(_is_flag, False)},
    "freedraw": {
        "points": Field(_is_points),
        "pressures": Field(_is_number_list, []),
        "simulatePressure": Field(_is_flag, True),
    },
    "image": {
        "fileId": Field(_or_none(_is_id), None),
        "status": Field(_is_name, "saved"),
        "scale": Field(_is_scale, [1, 1]),
        "crop": Field(_or_none(_is_record), None),
    },
    "frame": {"name": Field(_or_none(_is_text), None)},
    "magicframe": {"name": Field(_or_none(_is_text), None)},
}
_ELBOW: Final[Mapping[str, Field]] = {
    "fixedSegments": Field(_or_none(lambda value: isinstance(value, list) and value != []), None),
    "startIsSpecial": Field(_or_none(_is_flag), None),
    "endIsSpecial": Field(_or_none(_is_flag), None),
}
_FIELDS: Final[Mapping[str, Mapping[str, Field]]] = {kind: {**BASE, **own} for kind, own in _OWN.items()}
_ELBOW_FIELDS: Final[Mapping[str, Field]] = {**_FIELDS["arrow"], **_ELBOW}

_SIZES: Final = frozenset({"width", "height", "points"})
GEOMETRY: Final = frozenset({"x", "y", "width", "height", "angle", "points"})


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an element cannot stand in a scene. `code` is a code of `rejected`; `field` is a name of ours or empty."""

    code: str
    field: str
    text: str


def fields_of(element: Record) -> Mapping[str, Field]:
    """The fields that an element of this type must have; those of an unknown type are the base fields."""
    kind = element.get("type")
    if kind == "arrow" and element.get("elbowed") is True:
        return _ELBOW_FIELDS
    return _FIELDS.get(kind, BASE) if isinstance(kind, str) else BASE


def completed(given: Record) -> Record:
    """`given` with every absent field that has a default. Nothing that is given is changed."""
    whole: Record = {}
    for name, field in fields_of(given).items():
        if name in given:
            whole[name] = given[name]
        elif field.default is not _REQUIRED:
            whole[name] = _fresh(field)
    for name, value in given.items():
        whole.setdefault(name, value)
    return whole


def mended(given: Record) -> tuple[Record, int]:
    """`given` completed, malformed fields replaced by their defaults where there are any; and how many were."""
    whole, replaced = completed(given), 0
    for name, field in fields_of(whole).items():
        if name in whole and not field.accepts(whole[name]) and field.default is not _REQUIRED:
            whole[name] = _fresh(field)
            replaced += 1
    return whole, replaced


def problem_of(element: Record) -> Problem | None:
    """Why a complete element must not be stored; None when it may. The last guard before every commit."""
    return malformed_field(element) or _problem_as_a_whole(element)


def problem_of_changed(known: Record, element: Record, is_whole: bool) -> Problem | None:
    """`problem_of`, for an element made from one whose fields were found good: looks at those that are other values.

    `is_whole` says that `known` has no problem as a whole either, as what is stored has none.
    """
    if known.get("type") != element.get("type") or known.get("elbowed") != element.get("elbowed"):
        return problem_of(element)
    changed = _other_than(known, element)
    malformed = _malformed(changed, fields_of(element))
    return malformed or _problem_as_a_whole(element, not is_whole or not _SIZES.isdisjoint(changed))


def problem_of_mended(element: Record) -> Problem | None:
    """The same for what `mended` made of a faultless element: only what has no default can be malformed still."""
    for name, field in fields_of(element).items():
        if field.default is _REQUIRED and name in element and not field.accepts(element[name]):
            return Problem("geometry" if name in GEOMETRY else "field", name, _complaint(name))
    return _problem_as_a_whole(element)


def _problem_as_a_whole(element: Record, has_other_size: bool = True) -> Problem | None:
    for name in fields_of(element):
        if name not in element:
            return Problem("geometry" if name in GEOMETRY else "field", name, "is missing")
    if has_other_size:
        problem = _problem_of_size(element)
        if problem is not None:
            return problem
    if encoded_bytes(element) > element_bytes_max:
        return Problem("limits", "", f"it is larger than {element_bytes_max} bytes, with all that is tied to it")
    return None


def _problem_of_size(element: Record) -> Problem | None:
    if is_zero_sized(element):
        if element.get("type") in POINT_BASED:
            what = "its points are all the same; give points or a size"
            more = ", or tie it to shapes with start and end" if element.get("type") == "arrow" else ""
            return Problem("geometry", "", what + more)
        return Problem("geometry", "", "it has no size")
    if element.get("type") in ("line", "arrow") and max(size_of(points_of(element))) > line_length_max:
        return Problem("geometry", "points", f"must not reach further than {line_length_max} across or down")
    return None


def malformed_field(element: Record, known: Record | None = None) -> Problem | None:
    """The first field that is there and cannot be kept. Rules may compute with an element that has none.

    With an element of the same type that has none, only what is another value there is looked at.
    """
    return _malformed(element if known is None else _other_than(known, element), fields_of(element))


def _other_than(known: Record, element: Record) -> Record:
    return {name: value for name, value in element.items() if value is not known.get(name, _ABSENT)}


def _malformed(given: Record, fields: Mapping[str, Field]) -> Problem | None:
    fault = fault_of(given)
    if fault is not None:
        code = {"TOO_DEEP": "limits", "NOT_FINITE": "geometry"}.get(fault.name, "field")
        return Problem(code, "", f"it {fault.value}")
    for name, value in given.items():
        field = fields.get(name)
        if field is not None and not field.accepts(value):
            return Problem("geometry" if name in GEOMETRY else "field", name, _complaint(name))
    return None


def is_zero_sized(element: Record) -> bool:
    """Editors drop such elements: shapes without width and height, lines whose points are all the same."""
    if element.get("type") in POINT_BASED:
        points = points_of(element)
        return len(points) < 2 or (element.get("type") != "freedraw" and len(set(points)) < 2)
    return element.get("width") == 0 and element.get("height") == 0


def _fresh(field: Field) -> Value:
    """The default; a new list each time, so that no two elements share one."""
    default = field.default
    if isinstance(default, list):
        return list(default)
    assert default is None or isinstance(default, bool | int | float | str)
    return default


def _complaint(name: str) -> str:
    match name:
        case "x" | "y" | "angle" | "width" | "height":
            return f"must be a finite number of at most {coordinate_max}, and a size not below 0"
        case "points":
            return "must be at least two pairs of finite numbers"
        case "text":
            return "must not be empty"
        case _:
            return "does not have a value that this type of element can have"
