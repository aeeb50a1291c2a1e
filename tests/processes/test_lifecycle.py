"""A whole NEXUS of real processes: started, looked at, killed in parts, stopped (common 8.1)."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from nexus import exit_codes
from nexus.config import open_home
from nexus.home_lock import is_held
from tests.support.processes import Nexus, await_end, ended_afterwards, is_alive
from tests.support.waiting import eventually

pytestmark = pytest.mark.processes

# On a quiet machine it takes a fifth of a second.


@pytest.fixture
def nexus(tmp_path: Path) -> Iterator[Nexus]:
    with ended_afterwards(Nexus(tmp_path / "home")) as nexus:
        yield nexus


def gateway_at(url: str) -> int:
    """The process id the gateway at `url` answers with."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    with socket.create_connection((parts.hostname, parts.port or 0), timeout=15) as connection:
        return int(connection.makefile().readline())


def test_detached_start_is_ready_when_it_returns_and_down_leaves_no_process(nexus: Nexus) -> None:
    record = nexus.start()
    assert record.keys() == {"url", "home", "pid"}
    assert record["home"] == str(nexus.home)
    processes = nexus.processes()
    assert processes.keys() == {"supervisor", "shard-0", "gateway"} | {name for name in processes if "shard" in name}
    assert processes["supervisor"] == record["pid"]
    assert gateway_at(record["url"]) == processes["gateway"]
    stopped = nexus.run("down", "--json")
    assert stopped.code == exit_codes.OK
    assert {process["pid"] for process in stopped.record["stopped"]} == set(processes.values())
    assert not any(is_alive(pid) for name, pid in processes.items() if name != "supervisor")
    await_end(*processes.values())
    assert not [entry for entry in (nexus.home / "run").iterdir() if entry.is_socket()]
    assert not (nexus.home / "run" / "port").exists()


def test_status_shows_address_and_roles(nexus: Nexus) -> None:
    record = nexus.start()
    status = nexus.run("status", "--json").record
    assert status.keys() == {"url", "home", "incarnation", "processes"}
    assert status["url"] == record["url"]
    assert {process["role"] for process in status["processes"]} == {"supervisor", "shard", "gateway"}
    assert record["url"] in nexus.run("status").out
    assert (nexus.home / "run" / "port").read_text().strip() == str(urlsplit(record["url"]).port)


def test_without_a_running_one_status_and_down_say_so(nexus: Nexus) -> None:
    for command in ("status", "down"):
        outcome = nexus.run(command)
        assert outcome.code == exit_codes.NOT_RUNNING
        assert "nexus up" in outcome.err
        assert outcome.out == ""
        assert nexus.run(command, "--json").record["error"]["message"] == outcome.err.strip()


def test_starting_twice_is_refused_and_the_first_goes_on(nexus: Nexus) -> None:
    before = nexus.start()
    for arguments in (["--detach"], []):
        outcome = nexus.run("up", "--port", "0", *arguments)
        assert outcome.code == exit_codes.ALREADY_RUNNING
        assert "already runs" in outcome.err
        assert "nexus down" in outcome.err
    assert gateway_at(before["url"]) == nexus.processes()["gateway"]


