"""Sees to it that the tests have a Chromium: `python -m tests.browser.chromium_at_hand`.

A browser that is installed is taken; else Playwright's own is fetched; else, for root on Debian or Ubuntu, the system's
package. Without any the tests of tests/browser are skipped, which is said here and by each of them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from playwright.sync_api import sync_playwright

from actors.engines.browser.chromium import NoBrowser, found_browser, runs_as_root

_SECONDS_MAX: Final = 600


def _own_browser() -> Path:
    with sync_playwright() as playwright:
        return Path(playwright.chromium.executable_path)


def _ways() -> Iterator[tuple[str, list[list[str]]]]:
    """What can be tried, each with its commands."""
    yield "Playwright's Chromium", [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if runs_as_root() and shutil.which("apt-get"):
        apt = ["apt-get", "-o", "Dpkg::Use-Pty=0", "--quiet", "--yes"]
        yield "the system's chromium", [[*apt, "update"], [*apt, "install", "--no-install-recommends", "chromium"]]


def _done(commands: list[list[str]]) -> str | None:
    """None when all commands have ended well, else the last words of the one that did not."""
    for command in commands:
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_SECONDS_MAX, check=False, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            return f"it took more than {_SECONDS_MAX} s"
        if done.returncode != 0:
            words = (done.stderr or done.stdout).strip().splitlines()
            return words[-1] if words else f"it ended with {done.returncode}"
    return None


def main() -> int:
    """0 also without a browser: the tests that need one say so themselves."""
    for way, commands in _ways():
        try:
            found_browser(own_browser=_own_browser)
        except NoBrowser:
            print(f"No Chromium yet: installing {way} ...", file=sys.stderr)
        else:
            return 0
        why = _done(commands)
        if why is not None:
            print(f"{way[0].upper()}{way[1:]} could not be installed: {why}", file=sys.stderr)
    try:
        found_browser(own_browser=_own_browser)
    except NoBrowser as missing:
        print(missing, "The tests in a browser are skipped.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
