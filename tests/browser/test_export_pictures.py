"""Exports as svg and png by Excalidraw itself in a real Chromium (nexus/picture_engine.py, actors/engines/browser)."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import psutil
import pytest

from actors.engines.browser.chromium import NoBrowser, flags, found_browser, runs_as_root
from bus.limits import browser_start_ms_max, export_memory_bytes_max, picture_side_pixels_max
from bus.value import Record, Value
from nexus import picture_engine, picture_folder
from nexus.console.bundle import BundleMissing, bundle_folder
from nexus.picture_engine import Picture, PictureFailed, Wanted, drawn
from tests.actors.canvas.board import board_of
from tests.support.counting_server import CountingServer
from tests.support.pictures import SVG, data_url, png
from tests.support.waiting import eventually
from tools.canvas.placeholders import as_picture

SVG_NAME = "{http://www.w3.org/2000/svg}"
SVG_WANTED = Wanted("svg", None, True)
PNG_WANTED = Wanted("png", None, True)


@pytest.fixture(scope="module", autouse=True)
def _possible() -> None:
    try:
        found_browser()
    except NoBrowser as missing:
        pytest.skip(str(missing))
    try:
        bundle_folder()
    except BundleMissing as missing:
        assert "npm registry" in str(missing), missing
        pytest.skip(str(missing))


@pytest.fixture
def server() -> Iterator[CountingServer]:
    with CountingServer() as started:
        yield started


def picture(elements: list[Record], files: Record | None = None, wanted: Wanted = SVG_WANTED, **more: Value) -> Picture:
    scene: Record = {"type": "excalidraw", "elements": [*elements], "files": files or {}, **more}
    return drawn(as_picture(scene), wanted, bundle_folder())


def element(id_: str, type_: str = "rectangle", **more: Value) -> Record:
    return {"id": id_, "type": type_, "x": 0, "y": 0, "width": 200, "height": 100, **more}


def words(id_: str, said: str, **more: Value) -> Record:
    fonts: Record = {"fontSize": 20, "fontFamily": 5, "textAlign": "left", "verticalAlign": "top", "lineHeight": 1.25}
    return element(id_, "text", text=said, originalText=said, containerId=None, **{**fonts, **more})


def image(id_: str, file_id: str) -> Record:
    return element(id_, "image", fileId=file_id, status="saved", scale=[1, 1])


def first_pixel(content: bytes) -> tuple[int, ...]:
    """Of the first row, every filter leaves the first pixel as it is."""
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    at, packed, colour = 8, b"", -1
    while at < len(content):
        length = int.from_bytes(content[at : at + 4], "big")
        kind, data = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        colour = data[9] if kind == b"IHDR" else colour
        packed += data if kind == b"IDAT" else b""
        at += 12 + length
    return tuple(zlib.decompress(packed)[1 : 1 + (4 if colour == 6 else 3)])


def png_size(content: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def opened_in_chromium(file: Path, folder: Path) -> None:
    """What a person does with an exported svg: open it as a document of its own."""
    command = [str(found_browser().program), "--headless=new", *flags(runs_as_root()), f"--user-data-dir={folder}"]
    command += ["--timeout=3000", "--dump-dom", file.as_uri()]
    environment = {**os.environ, "HOME": str(folder)}
    subprocess.run(
        command, check=True, timeout=60, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )


@pytest.mark.parametrize("name", ["checkout", "farm-legacy"])
def test_an_svg_shows_the_whole_scene_with_its_fonts_and_asks_nothing_outside(name: str) -> None:
    """canvas 4.5, security 2.14"""
    scene = board_of(name).take_out()
    made = drawn(as_picture(scene), SVG_WANTED, bundle_folder())
    assert (made.refused_requests, made.complaints) == (0, 0)
    root = ElementTree.fromstring(made.content)
    assert root.tag == f"{SVG_NAME}svg"
    shown = {one.text for one in root.iter(f"{SVG_NAME}text") if one.text}
    elements = scene["elements"]
    assert isinstance(elements, list)
    live = [one for one in elements if isinstance(one, dict) and one.get("isDeleted") is not True]
    said = {line for one in live if one["type"] == "text" for line in str(one["text"]).split("\n") if line}
    assert said and said <= shown
    style = root.find(f".//{SVG_NAME}style")
    assert style is not None and style.text is not None
    assert "@font-face" in style.text and style.text.count("url(") == style.text.count("url(data:font/woff2;base64,")
    # Fonts are cut down to the characters that are there.
    assert len(style.text) < 60_000


def test_a_png_is_as_large_as_its_scale_says_and_has_a_background_or_none() -> None:
    """canvas 4.5"""
    box = [element("a", backgroundColor="#ff0000", fillStyle="solid")]
    state: Record = {"viewBackgroundColor": "#102030"}
    once = picture(box, wanted=PNG_WANTED, appState=state)
    assert (png_size(once.content), first_pixel(once.content)[:3]) == ((220, 120), (0x10, 0x20, 0x30))
    twice = picture(box, wanted=Wanted("png", 2, False), appState=state)
    assert (png_size(twice.content), first_pixel(twice.content)) == ((440, 240), (0, 0, 0, 0))


def test_a_png_that_no_browser_could_make_is_made_smaller_or_refused_if_its_scale_was_asked_for() -> None:
    """canvas 4.5: clear refusal"""
    wide = [element("a"), element("b", x=40_000)]
    made = picture(wide, wanted=PNG_WANTED)
    assert png_size(made.content)[0] <= picture_side_pixels_max and made.scale < 1
    with pytest.raises(PictureFailed, match="smaller --scale"):
        picture(wide, wanted=Wanted("png", 1, True))


def labelled_arrow(number: int, length: float, **more: Value) -> list[Record]:
    id_ = f"a{number}"
    points: Value = [[0, 0], [length, 0]]
    label = words(f"{id_}t", "calls", x=length / 2 - 25, y=number * 30 - 12, width=50, height=25)
    arrow = element(id_, "arrow", points=points, y=number * 30, width=length, height=0, endArrowhead="arrow", seed=1)
    tied: Record = {**arrow, "boundElements": [{"id": f"{id_}t", "type": "text"}], **more}
    return [tied, {**label, "containerId": id_}]


def test_a_png_of_many_long_arrows_with_labels_takes_no_more_memory_than_its_pixels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """canvas 4.5, security 2.19: drawn each on a canvas of its own, these take 100 MB each."""
    monkeypatch.setattr(picture_engine, "export_memory_bytes_max", 1024 * 1024 * 1024)
    arrows = [part for number in range(60) for part in labelled_arrow(number, 5_000)]
    assert png_size(picture(arrows, wanted=PNG_WANTED).content)[0] >= 5_000


def test_the_place_of_an_arrows_label_is_clipped_and_not_masked() -> None:
    """canvas 4.5: a mask has no extent around a straight arrow without heads, which was gone."""
    root = ElementTree.fromstring(picture(labelled_arrow(0, 300, endArrowhead=None, roughness=0)).content)
    assert root.find(f".//{SVG_NAME}mask") is None
    (clip,) = root.iter(f"{SVG_NAME}clipPath")
    assert [one.get("clip-path") for one in root.iter(f"{SVG_NAME}g") if one.get("clip-path")] == [
        f"url(#{clip.get('id')})"
    ]


def test_text_that_no_xml_may_hold_still_makes_an_svg_that_opens_and_a_picture_of_svg_text_alone_is_kept() -> None:
    """canvas 4.3, 4.5"""
    file: Record = {"id": "f", "mimeType": "image/svg+xml", "dataURL": data_url(SVG, "image/svg+xml")}
    made = picture([words("a", "a\u00a0b & <c> \x01 \U0001f600"), {**image("b", "f"), "y": 200}], {"f": file})
    root = ElementTree.fromstring(made.content)
    shown = [one.text for one in root.iter(f"{SVG_NAME}text")]
    assert shown == ["a\u00a0b & <c> \ufffd \U0001f600"]
    assert [one.get("href") for one in root.iter(f"{SVG_NAME}image")] == [file["dataURL"]]


@pytest.mark.parametrize("broken", ["\x01", "\ufffe", "\uffff"])
def test_no_text_link_name_or_title_makes_an_svg_that_does_not_open(broken: str) -> None:
    """canvas 4.3, 4.4, 4.5: what XML cannot hold, wherever a picture shows or keeps it."""
    linked: Record = {"link": f"https://a.example/{broken}", "customData": {"said": broken}, "groupIds": [broken]}
    elements = [
        words("a", f"x{broken}y", name=f"n{broken}", **linked),
        element(f"f{broken}", "frame", y=200, name=f"frame{broken}", title=f"t{broken}", **linked),
        {**element(f"r{broken}", y=220, frameId=f"f{broken}"), **linked},
        {**element("e", "embeddable", y=400), **linked},
    ]
    root = ElementTree.fromstring(picture(elements, name=f"scene{broken}").content)
    shown = "".join(one.text or "" for one in root.iter(f"{SVG_NAME}text"))
    assert "x\ufffdy" in shown and "frame\ufffd" in shown
    assert [*root.iter(f"{SVG_NAME}a")] == [], "a link with a character that no address has is inert"
    # Even past the placeholders, should they let one by.
    raw: Record = {"elements": [{**element("r"), **linked}], "files": {}, "appState": {}}
    (link,) = ElementTree.fromstring(drawn(raw, SVG_WANTED, bundle_folder()).content).iter(f"{SVG_NAME}a")
    kept = "" if broken == "\x01" else "\ufffd"  # controls the editor itself takes out
    assert link.get("href") == f"https://a.example/{kept}"


def test_pages_are_placeholders_and_only_harmless_links_are_left(server: CountingServer) -> None:
    """canvas 4.4, security 2.14"""
    html = f"<script>fetch('{server.url}/script')</script><img src='{server.url}/image'>"
    made = picture(
        [
            element("i", "iframe", customData={"generationData": {"status": "done", "html": html}}),
            element("e", "embeddable", y=200, link=f"{server.url}/embedded"),
            element("j", y=400, link="javascript:fetch('/x')"),
            element("d", y=600, link="data:text/html,<script>1</script>"),
            element("h", y=800, link="https://example.org/plan"),
            element("c", y=1000, strokeColor=f"url({server.url}/paint#a)", backgroundColor=f"url({server.url}/b)"),
            element("quote'\"><script>", y=1200, strokeColor='red" onload="fetch(1)'),
        ]
    )
    content = made.content.decode()
    root = ElementTree.fromstring(content)
    assert [one.text for one in root.iter(f"{SVG_NAME}text")] == ["Generated page, not shown", "Web page, not shown"]
    assert [one.get("href") for one in root.iter(f"{SVG_NAME}a")] == ["https://example.org/plan"]
    for forbidden in ("<script", "foreignObject", "iframe", "javascript:", "onload", server.url):
        assert forbidden not in content
    assert (server.paths, made.refused_requests) == ([], 0)


HOSTILE_SVG = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="90"
 height="90" onload="fetch('{url}/onload')"><style>@import url("{url}/import"); rect {{ fill: url("{url}/fill#a"); }}
 @font-face {{ font-family: f; src: url("{url}/font"); }} text {{ font-family: f; }}</style>
<script>fetch("{url}/script"); new Image().src = "{url}/beacon"</script><script href="{url}/source"/>
<image href="{url}/image" width="9" height="9"/><image xlink:href="{url}/old-image" width="9" height="9"/>
<use href="{url}/use#a"/><rect width="9" height="9" filter="url({url}/filter#a)"/><text y="50">a</text>
<foreignObject width="90" height="90"><iframe xmlns="http://www.w3.org/1999/xhtml" src="{url}/frame"/>
<img xmlns="http://www.w3.org/1999/xhtml" src="{url}/html-image"/></foreignObject></svg>"""


