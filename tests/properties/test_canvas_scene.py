"""Whatever valid calls come in whatever order, the scene is sound and drawn rightly (canvas 4.1, 4.2, 4.4, 4.5).

A state machine draws small diagrams with everything that agents have: short forms, connections, moves, new sizes,
frames, groups, deletions. After every call the invariants hold (the bench asks for them) and every arrow that NEXUS led
ends where it should; deleting and restoring anything is the identity, and so is export and import.
"""

from __future__ import annotations

from typing import Final

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from actors.canvas.ties import SIDES, can_be_tied_to, target_id
from bus.value import Record, Value
from tests.actors.canvas.board import EDITOR, Board, board_of, empty_board
from tests.actors.canvas.drawn import label_is_inside, wrong_ends

_TOUCHED: Final = frozenset({"version", "versionNonce", "updated"})
_FORMS: Final = frozenset({"focus", "gap", "fixedPoint", "mode"})
_ELEMENTS_MAX: Final = 25

AT = st.integers(-400, 400)
SIZE = st.integers(5, 300)
ANGLE = st.one_of(st.just(0), st.floats(-3.2, 3.2))
WORDS = st.sampled_from(["one", "several words that wrap", "缓存 👩‍💻", "سلام", "x" * 60, "a\nb"])
LABEL = st.one_of(st.none(), WORDS, st.builds(lambda text, size: {"text": text, "fontSize": size}, WORDS, SIZE))
SHAPE = st.fixed_dictionaries(
    {"type": st.sampled_from(["rectangle", "ellipse", "diamond"]), "x": AT, "y": AT, "width": SIZE, "height": SIZE},
    optional={
        "angle": ANGLE,
        "label": LABEL,
        "roundness": st.sampled_from([None, {"type": 2}, {"type": 3}]),
        "groupIds": st.lists(st.sampled_from(["g", "h"]), max_size=2, unique=True),
        "strokeWidth": st.sampled_from([1, 4]),
    },
)
FRAME = st.fixed_dictionaries({"type": st.just("frame"), "x": AT, "y": AT, "width": SIZE, "height": SIZE})
TEXT = st.fixed_dictionaries({"type": st.just("text"), "x": AT, "y": AT, "text": WORDS})
LINE = st.builds(
    lambda kind, x, y, across: {"type": kind, "x": x, "y": y, "points": [[0, 0], [across, 9], [40, -across]]},
    st.sampled_from(["line", "freedraw"]),
    AT,
    AT,
    st.integers(1, 200),
)
BEND = st.lists(st.lists(AT, min_size=2, max_size=2), max_size=2)


