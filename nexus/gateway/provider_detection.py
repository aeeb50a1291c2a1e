"""Which agent programs are on this machine now, asked off the event loop (knowledge.md, provider_*).

Invariants: nothing is kept between two questions, so what was installed a moment ago shows; whoever asks gets an answer
that was begun after asking; questions that come while one is being answered share the next one, so there is never more
than one run of a kind, however many ask. Programs run in threads of their own, since they may hang for seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from bus.limits import provider_runs_at_once_max, provider_versions_ms_max
from nexus.gateway.provider_programs import (
    Person,
    Program,
    Shell,
    ask_login_shell,
    files_there,
    programs_on,
    version_of,
)
from nexus.provider_file import Known, known_providers
from tools.provider_table import Provider

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Sighting:
    """What was there when it was asked."""

    known: Known = field(default_factory=Known)
    programs: Mapping[str, Program] = field(default_factory=dict)
    """By provider id; one that is not here is not installed."""
    shell: Shell = field(default_factory=lambda: Shell(""))

    def provider(self, provider_id: str) -> Provider | None:
        return self.known.providers.get(provider_id)


class Detection(Protocol):
    """Looks at the machine. Event loop thread only."""

    async def sighting(self) -> Sighting:
        """Every known provider and where its program is."""
        ...

    async def versions(self, sighting: Sighting, provider_ids: Collection[str]) -> Mapping[str, str | None]:
        """What these installed programs say of their version; None for one that does not say it in time."""
        ...

    async def files(self, provider: Provider) -> frozenset[str]:
        """Which of the provider's sign-in files exist."""
        ...


class NoPrograms:
    """A machine without any program, for a gateway that is not told of one."""

    async def sighting(self) -> Sighting:
        return Sighting()

    async def versions(self, sighting: Sighting, provider_ids: Collection[str]) -> Mapping[str, str | None]:
        return {}

    async def files(self, provider: Provider) -> frozenset[str]:
        return frozenset()


class SharedQuestion(Generic[Answer]):
    """One question that many may ask at once. An answer is shared by all who had asked before it was begun."""

    def __init__(self, answer: Callable[[], Awaitable[Answer]]) -> None:
        self._answer = answer
        self._running: asyncio.Task[Answer] | None = None
        self._next: asyncio.Task[Answer] | None = None

    async def ask(self) -> Answer:
        """Whoever stops waiting takes nothing from the others."""
        if self._next is None:
            self._next = asyncio.ensure_future(self._after(self._running))
            self._next.add_done_callback(self._ended)
        return await asyncio.shield(self._next)

    @property
    def is_idle(self) -> bool:
        return self._running is None and self._next is None

    async def _after(self, former: asyncio.Task[Answer] | None) -> Answer:
        if former is not None:
            await asyncio.wait((former,))
        self._running, self._next = self._next, None
        return await self._answer()

    def _ended(self, task: asyncio.Task[Answer]) -> None:
        if self._running is task:
            self._running = None
        if self._next is task:  # cancelled before it began
            self._next = None
        if not task.cancelled():
            task.exception()  # everybody who waits has it; nobody waiting is no complaint


class ThisMachine:
    """The programs of the person who runs NEXUS. `close` it with the loop."""

    def __init__(
        self,
        home: Path,
        person: Person,
        own_path: str,
        closed_folders: Callable[[], Awaitable[Iterable[str]]],
        *,
        runs_at_once: int = provider_runs_at_once_max,
    ) -> None:
        """`home` is NEXUS's; `own_path` is the PATH to go by when the login shell does not tell; `closed_folders` are
        those that agents may write in, from which no program is taken."""
        self._home = home
        self._person = person
        self._own_path = own_path
        self._closed_folders = closed_folders
        self._threads: Final = ThreadPoolExecutor(runs_at_once, thread_name_prefix="provider")
        self._sighting = SharedQuestion(self._look)
        self._versions: dict[tuple[Program, str], SharedQuestion[str | None]] = {}

    async def sighting(self) -> Sighting:
        return await self._sighting.ask()

    async def versions(self, sighting: Sighting, provider_ids: Collection[str]) -> Mapping[str, str | None]:
        asked = [id_ for id_ in provider_ids if id_ in sighting.programs]
        tasks = {id_: asyncio.ensure_future(self._version(sighting, id_)) for id_ in asked}
        if not tasks:
            return {}
        _, late = await asyncio.wait(tasks.values(), timeout=provider_versions_ms_max / 1000)
        for task in late:
            task.cancel()
        return {id_: None if task in late else task.result() for id_, task in tasks.items()}

    async def files(self, provider: Provider) -> frozenset[str]:
        return await self._in_thread(partial(files_there, provider, self._person))

    def close(self) -> None:
        """What runs ends by its own bounds; nothing is waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _look(self) -> Sighting:
        closed = [*await self._closed_folders()]
        return await self._in_thread(partial(self._seen, closed))

    def _seen(self, closed: list[str]) -> Sighting:
        known = known_providers(self._home)
        variables = {name for one in known.providers.values() for name in one.sign.variables}
        shell = ask_login_shell(self._person, variables, self._own_path)
        return Sighting(known, programs_on(shell.path, known.providers, closed), shell)

    async def _version(self, sighting: Sighting, provider_id: str) -> str | None:
        program, provider = sighting.programs[provider_id], sighting.known.providers[provider_id]
        # By the program too: of two sightings the later one may have found another.
        key = program, provider_id
        question = self._versions.get(key)
        if question is None:
            ask = partial(version_of, program, provider, self._person, sighting.shell.path)
            question = self._versions[key] = SharedQuestion(partial(self._in_thread, ask))
        try:
            return await question.ask()
        finally:
            if question.is_idle:
                self._versions.pop(key, None)

    async def _in_thread(self, work: Callable[[], Answer]) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)
