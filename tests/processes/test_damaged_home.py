"""A whole NEXUS on homes that cannot be used: refused in words, with one exit code, and no process left."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nexus import exit_codes
from tests.support.processes import Nexus, ended_afterwards

pytestmark = pytest.mark.processes


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[Nexus]:
    """The product, which has run once on its home and has ended."""
    with ended_afterwards(Nexus(tmp_path / "home", (sys.executable, "-I", "-m", "nexus"))) as nexus:
        nexus.start()
        assert nexus.run("down").code == exit_codes.OK
        config = nexus.home / "config.toml"
        sound = config.read_text()
        yield nexus
        config.touch(mode=0o600)
        config.write_text(sound)  # so that what runs in spite of all can be stopped


def cut_short(home: Path) -> None:
    os.truncate(home / "shards" / "0" / "data.mdb", 8_192)


def gone(home: Path) -> None:
    (home / "shards" / "0" / "data.mdb").unlink()


def emptied(home: Path) -> None:
    os.truncate(home / "shards" / "0" / "data.mdb", 0)


def garbage(home: Path) -> None:
    (home / "shards" / "0" / "data.mdb").write_bytes(b"\xa5" * 100_000)


def emptied_config(home: Path) -> None:
    (home / "config.toml").unlink()


def more_shards(home: Path) -> None:
    config = home / "config.toml"
    text = config.read_text()
    shards = int(re.findall(r"shards = (\d)", text)[0])
    config.write_text(text.replace(f"shards = {shards}", f"shards = {shards % 4 + 1}"))


def short_key(home: Path) -> None:
    (home / "home.key").write_bytes(b"short")


def open_key(home: Path) -> None:
    (home / "home.key").chmod(0o644)


def open_store(home: Path) -> None:
    (home / "shards" / "0" / "data.mdb").chmod(0o640)


@pytest.mark.parametrize(
    "damage",
    [cut_short, gone, emptied, garbage, emptied_config, more_shards, short_key, open_key, open_store],
    ids=lambda d: d.__name__,
)
def test_up_refuses_with_5_and_doctor_finds_the_same(stopped: Nexus, damage: Callable[[Path], None]) -> None:
    """common 8.1, security 2.23"""
    damage(stopped.home)
    for arguments in (["--detach"], []):
        outcome = stopped.run("up", "--port", "0", "--json", *arguments)
        assert outcome.code == exit_codes.HOME_REFUSED, outcome
        assert str(stopped.home) in outcome.record["error"]["message"]
        assert "Traceback" not in outcome.err
    for log in (stopped.home / "logs").iterdir():
        assert "Traceback" not in log.read_text()
    examined = stopped.run("doctor", "--json")
    assert examined.code == exit_codes.UNHEALTHY
    problems = [check["text"] for check in examined.record["checks"] if check["outcome"] == "problem"]
    assert any(str(stopped.home) in problem for problem in problems)
