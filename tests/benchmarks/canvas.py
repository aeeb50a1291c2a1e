"""Canvases of 500 and of 50,000 elements side by side: what a question and a write cost, loading, memory, and what the
other callers of a shard feel meanwhile.

First within this process, on a real store, through the product's host with turns run inline: no sockets, so that a
ratio is one of the work itself. Then through real processes and MCP (large_import.py), where 8 agents go on drawing on
canvases of their own. Goals (contract canvas 5): ratios at most 2, loading under 1.5 s, import under 10 s, nobody else
waits longer than 50 ms. The dearest writes that one call may be are in canvas_writes.py.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import random
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import uvloop

from actors.canvas import RULES
from actors.canvas.entry import Entry
from actors.decision import Context, Delete, Message, Principal, PrincipalKind, Put, Send
from actors.host import Host, Place
from actors.pool import InlineExecutor
from bus.address import Address
from bus.clock import ManualClock, SystemClock
from bus.codec import pack_row
from bus.envelope import Call, Envelope, LinkClass, Reply
from bus.journal import GroupWriter, InlineJournal
from bus.limits import gc_allocations_between, gc_looks_between, owner_idle_ms, owner_sweep_ms
from bus.link import Peer
from bus.session import Session
from bus.store import Store, state_key
from bus.store_lmdb import LmdbStore
from bus.value import Record
from tests.benchmarks import canvas_writes, large_import
from tests.support.large_scene import large_scene
from tools.canvas.scene_parts import announcement_of, parts_of

SMALL: Final = 500
LARGE: Final = 50_000
ROUNDS: Final = 300
SLEEPERS: Final = 20  # canvases of LARGE / SLEEPERS elements each
ROWS_A_COMMIT: Final = 2_000
SEED: Final = 7
Rows = Mapping[str, bytes]


class Clock(ManualClock):
    """The machine's time, and whatever was waited for in one step."""

    def __init__(self) -> None:
        super().__init__()
        self._system = SystemClock()
        self._ahead_ms = 0

    def now_ms(self) -> int:
        return self._system.now_ms() + self._ahead_ms

    def advance(self, milliseconds: int) -> None:
        self._ahead_ms += milliseconds


class Shard:
    """A host on `store`, and a way to ask its canvases as the person."""

    def __init__(self, store: Store) -> None:
        loop = asyncio.get_running_loop()
        self.clock = Clock()
        executor = InlineExecutor()
        roster = {"canvas": RULES}
        self.host = Host(
            Place(0, 1), roster, store=store, clock=self.clock, scheduler=loop, executor=executor, beside=executor
        )
        writer = GroupWriter(store, 0, self.host.group_stored, lambda: None)
        self.host.attach(InlineJournal(writer), writer, self._send)
        session = Session(b"benchmrk", loop, lambda _frame: True, over=lambda: None)
        self._peer = Peer(b"bench", LinkClass.PERSON, "bench", "i", session, self.clock.now_ms(), b"", b"")
        self._answers: list[Reply] = []

    def ask(self, canvas: Address, verb: str, body: Record) -> Record:
        call = Call(self.clock.new_id(), canvas, verb, body, None, self.clock.now_ms() + 60_000)
        self.host.received(self._peer, call)
        self.host.hear_threads()
        answer = self._answers.pop().ok
        assert answer is not None
        return answer

    def _send(self, peer: Peer, envelope: Envelope) -> None:
        assert isinstance(envelope, Reply)
        self._answers.append(envelope)


def address(name: str) -> Address:
    return Address("canvas", "bench", name)


def imported(elements: int) -> tuple[Rows, float]:
    """The rows that an import leaves, by the rules themselves, and the seconds that these computed."""
    canvas, clock, state = address("made"), SystemClock(), RULES.new_state()
    rows: dict[str, bytes] = {}
    sent: list[Send] = []

    def send(verb: str, body: Record, principal: Principal) -> object:
        context = Context(clock.now_ms(), principal, clock.new_id(), canvas)
        decision = RULES.verbs[verb].decide(state, Message(verb, body), context)
        for effect in decision.effects:
            match effect:
                case Put(row, value):
                    rows[row] = pack_row(value)
                    RULES.apply(state, effect)
                case Delete(row):
                    rows.pop(row, None)
                    RULES.apply(state, effect)
                case Send(to) if to == canvas:
                    sent.append(effect)
        return decision.reply

    scene, person = large_scene(elements), Principal(PrincipalKind.PERSON)
    started = time.process_time()
    begun = send("import_begin", {"title": "Bench", **announcement_of(scene)}, person)
    assert isinstance(begun, dict)
    for number, part in enumerate(parts_of(scene)):
        send("import_part", {"importId": begun["importId"], "number": number, **part}, person)
    send("import_finish", {"importId": begun["importId"]}, person)
    while sent:
        following = sent.pop(0)
        send(following.verb, following.body, Principal(PrincipalKind.OWNER, owner=canvas))
    assert state.head is not None
    return rows, time.process_time() - started


