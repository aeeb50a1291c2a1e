"""`nexus agent run` on a real NEXUS, with real programs (mesh 5.2; security 2.2, 2.9, 2.16)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nexus.config import open_home
from tests.processes.conftest import PRODUCT, Running
from tests.processes.test_kills import processes
from tests.processes.test_runtimes import SHORT_LEASES, SUPPORT, Pair, Place
from tests.support.agent_run import agent_run, noted, program
from tests.support.mcp_http import McpHttp
from tests.support.processes import Nexus, await_end
from tests.support.waiting import eventually

pytestmark = pytest.mark.processes

CANARY = "canary-5d1b"


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="nx-") as folder:
        nexus = Nexus(Path(folder) / "home", SHORT_LEASES)
        started = nexus.start()
        try:
            yield Place(Running(Nexus(nexus.home, PRODUCT), started["url"]), open_home(nexus.home))
        finally:
            assert nexus.run("down").code == 0


@pytest.fixture(scope="module")
def shared(place: Place) -> Pair:
    return place.pair("run")


@pytest.fixture
def pair(shared: Pair) -> Iterator[Pair]:
    """The agents of all tests here; no task of one test is left to the next."""
    yield shared
    for left in shared.worker.ok("agent_inbox", {"limit": 100})["deliveries"]:
        shared.worker.ok("agent_reply", {"threadId": left["threadId"], "outcome": "failed", "body": "left"})


def home(pair: Pair) -> Path:
    return pair.place.home.path


def end_of(pair: Pair, thread: str) -> dict[str, Any]:
    """What the sender was told of the end."""
    return asyncio.run(pair.ended([thread]))[thread]


def text_of(notice: dict[str, Any]) -> str:
    return str(notice["result"]["body"]["text"])


def is_served(client: McpHttp) -> bool:
    try:
        client.ok("agent_inbox")
    except (AssertionError, OSError):
        return False
    return True


def hostile_folder(folder: Path) -> Path:
    """One whose packages, if anyone of NEXUS imported them, would leave a trace."""
    for name in ("actors", "bus", "nexus", "json"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(f"open({str(folder / 'trace')!r}, 'w')")
    return folder


def test_a_program_gets_its_task_by_input_and_a_private_file_and_nothing_else_of_the_terminal(
    pair: Pair, tmp_path: Path
) -> None:
    """mesh 5.2; security 2.9, 2.16"""
    thread = pair.send("count", instructions="Count the beans.", inputs={"beans": 3})
    (seen := tmp_path / "seen").mkdir()
    (hostile := tmp_path / "hostile").mkdir()
    hostile_folder(hostile)
    secret = {"CANARY": CANARY, "NEXUS_TOKEN": pair.token, "NEXUS_OTHER": CANARY, "PYTHONPATH": str(hostile)}
    environment = {**secret, "WANTED": "passed", "LC_TEST": "kept"}
    with tempfile.TemporaryFile() as canary:
        of_canary = os.fstat(canary.fileno())
        with agent_run(
            *(home(pair), pair.worker_id, "--once", "--env", "WANTED", "--cwd", str(hostile)),
            command=program("report", seen),
            environment=environment,
            cwd=hostile,
            pass_fds=(canary.fileno(),),
        ) as run:
            assert run.ended() == 0
            assert run.folders() == []
    assert text_of(end_of(pair, thread)) == "seen"
    report = noted(seen, "report")
    assert report["given"] == report["file"]
    given = json.loads(report["given"])
    assert set(given) == {"threadId", "deliveryId", "attempt", "from", "task"}
    assert (given["threadId"], given["attempt"]) == (thread, 1)
    assert (given["task"]["instructions"], given["task"]["inputs"]) == ("Count the beans.", {"beans": 3})
    assert report["modes"] == [0o600, 0o600, 0o700]
    assert report["leads"], "it leads a session and a group of its own"
    assert report["cwd"] == str(hostile)
    assert not (hostile / "trace").exists()
    assert [of_canary.st_dev, of_canary.st_ino] not in report["descriptors"]
    own = {name for name in report["environment"] if name.startswith("NEXUS")}
    assert own == {"NEXUS_HOME", "NEXUS_RUN_ID", "NEXUS_THREAD_ID", "NEXUS_TOKEN_FILE", "NEXUS_TASK_FILE"}
    assert report["environment"]["NEXUS_THREAD_ID"] == thread
    assert (report["environment"]["WANTED"], report["environment"]["LC_TEST"]) == ("passed", "kept")
    shown = json.dumps([report["arguments"], report["environment"]])
    for hidden in (CANARY, "beans", "PYTHONPATH", report["token"], given["deliveryId"]):
        assert hidden not in shown
    assert report["token"] not in (pair.token, "")


def test_a_programs_token_is_the_agents_while_the_task_lasts_and_nobodys_after(pair: Pair, tmp_path: Path) -> None:
    """mesh 5.2; common 2.1; decision 0012"""
    thread = pair.send("hold")
    with agent_run(home(pair), pair.worker_id, "--once", command=program("hold", tmp_path)) as run:
        token = noted(tmp_path, "held")["token"]
        client = McpHttp(pair.place.running.url, token)
        assert client.ok("agent_get", {"agentId": pair.worker_id})["agentId"] == pair.worker_id
        (tmp_path / "go").touch()
        assert run.ended() == 0
    assert text_of(end_of(pair, thread)) == "held"
    with pytest.raises(AssertionError, match="401"):
        client.ok("agent_inbox")


@pytest.mark.parametrize(
    ("inputs", "outcome", "text"),
    [
        ({"text": "  all done\n"}, "completed", "all done"),
        ({"text": '{"body": "half", "outcome": "partial"}'}, "partial", "half"),
        ({"text": '{"body": "I cannot", "outcome": "failed"}', "status": 1}, "failed", "I cannot"),
        ({"text": '{"body": "fine"}', "status": 1}, "failed", "The program ended with exit status 1."),
        ({"text": '{"beans": 3}'}, "completed", '{"beans": 3}'),
    ],
)
def test_a_programs_output_and_exit_status_are_the_answer(
    pair: Pair, tmp_path: Path, inputs: dict[str, Any], outcome: str, text: str
) -> None:
    """mesh 5.2"""
    thread = pair.send("print", inputs=inputs)
    with agent_run(home(pair), pair.worker_id, "--once", command=program("prints", tmp_path)) as run:
        assert run.ended() == (1 if outcome == "failed" else 0)
    notice = end_of(pair, thread)
    assert (notice["outcome"], text_of(notice)) == (outcome, text)


def test_an_answer_that_is_too_long_is_cut_and_says_so(pair: Pair, tmp_path: Path) -> None:
    """mesh 5.2"""
    thread = pair.send("print", inputs={"text": "ü", "times": 100_000})
    with agent_run(home(pair), pair.worker_id, "--once", command=program("prints", tmp_path)) as run:
        assert run.ended() == 0
    notice = end_of(pair, thread)
    assert notice["outcome"] == "partial"
    assert text_of(notice).endswith("ü\n[cut here by nexus agent run: the program wrote 200000 bytes]")


def test_a_failure_tells_the_end_of_standard_error_without_credentials(pair: Pair, tmp_path: Path) -> None:
    """mesh 5.2; common 7.2"""
    thread = pair.send("fail")
    with agent_run(home(pair), pair.worker_id, "--once", command=program("fails", tmp_path)) as run:
        assert run.ended() == 1
    notice = end_of(pair, thread)
    assert notice["state"] == "failed"
    assert text_of(notice).startswith("The program ended with exit status 3.\n\nStandard error ended with:\n")
    assert text_of(notice).endswith("\nno beans")
    assert "my token is" in text_of(notice)
    assert f"nx_{pair.worker_id}" not in text_of(notice)


def test_lines_of_standard_error_are_progress_at_a_bounded_rate(pair: Pair, tmp_path: Path) -> None:
    """mesh 5.2"""
    thread = pair.send("print", inputs={"text": "ok", "lines": [f"line {number}" for number in range(300)]})
    with agent_run(home(pair), pair.worker_id, "--once", command=program("prints", tmp_path)) as run:
        assert run.ended() == 0
    told = [one for one in run.events if one["event"] == "progress"]
    assert 1 <= len(told) < 30
    logged = [one for one in pair.place.running.events() if one.get("threadId") == thread or thread in json.dumps(one)]
    assert any("thread.progress" in json.dumps(one) for one in logged)


def test_a_task_that_takes_too_long_fails_and_all_that_was_started_for_it_ends(pair: Pair, tmp_path: Path) -> None:
    """mesh 5.2"""
    thread = pair.send("wait")
    options = ("--once", "--time-limit", "1")
    with agent_run(home(pair), pair.worker_id, *options, command=program("wait", tmp_path)) as run:
        pids = noted(tmp_path, f"waiting-{thread}")["pids"]
        assert run.ended() == 1
    await_end(*pids)
    notice = end_of(pair, thread)
    assert notice["state"] == "failed"
    assert text_of(notice).startswith("The program took longer than 1 s and was ended.")
    assert text_of(notice).endswith("\nbegun")


def test_a_thread_that_ends_elsewhere_ends_its_program_with_all_below_it(pair: Pair, tmp_path: Path) -> None:
    """mesh 4.2, 5.2"""
    thread = pair.send("wait")
    with agent_run(home(pair), pair.worker_id, command=program("wait", tmp_path)) as run:
        pids = noted(tmp_path, f"waiting-{thread}")["pids"]
        pair.worker.ok("agent_reply", {"threadId": thread, "outcome": "completed", "body": "by another"})
        run.said("lost", threadId=thread, why="completed")
        await_end(*pids)
        assert run.folders() == []
        assert run.process.poll() is None, "it goes on with other tasks"
    assert text_of(end_of(pair, thread)) == "by another"


def test_a_runtime_that_was_killed_leaves_nothing_running_and_its_task_is_offered_again(
    pair: Pair, tmp_path: Path
) -> None:
    """mesh 4.4, 5.2"""
    thread = pair.send("wait")
    with agent_run(home(pair), pair.worker_id, command=program("wait", tmp_path)) as run:
        pids = noted(tmp_path, f"waiting-{thread}")["pids"]
        assert len(run.folders()) == 1
        run.process.kill()
        await_end(*pids, seconds=20)
    with agent_run(home(pair), pair.worker_id, "--once", command=program("report", tmp_path)) as run:
        assert run.ended() == 0
    assert json.loads(noted(tmp_path, "report")["given"])["attempt"] == 2
    assert text_of(end_of(pair, thread)) == "seen"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the keeper's group is ended by the runtime alone")
def test_a_keeper_that_was_killed_takes_its_program_along_and_the_task_fails(pair: Pair, tmp_path: Path) -> None:
    """mesh 5.2"""
    thread = pair.send("wait")
    with agent_run(home(pair), pair.worker_id, "--once", command=program("wait", tmp_path)) as run:
        leader, in_group, away = noted(tmp_path, f"waiting-{thread}")["pids"]
        status = Path(f"/proc/{leader}/stat").read_text()
        os.kill(int(status.rpartition(")")[2].split()[1]), signal.SIGKILL)
        assert run.ended() == 1
        await_end(leader, in_group)
        os.kill(away, signal.SIGKILL)  # nobody is left who knows of it
    assert "was lost" in text_of(end_of(pair, thread))


def test_ctrl_c_ends_programs_and_gives_back_what_they_worked_on_and_what_had_not_begun(
    pair: Pair, tmp_path: Path
) -> None:
    """mesh 5.2"""
    first, second = pair.send("wait"), pair.send("later")
    with agent_run(home(pair), pair.worker_id, command=program("wait", tmp_path)) as run:
        pids = noted(tmp_path, f"waiting-{first}")["pids"]
        run.interrupt()
        assert run.ended() == 0
        await_end(*pids)
        run.said("ended", threadId=first, outcome="given back")
        assert not [one for one in run.events if one.get("threadId") == second]
    attempts = {}
    for _ in (first, second):
        with agent_run(home(pair), pair.worker_id, "--once", command=program("report", tmp_path)) as run:
            assert run.ended() == 0
            given = json.loads(noted(tmp_path, "report")["given"])
            attempts[given["threadId"]] = given["attempt"]
            (tmp_path / "report").unlink()
    assert attempts == {first: 2, second: 1}


def test_a_second_ctrl_c_kills_what_does_not_end(pair: Pair, tmp_path: Path) -> None:
    """mesh 5.2"""
    thread = pair.send("stubborn")
    with agent_run(home(pair), pair.worker_id, command=program("stubborn", tmp_path)) as run:
        pids = noted(tmp_path, f"waiting-{thread}")["pids"]
        run.interrupt()
        run.said("stopping", atWork=1)
        run.interrupt()
        run.said("killing")
        assert run.ended() == 0
        await_end(*pids)


def test_what_a_program_leaves_behind_ends_with_its_task(pair: Pair, tmp_path: Path) -> None:
    """mesh 5.2"""
    thread = pair.send("leave")
    with agent_run(home(pair), pair.worker_id, "--once", command=program("leave", tmp_path)) as run:
        assert run.ended() == 0
        await_end(*noted(tmp_path, "left")["pids"])
    assert text_of(end_of(pair, thread)) == "left"


def test_several_tasks_are_worked_on_at_a_time_when_the_person_says_so(pair: Pair, tmp_path: Path) -> None:
    """mesh 5.2"""
    threads = [pair.send(f"wait {number}") for number in range(3)]
    with agent_run(home(pair), pair.worker_id, "--concurrency", "2", command=program("wait", tmp_path)) as run:
        for thread in threads[:2]:
            noted(tmp_path, f"waiting-{thread}")
        pair.worker.ok("agent_reply", {"threadId": threads[0], "outcome": "completed", "body": "enough"})
        noted(tmp_path, f"waiting-{threads[2]}")
        assert len(run.folders()) == 2


def test_a_task_is_finished_although_the_gateway_is_killed_under_it(running: Running, tmp_path: Path) -> None:
    """mesh 4.4, 5.2; decision 0012: its tokens are lent again. With leases as long as the product's."""
    pair = Place(running, open_home(running.nexus.home)).pair("killed")
    thread = pair.send("hold")
    with agent_run(home(pair), pair.worker_id, "--once", command=program("hold", tmp_path)) as run:
        token = noted(tmp_path, "held")["token"]
        os.kill(processes(pair.place.home)["gateway"], signal.SIGKILL)
        client = McpHttp(pair.place.running.url, token)
        eventually(lambda: is_served(client), what="that the program's token counts again")
        (tmp_path / "go").touch()
        assert run.ended() == 0
    notice = end_of(pair, thread)
    assert (notice["state"], text_of(notice)) == ("completed", "held")


