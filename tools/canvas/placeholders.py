"""A stored scene as it may be shown: nothing in it runs, asks outside or leads to anything but a page or an address.

Stored scenes keep what they were given (canvas 4.4); whoever draws one takes it through here first: the console's
editor, and with `as_picture` an export. Pure. The rules (canvas 4.4, security 2.14):

- An iframe or embeddable is a labelled rectangle of the same id, place and look, without customData and link.
- Links other than http, https and mailto are gone.
- A colour that is not one in form is replaced: as `url(...)` it would be an address.
- A picture is one in base64 of the five formats, or is gone; what it holds, an image element never runs.
- Text, and everything else, is exact.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from bus.value import Record, Value, records

DRAWN_TYPES: Final = frozenset(
    {
        *("rectangle", "ellipse", "diamond", "line", "arrow", "freedraw", "text", "image", "frame", "magicframe"),
        *("iframe", "embeddable"),
    }
)
"""What Excalidraw can draw, and the two that are shown as placeholders."""

_LABELS: Final = {"iframe": "Generated page, not shown", "embeddable": "Web page, not shown"}
_LABEL_EM: Final = 0.55
"""Width of a character of the labels in font sizes: a little more than they take on average."""
_LABEL_FONT_SIZE: Final = 16
_LABEL_LINE: Final = 1.25
_PADDING: Final = 10

_LINK: Final = re.compile(r"(https?|mailto):[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+", re.IGNORECASE)
"""No blanks, no controls, and nothing that XML cannot hold."""
_COLOUR: Final = re.compile(
    r"#[0-9a-f]{3,8}|[a-z]{1,30}|(rgb|hsl)a?\([0-9.,%/ +-]{1,60}(deg)?[0-9.,%/ +-]{0,60}\)", re.IGNORECASE
)
_COLOURS: Final = {"strokeColor": "#1e1e1e", "backgroundColor": "transparent"}
_DATA_URL: Final = re.compile(r"data:image/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/]*={0,2}")


def shown_scene(scene: Record) -> Record:
    """The scene for an editor: the same elements under the same ids, and labels for placeholders."""
    elements: list[Value] = []
    listed = records(scene, "elements")
    taken = {id_ for one in listed if isinstance(id_ := one.get("id"), str)}
    for element in listed:
        if element.get("type") in _LABELS:
            elements += _placeholder(element, taken)
        else:
            elements.append(_harmless(element))
    return {**scene, "elements": elements, "files": _files(scene), "appState": _background(scene)}


def as_picture(scene: Record) -> Record:
    """The scene for a picture: only what is drawn, under ids that are safe as names inside an svg."""
    drawn: list[Value] = [one for one in records(scene, "elements") if is_drawn(one)]
    shown = shown_scene({**scene, "elements": drawn})
    return _with_plain_ids(shown)


def is_drawn(element: Record) -> bool:
    """Whether a picture shows the element: it lives, and Excalidraw knows its type."""
    return element.get("isDeleted") is not True and element.get("type") in DRAWN_TYPES


def link_of(link: Value) -> str | None:
    """The link if it may be followed: http, https or mailto."""
    return link if isinstance(link, str) and _LINK.fullmatch(link) else None


def _harmless(element: Record) -> Record:
    shown = dict(element)
    if "link" in shown:
        shown["link"] = link_of(shown["link"])
    for name, otherwise in _COLOURS.items():
        if name in shown and not _is_colour(shown[name]):
            shown[name] = otherwise
    return shown


def _is_colour(value: Value) -> bool:
    return isinstance(value, str) and _COLOUR.fullmatch(value) is not None


def _placeholder(element: Record, taken: set[str]) -> list[Value]:
    """A rectangle in place of the element, and its label over it, under an id that is not taken."""
    id_ = id_ if isinstance(id_ := element.get("id"), str) else ""
    label_id = f"{id_}-placeholder"
    while label_id in taken:
        label_id += "-"
    taken.add(label_id)
    ties: list[Value] = [*records(element, "boundElements")]
    rectangle = _harmless(element)
    rectangle.pop("customData", None)
    rectangle |= {"type": "rectangle", "link": None, "boundElements": [*ties, {"id": label_id, "type": "text"}]}
    x, y, width, height = (_number(element, name) for name in ("x", "y", "width", "height"))
    words = _LABELS["iframe" if element.get("type") == "iframe" else "embeddable"]
    # The size that fits, or what is least readable: a tiny placeholder has a tiny label.
    fits = max(width - _PADDING, 1) / (len(words) * _LABEL_EM)
    size = max(1.0, min(_LABEL_FONT_SIZE, fits, max(height - _PADDING, 1) / _LABEL_LINE))
    wide, high = len(words) * _LABEL_EM * size, _LABEL_LINE * size
    common = ("angle", "groupIds", "frameId", "isDeleted", "locked", "updated", "opacity", "version", "versionNonce")
    label: Record = {name: element[name] for name in common if name in element}
    label |= {"id": label_id, "type": "text", "containerId": id_, "text": words, "originalText": words}
    label |= {"x": x + (width - wide) / 2, "y": y + (height - high) / 2, "width": wide, "height": high}
    label |= {"fontSize": size, "fontFamily": 5, "lineHeight": _LABEL_LINE, "autoResize": True}
    label |= {"textAlign": "center", "verticalAlign": "middle", "strokeColor": "#868e96"}
    label |= {"backgroundColor": "transparent", "boundElements": [], "link": None, "seed": 1}
    return [rectangle, label]


def _number(element: Record, name: str) -> float:
    value = element.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _files(scene: Record) -> Record:
    listed = scene.get("files")
    if not isinstance(listed, dict):
        return {}
    return {id_: file for id_, file in listed.items() if isinstance(file, dict) and _is_picture(file.get("dataURL"))}


def _is_picture(data_url: Value) -> bool:
    return isinstance(data_url, str) and _DATA_URL.fullmatch(data_url) is not None


def _background(scene: Record) -> Record:
    """Of what stands beside the elements only the background is part of what is seen."""
    state = scene.get("appState")
    colour = state.get("viewBackgroundColor") if isinstance(state, dict) else None
    return {"viewBackgroundColor": colour if _is_colour(colour) else "#ffffff"}


def _with_plain_ids(scene: Record) -> Record:
    """Ids as they may stand in `url(#...)` and in a selector: Excalidraw puts them there as they are."""
    elements, files = records(scene, "elements"), scene.get("files")
    assert isinstance(files, dict)
    plain = {id_: f"e{number}" for number, one in enumerate(elements) if isinstance(id_ := one.get("id"), str)}
    names = {id_: f"f{number}" for number, id_ in enumerate(files)}
    renamed: list[Value] = [_renamed(one, plain, names) for one in elements]
    kept: Record = {names[id_]: {**file, "id": names[id_]} for id_, file in files.items() if isinstance(file, dict)}
    return {"type": "excalidraw", "version": 2, "elements": renamed, "files": kept, "appState": scene.get("appState")}


def _renamed(element: Record, plain: Mapping[str, str], files: Mapping[str, str]) -> Record:
    """The element under plain ids, and no longer tied to what the picture does not show."""
    renamed = dict(element)
    for name in ("id", "containerId", "frameId"):
        if name in renamed:
            renamed[name] = _named(renamed[name], plain)
    if "fileId" in renamed:
        renamed["fileId"] = _named(renamed["fileId"], files)
    for name in ("startBinding", "endBinding"):
        binding = renamed.get(name)
        if isinstance(binding, dict):
            target = _named(binding.get("elementId"), plain)
            renamed[name] = None if target is None else {**binding, "elementId": target}
    if "boundElements" in renamed:
        bound = [(one, _named(one.get("id"), plain)) for one in records(renamed, "boundElements")]
        renamed["boundElements"] = [{**one, "id": id_} for one, id_ in bound if id_ is not None]
    return renamed


def _named(id_: Value, names: Mapping[str, str]) -> str | None:
    return names.get(id_) if isinstance(id_, str) else None
