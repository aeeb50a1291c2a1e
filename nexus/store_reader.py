"""A program that reads one store for `nexus doctor`: `python -I -m nexus.store_reader FOLDER`, one JSON line back.

It is a process of its own because a store that was cut short ends its reader. It writes nothing to a store that is
there, and holds its lock for less time than a starting host waits for it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from bus.codec import CorruptRow, unpack_row
from bus.limits import store_check_ms_max, store_check_rows_a_time
from bus.store_lmdb import LmdbStore, StoreInUse, UnknownLayout


def _look_into(folder: Path) -> str | None:
    """The end of a sentence about the file. Reads as long as `store_check_ms_max` allows."""
    try:
        store = LmdbStore(folder)
    except StoreInUse:
        return "is in use by another process."
    except UnknownLayout:
        return "was written by another release of NEXUS, or is damaged. Use that release or restore a backup."
    except Exception as problem:  # noqa: BLE001 - whatever LMDB or the system has against the file is the answer
        return f"cannot be opened: {problem}. Restore the home from a backup."
    try:
        return _damage(store)
    except Exception as problem:  # noqa: BLE001 - the same for its pages
        return f"is damaged: {problem}. Restore the home from a backup."
    finally:
        store.close()


def _damage(store: LmdbStore) -> str | None:
    end = time.monotonic() + store_check_ms_max / 1000
    damaged, after = 0, None
    while time.monotonic() < end:
        rows = store.scan(b"", after, store_check_rows_a_time)
        for _, row in rows:
            try:
                unpack_row(row)
            except CorruptRow:
                damaged += 1
        if len(rows) < store_check_rows_a_time:
            break
        after = rows[-1][0]
    return f"has {damaged} damaged rows. Restore the home from a backup." if damaged else None


def main() -> None:
    """`python -I -m nexus.store_reader FOLDER`."""
    os.umask(0o077)
    sys.stdout.write(json.dumps({"problem": _look_into(Path(sys.argv[1]))}) + "\n")


if __name__ == "__main__":
    main()
