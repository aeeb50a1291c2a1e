"""Scenes that NEXUS makes of random sequences of calls, in every form in which a call may be given (canvas 2).

An agent with a seed calls the canvas owner's rules in process. Which calls are refused is not judged here, only that
enough are not; what the editor makes of the scenes is (test_drawn_scenes.py).
"""

from __future__ import annotations

import random
from typing import Final, cast

from actors.canvas import RULES
from bus.value import Record, Value
from tests.actors.canvas.board import EDITOR, Board, board_of, empty_board
from tools.errors import Refusal

_CONTAINERS: Final = ("rectangle", "ellipse", "diamond")
_POINTED: Final = ("line", "arrow", "freedraw")
_TYPES: Final = (
    *_CONTAINERS * 3,
    "arrow",
    "arrow",
    "text",
    "line",
    "freedraw",
    "frame",
    "embeddable",
    "iframe",
    "image",
)
_WORDS: Final = (
    "Gateway",
    "several words that have to be wrapped somewhere",
    "one\ntwo\n\nfour",
    "缓存服务与数据库",
    "👩‍👩‍👧‍👦 family 🇩🇪",
    "السلام عليكم ورحمة الله",
    "averyveryverylongwordthatfitsnowhereatall" * 2,
    "tab\there\r\nand there",
    " ",
    "नमस्ते e\u0301\u0302 z",
)
_ARROWHEADS: Final = (None, "arrow", "bar", "dot", "triangle", "circle_outline", "diamond", "crowfoot_many")
_VERBS: Final = ("create", "create", "create", "connect", "update", "update", "move", "move", "delete", "restore")


