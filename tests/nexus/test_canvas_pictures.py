"""`nexus canvas export` as svg and png: formats, options, refusals (nexus/canvas_pictures.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from bus.value import Record, Value, records
from nexus import canvas_pictures, exit_codes
from nexus.console.bundle import BundleMissing, bundle_folder
from nexus.picture_engine import Picture, PictureFailed, Wanted
from tests.nexus.test_person_cli import commands
from tests.nexus.test_person_port import LISTS
from tests.nexus.test_person_scenes import exported
from tests.support.scripted_caller import Script

PNG = b"\x89PNG picture"


class Drawing:
    """Stands in for the engine and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Record, Wanted]] = []
        self.failure: str | None = None
        self.complaints = 0

    def __call__(self, scene: Record, wanted: Wanted, bundle: Path) -> Picture:
        self.asked.append((scene, wanted))
        if self.failure is not None:
            raise PictureFailed(self.failure)
        return Picture(PNG, 30.4, 20, 0.5, self.complaints, 0)


@pytest.fixture
def drawing(monkeypatch: pytest.MonkeyPatch) -> Drawing:
    engine = Drawing()
    monkeypatch.setattr(canvas_pictures, "drawn", engine)
    monkeypatch.setattr(canvas_pictures, "bundle_folder", lambda: Path("/bundle"))
    return engine


def script(*elements: Value) -> Script:
    return {**LISTS, ("canvas/w1/c1", "canvas_export"): exported([*elements])}


BOX: Record = {
    "id": "b",
    "index": "a0",
    "type": "iframe",
    "x": 0,
    "y": 0,
    "width": 9,
    "height": 9,
    "link": "javascript:1",
}


def test_the_suffix_tells_the_format_and_the_scene_is_made_harmless(
    monkeypatch: pytest.MonkeyPatch, drawing: Drawing, tmp_path: Path
) -> None:
    """canvas 4.4, 4.5"""
    file = tmp_path / "plan.PNG"
    with commands(monkeypatch, script(BOX)) as (run, _):
        printed = run.json("canvas", "export", "c1", str(file), "--scale", "2", "--no-background")
        assert printed == {
            "canvasId": "c1",
            "file": str(file),
            "format": "png",
            "width": 30,
            "height": 20,
            "scale": 0.5,
            "complaints": 0,
        }
        assert file.read_bytes() == PNG
        assert run.nexus("canvas", "export", "c1", "-", "--format", "svg").stdout_bytes == PNG
    (scene, first), (_, second) = drawing.asked
    assert (first, second) == (Wanted("png", 2, False), Wanted("svg", None, True))
    assert [one["type"] for one in records(scene, "elements")] == ["rectangle", "text"]


def test_options_of_pictures_are_refused_for_a_scene(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with commands(monkeypatch, script(BOX)) as (run, port):
        for option in (["--scale", "2"], ["--no-background"], ["--scale", "0"], ["--format", "pdf"]):
            result = run.nexus("canvas", "export", "c1", str(tmp_path / "a.excalidraw"), *option)
            assert result.exit_code == exit_codes.USAGE
        assert port.caller.bodies("canvas_export") == []


def test_a_canvas_with_nothing_on_it_is_refused_and_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, drawing: Drawing, tmp_path: Path
) -> None:
    """canvas 4.5: clear refusal"""
    file = tmp_path / "plan.svg"
    with commands(monkeypatch, script({**BOX, "isDeleted": True}, {**BOX, "id": "n", "type": "new"})) as (run, _):
        result = run.nexus("canvas", "export", "c1", str(file))
    assert (result.exit_code, drawing.asked, file.exists()) == (exit_codes.REFUSED, [], False)
    assert "nothing on the canvas to draw" in result.stderr


def test_what_the_engine_says_is_escaped_and_the_file_stays_as_it_was(
    monkeypatch: pytest.MonkeyPatch, drawing: Drawing, tmp_path: Path
) -> None:
    """canvas 4.5, security 2.15"""
    file = tmp_path / "plan.svg"
    file.write_text("before")
    drawing.failure = "It failed: \x1b]0;title\x07."
    with commands(monkeypatch, script(BOX)) as (run, _):
        result = run.nexus("canvas", "export", "c1", str(file))
    assert (result.exit_code, file.read_text()) == (exit_codes.REFUSED, "before")
    assert "It failed" in result.stderr and "\x1b" not in result.stderr


def test_a_picture_that_may_lack_something_says_so(
    monkeypatch: pytest.MonkeyPatch, drawing: Drawing, tmp_path: Path
) -> None:
    """canvas 4.5"""
    drawing.complaints = 2
    with commands(monkeypatch, script(BOX)) as (run, _):
        result = run.nexus("canvas", "export", "c1", str(tmp_path / "plan.svg"))
    assert "30 by 20, scale 0.5" in result.stdout
    assert "could not draw everything" in result.stderr


def test_without_a_bundle_the_refusal_says_how_to_build_it_before_the_canvas_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """0015: refused, saying what to install."""
    monkeypatch.setattr(canvas_pictures, "bundle_folder", lambda: bundle_folder(tmp_path / "built"))
    with commands(monkeypatch, script(BOX)) as (run, port):
        result = run.nexus("canvas", "export", "c1", str(tmp_path / "plan.svg"))
        assert port.caller.bodies("canvas_export") == []
    assert result.exit_code == exit_codes.REFUSED
    assert "make bundle" in result.stderr


def test_a_bundle_is_there_when_it_was_built_to_the_end_and_else_tells_why_not(tmp_path: Path) -> None:
    """0015"""
    with pytest.raises(BundleMissing, match="never built"):
        bundle_folder(tmp_path)
    (tmp_path / "why-missing").write_text("The npm registry could not be reached (ENOTFOUND).\nlong output")
    with pytest.raises(BundleMissing) as missing:
        bundle_folder(tmp_path)
    assert "could not be reached (ENOTFOUND). Where" in str(missing.value) and "long output" not in str(missing.value)
    (tmp_path / "built-from").write_text("hash")
    assert bundle_folder(tmp_path) == tmp_path
