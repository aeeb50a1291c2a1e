"""A canvas under test behind the person's socket: what verbs ask of it is decided by its own rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from actors.canvas.owner import VERBS
from actors.decision import PrincipalKind
from bus.value import Record
from tests.actors.canvas.board import COMMENTER, EDITOR, VIEWER, Board
from tests.support.bench import PERSON
from tests.support.scripted_caller import Script, Scripted, Sent

AGENTS: Final = {EDITOR.agent_id: "Edda", VIEWER.agent_id: "Vic", COMMENTER.agent_id: "Col", "elsewhere": "Elsa"}
DIRECTORY: Final[Record] = {
    "workspaces": [{"workspaceId": "w1", "name": "Site"}, {"workspaceId": "w2", "name": "Shop"}],
    "agents": [
        {"agentId": agent_id, "name": name, "workspaceId": "w2" if agent_id == "elsewhere" else "w1"}
        for agent_id, name in AGENTS.items()
    ],
    "activeWorkspaceId": "w1",
}


def served(board: Board, meanwhile: Callable[[Sent], None] = lambda sent: None) -> Script:
    """The canvas `Plan` of workspace w1. `meanwhile` runs before each message that it is sent."""

    def answer(sent: Sent) -> Scripted:
        meanwhile(sent)
        board.bench.clock.advance(1)
        reply = board.bench.send(sent.verb, sent.body, PERSON, sent.call_id)
        assert reply is not None
        return reply

    lists: Script = {
        ("app/-/directory", "directory_list"): DIRECTORY,
        ("workspace/w1/w1", "readable_canvases"): {"canvases": [{"canvasId": "canvas1", "title": "Plan"}]},
        ("workspace/w2/w2", "readable_canvases"): {"canvases": []},
    }
    asked = (verb for verb, rule in VERBS.items() if PrincipalKind.PERSON in rule.callers)
    return {**lists, **{("canvas/w1/canvas1", verb): answer for verb in asked}}
