"""Large revisions: what writing one, taking it back and reading it again costs, and how long each keeps the other
threads of its process from the interpreter in one go. Goal: under 50 ms, whatever the revision.

Through the product's host on a real store, with turns run inline. How long is told by a thread that does nothing but
look how much its process has computed since it last looked, so other programs of the machine make little difference.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

from bus.address import Address
from bus.limits import elements_per_call_max, revert_elements_max
from bus.store_lmdb import LmdbStore
from bus.value import Record, Value
from tests.benchmarks.canvas import Rows, Shard, imported, keep

ELEMENTS: Final = 4_500  # as many boxes, labels and arrows as revert_bytes_max lets a revert change
_CANVAS: Final = Address("canvas", "bench", "past")
_SWITCH_SECONDS: Final = 0.001  # as a shard host has it
Answer = TypeVar("Answer")

assert revert_elements_max >= ELEMENTS


def watched(name: str, work: Callable[[], Answer]) -> Answer:
    """Prints what `work` computed and the longest that it kept another thread waiting, in milliseconds."""
    longest, is_there, is_over = 0.0, threading.Event(), threading.Event()

    def watch() -> None:
        nonlocal longest
        last = time.process_time()
        is_there.set()
        while not is_over.is_set():
            now = time.process_time()
            longest, last = max(longest, now - last), now
            time.sleep(0)

    watcher = threading.Thread(target=watch)
    watcher.start()
    is_there.wait()
    longest, started = 0.0, time.thread_time()
    answer = work()
    took = time.thread_time() - started
    is_over.set()
    watcher.join()
    print(f"{name:44} computing {took * 1e3:6.1f} ms, at most {longest * 1e3:5.1f} ms in one go", flush=True)
    return answer


def run(folder: Path) -> None:
    """Prints the figures of canvases in `folder`."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    rows, _ = imported(ELEMENTS)
    asyncio.run(_run(folder, rows))


async def _run(folder: Path, rows: Rows) -> None:
    store = LmdbStore(folder)
    keep(store, _CANVAS, rows)
    shard = Shard(store)
    ids = _ids(shard)
    for first in range(0, len(ids), elements_per_call_max):
        listed = ids[first : first + elements_per_call_max]
        updates: list[Value] = [{"id": id_, "set": {"opacity": 50}} for id_ in listed]
        _write(shard, "canvas_update_elements", {"updates": updates})
    now = _revision(shard)
    answer = watched(f"revert of {len(ids)} elements", lambda: _write(shard, "canvas_revert", {"to": 1}))
    listed_ids = answer["elementIds"]
    assert isinstance(listed_ids, list)
    assert len(listed_ids) == len(ids), answer
    watched("and that taken back", lambda: _write(shard, "canvas_revert", {"to": now}))
    for name, asked in (
        ("the list of all revisions", Record()),
        ("both reverts read with their elements", {"after": now, "elements": True}),
    ):
        pages = watched(name, lambda asked=asked: [*_pages(shard, asked)])  # type: ignore[misc]
        print(f"{'':44} in {len(pages)} pages")
    store.close()


def _ids(shard: Shard) -> list[str]:
    ids: list[str] = []
    asked: Record = {}
    while True:
        reply = shard.ask(_CANVAS, "canvas_export", asked)
        part, following = reply["part"], reply["next"]
        assert isinstance(part, dict)
        elements = part.get("elements")
        ids += [str(one["id"]) for one in elements if isinstance(one, dict)] if isinstance(elements, list) else []
        if not isinstance(following, dict):
            return ids
        asked = following


def _revision(shard: Shard) -> int:
    revision = shard.ask(_CANVAS, "canvas_summary", {})["revision"]
    assert isinstance(revision, int)
    return revision


def _write(shard: Shard, verb: str, arguments: Record) -> Record:
    body: Record = {"canvasId": "past", "reason": "bench", "expectedRevision": _revision(shard), **arguments}
    answer = shard.ask(_CANVAS, verb, body)
    assert answer["outcome"] == "applied", answer
    return answer


def _pages(shard: Shard, asked: Record) -> Iterator[Record]:
    following: Record = {}
    while True:
        page = shard.ask(_CANVAS, "canvas_history", {**asked, **following})
        yield page
        if not isinstance(page["next"], dict):
            return
        following = page["next"]