class Drawing:
    """One canvas and the agent that draws on it."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.board: Board = board_of("checkout") if self._chance.random() < 0.3 else empty_board()
        self.calls: list[Record] = []
        """What was applied, in order: how to get there."""
        self.refused = 0

    def draw(self, calls: int) -> None:
        """That many calls, of which some may be refused."""
        for _ in range(calls):
            verb = self._chance.choice(_VERBS)
            if f"canvas_{verb}_elements" in RULES.verbs:
                self._call(verb, getattr(self, f"_{verb}")())

    def scene(self) -> Record:
        """The file that the person would get."""
        return self.board.take_out()

    def _call(self, verb: str, arguments: Record) -> None:
        self.board.bench.clock.advance(10)
        body: Record = {
            "canvasId": "canvas1", "expectedRevision": self.board.revision, "reason": "drawing", **arguments
        }  # fmt: skip
        reply = self.board.ask(f"canvas_{verb}_elements", body, EDITOR)
        if isinstance(reply, Refusal) or reply["outcome"] != "applied":
            self.refused += 1
        else:
            self.calls.append({verb: arguments})

    def _ids(self, deleted: bool = False, *types: str) -> list[str]:
        return [
            id_
            for id_, entry in self.board.state.entries.items()
            if (entry.element["isDeleted"] is True) == deleted and (not types or entry.element["type"] in types)
        ]

    def _some(self, ids: list[str], most: int = 3) -> list[Value]:
        return [*self._chance.sample(ids, min(len(ids), self._chance.randint(1, most)))]

    def _one(self, ids: list[str]) -> str:
        return self._chance.choice(ids) if ids else "nothing"

    def _create(self) -> Record:
        made: list[Record] = []
        for _ in range(self._chance.randint(1, 5)):
            made.append(self._element([str(one["id"]) for one in made]))
        return {"elements": [*made]}

    def _element(self, others: list[str]) -> Record:
        chance = self._chance
        kind = chance.choice(_TYPES)
        element: Record = {"id": f"n{chance.getrandbits(40):x}", "type": kind, **self._box(), **self._style()}
        reachable = [*self._ids(), *others]
        if kind == "text":
            element |= self._text()
            if chance.random() < 0.4:
                element["containerId"] = self._one([*self._ids(False, *_CONTAINERS, "arrow"), *others])
        elif kind in (*_CONTAINERS, "arrow") and chance.random() < 0.5:
            element["label"] = self._text() if chance.random() < 0.7 else {"text": chance.choice(_WORDS)}
        if kind in _POINTED:
            self._add_points(element, kind, reachable)
        if kind == "image":
            element["fileId"] = "logo-file"
        if kind in ("frame", "magicframe"):
            element["name"] = chance.choice((None, "Edge", ""))
        if kind in ("embeddable", "iframe"):
            element["link"] = "https://pages.example/a"
        elif chance.random() < 0.2:
            element["groupIds"] = self._some(["g1", "g2", "g3"], 2)
        frames = self._ids(False, "frame")
        if frames and chance.random() < 0.3:
            element["frameId"] = self._one(frames)
        if chance.random() < 0.2:
            element["customData"] = {"kept": [1, {"deep": None}]}
        return element

    def _add_points(self, element: Record, kind: str, reachable: list[str]) -> None:
        chance = self._chance
        if chance.random() < 0.6:
            more: list[Value] = [[chance.uniform(-300, 300), chance.randint(-300, 300)] for _ in range(3)]
            element["points"] = [[0, 0], *more]
        if kind != "arrow":
            return
        if chance.random() < 0.3:
            element["elbowed"] = True
        element["endArrowhead"] = chance.choice(_ARROWHEADS)
        form = chance.random()
        for short, whole in (("start", "startBinding"), ("end", "endBinding")):
            if reachable and chance.random() < 0.7:
                target = self._one(reachable)
                element |= {short: {"id": target}} if form < 0.5 else {whole: {"elementId": target}}

    def _box(self) -> Record:
        chance = self._chance
        sizes = (chance.uniform(1, 400), chance.randint(40, 300), 0.25, 3)
        return {
            "x": chance.uniform(-900, 900),
            "y": chance.randint(-900, 900),
            "width": chance.choice(sizes[: chance.choice((2, 2, 4))]),
            "height": chance.choice(sizes[: chance.choice((2, 2, 4))]),
        }

    def _style(self) -> Record:
        chance = self._chance
        roundness: list[Value] = [None, {"type": 1}, {"type": 2}, {"type": 3, "value": 12}]
        styles: Record = {
            "angle": chance.uniform(-7, 7),
            "strokeColor": chance.choice(("#e03131", "transparent", "red")),
            "backgroundColor": chance.choice(("#a5d8ff", "transparent")),
            "fillStyle": chance.choice(("hachure", "cross-hatch", "solid", "zigzag")),
            "strokeWidth": chance.choice((0.5, 1, 4)),
            "strokeStyle": chance.choice(("solid", "dashed", "dotted")),
            "roughness": chance.choice((0, 1, 2)),
            "opacity": chance.choice((0, 37.5, 100)),
            "roundness": chance.choice(roundness),
            "link": chance.choice((None, "https://a.example/", "mailto:a@b.example")),
            "locked": chance.random() < 0.5,
        }
        kept = self._some(list(styles), 3) if chance.random() < 0.7 else []
        return {name: styles[str(name)] for name in cast(list[str], kept)}

    def _text(self) -> Record:
        chance = self._chance
        text: Record = {"text": chance.choice(_WORDS)}
        if chance.random() < 0.5:
            text["fontSize"] = chance.choice((4, 16, 20, 36, 13.5))
        if chance.random() < 0.5:
            text["fontFamily"] = chance.choice((1, 2, 3, 5, 6, 7, 8, 9))
        if chance.random() < 0.3:
            text["textAlign"] = chance.choice(("left", "center", "right"))
        if chance.random() < 0.3:
            text["verticalAlign"] = chance.choice(("top", "middle", "bottom"))
        return text

    def _connect(self) -> Record:
        ids = self._ids()
        connection: Record = {"fromId": self._one(ids), "toId": self._one(ids)}
        if self._chance.random() < 0.5:
            connection["label"] = self._chance.choice(_WORDS)
        if self._chance.random() < 0.3:
            connection |= {"kind": self._chance.choice(("arrow", "line"))}
        return {"connections": [connection]}

    def _update(self) -> Record:
        chance = self._chance
        updates: list[Value] = []
        for id_ in self._some(self._ids() or ["nothing"]):
            kind = self.board.element(str(id_))["type"] if id_ in self.board.state.entries else ""
            changes: Record = self._style() if chance.random() < 0.5 else {}
            if chance.random() < 0.5 and kind != "text":
                box = self._box()
                changes |= {name: box[name] for name in chance.sample(list(box), 2)}
            if kind == "text":
                changes |= self._text()
            if kind in _POINTED and chance.random() < 0.3:
                changes["points"] = [[0, 0], [chance.randint(-200, 200), 50], [chance.randint(-200, 200), -70]]
            updates.append({"id": id_, "set": changes})
        return {"updates": updates}

    def _move(self) -> Record:
        chance = self._chance
        by: Record = {"dx": chance.uniform(-300, 300), "dy": chance.randint(-300, 300)}
        moves: list[Value] = [{"id": id_, **by} for id_ in self._some(self._ids() or ["nothing"])]
        return {"moves": moves, "includeGroup": chance.random() < 0.5}

    def _delete(self) -> Record:
        return {"elementIds": self._some(self._ids() or ["nothing"], 2)}

    def _restore(self) -> Record:
        return {"elementIds": self._some(self._ids(True) or ["nothing"])}
