"""The picture engine: draws one scene with Excalidraw in a browser of its own, and ends.

Started as `python -I -m actors.engines.browser.render`, asked over standard input: one line of JSON, then the scene's
bytes. Answers on standard output: one line of JSON, then the picture's bytes. Whoever asks keeps standard input open;
when it closes, they are gone and this process ends, and with it the browser, whose pipe closes.

- The scene was made harmless before it came here (tools/canvas/placeholders.py).
- The page and what it may load are the files of the bundle, answered here; every other request is refused and counted,
  and the browser could not resolve a name if one slipped by.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import sys
import threading
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.sync_api import Error, Page, Playwright, Route, sync_playwright

from actors.engines.browser.chromium import NoBrowser, flags, found_browser, runs_as_root

_ORIGIN: Final = "https://nexus.invalid"
"""Reserved for what does not exist (RFC 6761); secure, so that the page may subset fonts in a worker."""

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; worker-src 'self' blob:; frame-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Of the page and all it loads (facts/excalidraw, Traps)."""

_SUBSETTER: Final = "subset-worker"
_SUBSETTER_POLICY: Final = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' 'unsafe-eval'"
"""Of the worker that cuts fonts down to the characters of a picture. Its WebAssembly makes functions from texts of its
own. It sees no scene, but the bundle's fonts and numbers of characters, and can reach nothing.
"""

_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".woff2": "font/woff2",
    ".wasm": "application/wasm",
}
_OFFLINE: Final = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
)
_TOLD_CHARACTERS_MAX: Final = 500


@dataclass  # no slots: Playwright keeps a note on the object of a handler
class PictureServer:
    """Answers the page's requests: the bundle's files and the scene. Everything else is refused."""

    bundle: Path
    scene: bytes
    refused: int = 0
    _files: dict[str, Path] = field(init=False)

    def __post_init__(self) -> None:
        found = (file for file in self.bundle.rglob("*") if file.is_file() and file.suffix in _TYPES)
        self._files = {f"{_ORIGIN}/{file.relative_to(self.bundle).as_posix()}": file for file in found}

    def answer(self, route: Route) -> None:
        """Answer one request of the page."""
        address = route.request.url
        if address == f"{_ORIGIN}/scene.json":
            route.fulfill(body=self.scene, content_type="application/json")
        elif (file := self._files.get(address)) is not None:
            policy = _SUBSETTER_POLICY if file.name.startswith(_SUBSETTER) else POLICY
            headers = {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff"}
            route.fulfill(path=file, content_type=_TYPES[file.suffix], headers=headers)
        else:
            if urlsplit(address).path != "/favicon.ico":
                self.refused += 1
            route.abort("accessdenied")


def answer_to(asked: dict[str, Any], scene: bytes) -> tuple[dict[str, Any], bytes]:
    """The answer and the picture. `asked` is {"do": "look"} or {"do": "draw", ...} (nexus/picture_engine.py)."""
    with sync_playwright() as playwright:
        try:
            browser = found_browser(own_browser=lambda: Path(playwright.chromium.executable_path))
        except NoBrowser as none:
            return {"problem": "no_browser", "text": str(none)}, b""
        found = {"program": str(browser.program), "foundIn": browser.found_in}
        if asked["do"] == "look":
            return {**found, "playwright": metadata.version("playwright")}, b""
        try:
            answer, picture = _draw(playwright, browser.program, asked, scene)
            return {**answer, **found}, picture
        except Error as error:
            text = error.message.strip().partition("\n")[0][:_TOLD_CHARACTERS_MAX]
            return {"problem": "failed", "text": text, **found}, b""


def _draw(playwright: Playwright, program: Path, asked: dict[str, Any], scene: bytes) -> tuple[dict[str, Any], bytes]:
    is_root = runs_as_root()
    browser = playwright.chromium.launch(
        executable_path=program,
        args=[*flags(is_root), *_OFFLINE],
        chromium_sandbox=not is_root,
        timeout=asked["startMs"],
        handle_sigint=False,
        handle_sigterm=False,
        handle_sighup=False,
    )
    try:
        server = PictureServer(Path(asked["bundle"]), scene)
        context = browser.new_context(service_workers="block", accept_downloads=False)
        context.route("**/*", server.answer)
        made = _picture_of(context.new_page(), asked)
    finally:
        browser.close()
    content = made.pop("content", "")
    picture = content.encode() if asked["format"] == "svg" else base64.b64decode(content)
    return {**made, "refusedRequests": server.refused}, picture


def _picture_of(page: Page, asked: dict[str, Any]) -> dict[str, Any]:
    page.set_default_timeout(0)  # whoever asks bounds the time, and ends this process
    page.goto(f"{_ORIGIN}/render.html")
    page.wait_for_function("window.nexusPictureIsReady === true")
    wanted = {name: asked[name] for name in ("format", "scale", "background", "sideMax", "pixelsMax")}
    made: dict[str, Any] = page.evaluate("wanted => window.nexusPicture(wanted)", wanted)
    return made


def _end_with_input(descriptor: int, folder: Path | None) -> None:
    """Ends this process when whoever asked is gone; the browser's driver and the browser notice by their own pipes.

    `folder` was made for this process alone, and nobody else is left to remove it.
    """

    def watch() -> None:
        # The descriptor, not the stream: the interpreter cannot end while a thread waits inside a stream of it.
        while os.read(descriptor, 64):
            pass
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    threading.Thread(target=watch, name="asker-watch", daemon=True).start()


def main() -> None:
    """`python -I -m actors.engines.browser.render`."""
    os.umask(0o077)
    source = sys.stdin.buffer
    asked = json.loads(source.readline())
    scene = source.read(asked.get("sceneBytes", 0))
    _end_with_input(source.fileno(), Path(asked["folder"]) if "folder" in asked else None)
    answer, picture = answer_to(asked, scene)
    sys.stdout.buffer.write(json.dumps({**answer, "bytes": len(picture)}).encode() + b"\n" + picture)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
