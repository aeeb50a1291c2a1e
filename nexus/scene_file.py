"""`.excalidraw` files on the person's disk: read whole with a bound, written so that no reader sees half of one."""

from __future__ import annotations

import contextlib
import json
import math
import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from bus.limits import scene_file_bytes_max
from bus.value import Record
from tools.canvas.scene_parts import Joined, parts_of

_INTEGER_DIGITS_MAX: Final = 18
"""What fits 64 bits for certain; a longer number is read as a float."""


_SCENE_KIND: Final = "excalidraw"
_OTHER_KINDS: Final[Mapping[str, str]] = {
    "excalidraw/clipboard": "what Excalidraw copied to the clipboard",
    "excalidraw-api/clipboard": "what Excalidraw copied to the clipboard",
    "excalidrawlib": "a library of Excalidraw",
}
_SAVE_AS_SCENE: Final = "Open it in Excalidraw and save the drawing as an .excalidraw file."


class SceneFileProblem(Exception):
    """The file cannot be read or written; the text says why, for the person."""


def read_scene(file: Path) -> Record:
    """The scene in `file`, `-` being standard input, as a JSON object. Numbers that are not finite become null, which
    the canvas reports.

    Raises SceneFileProblem.
    """
    raw = _read_bounded(file) if str(file) != "-" else _bounded(file, sys.stdin.buffer)
    try:
        scene = json.loads(
            raw.decode("utf-8-sig"), parse_constant=lambda _: None, parse_float=_finite, parse_int=_integer
        )
        json.dumps(scene, ensure_ascii=False).encode()
    except UnicodeDecodeError as bad:
        raise SceneFileProblem(f"{file} is not text in UTF-8 (byte {bad.start}).") from bad
    except json.JSONDecodeError as bad:
        raise SceneFileProblem(f"{file}, line {bad.lineno}, column {bad.colno}: not JSON: {bad.msg}.") from bad
    except UnicodeEncodeError as half:
        raise SceneFileProblem(f"{file} holds half a character (a lone surrogate) in a text.") from half
    except RecursionError as deep:
        raise SceneFileProblem(f"{file} is nested far deeper than any scene.") from deep
    if not isinstance(scene, dict):
        raise SceneFileProblem(f"{file} is JSON but not an Excalidraw scene: it is no object.")
    _must_be_a_scene(file, scene)
    return scene


def _must_be_a_scene(file: Path, scene: Record) -> None:
    kind = scene.get("type")
    if isinstance(kind, str) and kind in _OTHER_KINDS:
        raise SceneFileProblem(f"{file} holds {_OTHER_KINDS[kind]}, not a scene. {_SAVE_AS_SCENE}")
    if kind != _SCENE_KIND:
        raise SceneFileProblem(f'{file} is JSON but not an Excalidraw scene: its type is not "excalidraw".')
    if not isinstance(scene.get("elements"), list):
        raise SceneFileProblem(f"{file} is JSON but not an Excalidraw scene: it has no list `elements`.")


def _read_bounded(file: Path) -> bytes:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as missing:
        raise SceneFileProblem(f"{file} cannot be opened: {missing.strerror}.") from missing
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SceneFileProblem(f"{file} is not a regular file.")
    with os.fdopen(descriptor, "rb") as opened:
        return _bounded(file, opened)


def _bounded(file: Path, opened: IO[bytes]) -> bytes:
    try:
        raw = opened.read(scene_file_bytes_max + 1)
    except OSError as broken:
        raise SceneFileProblem(f"{file} cannot be read: {broken.strerror}.") from broken
    if len(raw) > scene_file_bytes_max:
        raise SceneFileProblem(
            f"{file} is larger than {scene_file_bytes_max // (1024 * 1024)} MiB, the most an import takes."
        )
    return raw


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _integer(digits: str) -> int | float | None:
    return int(digits) if len(digits) <= _INTEGER_DIGITS_MAX else _finite(digits)


def write_scene(file: Path, scene: object) -> None:
    """Put `scene` in place of `file`, as write_content does. Indented unless an import would find that too large.

    Raises SceneFileProblem.
    """
    write_content(file, _encoded(scene))


def write_content(file: Path, content: bytes) -> None:
    """Put `content` in place of what the regular file `file` was, or a link leads to, in one step and on disk.

    Raises SceneFileProblem, also for what is no regular file.
    """
    target = _target(file)
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    except OSError as refused:
        raise SceneFileProblem(f"{file} cannot be written: {refused.strerror}.") from refused
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(descriptor)
            os.fchmod(descriptor, _mode_for(target))
        Path(temporary).replace(target)
        _fsync_folder(target.parent)
    except OSError as refused:
        raise SceneFileProblem(f"{file} cannot be written: {refused.strerror}.") from refused
    finally:
        Path(temporary).unlink(missing_ok=True)


def _encoded(scene: object) -> bytes:
    indented = (json.dumps(scene, ensure_ascii=False, indent=2) + "\n").encode()
    if len(indented) <= scene_file_bytes_max:
        return indented
    return (json.dumps(scene, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def _target(file: Path) -> Path:
    """The path to replace: a link stays one, and its file is replaced. Raises SceneFileProblem."""
    try:
        target = file.resolve()  # in 3.11 and 3.12 a circle of links is a RuntimeError, later it stays as it is
        kind = target.lstat().st_mode
    except FileNotFoundError:
        if file.is_symlink():
            raise SceneFileProblem(f"{file} is a link that leads nowhere; remove it or name another file.") from None
        return target
    except (OSError, RuntimeError) as refused:
        raise SceneFileProblem(
            f"{file} cannot be written: {getattr(refused, 'strerror', 'a circle of links')}."
        ) from None
    if not stat.S_ISREG(kind):
        raise SceneFileProblem(f"{file} is not a regular file and is left as it is; name another one.")
    return target


def _mode_for(file: Path) -> int:
    """The mode of the file that is replaced; a new one is readable as any document the person saves."""
    with contextlib.suppress(OSError):
        return stat.S_IMODE(file.stat().st_mode)
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def _fsync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lines_of(scene: Record) -> Iterator[Record]:
    """What follows a request to import `scene` (nexus/gateway/person_scenes.py)."""
    for part in parts_of(scene):
        yield {"part": part}
    yield {"finish": True}


def scene_of(lines: Sequence[Record], answer: Record) -> Record:
    """The scene in the lines of an export and the answer at its end."""
    joined = Joined()
    for line in lines:
        part = line.get("part")
        if isinstance(part, dict):
            joined.add(part)
    rest = answer.get("rest")
    return joined.scene(rest if isinstance(rest, dict) else {})
