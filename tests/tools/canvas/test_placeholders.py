"""What of a stored scene may be shown (tools/canvas/placeholders.py)."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus.value import Record, Value, records
from tests.actors.canvas.board import board_of
from tests.support.pictures import SVG, data_url, png
from tools.canvas.placeholders import as_picture, link_of, shown_scene

HTML = "<script>fetch('https://evil.example')</script>"


def element(id_: str, type_: str = "rectangle", **more: Value) -> Record:
    return {"id": id_, "type": type_, "x": 10, "y": 20, "width": 300, "height": 80, **more}


def scene(*elements: Record, **more: Value) -> Record:
    return {"type": "excalidraw", "elements": [*elements], "files": {}, "appState": {}, **more}


@pytest.mark.parametrize("type_", ["iframe", "embeddable"])
def test_a_page_is_a_labelled_rectangle_of_the_same_id_place_and_ties(type_: str) -> None:
    """canvas 4.4: placeholders, with nothing of customData and link."""
    arrow: Record = {"id": "arrow", "type": "arrow"}
    page = element(
        "p",
        type_,
        angle=1,
        frameId="f",
        groupIds=["g"],
        link="https://evil.example",
        customData={"generationData": {"html": HTML}},
        boundElements=[arrow],
    )
    rectangle, label = records(shown_scene(scene(page)), "elements")
    assert {name: rectangle[name] for name in ("id", "x", "y", "width", "height", "angle", "frameId")} == {
        name: page[name] for name in ("id", "x", "y", "width", "height", "angle", "frameId")
    }
    assert (rectangle["type"], rectangle["link"], "customData" in rectangle) == ("rectangle", None, False)
    assert rectangle["boundElements"] == [arrow, {"id": label["id"], "type": "text"}]
    assert (label["type"], label["containerId"], label["groupIds"]) == ("text", "p", ["g"])
    assert "evil" not in json.dumps([rectangle, label]) and "not shown" in str(label["text"])


def test_the_label_of_a_placeholder_lies_within_it_and_takes_no_id_that_is_there() -> None:
    """canvas 4.4"""
    for width, height in ((300, 80), (60, 80), (300, 8)):
        page, other = element("p", "iframe") | {"width": width, "height": height}, element("p-placeholder")
        rectangle, label, _ = records(shown_scene(scene(page, other)), "elements")
        left, top, wide, high = (float(str(label[name])) for name in ("x", "y", "width", "height"))
        assert label["id"] == "p-placeholder-"
        assert left >= 10 and left + wide <= 10 + width and top >= 20 and top + high <= 20 + height
        assert {"id": label["id"], "type": "text"} in records(rectangle, "boundElements")


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("https://example.org/a?b#c", True),
        ("HTTP://example.org", True),
        ("mailto:ada@example.org", True),
        ("javascript:alert(1)", False),
        (" javascript:alert(1)", False),
        ("java\tscript:alert(1)", False),
        ("https://example.org\njavascript:alert(1)", False),
        ("https://example.org/\ufffe", False),
        ("https://example.org/\uffff", False),
        ("https://example.org/\ud800", False),
        ("https://example.org/\x85", False),
        ("https://example.org/\U0001f600", True),
        ("data:text/html,<script>1</script>", False),
        ("vbscript:x", False),
        ("file:///etc/passwd", False),
        ("//example.org", False),
        ("/relative", False),
        ("", False),
        (None, False),
        ({"href": "https://example.org"}, False),
    ],
)
def test_only_links_to_pages_and_addresses_are_left(link: Value, shown: bool) -> None:
    """canvas 4.4: links other than http, https, mailto are inert."""
    assert link_of(link) == (link if shown else None)
    (left,) = records(shown_scene(scene(element("a", link=link))), "elements")
    assert left["link"] == (link if shown else None)


@pytest.mark.parametrize(
    "colour", ["#fff", "#1e1e1e80", "transparent", "red", "rgba(1, 2, 3, 0.5)", "hsl(120deg 50% 50%)"]
)
def test_a_colour_stays_exact(colour: str) -> None:
    """canvas 4.4"""
    state: Record = {"viewBackgroundColor": colour}
    shown = shown_scene(scene(element("a", strokeColor=colour, backgroundColor=colour), appState=state))
    (left,) = records(shown, "elements")
    assert (left["strokeColor"], left["backgroundColor"], shown["appState"]) == (colour, colour, state)


@pytest.mark.parametrize(
    "colour", ["url(https://evil.example#a)", 'red" onload="x', "image-set('a')", "var(--x)", "", None, 3, "red;"]
)
def test_what_is_no_colour_in_form_is_replaced(colour: Value) -> None:
    """security 2.14: as paint it could be an address."""
    state: Record = {"viewBackgroundColor": colour}
    shown = shown_scene(scene(element("a", strokeColor=colour, backgroundColor=colour), appState=state))
    (left,) = records(shown, "elements")
    assert (left["strokeColor"], left["backgroundColor"]) == ("#1e1e1e", "transparent")
    assert shown["appState"] == {"viewBackgroundColor": "#ffffff"}


def test_only_pictures_in_base64_of_the_five_formats_are_left() -> None:
    """canvas 4.5, security 2.14"""
    good = {"p": data_url(png(1, 1)), "s": data_url(SVG, "image/svg+xml")}
    bad: list[Value] = [
        "https://evil.example/a.png",
        "data:text/html;base64,AAAA",
        "data:image/svg+xml,<svg/>",
        good["p"] + '"',
        3,
    ]
    urls: Record = {**good, **{f"b{number}": url for number, url in enumerate(bad)}}
    files: Record = {name: {"id": name, "dataURL": url} for name, url in urls.items()}
    kept = shown_scene(scene(files={**files, "odd": "no record"}))["files"]
    assert kept == {name: {"id": name, "dataURL": url} for name, url in good.items()}


def test_a_picture_shows_what_lives_and_is_known_and_nothing_else() -> None:
    """canvas 4.4: unknown types are stored and not drawn."""
    drawn = as_picture(
        scene(element("a"), element("gone", isDeleted=True), element("new", "hologram"), element("b"), note="x")
    )
    assert [one["id"] for one in records(drawn, "elements")] == ["e0", "e1"]
    assert set(drawn) == {"type", "version", "elements", "files", "appState"}


def test_ids_of_a_picture_are_plain_and_ties_lead_to_what_is_shown_or_nowhere() -> None:
    """security 2.14: ids become names inside an svg."""
    box = element('b")', boundElements=[{"id": "t", "type": "text"}, {"id": "gone", "type": "arrow"}])
    label = element("t", "text", containerId='b")', text="x", frameId="gone")
    arrow = element("a", "arrow", startBinding={"elementId": 'b")', "gap": 1}, endBinding={"elementId": "gone"})
    image = element("i", "image", fileId="f#1")
    files: Record = {"f#1": {"id": "f#1", "dataURL": data_url(png(1, 1))}}
    drawn = as_picture(scene(box, label, arrow, image, element("gone", isDeleted=True), files=files))
    first, second, third, fourth = records(drawn, "elements")
    assert [one["id"] for one in (first, second, third, fourth)] == ["e0", "e1", "e2", "e3"]
    assert first["boundElements"] == [{"id": "e1", "type": "text"}]
    assert (second["containerId"], second["frameId"], second["text"]) == ("e0", None, "x")
    assert (third["startBinding"], third["endBinding"]) == ({"elementId": "e0", "gap": 1}, None)
    assert (fourth["fileId"], drawn["files"]) == ("f0", {"f0": {"id": "f0", "dataURL": data_url(png(1, 1))}})


@pytest.mark.parametrize("name", ["checkout", "farm-legacy"])
def test_everything_else_of_a_scene_is_exact_and_the_scene_itself_stays_as_it_is(name: str) -> None:
    """canvas 4.3, 4.4"""
    whole = board_of(name).take_out()
    before = copy.deepcopy(whole)
    shown = {one["id"]: one for one in records(shown_scene(whole), "elements")}
    assert whole == before
    for one in records(whole, "elements"):
        changed = {field for field, value in one.items() if shown[one["id"]].get(field) != value}
        assert changed <= ({"link"} if one["type"] not in ("iframe", "embeddable") else {*one})


ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=9) | st.sampled_from(["url(x)", "javascript:1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("link", "strokeColor", "boundElements", "startBinding", "containerId", "fileId", "customData", "id", "width")
HOSTILE = st.fixed_dictionaries(
    {"type": st.sampled_from(["rectangle", "iframe", "embeddable", "image", "arrow", "x"])},
    optional=dict.fromkeys(FIELDS, ANY),
)


@given(st.lists(HOSTILE, max_size=4), ANY, ANY)
def test_no_scene_whatever_makes_it_fail_or_lets_an_address_through(
    elements: list[Value], files: Value, state: Value
) -> None:
    """security 2.14"""
    for shown in (shown_scene, as_picture):
        for one in records(shown({"elements": elements, "files": files, "appState": state}), "elements"):
            assert one["type"] not in ("iframe", "embeddable")
            assert "url(" not in str(one.get("strokeColor")) and "javascript:" not in str(one.get("link"))
