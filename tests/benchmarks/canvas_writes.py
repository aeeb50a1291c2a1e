"""The dearest writes that one call may be, and those that are refused: how long deciding each computes.

A hub with thousands of arrows, long lists of points, frames with many members, the same two shapes connected over and
over. Goal (security 2.23): none computes for more than some 100 ms, applied or refused, on a machine that does nothing
else; the interpreter is handed to other threads every millisecond meanwhile.
"""

from __future__ import annotations

import time
from typing import Final

from actors.canvas import RULES
from actors.canvas.state import CanvasState
from actors.decision import Principal, PrincipalKind
from bus.address import Address
from bus.limits import elements_per_call_max, write_cost_us_max
from bus.value import Record, Value
from tests.support.bench import OwnerBench

ARTIST: Final = Principal(PrincipalKind.AGENT, "artist", "bench", "default")
ARROWS: Final = 4_000
POINTS: Final = 1_200
EVERY: Final = range(elements_per_call_max)
LONG: Final[list[Value]] = [[n * 1.37, n * 7_919 % 1_000 / 3] for n in range(POINTS)]


class Drawn:
    """A canvas of one agent, empty at first."""

    def __init__(self) -> None:
        self._bench: OwnerBench[CanvasState] = OwnerBench(RULES, Address("canvas", "bench", "drawn"))
        self._bench.send("canvas_create", {"title": "Drawn", "reason": "bench"}, ARTIST)

    def draw(self, verb: str, **change: Value) -> None:
        reply = self._bench.send(f"canvas_{verb}_elements", self._body(change), ARTIST)
        assert isinstance(reply, dict), reply
        assert reply["outcome"] == "applied", reply

    def boxes(self, name: str, count: int) -> None:
        boxes = [_box(f"{name}{n}", n % 40 * 300, n // 40 * 200) for n in range(count)]
        for first in range(0, count, elements_per_call_max):
            self.draw("create", elements=[*boxes[first : first + elements_per_call_max]])

    def timed(self, name: str, verb: str, **change: Value) -> None:
        """Decide and do not apply."""
        _ = self._bench.state.kept
        started = time.process_time()
        reply = self._bench.decide(f"canvas_{verb}_elements", self._body(change), ARTIST).reply
        took = (time.process_time() - started) * 1e3
        assert isinstance(reply, dict), reply
        print(f"{name:44} {took:6.1f} ms  {reply.get('code', reply['outcome'])!s}", flush=True)

    def _body(self, change: Record) -> Record:
        head = self._bench.state.head
        assert head is not None
        return {"canvasId": "c", "expectedRevision": head.revision, "reason": "bench", **change}


def _box(id_: str, x: float, y: float) -> Record:
    return {"id": id_, "type": "rectangle", "x": x, "y": y, "width": 120, "height": 60}


def _links(first: int) -> list[Value]:
    return [{"fromId": "hub", "toId": f"s{first + n}"} for n in EVERY]


def hub() -> None:
    """One shape in the middle of everything."""
    canvas = Drawn()
    canvas.draw("create", elements=[_box("hub", -900, 0)])
    canvas.boxes("s", ARROWS)
    for first in range(0, ARROWS, elements_per_call_max):
        canvas.draw("connect", connections=_links(first))
    canvas.timed(f"move a hub of {ARROWS} arrows", "move", moves=[{"id": "hub", "dx": 5}])
    canvas.timed(f"delete a hub of {ARROWS} arrows", "delete", elementIds=["hub"])
    canvas.timed(f"connect it {len(EVERY)} times more", "connect", connections=_links(0))
    spokes: list[Value] = [{"id": f"s{n}", "dy": 5} for n in EVERY]
    canvas.timed(f"move {len(EVERY)} shapes that are tied to it", "move", moves=spokes)
    pair: list[Value] = [{"fromId": "s0", "toId": "s1", "label": "calls"} for _ in EVERY]
    for turn in range(4):
        canvas.timed(f"connect one pair {len(EVERY)} times, turn {turn}", "connect", connections=pair)
        canvas.draw("connect", connections=pair)


def points() -> None:
    """Long drawings, and long arrows from one shape."""
    canvas = Drawn()
    canvas.draw("create", elements=[_box("hub", 0, 0)])
    drawings: list[Value] = [_long(f"d{n}", "freedraw") for n in EVERY]
    arrows: list[Value] = [{**_long(f"a{n}", "arrow"), "startBinding": {"elementId": "hub"}} for n in EVERY]
    for name, count in (("few", 12), ("many", 80)):
        canvas.timed(f"create {name} drawings of {POINTS} points", "create", elements=drawings[:count])
        canvas.timed(f"create {name} tied arrows of {POINTS} points", "create", elements=arrows[:count])
    for first in range(0, 80, 4):
        canvas.draw("create", elements=drawings[first : first + 4])
        canvas.draw("create", elements=arrows[first : first + 4])
    canvas.timed("move their shape", "move", moves=[{"id": "hub", "dx": 5}])
    for name, count in (("few", 12), ("many", 80)):
        widened: list[Value] = [{"id": f"d{n}", "set": {"width": 333}} for n in range(count)]
        moved: list[Value] = [{"id": f"d{n}", "dx": 1} for n in range(count)]
        canvas.timed(f"widen {name} drawings", "update", updates=widened)
        canvas.timed(f"move {name} drawings", "move", moves=moved)


def _long(id_: str, kind: str) -> Record:
    return {"id": id_, "type": kind, "x": 60, "y": 30, "points": LONG}


def frame() -> None:
    """More and more shapes in one frame."""
    canvas = Drawn()
    box = _box("frame", 0, 0)
    canvas.draw("create", elements=[{**box, "type": "frame", "width": 12_000, "height": 60_000}])
    for members in (4_000, 8_000):
        canvas.boxes(f"m{members}-", 4_000)
        for first in range(0, 4_000, elements_per_call_max):
            into: list[Value] = [{"id": f"m{members}-{first + n}", "set": {"frameId": "frame"}} for n in EVERY]
            canvas.draw("update", updates=into)
        canvas.timed(f"move a frame of {members}", "move", moves=[{"id": "frame", "dx": 5}])
        canvas.timed(f"delete a frame of {members}", "delete", elementIds=["frame"])


def main() -> None:
    print(f"counted, one call may cost {write_cost_us_max / 1e3:.0f} ms")
    for part in (hub, points, frame):
        part()


if __name__ == "__main__":
    main()
