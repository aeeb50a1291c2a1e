"""What `nexus canvas export` writes when it is not a scene: an svg or png that Excalidraw itself drew."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from bus.value import Record, records
from nexus import exit_codes
from nexus.console.bundle import BundleMissing, bundle_folder
from nexus.ended_in_order import ended_in_order
from nexus.output import escape, fail, print_json, print_line, progress, shown
from nexus.picture_engine import Picture, PictureFailed, Wanted, drawn
from nexus.scene_file import SceneFileProblem, write_content
from tools.canvas.placeholders import as_picture, is_drawn


class Format(StrEnum):
    """What a canvas can be written as."""

    EXCALIDRAW = "excalidraw"
    SVG = "svg"
    PNG = "png"


SCALE_MIN: Final = 0.01
SCALE_MAX: Final = 100.0
_SUFFIXES: Final = {".svg": Format.SVG, ".png": Format.PNG}
_OTHER_PICTURES: Final = frozenset(
    {".gif", ".jpg", ".jpeg", ".webp", ".pdf", ".bmp", ".tif", ".tiff", ".avif", ".heic", ".eps", ".ps", ".ico"}
)


@dataclass(frozen=True, slots=True)
class Look:
    """How the person wants a canvas to be written."""

    format: Format
    scale: float | None
    background: bool


def look_of(file: Path, given: Format | None, scale: float | None, background: bool | None) -> Look:
    """The format that is given, else that of the file's suffix. Ends the command for options that a format has not."""
    if given is None and file.suffix.lower() in _OTHER_PICTURES:
        words = "Canvases are not written in the format of that suffix. Name a file that ends in .svg or .png for a "
        words += "picture, in .excalidraw for the scene, or say with --format which of them the file is to hold."
        raise fail(words, exit_codes.USAGE)
    chosen = given or _SUFFIXES.get(file.suffix.lower(), Format.EXCALIDRAW)
    if chosen is Format.EXCALIDRAW and (scale is not None or background is not None):
        raise fail("--scale and --background are of pictures; add --format svg or png.", exit_codes.USAGE)
    return Look(chosen, scale, background is not False)


def picture_of(scene: Record, look: Look) -> Picture:
    """The scene, drawn. Ends the command when it cannot be."""
    try:
        bundle = bundle_folder()
        _must_be_drawable(scene)
        with ended_in_order(), progress("Drawing the canvas"):
            return drawn(as_picture(scene), Wanted(look.format.value, look.scale, look.background), bundle)
    except (BundleMissing, PictureFailed) as problem:
        raise fail(escape(str(problem)), exit_codes.REFUSED) from None


def must_be_possible(look: Look) -> None:
    """Ends the command at once when no picture can come of it, before the canvas is read."""
    if look.format is Format.EXCALIDRAW:
        return
    try:
        bundle_folder()
    except BundleMissing as missing:
        raise fail(escape(str(missing)), exit_codes.REFUSED) from None


def _must_be_drawable(scene: Record) -> None:
    if not any(map(is_drawn, records(scene, "elements"))):
        raise PictureFailed("There is nothing on the canvas to draw.")


def write_picture(file: Path, picture: Picture, look: Look, answer: Record, as_json: bool) -> None:
    """Put the picture in place of `file`, or on standard output for `-`, and tell of it."""
    if str(file) == "-":
        sys.stdout.buffer.write(picture.content)
        sys.stdout.buffer.flush()
        return
    try:
        write_content(file, picture.content)
    except SceneFileProblem as problem:
        raise fail(escape(str(problem)), exit_codes.REFUSED) from None
    size = {"width": round(picture.width), "height": round(picture.height), "scale": round(picture.scale, 4)}
    if as_json:
        about: Record = {"canvasId": answer.get("canvasId"), "file": str(file), "format": look.format.value, **size}
        print_json({**about, "complaints": picture.complaints})
        return
    print_line(
        f"{shown(answer.get('title'))} drawn to {escape(str(file))}: {size['width']} by {size['height']}"
        + (f", scale {size['scale']}" if size["scale"] != 1 else "")
    )
    if picture.complaints:
        print_line(
            f"Excalidraw could not draw everything ({picture.complaints} complaints); look at the picture.",
            to_stderr=True,
        )
