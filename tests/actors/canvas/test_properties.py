"""Whatever is called, in whatever order, the scene stays sound (canvas 3.5, 4.1, 4.2).

A state machine plays an editor with a small set of ids, so that calls meet: existing, deleted, tied, grouped and
framed elements. After every call the invariants hold, a call that was not applied left every row as it was, and what
a restart would build is what there is.
"""

from __future__ import annotations

import math

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bus.value import Record, Value
from tests.actors.canvas.board import EDITOR, Board, board_of, empty_board
from tools.errors import Refusal

_SCENE_IDS = ["frame-edge", "gateway", "gateway-label", "cache", "cache-label", "orders", "orders-label", "billing",
              "to-orders", "to-orders-label", "to-billing", "logo", "heading", "rule", "scribble", "note"]  # fmt: skip
_NEW_IDS = ["n1", "n2", "n3", "n4"]
IDS = st.sampled_from(_SCENE_IDS + _NEW_IDS)
NUMBERS = st.one_of(
    st.integers(-500, 500), st.floats(-500, 500), st.sampled_from([0, 1e-9, 1e9, 1e300, math.inf, math.nan, 10**30])
)
WORDS = st.sampled_from(["", "word", "several words to wrap", "缓存服务 👩‍💻", "a\r\nb", "x" * 300])
POINTS = st.lists(st.lists(st.integers(-200, 200), min_size=2, max_size=2), min_size=0, max_size=4)


def _some(**fields: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    return st.fixed_dictionaries({}, optional=fields)


BINDINGS = st.one_of(st.none(), st.builds(lambda id_: {"elementId": id_}, IDS))
NEW = st.builds(
    lambda base, extra: {**base, **extra},
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["rectangle", "ellipse", "diamond", "text", "line", "arrow", "freedraw", "frame"]),
            "x": st.integers(-300, 300),
            "y": st.integers(-300, 300),
            "width": st.integers(0, 300),
            "height": st.integers(0, 300),
        }
    ),
    _some(
        id=IDS,
        text=WORDS,
        containerId=IDS,
        startBinding=BINDINGS,
        endBinding=BINDINGS,
        points=POINTS,
        elbowed=st.booleans(),
        angle=st.floats(-7, 7),
        groupIds=st.lists(st.sampled_from(["g", "h"]), max_size=2),
        frameId=IDS,
        index=st.just("zz"),
        custom=st.just({"kept": True}),
    ),
)
CHANGES = _some(
    x=NUMBERS,
    y=NUMBERS,
    width=NUMBERS,
    height=NUMBERS,
    angle=st.floats(-7, 7),
    text=WORDS,
    fontSize=NUMBERS,
    textAlign=st.sampled_from(["left", "center", "right"]),
    points=POINTS,
    groupIds=st.lists(st.sampled_from(["g", "h"]), max_size=2),
    frameId=st.one_of(st.none(), IDS),
    opacity=st.integers(-10, 110),
    containerId=IDS,
)


class Editing(RuleBasedStateMachine):
    board: Board

    @initialize(full=st.booleans())
    def begin(self, full: bool) -> None:
        self.board = board_of("checkout") if full else empty_board()

    def _call(self, verb: str, **arguments: Value) -> None:
        before = dict(self.board.bench.rows)
        self.board.bench.clock.advance(10)
        body: Record = {"canvasId": "canvas1", "expectedRevision": self.board.revision, "reason": "r", **arguments}
        reply = self.board.bench.send(f"canvas_{verb}_elements", body, EDITOR)
        if isinstance(reply, Refusal) or (reply is not None and reply["outcome"] != "applied"):
            assert self.board.bench.rows == before, reply

    @rule(elements=st.lists(NEW, min_size=1, max_size=4))
    def create(self, elements: list[Value]) -> None:
        self._call("create", elements=elements)

    @rule(id_=IDS, changes=CHANGES)
    def update(self, id_: str, changes: Record) -> None:
        self._call("update", updates=[{"id": id_, "set": changes}])

    @rule(id_=IDS, other=IDS, dx=NUMBERS, dy=NUMBERS, group=st.booleans())
    def move(self, id_: str, other: str, dx: float, dy: float, group: bool) -> None:
        moves: list[Value] = [{"id": id_, "dx": dx, "dy": dy}]
        if other != id_:
            moves.append({"id": other, "x": dy})
        self._call("move", moves=moves, includeGroup=group)

    @rule(id_=IDS, dx=st.integers(-300, 300), dy=st.integers(-300, 300))
    def nudge(self, id_: str, dx: int, dy: int) -> None:
        self._call("move", moves=[{"id": id_, "dx": dx, "dy": dy}])

    @rule(ids=st.lists(IDS, min_size=1, max_size=3))
    def delete(self, ids: list[Value]) -> None:
        self._call("delete", elementIds=ids)

    @rule(ids=st.lists(IDS, min_size=1, max_size=3))
    def restore(self, ids: list[Value]) -> None:
        self._call("restore", elementIds=ids)

    @rule(by=st.integers(1, 3))
    def write_upon_an_old_revision(self, by: int) -> None:
        before = dict(self.board.bench.rows)
        body: Record = {"canvasId": "canvas1", "reason": "r", "elementIds": ["gateway"]}
        revision = max(self.board.revision - by, 0)
        reply = self.board.bench.send("canvas_delete_elements", {**body, "expectedRevision": revision}, EDITOR)
        assert isinstance(reply, dict) and reply["outcome"] == "conflict"
        assert self.board.bench.rows == before

    @invariant()
    def a_restart_builds_the_same_state(self) -> None:
        if hasattr(self, "board"):
            again = self.board.bench.reloaded()
            assert again == self.board.state
            assert again.in_order() == self.board.state.in_order()


TestEditing = Editing.TestCase
TestEditing.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
