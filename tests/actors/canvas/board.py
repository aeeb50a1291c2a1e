"""A canvas under test: an owner's bench with the calls that tests make most, as the roles that they need."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, cast

from actors.canvas import RULES
from actors.canvas.state import CanvasState
from actors.decision import Principal
from bus.address import Address
from bus.value import Record, Value
from tests.support.bench import PERSON, OwnerBench, agent, owner
from tools.canvas.scene_parts import Joined, announcement_of, parts_of
from tools.errors import Refusal

SCENES: Final = Path(__file__).parents[2] / "scenes"
EDITOR: Final = agent("editor-agent", "w1")
VIEWER: Final = agent("viewer-agent", "w1")
COMMENTER: Final = agent("commenter-agent", "w1")
STRANGER: Final = agent("stranger-agent", "w1")


class Board:
    """Writes carry the current revision unless told otherwise; the bench sees to it that the scene is sound after each.

    (By the owner's `problems`, which are those of actors/canvas/invariants.py.)
    """

    def __init__(self) -> None:
        self.bench: OwnerBench[CanvasState] = OwnerBench(RULES, Address("canvas", "w1", "canvas1"))

    @property
    def state(self) -> CanvasState:
        return self.bench.state

    @property
    def revision(self) -> int:
        assert self.state.head is not None
        return self.state.head.revision

    def ask(self, verb: str, body: Record, principal: Principal = EDITOR) -> Record | Refusal:
        reply = self.bench.send(verb, body, principal)
        assert reply is not None
        return reply

    def answer(self, verb: str, body: Record, principal: Principal = EDITOR) -> Record:
        reply = self.ask(verb, body, principal)
        assert not isinstance(reply, Refusal), reply
        return reply

    def refused(self, verb: str, body: Record, principal: Principal = EDITOR) -> Refusal:
        before = dict(self.bench.rows)
        reply = self.ask(verb, body, principal)
        assert isinstance(reply, Refusal), reply
        assert self.bench.rows == before
        return reply

    def begin(self, scene: Record, title: str = "T") -> str:
        """Announce an import; its id."""
        begun = self.answer("import_begin", {"title": title, **announcement_of(scene)}, PERSON)
        return str(begun["importId"])

    def send_part(self, import_id: str, number: int, part: Record) -> Record:
        reply = self.bench.send("import_part", {"importId": import_id, "number": number, **part}, PERSON)
        assert isinstance(reply, dict), reply
        return reply

    def finish(self, import_id: str) -> Record:
        """Ask for the end and let the canvas go on by itself; what the call is answered."""
        call_id = self.bench.clock.new_id()
        reply = self.bench.send("import_finish", {"importId": import_id}, PERSON, call_id)
        assert reply is None, reply
        self.go_on()
        (answer,) = [answer.reply for answer in self.bench.answers if answer.call_id == call_id]
        assert isinstance(answer, dict), answer
        return answer

    def go_on(self, steps: int | None = None) -> bool:
        """Deliver what the canvas sent itself, at most so many times; whether nothing is left."""
        while steps is None or steps > 0:
            due = [sent for sent in self.bench.sent if sent.to == self.bench.address]
            if not due:
                return True
            self.bench.sent.remove(due[0])
            self.bench.send(due[0].verb, due[0].body, owner(self.bench.address))
            steps = None if steps is None else steps - 1
        return not [sent for sent in self.bench.sent if sent.to == self.bench.address]

    def bring_in(self, scene: Record, title: str = "T") -> Record:
        """The person's whole import; `rejected` if its announcement or a part was."""
        begun = self.answer("import_begin", {"title": title, **announcement_of(scene)}, PERSON)
        if "outcome" in begun:
            return begun
        import_id = str(begun["importId"])
        for number, part in enumerate(parts_of(scene)):
            reply = self.send_part(import_id, number, part)
            if "outcome" in reply:
                self.go_on()
                return reply
        return self.finish(import_id)

    def take_out(self, **options: Value) -> Record:
        """The person's whole export."""
        joined, rest = Joined(), Record()
        body: Record = dict(options)
        while True:
            reply = self.answer("canvas_export", body, PERSON)
            if isinstance(reply.get("rest"), dict):
                rest = cast(Record, reply["rest"])
            joined.add(cast(Record, reply["part"]))
            if reply["next"] is None:
                return joined.scene(rest, with_deleted=options.get("includeDeleted") is True)
            body = {**options, **cast(Record, reply["next"])}

    def write(self, verb: str, principal: Principal = EDITOR, **arguments: Value) -> Record:
        self.bench.clock.advance(1_000)
        body: Record = {"canvasId": "canvas1", "expectedRevision": self.revision, "reason": "a test", **arguments}
        return self.answer(f"canvas_{verb}_elements", body, principal)

    def applied(self, verb: str, principal: Principal = EDITOR, **arguments: Value) -> Record:
        outcome = self.write(verb, principal, **arguments)
        assert outcome["outcome"] == "applied", outcome
        return outcome

    def rejected(self, verb: str, principal: Principal = EDITOR, **arguments: Value) -> str:
        """The code; nothing may have changed (canvas 3.5)."""
        before = dict(self.bench.rows)
        outcome = self.write(verb, principal, **arguments)
        assert outcome["outcome"] == "rejected", outcome
        assert self.bench.rows == before
        return str(outcome["code"])

    def create(self, *elements: Record) -> list[str]:
        outcome = self.applied("create", elements=list(elements))
        ids = outcome["elementIds"]
        assert isinstance(ids, list)
        return [str(id_) for id_ in ids]

    def element(self, id_: str) -> Record:
        return self.state.entries[id_].element

    def lists(self, id_: str) -> list[str]:
        """Ids in the element's boundElements."""
        listed = self.element(id_)["boundElements"]
        return [str(item["id"]) for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def empty_board() -> Board:
    board = Board()
    board.answer("canvas_create", {"title": "Plan", "reason": "a test"})
    return board


def board_of(scene: str) -> Board:
    """The scene of that name from tests/scenes, imported by the person, with a role for each kind of caller."""
    board = Board()
    board.bring_in(json.loads((SCENES / f"{scene}.excalidraw").read_text(encoding="utf-8")), "Plan")
    for principal, role in ((EDITOR, "editor"), (VIEWER, "viewer"), (COMMENTER, "commenter")):
        board.answer("canvas_grant", {"agentId": principal.agent_id, "role": role}, PERSON)
    return board


def number(element: Record, field: str) -> float:
    value = element[field]
    assert isinstance(value, int | float)
    return value


def rectangle(id_: str, x: float = 0, y: float = 0, width: float = 100, height: float = 50) -> Record:
    return {"id": id_, "type": "rectangle", "x": x, "y": y, "width": width, "height": height}


def label(id_: str, container_id: str, text: str = "Label") -> Record:
    return {"id": id_, "type": "text", "x": 0, "y": 0, "text": text, "containerId": container_id}


def arrow(id_: str, from_id: str, to_id: str, x: float, y: float, points: list[Value]) -> Record:
    ends: Record = {"startBinding": {"elementId": from_id}, "endBinding": {"elementId": to_id}}
    return {"id": id_, "type": "arrow", "x": x, "y": y, "points": points, **ends}


def tied_pair() -> Board:
    """Boxes `a` (labelled `a-label`) and `b`, and the arrow `ab` (labelled `ab-label`) between them."""
    board = empty_board()
    board.create(
        rectangle("a"),
        rectangle("b", x=300),
        label("a-label", "a"),
        arrow("ab", "a", "b", 105, 25, [[0, 0], [190, 0]]),
        label("ab-label", "ab", "calls"),
    )
    return board
