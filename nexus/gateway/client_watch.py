"""Ends the work on a request whose client has gone: closing the connection is how that era cancels.

A call is nearly always answered before it would be worth a task of its own to wait for that, so waiting begins only
after `client_watch_after_ms`; a connection that has closed before is then noticed at once.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

from starlette.types import Receive

from bus.limits import client_watch_after_ms


class ClientWatch:
    """`with` it, in the task that works on the request and after its body was read. A request that is ended so leaves
    the block without an exception, and `has_gone` is true."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.has_gone = False
        self._watching: asyncio.Task[None] | None = None

    def __enter__(self) -> ClientWatch:
        task = asyncio.current_task()
        assert task is not None, "ASGI applications are run by tasks"
        self._working = task
        self._timer = asyncio.get_running_loop().call_later(client_watch_after_ms / 1_000, self._begin)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._timer.cancel()
        if self._watching is not None:
            self._watching.cancel()
        # `uncancel` tells whether somebody else, such as the stopping server, has cancelled it too.
        return self.has_gone and self._working.uncancel() == 0 and kind is asyncio.CancelledError

    def _begin(self) -> None:
        self._watching = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.has_gone = True
        self._working.cancel()