def test_two_starts_at_once_leave_one(nexus: Nexus) -> None:
    started = [
        subprocess.Popen(
            [*nexus.program, "up", "--detach", "--port", "0", "--home", str(nexus.home)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(3)
    ]
    codes = sorted(process.wait(60) for process in started)
    assert codes == [exit_codes.OK, exit_codes.ALREADY_RUNNING, exit_codes.ALREADY_RUNNING]
    assert len(nexus.processes()) >= 3


def test_the_home_option_wins_over_the_variable(nexus: Nexus, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with ended_afterwards(Nexus(other)):
        record = nexus.run("up", "--detach", "--port", "0", "--json", "--home", str(other)).record
        assert record["home"] == str(other)
        assert nexus.run("status").code == exit_codes.NOT_RUNNING
        assert nexus.run("status", "--home", str(other)).code == exit_codes.OK


def test_a_taken_port_is_refused_without_a_trace(nexus: Nexus) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for arguments in (["--detach"], []):
            outcome = nexus.run("up", "--port", str(taken.getsockname()[1]), *arguments)
            assert outcome.code == exit_codes.PORT_TAKEN
            assert "--port" in outcome.err
            assert "Traceback" not in outcome.err
    assert nexus.run("status").code == exit_codes.NOT_RUNNING


def test_a_child_that_cannot_start_fails_the_start_and_leaves_nothing(nexus: Nexus) -> None:
    nexus.misbehave(shard_0="ends")
    outcome = nexus.run("up", "--detach", "--port", "0")
    assert outcome.code == exit_codes.START_FAILED
    assert "shard-0.log" in outcome.err
    assert not is_held(open_home(nexus.home).lock_file)
    await_end(nexus.report("shard-0")["pid"])


@pytest.mark.parametrize("name", ["shard-0", "gateway"])
def test_a_killed_child_is_back_at_once_and_the_port_stays(nexus: Nexus, name: str) -> None:
    url = nexus.start()["url"]
    before = nexus.processes()
    os.kill(before[name], signal.SIGKILL)
    eventually(lambda: nexus.report(name)["pid"] != before[name], what="the restart")
    after = eventually(lambda: found if len(found := nexus.processes()) == len(before) else None)
    assert after[name] != before[name]
    assert {key: pid for key, pid in after.items() if key != name} == {
        key: pid for key, pid in before.items() if key != name
    }
    assert gateway_at(url) == after["gateway"]


def test_a_killed_supervisor_takes_its_children_with_it_and_a_new_one_starts(nexus: Nexus) -> None:
    nexus.start()
    before = nexus.processes()
    os.kill(before["supervisor"], signal.SIGKILL)
    nexus.start()
    await_end(*before.values())
    assert not set(before.values()) & set(nexus.processes().values())


def test_children_that_heed_nothing_die_with_a_killed_supervisor_too(nexus: Nexus) -> None:
    nexus.misbehave(shard_0="deaf")
    nexus.start()
    before = nexus.processes()
    os.kill(before["supervisor"], signal.SIGKILL)
    await_end(*before.values())


def test_a_child_that_does_not_stop_is_killed_after_its_grace(nexus: Nexus) -> None:
    nexus.misbehave(shard_0="deaf")
    nexus.start()
    processes = nexus.processes()
    outcome = nexus.run("down")
    assert outcome.code == exit_codes.OK
    assert "Stopping" in outcome.err
    await_end(*processes.values())


def test_detached_start_holds_no_descriptor_of_its_caller(nexus: Nexus) -> None:
    reading, writing = os.pipe()
    try:
        nexus.start(pass_fds=(writing,))
    finally:
        os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        # End of file only comes when nobody holds the other end; NEXUS runs on.
        assert stream.read() == b""
    assert nexus.run("status").code == exit_codes.OK


@contextlib.contextmanager
def foreground(nexus: Nexus, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*nexus.program, "up", "--port", "0", "--home", str(nexus.home), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=15)


def beside_progress(err: str) -> list[str]:
    """A start that takes over a second says so, which a busy machine makes of any."""
    return [line for line in err.splitlines() if not line.startswith("Starting: ")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_foreground_one_quietly(nexus: Nexus, number: signal.Signals) -> None:
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("the tests themselves run under nohup")
    with foreground(nexus) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        while "Ctrl-C" not in lines[-1]:
            lines.append(process.stdout.readline())
        assert any("http://127.0.0.1:" in line for line in lines)
        processes = nexus.processes()
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=15)
    assert (process.returncode, out, beside_progress(err)) == (0, "", [])
    assert not any(is_alive(pid) for pid in processes.values())


def test_the_foreground_one_prints_one_line_of_json_when_asked(nexus: Nexus) -> None:
    with foreground(nexus, "--json") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith('{"url": "http://127.0.0.1:')
        assert nexus.run("down").code == exit_codes.OK
        out, err = process.communicate(timeout=15)
    assert (process.returncode, out, beside_progress(err)) == (0, "", [])


def test_a_start_that_takes_long_says_what_it_waits_for(nexus: Nexus) -> None:
    nexus.misbehave(shard_0="silent")
    with foreground(nexus) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "Starting: shard-0, gateway ...\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(15) == 0


def test_a_home_whose_path_is_too_long_for_sockets_works(tmp_path: Path) -> None:
    with ended_afterwards(Nexus(tmp_path / ("deep" * 30))) as nexus:
        url = nexus.start()["url"]
        elsewhere = open_home(nexus.home).run
        assert not elsewhere.is_relative_to(nexus.home)
        assert gateway_at(url) == nexus.processes()["gateway"]
        assert nexus.run("down").code == exit_codes.OK
        assert not elsewhere.exists()


def test_doctor_sees_a_running_one_and_says_what_is_promised(nexus: Nexus) -> None:
    nexus.start()
    outcome = nexus.run("doctor", "--json")
    assert outcome.code == exit_codes.OK
    checks = {check["name"]: check for check in outcome.record["checks"]}
    assert "gateway" in checks["processes"]["text"]
    assert "Does not protect against" in nexus.run("doctor").out


def test_an_unsafe_home_is_refused_in_words(nexus: Nexus, tmp_path: Path) -> None:
    nexus.start()
    nexus.run("down")
    link = tmp_path / "link"
    link.symlink_to(nexus.home)
    for command in (["up"], ["up", "--detach"], ["down"], ["status"]):
        outcome = nexus.run(*command, "--home", str(link))
        assert outcome.code == exit_codes.HOME_REFUSED
        assert "symbolic link" in outcome.err
        assert "Traceback" not in outcome.err


def test_a_wrong_command_line_is_usage_and_none_is_help(nexus: Nexus) -> None:
    assert nexus.run("up", "--port", "many").code == exit_codes.USAGE
    plain = nexus.run()
    assert plain.code == exit_codes.OK
    assert all(command in plain.out for command in ("up", "down", "status", "doctor"))
    assert "already runs" in plain.out
