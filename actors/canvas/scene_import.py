"""One part of a scene file as complete elements and pieces of files (canvas 4.1, 4.4, 4.5).

What other tools leave out is filled in, what they get wrong is mended; an element that no editor could show is left
out and reported. Unknown types and fields are kept. Double ids are refused: which one an arrow means is not to be
guessed. What only the whole scene can tell comes later, in mend.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from actors.canvas import fractional
from actors.canvas.as_opened import as_opened
from actors.canvas.element import fields_of, mended, problem_of_mended
from actors.canvas.geometry import POINT_BASED, as_point, number, points_of, size_of, text
from actors.canvas.outcome import Rejected
from actors.canvas.pictures import NoPicture, picture_begun, picture_goes_on
from actors.canvas.plain import encoded_bytes, fault_of, is_number
from actors.canvas.shape import with_normal_points, with_text
from bus.identifier import derived_number
from bus.limits import element_bytes_max, identifier_characters_max
from bus.value import Record, Value
from tools.canvas.scene_parts import content_bytes

_VERSION_TAKEN_MAX: Final = 2**40
_LEGACY: Final = frozenset({"boundElementIds"})  # an editor would prefer it to boundElements


@dataclass(slots=True)
class Before:
    """What the parts before this one have come to."""

    import_id: str
    """Seeds follow from it, so that a scene comes out the same however it was cut."""
    is_known: Callable[[str], bool]
    """Whether an element of that id was kept."""
    seen: int
    kept: int
    last_index: str | None
    misordered_from: int | None
    """From which kept element on the indexes are ours, because one of the scene's was missing or out of order."""
    open_file: str | None
    """The file whose next piece is expected."""
    open_file_is_left_out: bool
    pieces_of_open_file: Sequence[str]
    """Those that are kept."""
    is_known_file: Callable[[str], bool]


@dataclass(slots=True)
class PartRead:
    """What became of one part."""

    before: Before
    elements: dict[str, Record] = field(default_factory=dict)
    """By id, in the scene's order, complete but not tied yet."""
    files: dict[str, Record] = field(default_factory=dict)
    """Files that begin in this part, without their data URL."""
    pieces: list[tuple[str, int, str]] = field(default_factory=list)
    """File id, number of the piece, text."""
    left_out: list[Record] = field(default_factory=list)
    repaired: int = 0
    seen: int = 0
    element_bytes: int = 0
    file_bytes: int = 0
    """Less than nothing when a file is taken back of which earlier parts brought more."""
    taken_back: tuple[str, int] | None = None
    """A file that earlier parts began and that is not kept after all, and how many pieces they brought."""
    misordered_from: int | None = None
    last_index: str | None = None
    open_file: str | None = None
    open_file_is_left_out: bool = False
    pieces_of_open_file: int = 0
    end_of_open_file: str = ""
    """How the last of its pieces ends."""


def read_part(elements: list[Value], pieces: list[Record], before: Before) -> PartRead:
    """Raises Rejected for double ids."""
    read = PartRead(before, misordered_from=before.misordered_from, last_index=before.last_index)
    read.open_file, read.open_file_is_left_out = before.open_file, before.open_file_is_left_out
    read.pieces_of_open_file = len(before.pieces_of_open_file)
    read.end_of_open_file = before.pieces_of_open_file[-1] if before.pieces_of_open_file else ""
    for raw in elements:
        _read_element(read, before.seen + read.seen, raw)
        read.seen += 1
    for piece in pieces:
        _read_piece(read, piece)
    return read


