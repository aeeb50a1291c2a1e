"""Scene files: read with clear refusals, written whole or not at all."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path

import pytest

from nexus import scene_file
from nexus.scene_file import SceneFileProblem, read_scene, write_scene


def test_a_scene_is_read_from_standard_input_within_the_same_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """canvas 4.5"""
    scene = b'{"type": "excalidraw", "elements": []}'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(scene)))
    assert read_scene(Path("-")) == {"type": "excalidraw", "elements": []}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(scene)))
    monkeypatch.setattr("nexus.scene_file.scene_file_bytes_max", len(scene) - 1)
    with pytest.raises(SceneFileProblem, match="larger than"):
        read_scene(Path("-"))


def _problem(file: Path) -> str:
    with pytest.raises(SceneFileProblem) as raised:
        read_scene(file)
    return str(raised.value)


def test_bad_json_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.excalidraw"
    file.write_text('{\r\n "elements": [\r\n  1 2\r\n]}')
    assert re.search(r"line 3, column \d+", _problem(file))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\xff\xfe{}", "UTF-8"),
        (b"[]", "not an Excalidraw scene"),
        (b'{"type": "excalidraw", "elements": 3}', "not an Excalidraw scene"),
        (b'{"elements": []}', 'its type is not "excalidraw"'),
        (b'{"type": ["excalidraw"], "elements": []}', 'its type is not "excalidraw"'),
        (b'{"name": "package", "version": "1.0.0"}', 'its type is not "excalidraw"'),
        (b'{"type": "excalidraw/clipboard", "elements": []}', "copied to the clipboard"),
        (b'{"type": "excalidrawlib", "libraryItems": []}', "library"),
        (b'{"elements": ["\\ud800"]}', "half a character"),
        (b"[" * 200_000, "nested"),
        (b"", "line 1"),
    ],
)
def test_what_is_no_scene_is_refused_in_words(tmp_path: Path, content: bytes, told: str) -> None:
    file = tmp_path / "bad.excalidraw"
    file.write_bytes(content)
    assert told in _problem(file)


def test_a_missing_file_a_folder_and_a_pipe_are_refused_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "No such file" in _problem(tmp_path / "absent")
    assert "not a regular file" in _problem(tmp_path)
    assert "not a regular file" in _problem(pipe)


def test_a_file_beyond_the_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """canvas 4.5"""
    monkeypatch.setattr(scene_file, "scene_file_bytes_max", 10)
    file = tmp_path / "big.excalidraw"
    file.write_text('{"elements": []}')
    assert "larger than" in _problem(file)


def test_numbers_beyond_what_travels_become_floats_or_null(tmp_path: Path) -> None:
    file = tmp_path / "numbers.excalidraw"
    file.write_text(
        '{"type": "excalidraw", "elements": [1e999, NaN, -Infinity, 99999999999999999999, 7], "long": '
        + "9" * 5000
        + "}"
    )
    scene = read_scene(file)
    assert scene["elements"] == [None, None, None, 1e20, 7]
    assert scene["long"] is None


def test_a_byte_order_mark_is_no_part_of_the_scene(tmp_path: Path) -> None:
    file = tmp_path / "mark.excalidraw"
    file.write_bytes(b'\xef\xbb\xbf{"type": "excalidraw", "elements": []}')
    assert read_scene(file) == {"type": "excalidraw", "elements": []}


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "plan.excalidraw"
    file.write_text("before")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SceneFileProblem, match="No space left"):
        write_scene(file, {"elements": []})
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


def test_only_a_regular_file_is_replaced(tmp_path: Path) -> None:
    """security 2.17"""
    pipe, folder, circle = tmp_path / "pipe", tmp_path / "folder", tmp_path / "circle"
    os.mkfifo(pipe)
    folder.mkdir()
    circle.symlink_to(circle)
    to_pipe, to_device, nowhere = (tmp_path / name for name in ("to-pipe", "to-device", "nowhere"))
    to_pipe.symlink_to(pipe)
    to_device.symlink_to(os.devnull)
    nowhere.symlink_to(tmp_path / "absent")
    before = {entry: entry.lstat() for entry in (*tmp_path.iterdir(), Path(os.devnull))}
    for file in before:
        with pytest.raises(SceneFileProblem):
            write_scene(file, {"elements": []})
    kept = {entry: entry.lstat() for entry in (*tmp_path.iterdir(), Path(os.devnull))}
    assert {entry: (one.st_ino, one.st_mode) for entry, one in kept.items()} == {
        entry: (one.st_ino, one.st_mode) for entry, one in before.items()
    }


def test_a_link_stays_a_link_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "drawings").mkdir()
    target, link = tmp_path / "drawings" / "plan.excalidraw", tmp_path / "plan.excalidraw"
    target.write_text("before")
    target.chmod(0o640)
    link.symlink_to(target)
    write_scene(link, {"elements": []})
    assert link.is_symlink()
    assert json.loads(target.read_text()) == {"elements": []}
    assert target.stat().st_mode & 0o777 == 0o640
    assert list(target.parent.iterdir()) == [target]


def test_what_is_written_can_be_imported_again_though_indenting_it_would_pass_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """canvas 4.5"""
    scene = {"type": "excalidraw", "elements": [{"id": str(n), "points": [[0, 0], [1, 1]]} for n in range(20)]}
    small, large = tmp_path / "small.excalidraw", tmp_path / "large.excalidraw"
    write_scene(small, scene)
    assert small.read_text().count("\n") > 20
    monkeypatch.setattr(scene_file, "scene_file_bytes_max", small.stat().st_size - 1)
    write_scene(large, scene)
    assert large.read_text().count("\n") == 1
    assert read_scene(large) == scene


def test_the_demos_scene_is_whole_and_bound_in_both_directions() -> None:
    """canvas 4.2"""
    scene = json.loads((Path(scene_file.__file__).parent / "demo_scene.excalidraw").read_text(encoding="utf-8"))
    by_id = {element["id"]: element for element in scene["elements"]}
    assert len(by_id) == len(scene["elements"]) >= 30
    links = {(element["id"], bound["id"]) for element in by_id.values() for bound in element["boundElements"] or []}
    expected = {(e["containerId"], e["id"]) for e in by_id.values() if e["type"] == "text" and e["containerId"]}
    expected |= {
        (end["elementId"], e["id"])
        for e in by_id.values()
        if e["type"] == "arrow"
        for end in (e["startBinding"], e["endBinding"])
    }
    assert links == expected
    indices = [element["index"] for element in scene["elements"]]
    assert indices == sorted(set(indices))