def test_the_persons_socket_refuses_whatever_a_run_has_started(pair: Pair, tmp_path: Path) -> None:
    """security 2.2; common 2.4"""
    pair.send("be the person")
    with agent_run(home(pair), pair.worker_id, "--once", command=program("person", tmp_path)) as run:
        assert run.ended() == 0
    for code, out, err in noted(tmp_path, "tried"):
        assert code == 1, (out, err)
        assert "outside of NEXUS" in out + err


def test_a_preset_runs_its_program_with_a_prompt_and_says_when_it_is_not_there(pair: Pair, tmp_path: Path) -> None:
    """mesh 5.2"""
    thread = pair.send("count", instructions="Count the beans.")
    (bin_folder := tmp_path / "bin").mkdir()
    claude = bin_folder / "claude"
    claude.write_text(f'#!/bin/sh\nprintf "%s " "$@" > {tmp_path}/arguments\ncat > {tmp_path}/prompt\necho 3 beans\n')
    claude.chmod(0o700)
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    with agent_run(
        *(home(pair), pair.worker_id, "--once", "--preset", "claude"),
        command=("--model", "small"),
        environment={"PATH": path},
    ) as run:
        assert run.ended() == 0
    assert (tmp_path / "arguments").read_text().split() == ["-p", "--model", "small"]
    assert '"instructions": "Count the beans."' in (tmp_path / "prompt").read_text()
    assert text_of(end_of(pair, thread)) == "3 beans"
    with agent_run(home(pair), pair.worker_id, "--preset", "goose", environment={"PATH": str(bin_folder)}) as run:
        assert run.ended() == 1
        assert "no program goose on PATH" in run.events[0]["error"]["message"]


