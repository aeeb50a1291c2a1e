"""A program that opens one shard for `nexus restore`: `python -I -m nexus.content_reader`, one JSON line in, one out.

It is a process of its own because a store that was cut short, or made up, can end whoever opens it. Nothing else opens
the shards of a backup before all of them were read to their end (nexus/content_check.py asks).
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Final

from bus.address import host
from bus.clock import SystemClock
from bus.codec import CorruptRow, pack_row
from bus.limits import store_check_rows_a_time
from bus.store import LAYOUT_VERSION, StoreBroken, StoreFull, fact_key, journal_key, sequence_of
from bus.store_lmdb import LmdbStore, StoreInUse, UnknownLayout
from bus.stored_time import newest_record_ms
from bus.value import Record
from nexus.credentials import credentials_of
from nexus.home_content import STORE_FILE

_META_BYTES: Final = 2 * 4096
"""LMDB's two first pages, with which every file of it begins."""


def answer_to(asked: dict[str, Any]) -> dict[str, Any]:
    """What is in the shard, or `problem`, the end of a sentence about it."""
    folder = Path(asked["folder"])
    try:
        if (folder / STORE_FILE).stat().st_size < _META_BYTES:
            return {"problem": "is cut short."}
        store = LmdbStore(folder, asked["layout"])
    except StoreInUse:
        return {"problem": "is in use by another process."}
    except UnknownLayout:
        return {"problem": "has not the layout that it should have."}
    except StoreFull:
        return {"problem": "could not be written: there is no room. Free some space."}
    except Exception:  # noqa: BLE001 - whatever LMDB or the system has against the file is the answer
        return {"problem": "is no store that can be opened."}
    try:
        return _content(store, asked)
    except StoreFull:
        return {"problem": "could not be written: there is no room. Free some space."}
    except StoreBroken:
        return {"problem": "could not be written."}
    except Exception:  # noqa: BLE001 - the same for its pages
        return {"problem": "is damaged."}
    finally:
        store.close()


def _content(store: LmdbStore, asked: dict[str, Any]) -> dict[str, Any]:
    last = store.last(b"j")
    sequence = 0 if last is None else sequence_of(last[0])
    finish = asked["finish"]
    if finish is not None:
        _read_whole(store)
        if sequence != finish["sequence"]:
            return {"problem": "does not end where its manifest says."}
    try:
        found = [[*one.record().values(), one.digest.hex()] for one in credentials_of(store)]
    except CorruptRow:
        found = None
    if finish is not None and asked["layout"] == LAYOUT_VERSION:
        _tell(store, sequence, finish)
    return {"written": last is not None, "credentials": found}


def _read_whole(store: LmdbStore) -> None:
    after = None
    while rows := store.scan(b"", after, store_check_rows_a_time):
        after = rows[-1][0]


def _tell(store: LmdbStore, sequence: int, finish: dict[str, Any]) -> None:
    """The event log tells that the shard was restored, by the person."""
    data: Record = {"incarnation": finish["incarnation"], "backupAt": finish["backupAt"]}
    # No earlier than what is stored, though the machine's clock was set back: the host begins at this time.
    at_ms = max(SystemClock().now_ms(), newest_record_ms(store))
    record: Record = {"owner": str(host(finish["shard"])), "call": "", "by": "person", "at": at_ms}
    told = pack_row({**record, "events": [["home.restored", data]]})
    incarnation = (fact_key("home-incarnation"), pack_row(finish["incarnation"]))
    store.commit([(journal_key(sequence + 1), told), incarnation])


def main() -> None:
    """`python -I -m nexus.content_reader`."""
    os.umask(0o077)
    sys.stdout.write(json.dumps(answer_to(json.loads(sys.stdin.readline()))) + "\n")


if __name__ == "__main__":
    main()
