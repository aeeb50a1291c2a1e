"""Asks the picture engine (actors/engines/browser/render.py): a process of its own for one picture, with bounds.

- It gets a clean environment and a folder of its own as home, which is removed with all that the browser left there.
- It and everything that it started end with the answer, with a bound that is passed, and with this process: whose end
  closes the pipe that it listens to.
- Time, memory and the size of the answer are bounded here, since what is inside may hang.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import psutil

from bus.limits import (
    browser_start_ms_max,
    export_drawing_ms_max,
    export_memory_bytes_max,
    exported_bytes_max,
    exported_pixels_max,
    picture_side_pixels_max,
)
from bus.value import Record
from nexus.output import shown
from nexus.picture_folder import picture_folder

COMMAND: Final = (sys.executable, "-I", "-m", "actors.engines.browser.render")
_PASSED_ON: Final = ("PATH", "NEXUS_BROWSER", "LANG", "LC_ALL", "TZ", "PLAYWRIGHT_BROWSERS_PATH")
_SAMPLE_SECONDS: Final = 0.2
_READ_BYTES: Final = 1024 * 1024
_HEAD_BYTES_MAX: Final = 64 * 1024
_COMPLAINT_BYTES: Final = 400
_END_SECONDS_MAX: Final = 5


class PictureFailed(Exception):
    """No picture came of it. The text says in sentences why and what to do; parts of it are a browser's words."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How a picture is to be."""

    format: str
    """`svg` or `png`."""
    scale: float | None
    """Pixels for a unit of the scene. None: 1, or the most that fits the bounds of a png."""
    background: bool


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as the engine drew it."""

    content: bytes
    width: float
    height: float
    scale: float
    complaints: int
    """What Excalidraw had to say of elements that it could not draw."""
    refused_requests: int
    """Requests for anything but the bundle that the page made; they were refused."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """How long something may take."""

    ms_max: int
    late: str
    """What was not done in that time: the beginning of a sentence."""

    def words(self) -> str:
        return f"{self.late} within {self.ms_max // 1000} seconds and was ended."


_LOOK_BOUND: Final = _Bound(20_000, "The picture engine did not say which browser it finds")


def _drawing_bound() -> _Bound:
    return _Bound(browser_start_ms_max + export_drawing_ms_max, "The browser did not draw the canvas")


def drawn(scene: Record, wanted: Wanted, bundle: Path) -> Picture:
    """The picture of a scene that `as_picture` made harmless. Takes seconds. Raises PictureFailed."""
    encoded = json.dumps(scene, ensure_ascii=False, separators=(",", ":")).encode()
    asked: Record = {"format": wanted.format, "scale": wanted.scale, "background": wanted.background}
    asked |= {"do": "draw", "bundle": str(bundle), "sceneBytes": len(encoded), "startMs": browser_start_ms_max}
    asked |= {"sideMax": picture_side_pixels_max, "pixelsMax": exported_pixels_max}
    answer, content = _answer(asked, encoded, _drawing_bound())
    numbers = (answer.get(name) for name in ("width", "height", "scale"))
    width, height, scale = (float(one) if isinstance(one, int | float) else 0.0 for one in numbers)
    return Picture(content, width, height, scale, _count(answer, "complaints"), _count(answer, "refusedRequests"))


def found_browser() -> tuple[str, str]:
    """The program that would draw, and where it was found. Raises PictureFailed if there is none."""
    answer, _ = _answer({"do": "look"}, b"", _LOOK_BOUND)
    return str(answer.get("program")), str(answer.get("foundIn"))


def _count(answer: Record, name: str) -> int:
    count = answer.get(name)
    return count if isinstance(count, int) else 0


def _answer(asked: Record, scene: bytes, bound: _Bound) -> tuple[Record, bytes]:
    with picture_folder() as folder:
        complaints = folder / "complaints"
        with complaints.open("wb") as stderr, _engine(folder, stderr) as process:
            _send(process, json.dumps({**asked, "folder": str(folder)}).encode() + b"\n" + scene)
            raw = _received(process, bound)
        head, _, content = raw.partition(b"\n")
        try:
            answer = json.loads(head)
        except ValueError:
            raise PictureFailed(f"The picture engine ended without an answer. {_last_words(complaints)}") from None
    if "problem" in answer:
        raise PictureFailed(_told(answer))
    if answer.get("bytes") != len(content):
        raise PictureFailed("The picture engine ended in the middle of its answer.")
    return answer, content


def _told(answer: Record) -> str:
    text = str(answer.get("text"))
    if answer["problem"] == "no_browser":
        return text
    if answer["problem"] == "too_large":
        return f"{text} Choose a smaller --scale, or svg, which has no pixels."
    return f"The browser {shown(answer.get('program'))} could not draw the canvas: {text}"


@contextlib.contextmanager
def _engine(folder: Path, stderr: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """The process, which is gone at the end with all that it started."""
    process = subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        cwd=folder,
        env=clean_environment(os.environ, folder),
        start_new_session=True,  # Ctrl-C is for the command, which ends the engine
    )
    try:
        yield process
    finally:
        _end(process)


def clean_environment(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """What the engine needs, and nothing of the person's own: no token, no profile, no bus (security 2.16)."""
    clean = {name: environment[name] for name in _PASSED_ON if name in environment}
    names = ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")
    clean |= dict.fromkeys(names, str(folder))
    # Playwright's own browsers lie in the person's home, which is no longer HOME.
    clean.setdefault("PLAYWRIGHT_BROWSERS_PATH", str(_playwright_browsers(environment)))
    return clean


