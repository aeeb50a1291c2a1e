"""What an editor did to a scene when it took it in, compared with what NEXUS wrote (canvas 4.1). Pure.

Nothing may be dropped, reordered or changed, but for what an editor does to any scene:

- version, versionNonce and updated are its own, and it may number the elements anew as long as their order stays;
- an empty `boundElements` may be null or a list;
- a field that it knows and the scene does not have comes back as null;
- what it does not know is lost: elements of unknown types, unknown fields, the other editors' fields of a binding;
- a link that is none of the web's or mail's, or holds blanks or quotes, is made safe;
- main fills in what it has added since the release, and renames arrowheads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from actors.canvas.element import fields_of
from bus.value import Record, Value

KNOWN_TYPES: Final = frozenset(
    {
        *("rectangle", "diamond", "ellipse", "arrow", "line", "freedraw", "text", "image", "frame", "magicframe"),
        *("iframe", "embeddable"),
    }
)
_ITS_OWN: Final = frozenset({"version", "versionNonce", "updated", "index"})
_BINDINGS: Final = ("startBinding", "endBinding")
_ARROWHEADS: Final = ("startArrowhead", "endArrowhead")
_ADDED: Final = frozenset({"strokeOptions"})
"""Fields of main that the release does not have; their defaults are not null."""

_RENAMED: Final = {
    "dot": "circle",
    "crowfoot_one": "cardinality_one",
    "crowfoot_many": "cardinality_many",
    "crowfoot_one_or_many": "cardinality_one_or_many",
}
"""Arrowheads: the release's name, main's name."""


def repairs(written: Sequence[Record], taken: Sequence[Record]) -> list[str]:
    """Each difference that counts, in words; none for a scene that was right."""
    by_id = {str(element["id"]): element for element in taken}
    known = [element for element in written if element["type"] in KNOWN_TYPES]
    found = [f"{_name(element)} was dropped" for element in known if str(element["id"]) not in by_id]
    there = [str(element["id"]) for element in known if str(element["id"]) in by_id]
    if there != list(by_id):
        found.append(f"the order was {there} and became {list(by_id)}")
    for element in known:
        if str(element["id"]) in by_id:
            found += _changes(element, by_id[str(element["id"])])
    return found


def _changes(written: Record, taken: Record) -> Iterator[str]:
    for field in sorted(written.keys() | taken.keys() - _ITS_OWN):
        before, after = written.get(field), taken.get(field)
        if field in _ITS_OWN or _is_same(field, before, after):
            continue
        if field not in fields_of(written) and (field not in taken or field in _ADDED - written.keys()):
            continue
        yield f"{_name(written)}: {field} was {before!r} and became {after!r}"


def _is_same(field: str, before: Value, after: Value) -> bool:
    if field == "boundElements" and not before:
        return not after
    if field in _BINDINGS and isinstance(before, Mapping) and isinstance(after, Mapping):
        # Each editor keeps its own form of a binding; both name the target.
        return "elementId" in after and all(before.get(name) == after[name] for name in after)
    if (
        field == "link"
        and isinstance(before, str)
        and (before != before.strip() or '"' in before or not _is_web(before))
    ):
        return True
    if field in _ARROWHEADS and isinstance(before, str):
        return after in (before, _RENAMED.get(before))
    return before == after


def _is_web(link: str) -> bool:
    return link.startswith(("http://", "https://", "mailto:"))


def _name(element: Record) -> str:
    return f"the {element['type']!s} {element['id']!s}"