def _read_element(read: PartRead, position: int, raw: Value) -> None:
    if not isinstance(raw, dict):
        why = f"it is not an object, or far larger than {element_bytes_max} bytes"
        read.left_out.append({"position": position, "why": why})
        return
    fault = fault_of(raw)
    id_ = raw.get("id")
    has_id = isinstance(id_, str) and 1 <= len(id_) <= identifier_characters_max
    if fault is not None:
        read.left_out.append({"position": position, "why": f"it {fault.value}"})
        return
    id_ = id_ if has_id and isinstance(id_, str) else f"imported-{position}"
    if id_ in read.elements or read.before.is_known(id_):
        raise Rejected(
            "id_taken",
            f"Two elements of the scene have the same id; the second is elements.{position}. Give one another id.",
        )
    index = _index(read, raw.get("index"))
    element, replaced = mended(_prepared({**raw, "id": id_, "index": index}, read.before.import_id))
    problem = problem_of_mended(element)
    if problem is not None:
        why = f"its field {problem.field} {problem.text}" if problem.field else problem.text
        read.left_out.append({"position": position, "id": id_, "why": why})
        return
    if index != raw.get("index"):
        read.repaired += raw.get("index") is not None
        if read.misordered_from is None:
            read.misordered_from = read.before.kept + len(read.elements)
    elif read.misordered_from is not None:
        read.repaired += 1  # it only happens to be the number that we give
    read.repaired += replaced + (not has_id)
    read.last_index = index
    read.elements[id_] = element
    read.element_bytes += encoded_bytes(element)


def _index(read: PartRead, given: Value) -> str:
    """The element's own index while all are valid and ascend; from the first that does not, its number."""
    if read.misordered_from is None and fractional.is_valid(given):
        assert isinstance(given, str)
        if read.last_index is None or read.last_index < given:
            return given
    return fractional.nth(read.before.kept + len(read.elements))


def _prepared(raw: Record, import_id: str) -> Record:
    """The element with what only its type can tell: points from its first, sizes from points, original text."""
    element: Record = as_opened({name: value for name, value in raw.items() if name not in _LEGACY})
    for name, label in (("seed", "seed"), ("versionNonce", "nonce")):
        if name not in element:
            element[name] = derived_number(import_id, f"{label}/{text(element, 'id')}")
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


def _read_piece(read: PartRead, piece: Record) -> None:
    """Raises Rejected for pieces that do not follow each other."""
    id_, words, meta = text(piece, "id"), text(piece, "text"), piece.get("meta")
    begins = "meta" in piece
    if begins == (read.open_file is not None) or (not begins and id_ != read.open_file):
        raise Rejected("field", "The pieces of a file do not follow each other.")
    if begins:
        read.pieces_of_open_file = 0
        begun = _file_begun(read, id_, meta, words)
        read.open_file_is_left_out = begun is None
        words = words if begun is None else begun
    elif not read.open_file_is_left_out and not picture_goes_on(read.end_of_open_file, words):
        _take_back(read, id_)
    if not read.open_file_is_left_out:
        read.pieces.append((id_, read.pieces_of_open_file, words))
        read.file_bytes += _piece_bytes(read.pieces_of_open_file, words)
        read.pieces_of_open_file += 1
        read.end_of_open_file = words
    read.open_file = id_ if piece.get("more") is True else None


def _piece_bytes(number: int, words: str) -> int:
    return len(words) * 3 // 4 if number else content_bytes(words)


def _take_back(read: PartRead, id_: str) -> None:
    """The file that is open is left out, with what was kept of it in this part and in earlier ones."""
    read.left_out.append({"id": id_, "why": "its file is not in base64"})
    read.open_file_is_left_out = True
    gone = [(number, words) for of, number, words in read.pieces if of == id_]
    read.pieces = [piece for piece in read.pieces if piece[0] != id_]
    if read.files.pop(id_, None) is None:  # it began earlier
        read.taken_back = (id_, len(read.before.pieces_of_open_file))
        gone += enumerate(read.before.pieces_of_open_file)
    read.file_bytes -= sum(_piece_bytes(number, words) for number, words in gone)


def _file_begun(read: PartRead, id_: str, meta: Value, words: str) -> str | None:
    """The beginning of the file's data URL as it is kept; None if the file is left out and reported."""
    is_new = id_ not in read.files and not read.before.is_known_file(id_)
    has_id = 1 <= len(id_) <= identifier_characters_max
    if not isinstance(meta, dict) or not is_new or not has_id or fault_of([id_, words, meta]) is not None:
        read.left_out.append({"why": "a file is not in the form of a scene's files"})
        return None
    if encoded_bytes(meta) > element_bytes_max:
        read.left_out.append({"id": id_, "why": "what is said of its file is too large"})
        return None
    try:
        begun = picture_begun(words)
    except NoPicture as none:
        read.left_out.append({"id": id_, "why": f"its file {none}"})
        return None
    read.files[id_] = {**meta, "id": id_, "mimeType": begun.media_type}
    return begun.words
