"""The page that a request for the person's approval points to: it names the commands that decide (common 5.6).

Constant bytes, the same for everybody: it holds no secret, no id, no text of an agent and no script, and reads nothing
of its request but the method. Nothing is decided here; the person decides by command (common 2.4).
"""

from __future__ import annotations

import base64
import hashlib
from typing import Final

from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

PATH: Final = "/approvals"

_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:40em;margin:3em auto;padding:0 1em;color:#212529;"
    "background:#fff}code{background:#f1f3f5;padding:.15em .4em;border-radius:3px}li{margin:.5em 0}"
    "@media(prefers-color-scheme:dark){body{color:#e9ecef;background:#16191d}code{background:#2b3035}}"
)
_PAGE: Final = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>NEXUS: a call waits for you</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>A call waits for your approval</h1>
<p>An agent wants to do something that needs your word. This page decides nothing and shows nothing of it.
Open a terminal of your own and type:</p>
<ol>
<li><code>nexus approvals list</code> to see what waits,</li>
<li><code>nexus approvals show ID</code> to read the whole of it,</li>
<li><code>nexus approvals approve ID</code> or <code>nexus approvals deny ID</code> to decide.</li>
</ol>
<p>The agent's program waits for a while and then asks again. You may close this page.</p>
</body>
</html>
""".encode()

_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS: Final = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class ApprovalsPage:
    """An instance of a class, which Starlette takes as raw ASGI for every method."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            response: Response = PlainTextResponse("This page can only be read.", 405, headers={"Allow": "GET"})
        else:
            response = Response(_PAGE, media_type="text/html", headers=_HEADERS)
        await response(scope, receive, send)


def address(port: int) -> str:
    """Of the page, at the gateway's own listener."""
    return f"http://127.0.0.1:{port}{PATH}"
