"""Homes on disk without processes: shards whose rows a test wrote, and what is in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from actors.agent import RULES as AGENT
from bus import address
from bus.address import Address
from bus.codec import pack_row
from bus.store import Write, journal_key, state_key
from bus.store_lmdb import LmdbStore
from nexus.config import Home, create_home
from tests.support.bench import OwnerBench, owner

HASH_A, HASH_B = b"a" * 32, b"b" * 32


def made_home(path: Path, shards: int = 1) -> Home:
    """A home of `shards` shards that was never started."""
    home = create_home(path, cores={1: 1, 2: 8, 3: 12, 4: 16}[shards])
    assert home.settings.shards == shards
    return home


def write_rows(home: Home, rows: Sequence[tuple[Address, str, object]], sequence: int = 1) -> None:
    """State rows at the shards of their owners, and one journal record on every shard."""
    for shard in range(home.settings.shards):
        store = LmdbStore(home.shard_folder(shard))
        writes: list[Write] = [
            (state_key(to, row), pack_row(value))  # type: ignore[arg-type]
            for to, row, value in rows
            if to.shard(home.settings.shards) == shard
        ]
        record = {"owner": "counter/-/x", "call": "k", "by": "person", "at": 7, "events": [["test.added", {"n": 1}]]}
        store.commit([*writes, (journal_key(sequence), pack_row(record))])  # type: ignore[arg-type]
        store.close()


def agent_rows(agent_id: str, name: str, digest: bytes) -> list[tuple[Address, str, object]]:
    """The rows that an agent owner's own rules make."""
    bench = OwnerBench(AGENT, address.agent(agent_id))
    body = {"name": name, "workspaceId": "w", "mode": "auto", "capabilities": [], "tokenHash": digest}
    bench.send("agent_created", body, owner(address.DIRECTORY))  # type: ignore[arg-type]
    return [(bench.address, row, value) for row, value in bench.rows.items()]


def all_rows(home: Home) -> list[tuple[bytes, bytes]]:
    """Every pair of every shard."""
    found = []
    for shard in range(home.settings.shards):
        store = LmdbStore(home.shard_folder(shard))
        found += store.scan(b"")
        store.close()
    return found
