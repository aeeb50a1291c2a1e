"""Which Chromium is used, and how it is started (0015 "Pictures and the judge").

- A browser that the person names is taken or refused, never replaced by another one.
- The sandbox is off for root alone, whom Chromium refuses to start with it. It is never switched off as a second try.
- No flag opens a port: Playwright speaks to the browser over a pipe, and a browser whose pipe is closed ends.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BROWSER_VARIABLE: Final = "NEXUS_BROWSER"
"""The person's own choice: the path of a Chromium, Chrome or Edge, or its name on PATH."""

NAMES_ON_PATH: Final = ("google-chrome-stable", "google-chrome", "chromium", "chromium-browser", "microsoft-edge")

_APPLICATIONS: Final = (
    "Google Chrome.app/Contents/MacOS/Google Chrome",
    "Chromium.app/Contents/MacOS/Chromium",
    "Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)

FLAGS: Final = (
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-back-forward-cache",
)
"""For every start. `--user-data-dir` and `--headless=new` are for whoever starts it."""

HOW_TO_GET_ONE: Final = (
    "Install Chromium, Google Chrome or Microsoft Edge (on Debian: apt install chromium), "
    f"or name its program in {BROWSER_VARIABLE}."
)


class NoBrowser(Exception):
    """No Chromium that can be started was found. The text says in sentences what to do."""


@dataclass(frozen=True, slots=True)
class FoundBrowser:
    """A Chromium of this machine."""

    program: Path
    """Absolute."""
    found_in: str
    """Where it was found, as a noun: for people."""


def found_browser(
    environment: Mapping[str, str] = os.environ,
    platform: str = sys.platform,
    own_browser: Callable[[], Path | None] = lambda: None,
) -> FoundBrowser:
    """The browser of this machine: the named one, or of PATH, a usual place or Playwright. Raises NoBrowser.

    `own_browser` tells Playwright's own, whether or not it exists; it is asked last, since asking starts a process.
    """
    named = environment.get(BROWSER_VARIABLE)
    search = environment.get("PATH", os.defpath)
    if named:
        found = shutil.which(named, path=search)
        if found is None:
            raise NoBrowser(f"{BROWSER_VARIABLE} names no program that can be started. {HOW_TO_GET_ONE}")
        return FoundBrowser(Path(found).absolute(), BROWSER_VARIABLE)
    for name in NAMES_ON_PATH:
        if (found := shutil.which(name, path=search)) is not None:
            return FoundBrowser(Path(found).absolute(), "PATH")
    if platform == "darwin":
        for folder in (Path("/Applications"), Path(environment.get("HOME", "/")) / "Applications"):
            for application in _APPLICATIONS:
                if is_program(folder / application):
                    return FoundBrowser(folder / application, str(folder))
    own = own_browser()
    if own is not None and is_program(own):
        return FoundBrowser(own, "Playwright's own browsers")
    raise NoBrowser(f"No Chromium was found on this machine. {HOW_TO_GET_ONE}")


def is_program(path: Path) -> bool:
    """Whether this is a file that the present user may run."""
    return path.is_file() and os.access(path, os.X_OK)


def flags(is_root: bool) -> list[str]:
    """The flags of every start. Chromium's sandbox is off only for root (see the header)."""
    return [*FLAGS, "--no-sandbox"] if is_root else list(FLAGS)


def runs_as_root() -> bool:
    """Whether this process is root's."""
    return os.geteuid() == 0
