"""What a draft would change, told for a person: what each element was, and what things are called.

Goes with the elements as they would be (standing.py); `nexus canvas proposals` makes sentences of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from actors.canvas.bindings import label_of
from actors.canvas.draft import Draft
from actors.canvas.element import FRAMES, fields_of
from actors.canvas.geometry import text
from actors.canvas.plain import encoded_bytes, same
from actors.canvas.ties import SIDES, target_id
from bus.limits import proposal_names_bytes_max, proposal_was_bytes_max
from bus.value import Record, Value

_ALWAYS: Final = frozenset({"version", "versionNonce", "updated", "index", "seed"})
"""Changed with every change, or of no meaning to a person."""
_NAME_CHARACTERS_MAX: Final = 120


def changes_of(draft: Draft) -> Record:
    """`changes`: in the order of the draft's elements {id, isNew, was, unknownFields}, `was` being the former values of
    fields that differ, null for one that was not there; and `names`: by id the words of labels, texts and frames.
    Both are bounded: the first ones are told (canvas 3.4).
    """
    room, changes = proposal_was_bytes_max, list[Value]()
    for id_ in draft.changed_ids():
        change = _change(draft, id_)
        room -= encoded_bytes(change) + 1
        if room < 0:
            break
        changes.append(change)
    return {"changes": changes, "names": _names(draft, draft.changed_ids())}


def unknown_fields(element: Record, names: Iterable[str]) -> list[str]:
    """Those of the names that no editor knows for this type of element."""
    known = fields_of(element)
    return [name for name in names if name not in known]


def _change(draft: Draft, id_: str) -> Record:
    before, after = draft.before(id_), draft.now(id_)
    assert after is not None
    was: Record = {}
    if before is not None:
        for name in dict.fromkeys((*before, *after)):
            old, new = before.get(name), after.get(name)
            if name not in _ALWAYS and not (old == new and same(old, new)):
                was[name] = old
    unknown: list[Value] = [*unknown_fields(after, after if before is None else was)]
    return {"id": id_, "isNew": before is None, "was": was, "unknownFields": unknown}


def _names(draft: Draft, ids: Iterable[str]) -> Record:
    room, names = proposal_names_bytes_max, Record()
    for id_ in dict.fromkeys(_spoken_of(draft, ids)):
        words = _words(draft, draft.now(id_) or {})[:_NAME_CHARACTERS_MAX]
        if not words:
            continue
        room -= encoded_bytes({id_: words})
        if room < 0:
            break
        names[id_] = words
    return names


def _spoken_of(draft: Draft, ids: Iterable[str]) -> Iterator[str]:
    """Each element, and what it is tied to before or after."""
    for id_ in ids:
        yield id_
        for element in (draft.before(id_), draft.now(id_)):
            if element is not None:
                yield from filter(None, (target_id(element, side) for side in SIDES))
                yield from filter(None, (text(element, "containerId"), text(element, "frameId")))


def _words(draft: Draft, element: Record) -> str:
    if element.get("type") == "text":
        return text(element, "originalText") or text(element, "text")
    if element.get("type") in FRAMES:
        return text(element, "name")
    before = draft.before(text(element, "id"))
    label = label_of(draft, element) if element else None
    if label is None and before is not None:
        label = _listed_text(draft, before)
    return "" if label is None else text(label, "originalText") or text(label, "text")


def _listed_text(draft: Draft, before: Record) -> Record | None:
    """The label that it had, of one that is deleted with it."""
    bound = before.get("boundElements")
    for item in bound if isinstance(bound, list) else []:
        if isinstance(item, dict) and item.get("type") == "text":
            return draft.before(text(item, "id"))
    return None
