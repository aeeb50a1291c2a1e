"""A real Chromium for the tests of one session, and pages in it that reach nothing but what they are served here.

Playwright's loop runs in a thread of its own, since its blocking interface leaves a running loop in the thread that
uses it, and other tests of the session start theirs there. Everything here may be called from any thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar, cast
from urllib.parse import urlsplit

from anyio.from_thread import BlockingPortal, start_blocking_portal
from playwright.async_api import Browser, ConsoleMessage, Page, Route, ViewportSize, WebSocketRoute, async_playwright

from actors.engines.browser.chromium import flags, found_browser, runs_as_root
from bus.value import Value

ORIGIN: Final = "https://editor.invalid"
"""A name that can never lead anywhere, and a secure context as the console's is."""

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self' blob:; frame-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""What an embedded editor is served under (facts: the Excalidraw scene)."""

_HTML: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Judge</title><link rel="stylesheet" href="judge.css">
<style>html, body, #editor { height: 100%; margin: 0 }</style></head>
<body><div id="editor"></div><script type="module" src="judge.js"></script></body></html>
"""
_FONTS_ELSEWHERE: Final = "Loading the font 'https://esm.sh/"
"""Where the editor would look for a font that it does not find here. Chromium says at once that it would be refused."""
_SECONDS_MAX: Final = 60.0
_SIZE: Final[ViewportSize] = {"width": 1200, "height": 900}
_Answer = TypeVar("_Answer")


@dataclass
class ServedPage:
    """A page that is served a folder. What it asks elsewhere is refused and stands in `outside`."""

    page: Page
    portal: BlockingPortal
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    """Uncaught errors of scripts, and what the page's policy forbade."""

    def run(self, act: Callable[[Page], Awaitable[_Answer]]) -> _Answer:
        """Let Playwright do something with the page. Raises TimeoutError after a minute."""

        async def bounded() -> _Answer:
            async with asyncio.timeout(_SECONDS_MAX):
                return await act(self.page)

        return self.portal.call(bounded)

    def evaluate(self, expression: str, argument: object = None) -> Value:
        """What a script in the page comes to, as JSON; it may be a promise."""
        return cast(Value, self.run(lambda page: page.evaluate(expression, argument)))

    def text(self, expression: str, argument: object = None) -> str:
        """The same for a script that gives a string."""
        given = self.evaluate(expression, argument)
        assert isinstance(given, str), given
        return given


@dataclass
class Browsing:
    """A Chromium that runs."""

    browser: Browser
    portal: BlockingPortal

    @contextmanager
    def page(self, folder: Path, policy: str = POLICY) -> Iterator[ServedPage]:
        """A page with nothing of any other page, on `folder`, loaded; gone afterwards."""
        served = self.portal.call(self._opened, folder, policy)
        try:
            yield served
        finally:
            self.portal.call(served.page.context.close)

    async def _opened(self, folder: Path, policy: str) -> ServedPage:
        # `reduced_motion`: nothing that a test looks at is still on its way.
        context = await self.browser.new_context(
            viewport=_SIZE,
            service_workers="block",
            reduced_motion="reduce",
        )
        page = await context.new_page()
        served = ServedPage(page, self.portal)

        async def answer(route: Route) -> None:
            await _answered(route, folder, policy, served)

        async def refuse(socket: WebSocketRoute) -> None:
            served.outside.append(socket.url)
            await socket.close()

        def note(message: ConsoleMessage) -> None:
            if message.type == "error" and not message.text.startswith(_FONTS_ELSEWHERE):
                served.errors.append(message.text)

        await context.route("**/*", answer)
        await context.route_web_socket("**/*", refuse)
        page.on("pageerror", lambda error: served.errors.append(str(error)))
        page.on("console", note)
        await page.goto(f"{ORIGIN}/", wait_until="load")
        return served


async def _answered(route: Route, folder: Path, policy: str, served: ServedPage) -> None:
    url = urlsplit(route.request.url)
    if f"{url.scheme}://{url.netloc}" != ORIGIN:
        served.outside.append(route.request.url)
        await route.abort()
        return
    if url.path == "/":
        headers = {"content-type": "text/html; charset=utf-8", "content-security-policy": policy}
        await route.fulfill(body=_HTML, headers=headers)
        return
    path = (folder / url.path.lstrip("/")).resolve()
    if path.is_relative_to(folder) and path.is_file():
        await route.fulfill(path=path)
    else:
        await route.fulfill(status=404, body="")


@contextmanager
def browsing() -> Iterator[Browsing]:
    """The Chromium of this machine, without a window, as long as the context lasts. Raises NoBrowser."""
    with start_blocking_portal() as portal:
        stack = AsyncExitStack()

        async def start() -> Browser:
            playwright = await stack.enter_async_context(async_playwright())
            own = Path(playwright.chromium.executable_path)
            program = found_browser(own_browser=lambda: own).program
            browser = await playwright.chromium.launch(executable_path=program, args=flags(runs_as_root()))
            stack.push_async_callback(browser.close)
            return browser

        try:
            yield Browsing(portal.call(start), portal)
        finally:
            portal.call(stack.aclose)
