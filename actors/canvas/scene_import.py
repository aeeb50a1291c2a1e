"""A scene file as complete elements, files and the rest (canvas 4.1, 4.4, 4.5).

What other tools leave out is filled in, what they get wrong is mended; an element that no editor could show is left
out and reported. Unknown types and fields are kept. Double ids are refused: which one an arrow means is not to be
guessed.
"""

from __future__ import annotations

import base64
import binascii
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import orjson

from actors.canvas import fractional
from actors.canvas.element import fields_of, mended, problem_of
from actors.canvas.geometry import POINT_BASED, as_point, number, points_of, size_of, text
from actors.canvas.mend import mend_ties
from actors.canvas.outcome import Rejected
from actors.canvas.plain import encoded_bytes, fault_of, is_number
from actors.canvas.shape import with_normal_points, with_text
from bus.limits import element_bytes_max, elements_per_canvas_max, identifier_characters_max, left_out_listed_max
from bus.value import Record, Value
from tools.errors import Code, Refusal, invalid_arguments

_READ_ELSEWHERE: Final = frozenset({"elements", "files", "type", "version", "source"})
_VERSION_TAKEN_MAX: Final = 2**40
_LEGACY: Final = frozenset({"boundElementIds"})  # an editor would prefer it to boundElements
_PICTURES: Final = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")


@dataclass(slots=True)
class Imported:
    """What became of a scene that was read: its elements, its files, and what was mended or left out."""

    elements: dict[str, Record] = field(default_factory=dict)
    """By id, in the scene's order, complete and tied."""
    files: dict[str, Record] = field(default_factory=dict)
    rest: Record = field(default_factory=dict)
    left_out: list[Record] = field(default_factory=list)
    repaired: int = 0

    def report(self) -> Record:
        listed: list[Value] = [*self.left_out[:left_out_listed_max]]
        return {
            "elementCount": len(self.elements),
            "repairedCount": self.repaired,
            "leftOutCount": len(self.left_out),
            "leftOut": listed,
        }


def scene_from_text(content: str, path: str) -> Record | Refusal:
    """The scene in the text of a file. Line ends and a byte order mark do not matter."""
    try:
        scene = orjson.loads(content.removeprefix("\ufeff"))
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return invalid_arguments({path: "is not JSON; give the content of an .excalidraw file"})
    return scene if isinstance(scene, dict) else invalid_arguments({path: "is not a JSON object"})


def read_scene(scene: Record, path: str, bytes_max: int, number_for: Callable[[str], int]) -> Imported | Refusal:
    """`number_for` derives seeds. Raises Rejected for double ids and for more elements than a canvas holds."""
    elements = scene.get("elements")
    if not isinstance(elements, list):
        return invalid_arguments({f"{path}.elements": "must be a list: this is no Excalidraw scene"})
    if len(elements) > elements_per_canvas_max:
        raise Rejected("limits", f"The scene has more than {elements_per_canvas_max} elements.")
    imported = Imported()
    for position, raw in enumerate(elements):
        _read_element(imported, position, raw, number_for)
    _number_anew_if_needed(imported)
    imported.repaired += mend_ties(imported.elements)
    _read_files(imported, scene.get("files"))
    imported.rest = {
        name: value for name, value in scene.items() if name not in _READ_ELSEWHERE and fault_of(value) is None
    }
    if any(encoded_bytes(element) > element_bytes_max for element in imported.elements.values()):
        raise Rejected("limits", f"An element with all that is tied to it is larger than {element_bytes_max} bytes.")
    if _total_bytes(imported) > bytes_max:
        message = "The scene is larger than can be taken in. Split it, or leave out large pictures."
        return Refusal(Code.TOO_LARGE, message, details={"limit": bytes_max})
    return imported


