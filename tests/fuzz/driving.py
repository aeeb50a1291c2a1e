"""Runs requests against one gateway over the product's own owners, and gives each the same bound of time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.fuzz.judging import Answer, problem
from tests.fuzz.mutation import Requests
from tests.fuzz.request import OTHER_SESSION, OTHER_TOKEN, SESSION, TOKEN, Request
from tests.support.gateway_bench import PORT
from tests.support.home_bench import HomeBench
from tools.catalogue import TOOLS

ROUND: Final = 250
"""Requests that one home gets; a seed names the round."""
_ANSWER_SECONDS_MAX: Final = 20.0
_STREAM_SECONDS: Final = 0.02
"""How long an open stream is listened to before the client goes away."""
_SESSIONS_KEPT: Final = 8
_AT_ONCE: Final = (1, 1, 1, 3)


@dataclass(frozen=True)
class Failure:
    """The request that broke a rule, and how to see it again."""

    seed: int
    number: int
    request: Request
    answer: Answer
    why: str

    def report(self) -> str:
        return (
            f"request {self.number} of seed {self.seed}: {self.why}\n"
            f"  again: python -m tests.fuzz {self.seed}\n"
            f"  answer: {self.answer.status} {self.answer.body[:1_000]!r}\n"
            f"  to keep it as a case, put this line into tests/fuzz/kept.jsonl:\n{self.request.to_json()}"
        )


class Driver:
    """One home with two agents, and the requests of one of them. `async with` it."""

    def __init__(self) -> None:
        self._bench = HomeBench()
        self._sessions: dict[bytes, list[bytes]] = {TOKEN: [], OTHER_TOKEN: []}
        self.known: list[str] = ["no-such-id"]

    async def __aenter__(self) -> Driver:
        await self._bench.__aenter__()
        await self._bench.workspace("w", "Fuzzed")
        self._tokens = {
            TOKEN: (await self._bench.agent("ada", "Ada", "w")).encode(),
            OTHER_TOKEN: (await self._bench.agent("bo", "Bo", "w")).encode(),
        }
        made = await self._bench.content(self._tokens[TOKEN].decode(), "canvas_create", {"title": "P", "reason": "r"})
        self.known += ["w", "ada", "bo", str(made["canvasId"])]
        for whose in self._sessions:
            await self._open_session(whose)
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self._bench.__aexit__(*failure)

    async def answer(self, request: Request) -> Answer:
        """What the application makes of it, within a bound of time."""
        self._bench.clock.advance(20)  # so that the limits on calls a minute stay out of the way
        answer = await _Exchange(self._app, self._scope(request), request).run()
        await self._note_sessions(request, answer)
        return answer

    async def still_serves(self) -> str | None:
        """Whether both eras work as if nothing had been; otherwise what does not."""
        token = self._tokens[OTHER_TOKEN].decode()
        modern = await self._bench.modern("tools/call", {"name": "workspace_current", "arguments": {}}, token)
        if modern.status_code != 200 or modern.json().get("result", {}).get("isError") is not False:
            return f"a plain call is not answered any more: {modern.status_code} {modern.text[:300]}"
        session = await self._bench.legacy_session(token)
        listed = await session.request("tools/list")
        await self._end_session(session.headers["mcp-session-id"].encode(), OTHER_TOKEN)
        if len(listed.json()["result"]["tools"]) != len(TOOLS):
            return "tools/list of the older era is not whole any more"
        return None

    @property
    def _app(self) -> Any:
        return self._bench.gateway.asgi_app

    def _scope(self, request: Request) -> dict[str, Any]:
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": request.path,
            "raw_path": request.path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(name, self._filled(value)) for name, value in request.headers],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", PORT),
            "state": {},
        }

    def _filled(self, value: bytes) -> bytes:
        for place, token in self._tokens.items():
            value = value.replace(place, token)
        for place, whose in ((SESSION, TOKEN), (OTHER_SESSION, OTHER_TOKEN)):
            value = value.replace(place, self._sessions[whose][-1])
        return value

    async def _note_sessions(self, request: Request, answer: Answer) -> None:
        """New sessions are used from then on; the oldest end, so that the bound on them is not what is tested."""
        given = [value for name, value in answer.headers if name.lower() == b"mcp-session-id"]
        own = self._sessions[TOKEN]
        if answer.status == 200 and given and given[0] not in own and given[0] not in self._sessions[OTHER_TOKEN]:
            is_others = any(OTHER_TOKEN in value for _, value in request.headers)
            self._sessions[OTHER_TOKEN if is_others else TOKEN].append(given[0])
        for whose, sessions in self._sessions.items():
            while len(sessions) > _SESSIONS_KEPT:
                await self._end_session(sessions.pop(0), whose)
            if request.method == "DELETE" and answer.status == 200:
                sessions.clear()
                await self._open_session(whose)

    async def _open_session(self, whose: bytes) -> None:
        session = await self._bench.legacy_session(self._tokens[whose].decode())
        self._sessions[whose].append(session.headers["mcp-session-id"].encode())

    async def _end_session(self, session: bytes, whose: bytes) -> None:
        headers = {
            "authorization": f"Bearer {self._tokens[whose].decode()}",
            "mcp-session-id": session.decode(),
            "mcp-protocol-version": "2025-11-25",
        }
        await self._bench.http.delete("/mcp", headers=headers)


class _Exchange:
    """One request into the application and what comes out, with a client that goes away from an open stream."""

    def __init__(self, app: Any, scope: dict[str, Any], request: Request) -> None:
        self._app = app
        self._scope = scope
        self._request = request
        self._left = list(request.chunks)
        self._is_whole = False
        self._goes_away = asyncio.Event()
        self._has_begun = asyncio.Event()
        self._status: int | None = None
        self._headers: tuple[tuple[bytes, bytes], ...] = ()
        self._body: list[bytes] = []

    async def run(self) -> Answer:
        task = asyncio.ensure_future(self._app(self._scope, self._receive, self._send))
        if self._may_stay_open:
            begun = asyncio.ensure_future(self._has_begun.wait())
            await asyncio.wait((task, begun), timeout=_ANSWER_SECONDS_MAX, return_when=asyncio.FIRST_COMPLETED)
            begun.cancel()
            await asyncio.wait((task,), timeout=_STREAM_SECONDS)
        else:
            await asyncio.wait((task,), timeout=_ANSWER_SECONDS_MAX)
        self._goes_away.set()
        if not task.done():
            await asyncio.wait((task,), timeout=_ANSWER_SECONDS_MAX)
        is_late = not task.done()
        failure = ""
        if is_late:
            task.cancel()
            await asyncio.wait((task,))
        elif task.exception() is not None:
            failure = repr(task.exception())
        return Answer(self._status, self._headers, b"".join(self._body), failure, is_late)

    @property
    def _may_stay_open(self) -> bool:
        """Streams for notifications stay open until the client goes away; nothing else may."""
        return self._request.method != "POST" or b"listen" in self._request.body

    async def _receive(self) -> dict[str, Any]:
        if self._left:
            chunk = self._left.pop(0)
            more = bool(self._left) or self._request.is_broken_off
            return {"type": "http.request", "body": chunk, "more_body": more}
        if not self._request.is_broken_off:
            await self._goes_away.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = tuple(message.get("headers", ()))
            self._has_begun.set()
        else:
            self._body.append(message.get("body", b""))


async def run_round(seed: int, count: int = ROUND) -> Failure | None:
    """The first request of `seed` that breaks a rule."""
    chance = random.Random(seed)
    async with Driver() as driver:
        requests = Requests(chance, TOOLS, driver.known)
        number = 0
        while number < count:
            group = [requests.next() for _ in range(min(chance.choice(_AT_ONCE), count - number))]
            answers = await asyncio.gather(*map(driver.answer, group))
            for request, answer in zip(group, answers, strict=True):
                number += 1
                why = problem(request, answer)
                if why is not None:
                    return Failure(seed, number, request, answer, why)
        why = await driver.still_serves()
        return None if why is None else Failure(seed, number, request, answer, why)


async def run_kept(requests: Sequence[Request]) -> list[str]:
    """What is wrong with the answers to requests that once broke a rule."""
    found = []
    for request in requests:
        async with Driver() as driver:
            why = problem(request, await driver.answer(request)) or await driver.still_serves()
        if why is not None:
            found.append(f"{why}\n{request.to_json()}")
    return found