def _playwright_browsers(environment: Mapping[str, str]) -> Path:
    home = Path(environment.get("HOME", "/"))
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "ms-playwright"
    return Path(environment.get("XDG_CACHE_HOME") or home / ".cache") / "ms-playwright"


def _send(process: subprocess.Popen[bytes], request: bytes) -> None:
    """From a thread: an engine that does not read must not hold up its own end. The pipe stays open."""
    stdin = process.stdin
    assert stdin is not None

    def write() -> None:
        # An engine that ends early says why in its answer, or by having none.
        with contextlib.suppress(BrokenPipeError, ValueError):
            stdin.write(request)
            stdin.flush()

    threading.Thread(target=write, name="picture-request", daemon=True).start()


def _received(process: subprocess.Popen[bytes], bound: _Bound) -> bytes:
    deadline = time.monotonic() + bound.ms_max / 1000
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    raw = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            if selector.select(_SAMPLE_SECONDS):
                part = os.read(descriptor, _READ_BYTES)
                if not part:
                    return bytes(raw)
                raw += part
            if len(raw) > exported_bytes_max + _HEAD_BYTES_MAX:
                limit = exported_bytes_max // (1024 * 1024)
                raise PictureFailed(f"The picture is larger than {limit} MiB, the most that is written.")
            if time.monotonic() > deadline:
                raise PictureFailed(bound.words())
            if _memory_bytes(process.pid) > export_memory_bytes_max:
                limit = export_memory_bytes_max // (1024 * 1024 * 1024)
                took = f"Drawing the canvas took more than {limit} GiB of memory and was ended."
                raise PictureFailed(f"{took} As png a smaller --scale takes less; as svg it has no pixels to hold.")


def _memory_bytes(pid: int) -> int:
    """Of the process and all that it started, what it shares with others not counted."""
    total = 0
    for process in _tree(pid):
        with contextlib.suppress(psutil.Error):
            memory = process.memory_info()
            total += memory.rss - getattr(memory, "shared", 0)
    return total


def _tree(pid: int) -> list[psutil.Process]:
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _end(process: subprocess.Popen[bytes]) -> None:
    # The whole tree first: once a parent is gone, nobody knows its children.
    tree = _tree(process.pid)
    for one in tree:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    psutil.wait_procs(tree, timeout=_END_SECONDS_MAX)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def _last_words(complaints: Path) -> str:
    """The end of what a process that died had said, for whoever must find out why."""
    words = complaints.read_bytes()[-_COMPLAINT_BYTES:].decode(errors="replace").strip()
    return words.rpartition("\n")[2]
