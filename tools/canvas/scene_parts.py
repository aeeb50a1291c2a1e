"""A scene on its way in or out: cut into parts that each fit one message, and put together again. Pure.

A part is `{"elements": [...]}`, in the scene's order, or `{"pieces": [{id, meta?, text, more}]}`: files whose data URL
is cut as well, the first piece with the file's other fields. What stands beside both, `rest`, goes with the
announcement. The canvas owner takes in what `parts_of` makes and gives out the same (canvas 4.5). A part of an earlier
revision may also say `absent`: ids of elements that were not there then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import orjson

from bus.limits import element_bytes_max, part_bytes_max, part_elements_max
from bus.value import Record, Value, records

ELSEWHERE: Final = frozenset({"elements", "files", "type", "version", "source"})
"""Top-level fields of a file that are no part of its rest."""
_PIECE_CHARACTERS: Final = part_bytes_max // 4  # a character may take 4 bytes
_ELEMENT_SLACK: Final = 4
"""An element is sent on when it is a few times too large still: its owner says what is wrong with it."""


def announcement_of(scene: Record) -> Record:
    """What is said of a scene before its parts: counts, sizes in bytes, and the rest."""
    elements, files = _elements(scene), _files(scene)
    return {
        "elements": len(elements),
        "elementBytes": sum(map(encoded_bytes, elements)),
        "fileBytes": sum(content_bytes(_data_url(file)) for file in files.values()),
        "rest": {name: value for name, value in scene.items() if name not in ELSEWHERE},
    }


def parts_of(scene: Record) -> Iterator[Record]:
    """Every element and file, in parts of at most `part_elements_max` elements and about `part_bytes_max` bytes."""
    for elements in _batches(map(_sendable, _elements(scene))):
        yield {"elements": elements}
    for pieces in _batches(pieces_of(_files(scene))):
        yield {"pieces": pieces}


def part_of_past(revisions: Iterable[Record]) -> Record:
    """What revisions, newest first, found when they were made, as a part: of each element the oldest (canvas 4.6).

    `revisions` are those of canvas_history with `elements`.
    """
    found: dict[str, Value] = {}
    for revision in revisions:
        for item in records(revision, "elements"):
            found[str(item["id"])] = item["before"]
    elements: list[Value] = [before for before in found.values() if before is not None]
    absent: list[Value] = [id_ for id_, before in found.items() if before is None]
    return {"elements": elements, "absent": absent}


def pieces_of(files: Record) -> Iterator[Record]:
    """Each file, cut. What is no file's form goes as it is."""
    for id_, file in files.items():
        if not isinstance(file, dict):
            yield {"id": id_, "meta": None, "text": "", "more": False}
            continue
        text = _data_url(file)
        meta: Value = {name: value for name, value in file.items() if name not in ("dataURL", "id")}
        cuts = range(0, max(len(text), 1), _PIECE_CHARACTERS)
        for at in cuts:
            piece: Record = {"id": id_, "text": text[at : at + _PIECE_CHARACTERS], "more": at != cuts[-1]}
            yield {**piece, "meta": meta} if at == 0 else piece


def content_bytes(data_url: str) -> int:
    """About how many bytes the data URL holds."""
    kind, _, content = data_url.partition(",")
    return len(content) * 3 // 4 if kind.endswith(";base64") else len(content)


def encoded_bytes(value: Value) -> int:
    """Size as JSON; of what JSON cannot carry, about."""
    try:
        return len(orjson.dumps(value))
    except (TypeError, ValueError, RecursionError):
        return len(repr(value)) if not isinstance(value, dict | list) else part_bytes_max


@dataclass(slots=True)
class Joined:
    """Parts put together to a scene again. An element that comes once more takes the place of what came before."""

    elements: dict[str, Record] = field(default_factory=dict)
    files: dict[str, Value] = field(default_factory=dict)
    _texts: list[str] = field(default_factory=list)
    _meta: Record = field(default_factory=dict)

    def add(self, part: Record) -> None:
        elements, pieces = part.get("elements"), part.get("pieces")
        for element in elements if isinstance(elements, list) else []:
            if isinstance(element, dict):
                self.elements[str(element["id"])] = element
        absent = part.get("absent")
        for id_ in absent if isinstance(absent, list) else []:
            self.elements.pop(str(id_), None)
        for piece in pieces if isinstance(pieces, list) else []:
            if isinstance(piece, dict):
                self._add_piece(piece)

    def _add_piece(self, piece: Record) -> None:
        meta = piece.get("meta")
        if isinstance(meta, dict):
            self._meta, self._texts = meta, []
        self._texts.append(str(piece["text"]))
        if piece.get("more") is not True:
            id_ = str(piece["id"])
            self.files[id_] = {**self._meta, "id": id_, "dataURL": "".join(self._texts)}

    def scene(self, rest: Record, with_deleted: bool = False) -> Record:
        """The whole file, lowest element first."""
        kept = [one for one in self.elements.values() if with_deleted or one.get("isDeleted") is not True]
        elements: list[Value] = [*sorted(kept, key=lambda one: (str(one["index"]), str(one["id"])))]
        files: dict[str, Value] = self.files
        return {
            "type": "excalidraw",
            "version": 2,
            "source": "nexus",
            "elements": elements,
            "appState": {"viewBackgroundColor": "#ffffff"},
            **rest,
            "files": files,
        }


def _elements(scene: Record) -> list[Value]:
    elements = scene.get("elements")
    return elements if isinstance(elements, list) else []


def _files(scene: Record) -> Record:
    files = scene.get("files")
    return files if isinstance(files, dict) else {}


def _data_url(file: Value) -> str:
    url = file.get("dataURL") if isinstance(file, dict) else None
    return url if isinstance(url, str) else ""


def _sendable(element: Value) -> Value:
    """An element that no canvas can hold and no message carries goes as nothing, so that it is reported."""
    return element if encoded_bytes(element) <= element_bytes_max * _ELEMENT_SLACK else None


def _batches(items: Iterable[Value]) -> Iterator[list[Value]]:
    batch: list[Value] = []
    size = 0
    for item in items:
        more = encoded_bytes(item)
        if batch and (len(batch) == part_elements_max or size + more > part_bytes_max):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += more
    if batch:
        yield batch