@pytest.mark.parametrize("wanted", [SVG_WANTED, PNG_WANTED], ids=["svg", "png"])
def test_a_hostile_svg_picture_neither_runs_nor_asks_outside_when_it_is_drawn_or_opened(
    wanted: Wanted, server: CountingServer, tmp_path: Path
) -> None:
    """canvas 4.5, security 2.14: SVG is only ever drawn as an image."""
    hostile = HOSTILE_SVG.format(url=server.url)
    file = {"mimeType": "image/svg+xml", "id": "f", "dataURL": data_url(hostile.encode(), "image/svg+xml")}
    made = picture([image("a", "f")], {"f": file}, wanted)  # type: ignore[dict-item]
    assert (server.paths, made.refused_requests, made.complaints) == ([], 0, 0)
    if wanted is PNG_WANTED:
        return
    out = tmp_path / "out.svg"
    out.write_bytes(made.content)
    opened_in_chromium(out, tmp_path / "profile")
    assert server.paths == []
    # The same picture as a document of its own does ask, so that silence above means something.
    out.write_text(hostile)
    opened_in_chromium(out, tmp_path / "profile")
    assert "/script" in server.paths and "/image" in server.paths


def test_a_png_shows_a_picture_that_has_a_page_in_it_as_one_that_has_none() -> None:
    """canvas 4.5: Chromium lets no pixel of such a picture be read, unless it came by a data: URL."""
    shown = []
    page = b"<foreignObject width='9' height='9'/></svg>"
    for content in (SVG, SVG.replace(b"</svg>", page), SVG.replace(b"red", b"#00f")):
        file: Record = {"id": "f", "mimeType": "image/svg+xml", "dataURL": data_url(content, "image/svg+xml")}
        shown.append(picture([image("a", "f")], {"f": file}, PNG_WANTED).content)
    plain, with_page, blue = shown
    assert with_page == plain != blue


