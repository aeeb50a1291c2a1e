"""Which Chromium is found, and with which flags it starts (actors/engines/browser/chromium.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.engines.browser.chromium import BROWSER_VARIABLE, NoBrowser, flags, found_browser


def program(path: Path, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_the_browser_that_the_person_names_comes_before_every_other(tmp_path: Path) -> None:
    """0015, "Pictures and the judge"."""
    program(tmp_path / "bin" / "google-chrome")
    named = program(tmp_path / "mine" / "my-chromium")
    environment = {BROWSER_VARIABLE: str(named), "PATH": str(tmp_path / "bin")}
    found = found_browser(environment, "linux")
    assert (found.program, found.found_in) == (named, BROWSER_VARIABLE)


def test_a_named_browser_that_cannot_be_started_is_never_replaced_by_another(tmp_path: Path) -> None:
    """0015: what the person chose is taken or refused."""
    program(tmp_path / "bin" / "google-chrome")
    not_a_program = program(tmp_path / "chromium", 0o644)
    for name in (str(not_a_program), str(tmp_path / "none"), "no-such-browser"):
        with pytest.raises(NoBrowser, match=BROWSER_VARIABLE):
            found_browser({BROWSER_VARIABLE: name, "PATH": str(tmp_path / "bin")}, "linux")


def test_of_several_browsers_on_path_the_first_known_name_is_taken(tmp_path: Path) -> None:
    """facts/browser, Executable: the order of names counts, not that of folders."""
    program(tmp_path / "a" / "chromium")
    chrome = program(tmp_path / "b" / "google-chrome")
    found = found_browser({"PATH": f"{tmp_path / 'a'}:{tmp_path / 'b'}"}, "linux")
    assert (found.program, found.found_in) == (chrome, "PATH")


def test_a_macintosh_keeps_browsers_among_its_applications(tmp_path: Path) -> None:
    """facts/browser, Executable; nothing of it is looked for elsewhere."""
    chrome = program(tmp_path / "Applications" / "Google Chrome.app" / "Contents" / "MacOS" / "Google Chrome")
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    assert found_browser(environment, "darwin").program == chrome
    with pytest.raises(NoBrowser):
        found_browser(environment, "linux")


def test_playwrights_own_browser_is_asked_for_last_and_must_exist(tmp_path: Path) -> None:
    """facts/browser, Executable: it names a path even when nothing is installed there."""
    asked: list[str] = []

    def own() -> Path:
        asked.append("own")
        return tmp_path / "own" / "chrome"

    with pytest.raises(NoBrowser, match="apt install chromium"):
        found_browser({"PATH": str(tmp_path)}, "linux", own)
    program(tmp_path / "own" / "chrome")
    assert found_browser({"PATH": str(tmp_path)}, "linux", own).program == tmp_path / "own" / "chrome"
    program(tmp_path / "chromium")
    asked.clear()
    assert found_browser({"PATH": str(tmp_path)}, "linux", own).program == tmp_path / "chromium"
    assert asked == []


def test_chromiums_sandbox_is_off_for_root_alone_and_no_flag_opens_a_port() -> None:
    """facts/browser, Start and attach."""
    assert "--no-sandbox" in flags(is_root=True)
    assert "--no-sandbox" not in flags(is_root=False)
    assert not any("remote-debugging" in flag or "allow-origins" in flag for flag in flags(is_root=True))
