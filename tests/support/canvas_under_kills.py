"""Agents that draw on one canvas at once while NEXUS is killed under them, and what their answers add up to.

Every write is repeated under its own idempotency key until it is answered, so what was applied is known from answers
alone; `replayed` runs those calls again, in the order of their revisions, through the canvas's rules.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bus.value import Record, Value
from tests.actors.canvas.board import Board
from tests.support.bench import PERSON, agent
from tests.support.mcp_http import McpHttp
from tests.support.waiting import eventually

VOLATILE: Final = frozenset({"versionNonce", "updated", "seed"})
"""Fields that follow from ids of calls and from the time, so that a replay has others."""
_REBASED: Final = 0.6
"""How many of the writes may be applied over what others changed elsewhere."""


@dataclass(frozen=True, slots=True)
class Write:
    """One call that was applied as a revision of its own."""

    agent_id: str
    tool: str
    body: Record
    """Without what speaks of the revision that it was meant for."""


@dataclass(slots=True)
class Drawing:
    """What all agents know together. Any thread may use it."""

    canvas_id: str
    applied: dict[int, Write] = field(default_factory=dict)
    """By revision."""
    outcomes: Counter[str] = field(default_factory=Counter)
    elements: list[str] = field(default_factory=list)
    is_over: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def heard(self, write: Write, outcome: Mapping[str, Any], before: int) -> bool:
        """Note an answer; whether a revision came of it. `before`: what the write was based on."""
        with self._lock:
            self.outcomes[str(outcome["outcome"])] += 1
            self.outcomes["rebased"] += "rebasedFrom" in outcome
            if outcome["outcome"] != "applied" or outcome["revision"] == before or not outcome["elementIds"]:
                return False
            revision = int(outcome["revision"])
            assert revision not in self.applied, (self.applied[revision], write)
            self.applied[revision] = write
            if write.tool == "canvas_create_elements":
                self.elements += [str(id_) for id_ in outcome["elementIds"]]
            return True

    def some(self, chance: random.Random, count: int) -> list[str]:
        with self._lock:
            return chance.sample(self.elements, min(count, len(self.elements)))


def until_answered(caller: McpHttp, tool: str, arguments: Record, key: str, is_over: Callable[[], bool]) -> Record:
    """The answer of the one call that `key` stands for."""

    def once() -> Record | None:
        assert not is_over(), "it was over before the answer came"
        try:
            result = caller.call(tool, arguments, key=key)
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            return None  # a gateway that is just being restarted
        if result.is_error:
            assert result.content["error"]["retryable"], result.content
            return None
        return result.content

    return eventually(once, seconds=90, what="an answer")


def draw(drawing: Drawing, agent_id: str, caller: McpHttp, writes: int, chance: random.Random) -> None:
    """As one agent: so many writes that change something, each of the revision that it last heard of."""
    revision, done, attempt = 1, 0, 0
    while done < writes:
        attempt += 1
        tool, change = _wish(drawing, agent_id, attempt, chance)
        body: Record = {"canvasId": drawing.canvas_id, "reason": f"{agent_id}, attempt {attempt}", **change}
        meant: Record = {**body, "expectedRevision": revision}
        if chance.random() < _REBASED:
            meant["rebase"] = "disjoint"
        answer = until_answered(caller, tool, meant, f"{agent_id}-{attempt}", lambda: drawing.is_over)
        done += drawing.heard(Write(agent_id, tool, body), answer, revision)
        told = answer.get("revision", answer.get("currentRevision", revision))
        assert isinstance(told, int)
        revision = max(revision, told)


def _wish(drawing: Drawing, agent_id: str, attempt: int, chance: random.Random) -> tuple[str, Record]:
    known = drawing.some(chance, 3)
    kind = chance.random()
    if len(known) < 3 or kind < 0.3:
        return "canvas_create_elements", {"elements": _new(f"{agent_id}-{attempt}", known, chance)}
    if kind < 0.65:
        moves: list[Value] = [{"id": known[0], "dx": chance.randrange(1, 90), "dy": chance.randrange(-90, 90)}]
        return "canvas_move_elements", {"moves": moves}
    if kind < 0.85:
        fields: Record = {"strokeColor": f"#{chance.randrange(16**6):06x}", "angle": chance.random()}
        return "canvas_update_elements", {"updates": [{"id": known[0], "set": fields}]}
    ids: list[Value] = [*known[: chance.randrange(1, 3)]]
    return f"canvas_{'delete' if kind < 0.92 else 'restore'}_elements", {"elementIds": ids}


def _new(name: str, known: list[str], chance: random.Random) -> list[Value]:
    """A labelled box, sometimes with an arrow from it to something of somebody."""
    x, y = chance.randrange(5_000), chance.randrange(5_000)
    made: list[Value] = [
        {"id": name, "type": "rectangle", "x": x, "y": y, "width": 160, "height": 80},
        {"id": f"{name}-text", "type": "text", "x": x, "y": y, "text": f"Step {name}", "containerId": name},
    ]
    if known and chance.random() < 0.5 and not known[0].endswith(("-text", "-arrow")):
        ends: Record = {"startBinding": {"elementId": name}, "endBinding": {"elementId": known[0]}}
        made.append({"id": f"{name}-arrow", "type": "arrow", "x": x, "y": y, "points": [[0, 0], [50, 50]], **ends})
    return made


def replayed(drawing: Drawing, editors: list[str]) -> Board:
    """A canvas on which nothing but the applied calls was ever done, one after the other."""
    board = Board()
    board.answer("canvas_create", {"title": "Together", "reason": "t"}, PERSON)
    for editor in editors:
        board.answer("canvas_grant", {"agentId": editor, "role": "editor"}, PERSON)
    for revision in sorted(drawing.applied):
        write = drawing.applied[revision]
        body: Record = {**write.body, "expectedRevision": revision - 1}
        answer = board.bench.send(write.tool, body, agent(write.agent_id, "w1"))
        assert isinstance(answer, dict), answer
        assert (answer["outcome"], answer.get("revision")) == ("applied", revision), (write, answer)
    return board


def lasting(value: Value) -> Value:
    """`value` without what no replay has, at any depth."""
    if isinstance(value, dict):
        return {name: lasting(held) for name, held in value.items() if name not in VOLATILE}
    return [lasting(item) for item in value] if isinstance(value, list) else value
