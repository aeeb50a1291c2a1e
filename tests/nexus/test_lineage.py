"""Where the process at the other end of the person's socket comes from, with real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import psutil
import pytest

from nexus import lineage
from nexus.gateway import person_port
from nexus.lineage import MARKERS, Lineage, lineage_of
from tests.nexus.test_person_port import LISTS
from tests.support.outside import WHY_SKIPPED, are_outside
from tests.support.person_port import RunningPort, ask, refused_code, running_port

PLAIN = {"PATH": os.defpath}
WAITS = "import sys; print('up', flush=True); sys.stdin.read()"
"""A process that lives until its standard input ends."""

CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-I', '-c', {WAITS!r}], env={PLAIN!r})"
"""One that starts the former with an environment that says nothing."""

ASKS = (
    "import json, socket, sys\n"
    "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
    'try: s.sendall(b\'{"verb": "workspace.list"}\' + b"\\n")\n'
    "except BrokenPipeError: pass\n"
    "print(s.makefile().readline())\n"
)


needs_outside = pytest.mark.skipif(not are_outside(), reason=WHY_SKIPPED)


@contextmanager
def started(program: str, environment: Mapping[str, str]) -> Iterator[psutil.Process]:
    """The last process that `program` starts, or its own if it starts none."""
    command = [sys.executable, "-I", "-c", program]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == b"up\n"
        own = psutil.Process(process.pid)
        try:
            yield (own.children(recursive=True) or [own])[-1]
        finally:
            process.stdin.close()


@needs_outside
def test_a_process_from_a_plain_terminal_is_outside() -> None:
    """common 2.4"""
    for program in (WAITS, CHILD):
        with started(program, PLAIN) as process:
            assert lineage_of(process.pid) is Lineage.OUTSIDE


@pytest.mark.parametrize("marker", MARKERS)
def test_a_process_with_a_marker_is_inside(marker: str) -> None:
    """common 2.4, security 2.2"""
    with started(WAITS, {**PLAIN, marker: ""}) as process:
        assert lineage_of(process.pid) is Lineage.INSIDE


@pytest.mark.parametrize("marker", MARKERS)
def test_a_child_that_was_given_a_clean_environment_is_as_much_inside(marker: str) -> None:
    """security 2.2"""
    with started(CHILD, {**PLAIN, marker: "x"}) as process:
        assert marker not in process.environ(), "the child itself says nothing"
        assert lineage_of(process.pid) is Lineage.INSIDE


@needs_outside
def test_whatever_a_root_started_is_inside_even_if_its_session_replaced_itself() -> None:
    """security 2.2: `exec env -i` leaves no marked process, but the parent stays."""
    with started(CHILD, PLAIN) as process:
        assert lineage_of(process.pid, roots={os.getpid()}) is Lineage.INSIDE
        assert lineage_of(process.pid, roots={process.pid}) is Lineage.INSIDE
        assert lineage_of(process.pid, roots={process.ppid()}) is Lineage.INSIDE


def test_a_process_that_has_ended_or_has_no_number_is_unknown() -> None:
    """common 2.4"""
    with started(WAITS, PLAIN) as process:
        pass
    assert lineage_of(process.pid) is Lineage.UNKNOWN
    assert lineage_of(0) is Lineage.UNKNOWN
    assert lineage_of(-1) is Lineage.UNKNOWN


@needs_outside
def test_an_ancestor_that_cannot_be_read_is_passed_over_and_the_process_itself_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """common 2.4"""
    hidden: set[int] = set()
    real = lineage._is_marked

    def is_marked(process: psutil.Process) -> bool:
        if process.pid in hidden:
            raise psutil.AccessDenied(process.pid)
        return real(process)

    monkeypatch.setattr(lineage, "_is_marked", is_marked)
    with started(CHILD, PLAIN) as process:
        hidden.add(process.ppid())
        assert lineage_of(process.pid) is Lineage.OUTSIDE
        hidden.add(process.pid)
        assert lineage_of(process.pid) is Lineage.UNKNOWN


def test_a_chain_that_was_made_too_deep_to_look_through_is_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """security 2.2"""
    monkeypatch.setattr(lineage, "ancestors_max", 1)
    with started(CHILD, PLAIN) as process:
        assert lineage_of(process.pid) is Lineage.INSIDE


def said_to(port: RunningPort, program: str, environment: Mapping[str, str]) -> dict[str, object]:
    command = [sys.executable, "-I", "-c", program, str(port.socket_path)]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=30, check=True)
    answer = json.loads(done.stdout)
    assert isinstance(answer, dict)
    return answer


@needs_outside
def test_the_port_serves_a_plain_process_and_reads_nothing_from_one_that_is_inside() -> None:
    """common 2.4, security 2.2"""
    inside = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-I', '-c', {ASKS!r}, sys.argv[1]], env={PLAIN!r})"
    )
    with running_port(LISTS, lineage=lineage_of) as port:
        for environment in ({**PLAIN, "NEXUS_SESSION_ID": "S"}, {**PLAIN, "NEXUS_TOKEN_FILE": "/x"}):
            for program in (ASKS, inside):
                assert refused_code(said_to(port, program, environment)) == "unidentified_caller"
        assert port.caller.sent == []
        for program in (ASKS, inside):
            assert "ok" in said_to(port, program, PLAIN)


@pytest.mark.parametrize("found", [Lineage.INSIDE, Lineage.UNKNOWN])
def test_every_verb_is_refused_alike_to_who_is_not_the_person(found: Lineage) -> None:
    """common 2.4"""
    with running_port(LISTS, lineage=lambda _: found) as port:
        answers = [ask(port, verb) for verb in ("workspace.list", "approvals.decide", "no.such.verb")]
        assert [refused_code(answer) for answer in answers] == ["unidentified_caller"] * 3
        assert answers[0] == answers[1] == answers[2]
        assert port.caller.sent == []


def test_a_peer_whose_lineage_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """common 2.4"""
    released = threading.Event()
    monkeypatch.setattr(person_port, "lineage_ms_max", 1)

    def stuck(process_id: int) -> Lineage:
        released.wait(30)
        return Lineage.OUTSIDE

    with running_port(LISTS, lineage=stuck) as port:
        try:
            assert refused_code(ask(port, "workspace.list")) == "unidentified_caller"
        finally:
            released.set()
