"""Where a picture is drawn is empty afterwards, however those before ended (nexus/picture_folder.py)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nexus import picture_folder as module
from nexus.picture_folder import picture_folder

_HOLDING = """
import sys, time
from pathlib import Path
from nexus import picture_folder
picture_folder._SHORT_TEMPORARY = Path(sys.argv[1])
with picture_folder.picture_folder() as folder:
    (folder / "left by the browser").write_text("x")
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "_SHORT_TEMPORARY", tmp_path)
    monkeypatch.setattr(module, "_LEFT_SECONDS", -60)  # every folder is old enough


def test_what_a_killed_command_left_goes_with_the_next_and_what_is_held_stays(tmp_path: Path) -> None:
    """0015: nothing of a picture stays but the picture."""
    asking = subprocess.Popen([sys.executable, "-c", _HOLDING, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert asking.stdout is not None
        held = Path(asking.stdout.readline().strip())
        with picture_folder() as folder:
            assert sorted(tmp_path.iterdir()) == sorted([held, folder]), "it is in use"
        asking.send_signal(signal.SIGKILL)
        asking.wait(30)
        with picture_folder() as folder:
            assert [*tmp_path.iterdir()] == [folder]
    finally:
        asking.kill()
        asking.wait(30)
        asking.stdout.close()  # type: ignore[union-attr]
    assert [*tmp_path.iterdir()] == []


def test_what_is_young_of_another_name_or_only_leads_elsewhere_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """0015: it may be made just now, or be no folder of ours."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    (tmp_path / "nexus-picture-link").symlink_to(elsewhere)
    (tmp_path / "nexus-picture-file").touch()
    young = tmp_path / "nexus-picture-young"
    young.mkdir()
    monkeypatch.setattr(module, "_LEFT_SECONDS", 3_600)
    with picture_folder():
        assert young.is_dir()
    os.utime(young, (0, 0))
    with picture_folder():
        assert not young.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "nexus-picture-file", "nexus-picture-link"]
    assert (elsewhere / "kept").exists()