def _read_element(imported: Imported, position: int, raw: Value, number_for: Callable[[str], int]) -> None:
    if not isinstance(raw, dict):
        imported.left_out.append({"position": position, "why": "it is not an object"})
        return
    fault = fault_of(raw)
    id_ = raw.get("id")
    has_id = isinstance(id_, str) and 1 <= len(id_) <= identifier_characters_max
    if fault is not None:
        imported.left_out.append({"position": position, "why": f"it {fault.value}"})
        return
    id_ = id_ if has_id and isinstance(id_, str) else f"imported-{position}"
    if id_ in imported.elements:
        raise Rejected("id_taken", f"Two elements of the scene have the same id; the second is elements.{position}.")
    element = _prepared({**raw, "id": id_, "index": raw.get("index")}, number_for)
    malformed_index = not fractional.is_valid(element["index"])
    element, replaced = mended(element)
    problem = problem_of({**element, "index": fractional.FIRST} if malformed_index else element)
    if problem is not None:
        why = f"its field {problem.field} {problem.text}" if problem.field else problem.text
        imported.left_out.append({"position": position, "id": id_, "why": why})
        return
    imported.repaired += replaced + (not has_id)
    imported.elements[id_] = element


def _prepared(raw: Record, number_for: Callable[[str], int]) -> Record:
    """The element with what only its type can tell: points from its first, sizes from points, original text."""
    element: Record = {name: value for name, value in raw.items() if name not in _LEGACY}
    element.setdefault("seed", number_for(f"seed/{text(element, 'id')}"))
    element.setdefault("versionNonce", number_for(f"nonce/{text(element, 'id')}"))
    version = element.get("version")
    if is_number(version) and version > _VERSION_TAKEN_MAX:
        element.pop("version")  # it must have room to rise
    if "points" in fields_of(element):
        return _with_points(element)
    for edge, length in (("x", "width"), ("y", "height")):
        size, at = element.get(length), element.get(edge)
        if is_number(size) and is_number(at) and size < 0:
            element[edge], element[length] = at + size, -size
    if element.get("type") == "text":
        for name in ("text", "originalText"):
            if not isinstance(element.get(name), str):
                element.pop(name, None)
        if "text" not in element and text(element, "originalText"):
            element["text"] = element["originalText"]
        element = with_text(element) if "text" in element else element
    return element


def _with_points(element: Record) -> Record:
    listed = element.get("points")
    if not isinstance(listed, list) or len(listed) < 2 or any(as_point(item) is None for item in listed):
        return element  # left out by the check that follows
    if element.get("type") not in POINT_BASED or not (is_number(element.get("x")) and is_number(element.get("y"))):
        return element
    points = points_of(element)
    if points[0] != (0, 0):
        return with_normal_points(element)
    width, height = size_of(points)
    for name, size in (("width", width), ("height", height)):
        if not is_number(element.get(name)) or number(element, name) < 0:
            element[name] = size
    return element


def _number_anew_if_needed(imported: Imported) -> None:
    """The order of the list is the truth: indexes are kept only when all are valid and say the same."""
    indexes = [element["index"] for element in imported.elements.values()]
    are_valid = all(map(fractional.is_valid, indexes))
    if are_valid and all(str(one) < str(above) for one, above in itertools.pairwise(indexes)):
        return
    numbered = fractional.ascending(len(indexes))
    for (id_, element), index in zip(list(imported.elements.items()), numbered, strict=True):
        imported.elements[id_] = {**element, "index": index}
    imported.repaired += sum(index is not None for index in indexes)


def _read_files(imported: Imported, files: Value) -> None:
    for id_, file in files.items() if isinstance(files, dict) else []:
        if not isinstance(file, dict) or fault_of(file) is not None or not 1 <= len(id_) <= identifier_characters_max:
            imported.left_out.append({"why": "a file is not in the form of a scene's files"})
        elif not is_picture(text(file, "dataURL")):
            imported.left_out.append({"id": id_, "why": "its file is not a png, jpeg, gif, webp or svg picture"})
        else:
            imported.files[id_] = {**file, "id": id_}


def is_picture(data_url: str) -> bool:
    """Whether a data URL holds one of the picture formats that scenes may have, judged by its content."""
    kind, comma, content = data_url.partition(",")
    if not comma or not kind.startswith("data:"):
        return False
    if kind.startswith("data:image/svg+xml"):
        return True  # only ever drawn as an image (canvas 4.5)
    try:
        start = base64.b64decode(content[:64], validate=False)
    except (binascii.Error, ValueError):
        return False
    return start.startswith(_PICTURES) or (start.startswith(b"RIFF") and start[8:12] == b"WEBP")


def _total_bytes(imported: Imported) -> int:
    parts: list[Value] = [imported.rest, *imported.files.values()]
    return sum(map(encoded_bytes, parts)) + sum(map(encoded_bytes, imported.elements.values()))