def test_a_picture_with_an_address_for_its_data_is_never_asked_for(server: CountingServer) -> None:
    """security 2.14: whatever a stored scene holds, also one of an older release."""
    files: Record = {"f": {"id": "f", "mimeType": "image/png", "dataURL": f"{server.url}/picture.png"}}
    raw: Record = {"elements": [element("r"), image("a", "f")], "files": files}
    assert server.url.encode() not in drawn(as_picture(raw), SVG_WANTED, bundle_folder()).content
    for wanted in (SVG_WANTED, PNG_WANTED):  # even past the placeholders
        try:
            assert drawn(raw, wanted, bundle_folder()).refused_requests == 0
        except PictureFailed as refused:
            assert "outside" in str(refused)
    assert server.paths == []


def test_pictures_that_unpack_to_gigabytes_are_drawn_or_refused_within_the_memory_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """security 2.19: each picture of the largest size that is let in, forty at once."""
    peak = 0
    measured = picture_engine._memory_bytes

    def watched(pid: int) -> int:
        nonlocal peak
        peak = max(peak, measured(pid))
        return measured(pid)

    monkeypatch.setattr(picture_engine, "_memory_bytes", watched)
    bomb = png(8_192, 8_192)
    assert len(bomb) < 20_000
    names = [f"f{number}" for number in range(40)]
    files: Record = {name: {"id": name, "mimeType": "image/png", "dataURL": data_url(bomb)} for name in names}
    elements = [{**image(f"i{name}", name), "x": 210 * number} for number, name in enumerate(names)]
    try:
        made = picture(elements, files, PNG_WANTED)
    except PictureFailed as refused:
        assert "memory" in str(refused)
    else:
        assert png_size(made.content) == (8_410, 120)
    assert 0 < peak < 2 * export_memory_bytes_max