class Drawing(RuleBasedStateMachine):
    board: Board
    led: set[str]
    """Arrows whose every end NEXUS led."""

    @initialize(
        scene=st.sampled_from([None, "checkout", "farm-legacy"]),
        shapes=st.lists(SHAPE, min_size=2, max_size=4),
        others=st.lists(st.one_of(FRAME, TEXT, LINE), max_size=2),
        data=st.data(),
    )
    def begin(self, scene: str | None, shapes: list[Value], others: list[Value], data: st.DataObject) -> None:
        self.board = empty_board() if scene is None else board_of(scene)
        self.led = set()
        assert self._call("create", elements=[*shapes, *others])
        for label in data.draw(st.lists(st.one_of(st.none(), WORDS), max_size=4)):
            self.connect(data, label, "arrow")

    def _live(self, kind: str = "") -> list[str]:
        """In the order of making, so that a failure shrinks."""
        return [
            id_
            for id_, entry in self.board.state.entries.items()
            if entry.is_live and (not kind or entry.element["type"] == kind)
        ]

    def _some(self, data: st.DataObject, ids: list[str], most: int) -> list[Value]:
        return [*data.draw(st.lists(st.sampled_from(ids), min_size=1, max_size=most, unique=True))]

    def _ends(self) -> list[str]:
        return [id_ for id_ in self._live() if can_be_tied_to(self.board.element(id_))]

    def _call(self, verb: str, **arguments: Value) -> list[str]:
        """The changed ids; of a call that is not applied, none, and then nothing is changed (canvas 3.5)."""
        before = dict(self.board.bench.rows)
        outcome = self.board.write(verb, EDITOR, **arguments)
        if outcome["outcome"] != "applied":
            assert outcome["outcome"] == "rejected" and self.board.bench.rows == before, outcome
            return []
        ids = outcome["elementIds"]
        assert isinstance(ids, list)
        return [str(id_) for id_ in ids]

    @rule(elements=st.lists(st.one_of(SHAPE, SHAPE, FRAME, TEXT, LINE), min_size=1, max_size=3))
    def draw(self, elements: list[Value]) -> None:
        if len(self._live()) < _ELEMENTS_MAX:
            assert self._call("create", elements=elements)

    @rule(data=st.data(), bend=BEND, elbowed=st.booleans(), label=LABEL, both=st.booleans())
    def draw_an_arrow(self, data: st.DataObject, bend: list[Value], elbowed: bool, label: Value, both: bool) -> None:
        ends = self._ends()
        if not ends or len(self._live()) > _ELEMENTS_MAX:
            return
        arrow: Record = {"type": "arrow", "x": 0, "y": 0, "elbowed": elbowed, "label": label}
        arrow["end"] = {"id": data.draw(st.sampled_from(ends))}
        if both:
            arrow["start"] = {"id": data.draw(st.sampled_from(ends))}
        if bend:
            arrow["points"] = [[0, 0], *bend, [1, 1]]
        self.led.update(self._call("create", elements=[arrow])[:1])

    @rule(data=st.data(), label=st.one_of(st.none(), WORDS), kind=st.sampled_from(["arrow", "line"]))
    def connect_two(self, data: st.DataObject, label: Value, kind: str) -> None:
        self.connect(data, label, kind)

    def connect(self, data: st.DataObject, label: Value, kind: str) -> None:
        ends = self._ends()
        if ends and len(self._live()) < _ELEMENTS_MAX:
            one, other = data.draw(st.sampled_from(ends)), data.draw(st.sampled_from(ends))
            connection: Record = {"fromId": one, "toId": other, "label": label, "kind": kind}
            self.led.update(self._call("connect", connections=[connection])[:1])

    @rule(data=st.data(), dx=AT, dy=AT, group=st.booleans())
    def move(self, data: st.DataObject, dx: int, dy: int, group: bool) -> None:
        if live := self._live():
            ids = self._some(data, live, 3)
            self._call("move", moves=[{"id": id_, "dx": dx, "dy": dy} for id_ in ids], includeGroup=group)

    @rule(data=st.data(), width=SIZE, height=SIZE, angle=ANGLE)
    def resize_and_turn(self, data: st.DataObject, width: int, height: int, angle: float) -> None:
        if ends := self._ends():
            fields: Record = {"width": width, "height": height, "angle": angle}
            self._call("update", updates=[{"id": data.draw(st.sampled_from(ends)), "set": fields}])

    @rule(data=st.data(), bend=BEND)
    def bend(self, data: st.DataObject, bend: list[Value]) -> None:
        if arrows := self._live("arrow"):
            fields: Record = {"points": [[0, 0], *bend, [120, 30]]}
            self._call("update", updates=[{"id": data.draw(st.sampled_from(arrows)), "set": fields}])

    @rule(data=st.data(), words=WORDS)
    def reword(self, data: st.DataObject, words: str) -> None:
        if texts := self._live("text"):
            self._call("update", updates=[{"id": data.draw(st.sampled_from(texts)), "set": {"text": words}}])

    @rule(data=st.data())
    def put_into_a_frame(self, data: st.DataObject) -> None:
        if frames := self._live("frame"):
            id_, frame = data.draw(st.sampled_from(self._live())), data.draw(st.sampled_from(frames))
            self._call("update", updates=[{"id": id_, "set": {"frameId": frame}}])

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        if live := self._live():
            self._call("delete", elementIds=self._some(data, live, 4))

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        if gone := [id_ for id_, entry in self.board.state.entries.items() if not entry.is_live]:
            self._call("restore", elementIds=self._some(data, gone, 3))

    @rule(data=st.data())
    def delete_and_restore_together(self, data: st.DataObject) -> None:
        """canvas 4.2: the identity, to the order of every list."""
        if live := self._live():
            ids = self._some(data, live, 5)
            before = self._scene()
            self._call("delete", elementIds=ids)
            self._call("restore", elementIds=ids)
            assert self._scene() == before

    @rule(data=st.data())
    def delete_and_restore_one_by_one(self, data: st.DataObject) -> None:
        """canvas 4.2: the identity, whatever the order of deleting and that of restoring."""
        if live := self._live():
            ids = self._some(data, live, 4)
            before = self._scene(in_order=False)
            for id_ in ids:
                self._call("delete", elementIds=[id_])
            for id_ in data.draw(st.permutations(ids)):
                self._call("restore", elementIds=[id_])
            assert self._scene(in_order=False) == before

    def _scene(self, in_order: bool = True) -> dict[str, Record]:
        """Live elements, but for what every change touches and the form of a binding that may be completed."""
        return {id_: _plain(self.board.element(id_), in_order) for id_ in self._live()}

    @invariant()
    def every_arrow_that_was_led_ends_at_its_shapes(self) -> None:
        if hasattr(self, "board"):
            assert [line for id_ in self.led & {*self._live()} for line in wrong_ends(self.board.state, id_)] == []

    @invariant()
    def labels_lie_in_their_shapes(self) -> None:
        if not hasattr(self, "board"):
            return
        for id_ in self._live("text"):
            container = self.board.state.entries.get(str(self.board.element(id_)["containerId"]))
            if container is not None and container.element["type"] != "arrow":
                assert label_is_inside(self.board.element(id_), container.element), id_

    def teardown(self) -> None:
        """canvas 4.4, 4.5: export then import is the same scene."""
        if not hasattr(self, "board"):
            return
        again = Board()
        again.bring_in(self.board.take_out())
        assert {id_: _plain(entry.element, True) for id_, entry in again.state.entries.items()} == self._scene()


def _plain(element: Record, in_order: bool) -> Record:
    plain: Record = {name: value for name, value in element.items() if name not in _TOUCHED}
    for side in SIDES:
        binding = plain.get(side)
        if isinstance(binding, dict):
            plain[side] = {name: value for name, value in binding.items() if name not in _FORMS}
            assert binding.keys() >= _FORMS and target_id(element, side)
    listed = plain["boundElements"] or []
    assert isinstance(listed, list)
    plain["boundElements"] = listed if in_order else sorted(listed, key=str)
    return plain


TestDrawing = Drawing.TestCase
TestDrawing.settings = settings(
    max_examples=60,
    stateful_step_count=25,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
