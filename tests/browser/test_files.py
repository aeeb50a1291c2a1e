"""Files of other tools, taken in and given out again: editors open what NEXUS wrote as it is (canvas 4.1, 4.4, 4.5)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from bus.value import Record
from tests.actors.canvas.board import SCENES, Board
from tests.browser.editor import Editor, file_of
from tests.browser.repairs import repairs
from tests.browser.test_drawn_scenes import live_elements

MORE_SCENES = Path(__file__).resolve().parents[3] / "shared" / "data" / "scenes"
"""Scenes of others beside a working copy, whose licences do not let them be part of it."""


def files() -> list[Path]:
    """Every scene file at hand."""
    return sorted([*SCENES.glob("*.excalidraw"), *MORE_SCENES.glob("*.excalidraw")])


def taken_in(scene: Record) -> Record:
    """What NEXUS gives out after an import of the scene."""
    board = Board()
    outcome = board.bring_in(scene)
    assert outcome["outcome"] == "applied", outcome
    return board.take_out()


def scene_in(path: Path) -> Record:
    """The file's content; Python's JSON reads any line ends."""
    return cast(Record, json.loads(path.read_bytes()))


@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_editors_open_what_nexus_made_of_a_file_without_repairing_anything(judge: Editor, path: Path) -> None:
    """canvas 4.1, 4.5"""
    written = taken_in(scene_in(path))
    assert repairs(live_elements(written), judge.opened(file_of(written))) == []
    assert judge.svg(file_of(written)).startswith("<svg")


@pytest.mark.skipif(not MORE_SCENES.is_dir(), reason="there are no scenes of others in ../shared/data/scenes")
def test_scenes_of_others_are_among_the_files() -> None:
    assert [path for path in files() if path.is_relative_to(MORE_SCENES)] != []


@pytest.mark.parametrize("path", [path for path in files() if path.stem != "farm-legacy"], ids=lambda path: path.stem)
def test_what_an_editor_shows_of_a_file_is_there_after_nexus_took_it_in(judge: Editor, path: Path) -> None:
    """canvas 4.4: the same elements, of the same words at the same places, as when the file is opened directly.

    Not of farm-legacy: for its points that are null the release opens nothing of it at all.
    """
    direct = _live(judge.opened(path.read_bytes().decode()))
    judge.page.errors.clear()  # what the editor says of a file that is not ours
    written = _live(judge.opened(file_of(taken_in(scene_in(path)))))
    assert list(written) == list(direct)
    for id_, element in direct.items():
        for field in ("type", "x", "y", "width", "height", "angle", "text", "points", "roundness", "fileId"):
            assert written[id_].get(field) == element.get(field), (id_, field)


def _live(elements: list[Record]) -> dict[str, Record]:
    return {str(element["id"]): element for element in elements if element["isDeleted"] is not True}
