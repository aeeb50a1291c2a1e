"""One supervisor a home, none beside the children of a killed one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nexus.config import Home, create_home
from nexus.home_lock import AlreadyRunning, ChildrenLinger, HomeLock, is_held, wait_until_free


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return create_home(tmp_path / "home", cores=1)


def take(home: Home, *, wait_ms: int = 50, answers: bool = False, told: list[str] | None = None) -> HomeLock:
    return HomeLock(home, wait_ms=wait_ms, answers=lambda: answers, waiting=(told if told is not None else []).append)


def test_a_second_one_is_refused_in_words_that_say_what_next(home: Home) -> None:
    lock = take(home)
    with pytest.raises(AlreadyRunning, match=r"already runs on .*nexus status.*nexus down"):
        take(home)
    lock.release()
    take(home).release()


def test_a_supervisor_that_answers_is_refused_without_waiting(home: Home) -> None:
    lock = take(home)
    with pytest.raises(AlreadyRunning):
        take(home, wait_ms=3_600_000, answers=True)
    lock.release()


def test_a_refused_one_holds_nothing(home: Home) -> None:
    lock = take(home)
    with pytest.raises(AlreadyRunning):
        take(home)
    lock.release()
    assert not is_held(home.lock_file)
    assert not is_held(home.family_lock_file)


def test_children_of_a_killed_supervisor_are_awaited(home: Home) -> None:
    lock = take(home)
    orphan = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        pass_fds=(lock.family_descriptor,),
    )
    assert orphan.stdin is not None
    lock.release()
    try:
        assert not is_held(home.lock_file)
        with pytest.raises(ChildrenLinger, match="earlier NEXUS"):
            take(home)
        told: list[str] = []
        ending = threading.Timer(1.2, orphan.stdin.close)
        ending.start()
        take(home, wait_ms=20_000, told=told).release()
        ending.join()
        assert told == ["Waiting for processes of an earlier NEXUS to end"]
    finally:
        orphan.stdin.close()
        orphan.wait(10)


def test_locks_do_not_reach_programs_that_were_not_meant_to_have_them(home: Home) -> None:
    lock = take(home)
    assert not os.get_inheritable(lock.family_descriptor)
    lock.release()
    assert wait_until_free(home.lock_file, 0)


def test_a_lock_that_was_never_made_is_free(tmp_path: Path) -> None:
    assert not is_held(tmp_path / "none")
