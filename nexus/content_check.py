"""What is in a shard that may be damaged, asked of a process that may end over it (nexus/content_reader.py)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from bus.store import LAYOUT_VERSION
from nexus.credentials import Credential
from nexus.home_content import STORE_FILE

_wait_seconds: Final = 1_800  # a large store from a slow disk; one that leads a reader in a circle ends here


class Unreadable(Exception):
    """The shard cannot be used. The text is the end of a sentence about it."""


@dataclass(frozen=True)
class Finish:
    """What a shard of a backup must be, and what its event log is told when it is."""

    shard: int
    sequence: int
    incarnation: int
    backupAt: int


@dataclass(frozen=True)
class Content:
    """What shards hold."""

    written: bool
    """Whether anything happened on them, or that cannot be told."""
    credentials: frozenset[Credential] | None
    """None if they cannot be read."""


def content_of(folder: Path, layout: int = LAYOUT_VERSION, finish: Finish | None = None) -> Content:
    """Look into the shard; with `finish`, read all of it and write its event `home.restored`. Raises Unreadable."""
    asked = {"folder": str(folder), "layout": layout, "finish": None if finish is None else asdict(finish)}
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-m", "nexus.content_reader"],
            input=json.dumps(asked).encode() + b"\n",
            capture_output=True,
            timeout=_wait_seconds,
            check=False,
        )
        if done.returncode != 0:
            raise Unreadable("is damaged: reading it ends the reader.")
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise Unreadable("could not be read in time.") from None
    except ValueError:
        raise Unreadable("could not be looked at.") from None
    if "problem" in answer:
        raise Unreadable(answer["problem"])
    found = answer["credentials"]
    credentials = None if found is None else frozenset(_credential(*one) for one in found)
    return Content(answer["written"], credentials)


def content_of_all(folders: Iterable[Path]) -> Content:
    """What the shards of a home hold together. A shard that cannot be read counts as written."""
    written, credentials = False, frozenset[Credential]()
    readable = True
    for folder in folders:
        if not (folder / STORE_FILE).exists():
            continue  # a home that was never started
        try:
            content = content_of(folder)
        except Unreadable:
            written, readable = True, False
            continue
        written = written or content.written
        readable = readable and content.credentials is not None
        credentials |= content.credentials or frozenset()
    return Content(written, credentials if readable else None)


def _credential(agent_id: str, agent: str, name: str, digest: str) -> Credential:
    return Credential(agent_id, agent, name, bytes.fromhex(digest))
