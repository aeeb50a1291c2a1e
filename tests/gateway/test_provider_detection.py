"""Questions to the machine: shared, never stale, off the event loop (knowledge.md: nothing is cached)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest

from bus.client import DeadlinePassed
from nexus.gateway.provider_detection import NoPrograms, SharedQuestion, ThisMachine
from nexus.gateway.provider_programs import Person
from nexus.provider_file import FILE_NAME
from tests.gateway.test_provider_programs import program
from tests.support.gateway_bench import in_loop
from tools.provider_table import PROVIDERS


class Oracle:
    """Answers how often it was asked, when the test lets it."""

    def __init__(self) -> None:
        self.begun = 0
        self.open = asyncio.Event()
        self.question = SharedQuestion(self._answer)

    async def _answer(self) -> int:
        self.begun += 1
        mine = self.begun
        await self.open.wait()
        return mine


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@in_loop
async def test_questions_that_come_together_share_one_answer() -> None:
    oracle = Oracle()
    asking = [asyncio.ensure_future(oracle.question.ask()) for _ in range(20)]
    await turns()
    oracle.open.set()
    assert await asyncio.gather(*asking) == [1] * 20


@in_loop
async def test_who_asks_while_one_is_answered_gets_an_answer_that_began_after_asking() -> None:
    oracle = Oracle()
    first = asyncio.ensure_future(oracle.question.ask())
    await turns()
    later = [asyncio.ensure_future(oracle.question.ask()) for _ in range(20)]
    await turns()
    assert oracle.begun == 1, "never two at once"
    oracle.open.set()
    assert await first == 1
    assert await asyncio.gather(*later) == [2] * 20
    assert await oracle.question.ask() == 3 and oracle.question.is_idle


@in_loop
async def test_who_stops_waiting_takes_nothing_from_the_others() -> None:
    oracle = Oracle()
    leaving, staying = (asyncio.ensure_future(oracle.question.ask()) for _ in range(2))
    await turns()
    leaving.cancel()
    await turns()
    oracle.open.set()
    assert await staying == 1


@in_loop
async def test_a_question_that_fails_fails_for_those_who_asked_it_and_no_later_one() -> None:
    answers: list[BaseException | int] = [OSError("broken"), 7]

    async def answer() -> int:
        now = answers.pop(0)
        if isinstance(now, BaseException):
            raise now
        return now

    question = SharedQuestion(answer)
    with pytest.raises(OSError, match="broken"):
        await question.ask()
    assert await question.ask() == 7


async def no_roots() -> Iterable[str]:
    return ()


def machine(folder: Path, roots: object = None) -> ThisMachine:
    shell = program(folder, "shell", f'while [ "$1" != -c ]; do shift; done; PATH={folder}/bin; exec /bin/sh "$@"')
    (folder / "bin").mkdir(exist_ok=True)
    return ThisMachine(folder, Person(str(shell), str(folder), "someone"), "", roots or no_roots)  # type: ignore[arg-type]


@in_loop
async def test_a_program_shows_with_the_next_question_after_it_came_or_went(tmp_path: Path) -> None:
    """knowledge.md: a program installed shows at once"""
    here = machine(tmp_path)
    try:
        assert (await here.sighting()).programs == {}
        file = program(tmp_path / "bin", "codex", "echo codex-cli 1.2.3")
        seen = await here.sighting()
        assert seen.programs["codex"].real == str(file.resolve())
        assert await here.versions(seen, ["codex", "claude"]) == {"codex": "1.2.3"}
        program(tmp_path / "bin", "codex", "echo codex-cli 1.2.4")
        assert await here.versions(await here.sighting(), ["codex"]) == {"codex": "1.2.4"}
        file.unlink()
        assert (await here.sighting()).programs == {}
        (tmp_path / FILE_NAME).write_text('[provider.mine]\nname = "Mine"\nprograms = ["mine"]\n')
        (tmp_path / FILE_NAME).chmod(0o600)
        assert "mine" in (await here.sighting()).known.providers
    finally:
        here.close()


@in_loop
async def test_a_hundred_who_ask_at_once_run_a_program_once(tmp_path: Path) -> None:
    """security 2.23"""
    runs = tmp_path / "runs"
    here = machine(tmp_path)
    program(tmp_path / "bin", "codex", f"echo run >> {runs}; echo 1.2.3")
    try:
        seen = await here.sighting()
        answers = await asyncio.gather(*(here.versions(seen, ["codex"]) for _ in range(100)))
        assert answers == [{"codex": "1.2.3"}] * 100
        assert runs.read_text().splitlines() == ["run"]
    finally:
        here.close()


@in_loop
async def test_where_roots_cannot_be_told_no_program_is_told_either(tmp_path: Path) -> None:
    """security 2.16"""

    async def unreachable() -> Iterable[str]:
        raise DeadlinePassed(was_sent=True)

    here = machine(tmp_path, unreachable)
    try:
        with pytest.raises(DeadlinePassed):
            await here.sighting()
    finally:
        here.close()


@in_loop
async def test_programs_that_are_slow_together_have_no_version_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nexus.gateway.provider_detection.provider_versions_ms_max", 200)
    here = machine(tmp_path)
    program(tmp_path / "bin", "codex", "sleep 30")
    try:
        assert await here.versions(await here.sighting(), ["codex"]) == {"codex": None}
    finally:
        here.close()


@in_loop
async def test_a_gateway_that_is_told_of_no_machine_has_no_programs() -> None:
    nothing = NoPrograms()
    sighting = await nothing.sighting()
    assert [*sighting.known.providers] == [*PROVIDERS] and sighting.programs == {}
    assert await nothing.versions(sighting, ["codex"]) == {}
    assert await nothing.files(PROVIDERS["codex"]) == frozenset()