def test_a_runtime_whose_agent_is_removed_ends_and_says_so(place: Place, tmp_path: Path) -> None:
    """security 2.10"""
    pair = place.pair("removed")
    with agent_run(home(pair), pair.worker_id, command=program("wait", tmp_path)) as run:
        run.said("ready", agentId=pair.worker_id)
        pair.place.running.person("agent", "remove", pair.worker_id, "--yes")
        assert run.ended() == 1


def test_an_agent_program_draws_and_delegates_further_with_nothing_but_its_task(
    running: Running, tmp_path: Path
) -> None:
    """mesh 3.3, 5.2: it is a client of `nexus mcp`, whose token is that of its run"""
    place = Place(running, open_home(running.nexus.home))
    pair = place.pair("draws")
    counter_id, _ = running.agent("counter", "draws")
    draws = (sys.executable, "-I", str(SUPPORT / "scripted_agent.py"))
    with agent_run(home(pair), counter_id, command=program("report", tmp_path)) as counting:
        counting.said("ready")  # by which alone it can be sent to (mesh 2.1)
        thread = pair.send("draw", instructions="Draw a box, and ask another to count.", inputs={"ask": "counter"})
        with agent_run(home(pair), pair.worker_id, "--once", command=draws) as drawing:
            assert drawing.ended() == 0
    notice = end_of(pair, thread)
    assert notice["state"] == "completed"
    answer = notice["result"]
    [canvas_ref] = answer["artifacts"]["data"]
    assert text_of(notice) == "I drew a box, and counter says: seen"
    canvas_id = str(canvas_ref).removeprefix("canvas://")
    listed = pair.worker.ok("canvas_list")["canvases"]
    assert canvas_id in {one["canvasId"] for one in listed}
    events = [one for one in running.events() if thread in json.dumps(one)]
    assert events, "the threads are in the log"
    assert json.loads(noted(tmp_path, "report")["given"])["from"]["agentId"] == pair.worker_id
