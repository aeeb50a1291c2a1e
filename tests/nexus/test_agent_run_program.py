"""A task's program and its keeper, as real processes without NEXUS (mesh 5.2; security 2.16)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from nexus import agent_run_program
from nexus.agent_run_limits import run_errors_bytes_kept, run_line_bytes_max, run_output_bytes_max
from nexus.agent_run_program import Ended, Order, Program
from tests.support.processes import await_end
from tests.support.waiting import eventually

DEAF = "import signal, threading; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
WAITS = f"{DEAF}; threading.Event().wait()"


def order(folder: Path, *command: str, given: bytes = b"", environment: dict[str, str] | None = None) -> Order:
    (run := folder / "run").mkdir()
    (run / "task.json").write_text("{}")
    return Order(command, {"PATH": os.defpath, **(environment or {})}, folder, run, given)


def python(script: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-c", script)


def done(order: Order, lines: list[str] | None = None) -> Ended:
    async def body() -> Ended:
        program = await Program.started(order)
        return await program.ended(lambda line: None if lines is None else lines.append(line))

    return asyncio.run(asyncio.wait_for(body(), 60))


def test_it_reads_its_input_and_its_output_and_status_are_kept(tmp_path: Path) -> None:
    ended = done(order(tmp_path, *python("import sys; print(sys.stdin.read()[::-1]); sys.exit(7)"), given=b"abc"))
    assert (ended.status, ended.output, ended.output_bytes, ended.errors) == (7, b"cba\n", 4, b"")
    assert not (tmp_path / "run").exists(), "the keeper has removed it"


def test_what_it_does_not_read_holds_nothing_up(tmp_path: Path) -> None:
    assert done(order(tmp_path, *python("pass"), given=b"x" * 4_000_000)).status == 0


def test_a_signal_that_ends_it_is_told_as_such(tmp_path: Path) -> None:
    assert done(order(tmp_path, *python("import os; os.kill(os.getpid(), 9)"))).status == -signal.SIGKILL


def test_one_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no program")
    ended = done(order(tmp_path, str(tmp_path / "file")))
    assert (ended.status, ended.problem) == (None, "it could not be started: Permission denied")


def test_output_is_counted_whole_and_kept_in_part(tmp_path: Path) -> None:
    """mesh 5.2: bounded memory"""
    size = 5 * run_output_bytes_max
    ended = done(order(tmp_path, *python(f"import sys; sys.stdout.write('x' * {size})")))
    assert (ended.output_bytes, len(ended.output)) == (size, run_output_bytes_max)


def test_of_standard_error_each_line_is_told_and_the_end_kept(tmp_path: Path) -> None:
    """mesh 5.2: bounded memory"""
    lines: list[str] = []
    long = 3 * run_line_bytes_max
    script = f"import sys; sys.stderr.write('one\\rtwo\\n' + 'x' * {long} + '\\nlast')"
    ended = done(order(tmp_path, *python(script)), lines)
    assert lines == ["one", "two", "x" * run_line_bytes_max, "last"]
    assert len(ended.errors) == run_errors_bytes_kept
    assert ended.errors.endswith(b"\nlast")


def test_it_gets_its_environment_and_three_descriptors_and_no_module_of_its_folder(tmp_path: Path) -> None:
    """security 2.16"""
    for name in ("json", "actors", "nexus", "subprocess"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'w')")
    script = "import os, json; print(json.dumps([dict(os.environ), os.listdir('/dev/fd')]))"
    environment = {"A": "b", "PYTHONPATH": str(tmp_path), "PYTHONSTARTUP": str(tmp_path / "json.py")}
    with tempfile.TemporaryFile() as canary:
        os.set_inheritable(canary.fileno(), True)
        ended = done(order(tmp_path, *python(script), environment=environment))
    seen, descriptors = json.loads(ended.output)
    assert {name: value for name, value in seen.items() if name != "LC_CTYPE"} == {"PATH": os.defpath, **environment}
    assert len(descriptors) == 4, "standard input, output and error, and the folder that is being listed"
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("way", ["cancelled", "killed"])
def test_all_of_it_ends_when_it_is_told_to(tmp_path: Path, way: str) -> None:
    """mesh 5.2: also what ignores being asked, and what left its group (Linux)"""
    away = sys.platform == "linux"
    below = f"subprocess.Popen([sys.executable, '-I', '-c', {WAITS!r}], start_new_session={away}).pid"
    script = f"{DEAF}; import os, subprocess, sys; print(os.getpid(), {below}, flush=True); {WAITS}"

    async def body() -> list[int]:
        program = await Program.started(order(tmp_path, *python(script)))
        ending = asyncio.create_task(program.ended(lambda _: None))
        said = await asyncio.to_thread(eventually, lambda: bytes(program._output), what="the program")
        if way == "cancelled":
            ending.cancel()
            await asyncio.gather(ending, return_exceptions=True)
            assert ending.cancelled()
        else:
            program.kill()
            assert (await ending).status == -signal.SIGKILL
        program.end()  # safe when all is over
        return [int(pid) for pid in said.split()]

    await_end(*asyncio.run(asyncio.wait_for(body(), 60)))
    assert not (tmp_path / "run").exists()


def test_whoever_does_not_end_when_asked_is_killed_after_the_grace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_run_program, "run_grace_ms", 50)

    async def body() -> Ended:
        program = await Program.started(order(tmp_path, *python(f"{DEAF}; print(1, flush=True); {WAITS}")))
        ending = asyncio.create_task(program.ended(lambda _: None))
        await asyncio.to_thread(eventually, lambda: bytes(program._output), what="the program")
        program.end()
        return await ending

    assert asyncio.run(asyncio.wait_for(body(), 60)).status == -signal.SIGKILL


def test_a_program_that_ends_when_asked_says_its_last_words(tmp_path: Path) -> None:
    script = (
        "import signal, sys, threading\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('bye', flush=True), sys.exit(0)))\n"
        "print('hello', flush=True); threading.Event().wait()"
    )

    async def body() -> Ended:
        program = await Program.started(order(tmp_path, *python(script)))
        ending = asyncio.create_task(program.ended(lambda _: None))
        await asyncio.to_thread(eventually, lambda: bytes(program._output), what="the program")
        program.end()
        return await ending

    ended = asyncio.run(asyncio.wait_for(body(), 60))
    assert (ended.status, ended.output) == (0, b"hello\nbye\n")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process that leaves its group is lost to the keeper")
def test_what_it_leaves_behind_is_ended_although_it_left_the_group(tmp_path: Path) -> None:
    """mesh 5.2"""
    below = f"subprocess.Popen([sys.executable, '-I', '-c', {WAITS!r}], start_new_session=True).pid"
    ended = done(order(tmp_path, *python(f"import subprocess, sys; print({below})")))
    assert ended.status == 0
    await_end(int(ended.output), seconds=0.5)


def test_it_ends_when_whoever_started_it_is_gone(tmp_path: Path) -> None:
    """mesh 5.2: a runtime that was killed says nothing, but its end of the control socket closes"""
    (run := tmp_path / "run").mkdir()
    ours, theirs = socket.socketpair()
    options = ("--control", str(theirs.fileno()), "--folder", str(run))
    bounds = ("--grace-ms", "60000", "--orphaned-grace-ms", "50", "--kill-ms-max", "5000")
    command = python(f"{DEAF}; import os; print(os.getpid(), flush=True); {WAITS}")
    with subprocess.Popen(
        [*agent_run_program._KEEPER, *options, *bounds, "--", *command],
        stdout=subprocess.PIPE,
        pass_fds=(theirs.fileno(),),
        start_new_session=True,
    ) as keeper:
        theirs.close()
        assert keeper.stdout is not None
        pid = int(keeper.stdout.readline())
        ours.close()
        await_end(pid)
        assert keeper.wait(20) == 0
    assert not run.exists()