def engines() -> set[int]:
    """What runs here beside the tests' own: not below those, since their browser has new processes when it likes."""
    return {one.pid for one in psutil.Process().children()}


def descendants(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def test_nothing_runs_or_lies_around_after_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """0015: a short-lived engine of its own."""
    before = engines()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # a short path, which pytest's own is not
        monkeypatch.setattr(picture_folder, "_SHORT_TEMPORARY", Path(folder))
        picture([element("a")])
        assert list(Path(folder).iterdir()) == []
    assert engines() <= before


_ASKING = """
import sys
from pathlib import Path
from nexus import picture_folder
from nexus.picture_engine import Wanted, drawn
picture_folder._SHORT_TEMPORARY = Path(sys.argv[1])
from nexus.console.bundle import bundle_folder
rectangle = {"type": "rectangle", "width": 9, "height": 9, "fillStyle": "hachure", "backgroundColor": "red"}
elements = [{**rectangle, "id": f"e{n}", "x": n, "y": n} for n in range(50_000)]
drawn({"elements": elements, "files": {}, "appState": {}}, Wanted("svg", None, True), bundle_folder())
"""


@pytest.mark.parametrize("killed", ["the command", "the engine"])
def test_whatever_is_killed_in_the_middle_of_a_picture_the_browser_ends(killed: str) -> None:
    """0015, facts/browser: the browser ends when its pipe closes, whoever held the other end."""
    place = tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True)
    asking = subprocess.Popen([sys.executable, "-c", _ASKING, place.name], stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: _renderer_of(asking.pid), seconds=60, what="a browser that draws")
        engine, *others = descendants(asking.pid)
        assert "actors.engines.browser.render" in _command(engine)
        os.kill(asking.pid if killed == "the command" else engine.pid, signal.SIGKILL)
        gone, alive = psutil.wait_procs([engine, *others], timeout=30)
        assert alive == [] and len(gone) > 3
        assert asking.wait(30) == (-signal.SIGKILL if killed == "the command" else 1)
        # Of a killed command the engine removes what it can; what the browser wrote after that is left.
        left = [path for path in Path(place.name).rglob("*") if path.is_file()]
        assert killed == "the command" or left == []
        assert not any("complaints" in path.name for path in left)
    finally:
        asking.kill()
        place.cleanup()


def _renderer_of(pid: int) -> psutil.Process | None:
    return next((one for one in descendants(pid) if "--type=renderer" in _command(one)), None)


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_a_drawing_that_takes_too_long_or_too_much_is_ended_with_its_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """0015: bounded in time and size."""
    before = engines()
    with monkeypatch.context() as bounded:
        bounded.setattr(picture_engine, "export_drawing_ms_max", 100 - browser_start_ms_max)
        with pytest.raises(PictureFailed, match="within"):
            picture([element("a")])
    for name, words_of_it in (("export_memory_bytes_max", "memory"), ("exported_bytes_max", "larger")):
        with monkeypatch.context() as bounded:
            bounded.setattr(picture_engine, name, -64 * 1024 if name == "exported_bytes_max" else 1024)
            with pytest.raises(PictureFailed, match=words_of_it):
                picture([element("a")])
    assert engines() <= before