def keep(store: Store, canvas: Address, rows: Rows) -> None:
    writes = [(state_key(canvas, row), value) for row, value in rows.items()]
    for first in range(0, len(writes), ROWS_A_COMMIT):
        store.commit(writes[first : first + ROWS_A_COMMIT])


def region_of_100(chance: random.Random, elements: int) -> Record:
    """Somewhere on the canvas: 11 by 3 cells of large_scene, some 100 elements."""
    rows = max(elements // 160 - 3, 1)
    x, y = chance.randrange(35) * 300, chance.randrange(rows) * 200
    return {"canvasId": "c", "x": x, "y": y, "width": 11 * 300, "height": 3 * 200 - 1}


class Measured:
    """What each canvas is asked in turn; milliseconds, and of them computing, by name and size."""

    def __init__(self, shard: Shard, canvases: Mapping[int, Address]) -> None:
        self._shard = shard
        self._canvases = canvases
        self._chance = random.Random(SEED)
        self._revisions = dict.fromkeys(canvases, 1)
        self._took: dict[tuple[str, int], list[tuple[float, float]]] = {}

    def ask(self, name: str, size: int, verb: str, body: Record) -> Record:
        started, busy = time.perf_counter(), time.process_time()
        answer = self._shard.ask(self._canvases[size], verb, body)
        took = (time.perf_counter() - started) * 1e3, (time.process_time() - busy) * 1e3
        self._took.setdefault((name, size), []).append(took)
        return answer

    def round(self) -> None:
        for size in self._canvases:
            page = self.ask("region of 100", size, "canvas_query_region", region_of_100(self._chance, size))
            elements = page["elements"]
            assert isinstance(elements, list)
            assert 90 <= len(elements) <= 100
            self.ask("overview", size, "canvas_get_state", {"canvasId": "c"})
            box = f"box-{self._chance.randrange(size // 4)}"
            change: Record = {"updates": [{"id": box, "set": {"opacity": self._chance.randrange(1, 100)}}]}
            self._write("write of one element", size, "canvas_update_elements", change)
            self._write("move of a tied shape", size, "canvas_move_elements", {"moves": [{"id": box, "dx": 1}]})
            old: Record = {"canvasId": "c", "reason": "bench", "expectedRevision": 1, **change}
            assert self.ask("conflict", size, "canvas_update_elements", old)["outcome"] == "conflict"

    def _write(self, name: str, size: int, verb: str, change: Record) -> None:
        body: Record = {"canvasId": "c", "reason": "bench", "expectedRevision": self._revisions[size], **change}
        answer = self.ask(name, size, verb, body)
        assert answer["outcome"] == "applied", answer
        revision = answer["revision"]
        assert isinstance(revision, int)
        self._revisions[size] = revision

    def report(self) -> None:
        small, large = sorted(self._canvases)
        for name in dict.fromkeys(name for name, _ in self._took):
            line = f"{name:22}"
            for place, what in ((0, "p50"), (1, "computing")):
                few, many = (
                    _median([one[place] for one in self._took[name, size][ROUNDS // 10 :]]) for size in (small, large)
                )
                line += f"  {what} {few:5.2f} ms of {small}, {many:5.2f} ms of {large}: {many / few:.2f}"
            print(line)


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def timed(name: str, work: Callable[[], object]) -> None:
    started, busy = time.perf_counter(), time.process_time()
    work()
    print(f"{name}: {time.perf_counter() - started:.2f} s, of it {time.process_time() - busy:.2f} s computing")


def _store_both(folder: Path) -> None:
    store = LmdbStore(folder)
    for name, elements in (("small", SMALL), ("large", LARGE)):
        rows, seconds = imported(elements)
        keep(store, address(name), rows)
        size = sum(map(len, rows.values())) / 2**20
        print(f"import of {elements} by the rules alone: computing {seconds:.2f} s, {size:.1f} MiB of rows", flush=True)
    store.close()


async def _side_by_side(folder: Path) -> None:
    apart(_store_both, folder)
    store = LmdbStore(folder)
    small, large = address("small"), address("large")
    gc.collect()
    shard = Shard(store)
    shard.ask(small, "canvas_get_state", {"canvasId": "c"})  # the libraries are loaded by now
    before = anonymous_bytes()
    role: Record = {"agentId": "nobody", "role": "none"}
    timed(f"load of {LARGE}", lambda: shard.ask(large, "canvas_grant", role))
    loaded = anonymous_bytes()
    timed(
        "then the first overview, which builds the indexes",
        lambda: shard.ask(large, "canvas_get_state", {"canvasId": "c"}),
    )
    indexed = anonymous_bytes()
    print(f"memory of an element: {(loaded - before) / LARGE:.0f} bytes, {(indexed - loaded) / LARGE:.0f} more indexed")
    measured = Measured(shard, {SMALL: small, LARGE: large})
    for _ in range(ROUNDS):
        measured.round()
    measured.report()
    store.close()


async def _asleep(folder: Path) -> None:
    store = LmdbStore(folder)
    rows, _ = imported(LARGE // SLEEPERS)
    for number in range(SLEEPERS):
        keep(store, address(f"c{number}"), rows)
    gc.collect()
    shard = Shard(store)
    shard.ask(address("c0"), "canvas_get_state", {"canvasId": "c"})
    before, each = anonymous_bytes(), LARGE // SLEEPERS
    for _ in range(2):  # the second time shows that nothing adds up
        for number in range(1, SLEEPERS):
            shard.ask(address(f"c{number}"), "canvas_get_state", {"canvasId": "c"})
        awake = anonymous_bytes()
        await _swept(shard)
        in_memory = sum(isinstance(one, Entry) for one in gc.get_objects())
        assert in_memory == 0, "a canvas that sleeps keeps elements in memory"
        print(f"{SLEEPERS - 1} canvases of {each}: {(awake - before) / 2**20:.0f} MiB awake;", end=" ")
        print(f"asleep no element in memory, {(anonymous_bytes() - before) / 2**20:.0f} MiB not given back by malloc")
    started = time.perf_counter()
    for number in range(SLEEPERS):
        shard.ask(address(f"c{number}"), "canvas_summary", {})
    took = (time.perf_counter() - started) / SLEEPERS * 1e3
    print(f"a row of canvas_list from each: {took:.2f} ms, and no scene loaded")
    store.close()


async def _swept(shard: Shard) -> None:
    """Until the host has dropped who was not asked for long."""
    shard.clock.advance(owner_idle_ms + 1)
    swept = asyncio.Event()
    asyncio.get_running_loop().call_later(owner_sweep_ms / 1e3 + 1, swept.set)
    await swept.wait()


def anonymous_bytes() -> int:
    """Memory of this process that is no page of a file, such as the store's."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Anonymous:")) * 1024


def apart(work: Callable[[Path], None], folder: Path) -> None:
    """In a process of its own, so that no memory that others have freed is used again by what is measured."""
    child = multiprocessing.get_context("spawn").Process(target=work, args=(folder,))
    child.start()
    child.join()
    assert child.exitcode == 0


def _side_by_side_in(folder: Path) -> None:
    gc.set_threshold(gc_allocations_between, gc_looks_between, 2**31 - 1)  # as a shard host does
    uvloop.run(_side_by_side(folder))


def _asleep_in(folder: Path) -> None:
    gc.set_threshold(gc_allocations_between, gc_looks_between, 2**31 - 1)
    uvloop.run(_asleep(folder))


def _past_in(folder: Path) -> None:
    from tests.benchmarks import canvas_past

    gc.set_threshold(gc_allocations_between, gc_looks_between, 2**31 - 1)
    canvas_past.run(folder)


def main() -> None:
    for part in (_side_by_side_in, _asleep_in, _past_in):
        with tempfile.TemporaryDirectory(prefix="nexus-bench-") as folder:
            apart(part, Path(folder))
    print("\nthe dearest writes of one call:")
    canvas_writes.main()
    print("\nthrough MCP, real processes:")
    large_import.main()
