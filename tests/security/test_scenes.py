"""Attacks 14 and 19 by scenes: pages, links, pictures and bombs that an agent or a file brings onto a canvas.

Here up to the scene as it is given to whatever draws it, and the rules of the page that does. That no browser runs or
fetches anything then is shown with a real one in tests/browser/test_export_pictures.py.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import pytest

from actors.engines.browser.render import POLICY, PictureServer
from bus.value import Record, Value, records
from nexus.console import bundle
from tests.actors.canvas.board import Board, rectangle
from tests.support.pictures import SVG, data_url, gif, jpeg, png, webp_animated
from tools.canvas.placeholders import as_picture, shown_scene

_EVIL: Final = "https://evil.example"
_HTML: Final = f"<script>fetch('{_EVIL}')</script>"
_WEB: Final = Path(bundle.__file__).parent / "web"


def hostile_scene() -> Record:
    """Everything at once: each element is valid as an element, so it is kept."""
    page: Record = {"status": "done", "html": _HTML}
    elements: list[Value] = [
        {**rectangle("page"), "type": "iframe", "customData": {"generationData": page}},
        {**rectangle("web"), "type": "embeddable", "link": _EVIL},
        {**rectangle("script"), "link": f"javascript:fetch('{_EVIL}')"},
        {**rectangle("paint"), "strokeColor": f"url({_EVIL}#a)", "backgroundColor": f"url({_EVIL}#b)"},
        {**rectangle("name'\"><script>"), "customData": {"html": _HTML}},
        {**rectangle("picture"), "type": "image", "fileId": "f", "status": "saved", "scale": [1, 1]},
        {**rectangle("new"), "type": "hologram", "html": _HTML},
    ]
    picture: Record = {"id": "f", "mimeType": "image/png", "dataURL": data_url(SVG, "image/png")}
    state: Record = {"viewBackgroundColor": f"url({_EVIL}#c)", "name": _HTML}
    return {"type": "excalidraw", "version": 2, "elements": elements, "files": {"f": picture}, "appState": state}


def created(scene: Record) -> tuple[Board, Record]:
    board = Board()
    reply = board.answer("canvas_create", {"title": "T", "reason": "r", "fromScene": scene})
    return board, reply


def test_a_hostile_scene_is_kept_as_it_is_and_drawn_as_nothing_that_runs_or_leads_outside() -> None:
    """security 2.14, canvas 4.4"""
    board, reply = created(hostile_scene())
    assert reply["outcome"] == "applied" and reply["leftOut"] == []
    stored = board.take_out()
    assert {one["type"] for one in records(stored, "elements")} >= {"iframe", "embeddable", "hologram"}
    assert _HTML in json.dumps(stored)
    for shown in (shown_scene(stored), as_picture(stored)):
        listed = [one for one in records(shown, "elements") if one["type"] != "hologram"]
        drawn = json.dumps([{**one, "id": "", "customData": None} for one in listed]) + json.dumps(shown["appState"])
        assert _EVIL not in drawn and "javascript" not in drawn
        assert not {"iframe", "embeddable"} & {str(one["type"]) for one in listed}
    assert {str(one["id"]) for one in records(as_picture(stored), "elements")} <= {f"e{n}" for n in range(20)}


def test_an_agent_cannot_bring_in_later_what_a_drawing_would_run() -> None:
    """security 2.14: by updates as by scenes."""
    board, _ = created({"type": "excalidraw", "elements": [rectangle("a")], "files": {}})
    change: Record = {"link": f"javascript:fetch('{_EVIL}')", "strokeColor": f"url({_EVIL})"}
    board.applied("update", updates=[{"id": "a", "set": change}])
    (drawn,) = records(as_picture(board.take_out()), "elements")
    assert (drawn["link"], drawn["strokeColor"]) == (None, "#1e1e1e")


@pytest.mark.parametrize(
    "bomb",
    [png(60_000, 60_000, 0), gif(60_000, 60_000), jpeg(60_000, 60_000), webp_animated(60_000, 60_000)],
    ids=["png", "gif", "jpeg", "webp"],
)
def test_a_bomb_of_pixels_is_left_out_of_a_scene_and_reported(bomb: bytes) -> None:
    """security 2.19: pictures by pixel count, whatever type they claim."""
    for claimed in ("image/png", "image/svg+xml"):
        file: Record = {"id": "f", "mimeType": claimed, "dataURL": data_url(bomb, claimed)}
        board, reply = created({"type": "excalidraw", "elements": [rectangle("a")], "files": {"f": file}})
        assert reply["leftOut"] == [{"id": "f", "why": "its file is a picture of more than 64 megapixels"}]
        assert board.take_out()["files"] == {}


def test_a_file_that_is_a_page_is_no_picture_whatever_it_claims() -> None:
    """security 2.14"""
    for claimed in ("image/png", "image/svg+xml", "image/webp"):
        file: Record = {"id": "f", "mimeType": claimed, "dataURL": data_url(_HTML.encode(), claimed)}
        board, reply = created({"type": "excalidraw", "elements": [rectangle("a")], "files": {"f": file}})
        assert len(records(reply, "leftOut")) == 1
        assert board.take_out()["files"] == {}


def test_the_page_that_draws_may_run_its_own_scripts_and_reach_nothing_else() -> None:
    """security 2.14: a policy without inline script."""
    rules = {words.split()[0]: words.split()[1:] for words in POLICY.split(";")}
    assert rules["default-src"] == ["'none'"] and rules["script-src"] == ["'self'"] and rules["frame-src"] == ["'none'"]
    assert rules["connect-src"] == rules["font-src"] == ["'self'"]
    assert all("http" not in word and word != "*" for words in rules.values() for word in words)


def test_the_page_that_draws_holds_no_script_of_its_own() -> None:
    """security 2.14"""
    page = (_WEB / "render.html").read_text()
    assert re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL) == [""]
    assert not re.search(r"\son\w+=|style=|javascript:", page)


class Asked:
    """One request of the page, and what was done with it."""

    def __init__(self, url: str) -> None:
        self.url, self.request, self.done = url, self, ""
        self.policy = ""

    def fulfill(self, headers: dict[str, str] | None = None, **_: object) -> None:
        self.done, self.policy = "answered", (headers or {}).get("Content-Security-Policy", "")

    def abort(self, _: str) -> None:
        self.done = "refused"


def test_the_page_gets_files_of_the_bundle_and_the_scene_and_every_other_request_is_refused(tmp_path: Path) -> None:
    """security 2.14: every other request is refused, and counted."""
    (tmp_path / "bundle" / "assets").mkdir(parents=True)
    (tmp_path / "secret.js").write_text("secret")
    (tmp_path / "bundle" / "built-from").write_text("hash")
    for name in ("render.html", "assets/a.js", "assets/subset-worker.chunk-1.js"):
        (tmp_path / "bundle" / name).write_text("x")
    server = PictureServer(tmp_path / "bundle", b"{}")
    own = "https://nexus.invalid"
    served = {}
    for path in ("/render.html", "/assets/a.js", "/scene.json", "/assets/subset-worker.chunk-1.js"):
        asked = Asked(own + path)
        server.answer(asked)  # type: ignore[arg-type]
        assert asked.done == "answered"
        served[path] = asked.policy
    assert served["/render.html"] == served["/assets/a.js"] == POLICY
    outside = [f"{own}/built-from", f"{own}/../secret.js", f"{own}/%2e%2e/secret.js", f"{own}/assets/a.js?x", _EVIL]
    outside += ["http://127.0.0.1:7700/mcp", "file:///etc/passwd", "https://nexus.invalid.evil.example/render.html"]
    for address in outside:
        asked = Asked(address)
        server.answer(asked)  # type: ignore[arg-type]
        assert asked.done == "refused", address
    assert server.refused == len(outside)
