"""Tokens of `nexus agent run`: one for its runtime, one for each task's program, lent by the person's socket (0012).

A program's own token dies with its task: it is given back when the task is over, and lapses by itself when this process
is killed. Waiting for a token is done in another thread, so that the event loop goes on renewing what it holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from nexus.agent_run_limits import run_again_ms
from nexus.shim.agents_socket import NotListening
from nexus.shim.lease import LeasedToken
from nexus.shim.token import NotYet


class Lent(Protocol):
    """A token while it is lent (nexus/shim/lease.py). Used by any thread."""

    def current(self) -> str: ...
    def has_other_than(self, refused: str, shown_ns: int) -> bool: ...
    def close(self) -> None: ...


class Lends:
    """Lends tokens of one agent, named as the person typed it."""

    def __init__(self, person_socket: Path, agent: str, workspace: str | None) -> None:
        self._person_socket = person_socket
        self._agent = agent
        self._workspace = workspace

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[Lent]:
        """One more token for as long as the block lasts."""
        token = LeasedToken(lambda: self._person_socket, self._agent, self._workspace)
        try:
            yield token
        finally:
            token.close()


async def token_of(lent: Lent, *, waits_for_nexus: bool, ms_max: int | None) -> str:
    """The token, as soon as there is one. Raises NoToken when there will be none; TimeoutError; NotListening when NEXUS
    does not run and is not waited for."""
    async with asyncio.timeout(None if ms_max is None else ms_max / 1_000):
        while True:
            try:
                return await asyncio.to_thread(lent.current)
            except NotListening:
                if not waits_for_nexus:
                    raise
                await asyncio.sleep(run_again_ms / 1_000)
            except NotYet:
                continue  # it has waited for a while
