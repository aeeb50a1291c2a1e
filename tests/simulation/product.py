"""Scripts over the product's own owners: a workspace whose agents draw on shared canvases and send each other tasks.

Client 0 first sets the home up, as the person would; then every client acts as one agent after another. What replies
tell (revisions, threads) is shared among clients, so that agents are in each other's way.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from actors import roster as product_roster
from actors.decision import Rules
from bus import address
from bus.address import Address
from bus.value import Record, Value
from tests.simulation.history import CallRecord, Fate, Heard, Operation

WORKSPACE: Final = "w1"
AGENTS: Final = ("a1", "a2", "a3")
COMMENTER: Final = "a3"
"""On canvases that others made."""
SHORT_LIVED: Final = "a4"
SETUP_CALLS: Final = 12
"""What client 0 needs to set the home up, with some to spare."""
_CANVASES_MAX: Final = 3


def roster() -> Mapping[str, Rules[Any]]:
    return product_roster.roster()


@dataclass(slots=True)
class KnownCanvas:
    """What clients know of a canvas by what they were told."""

    id: str
    revision: int
    elements: list[str]
    proposals: list[str] = field(default_factory=list)


class HomeScript:
    """What all clients of a run know together."""

    def __init__(self) -> None:
        self.canvases: list[KnownCanvas] = []
        self.threads: list[tuple[str, str]] = []
        """(recipient, thread) of tasks that some inbox showed or some sender was told of."""
        self._setup = home_of((*AGENTS, SHORT_LIVED))
        self._setup_is_waiting = False
        self._todo: list[Operation] = []

    def script(self, number: int, rng: random.Random) -> Callable[[], Operation | None]:
        def following() -> Operation | None:
            if self._setup:
                return self._next_of_setup() if number == 0 else None
            if self._todo and rng.random() < 0.7:
                return self._todo.pop(0)
            return self._random(rng)

        return following

    def _next_of_setup(self) -> Operation | None:
        if self._setup_is_waiting:
            return None
        self._setup_is_waiting = True
        planned = self._setup[0]

        def heard(record: CallRecord) -> None:
            self._setup_is_waiting = False
            if record.fate is Fate.ANSWERED:  # refused for being there already is as good
                self._setup.pop(0)

        return _with(planned, heard)

    def _random(self, rng: random.Random) -> Operation:
        agent_id = rng.choice(AGENTS)
        wishes: list[tuple[int, Callable[[random.Random, str], Operation]]] = [
            (16, self._trigger),
            (16, self._inbox),
            (4, self._rename),
            (3, _look),
            (1, self._remove),
            (6 if len(self.canvases) < _CANVASES_MAX else 0, self._create_canvas),
        ]
        if self.canvases:
            wishes += [(20, self._create_elements), (16, self._move), (8, self._summary)]
            wishes += [(6, self._delete_or_restore), (4, self._lock), (6, self._decide_proposal), (4, self._revert)]
        if self.threads:
            wishes += [(16, self._answer)]
        chosen = rng.choices([wish for _, wish in wishes], weights=[weight for weight, _ in wishes])[0]
        return chosen(rng, agent_id)

    def _create_canvas(self, rng: random.Random, agent_id: str) -> Operation:
        canvas_id = f"c{len(self.canvases)}x{rng.randrange(10**9)}"
        if rng.random() < 0.3:  # its call may be decided before it is removed, or after
            agent_id = SHORT_LIVED

        def heard(record: CallRecord) -> None:
            if record.fate is not Fate.ANSWERED or record.ok is None:
                return
            self.canvases.append(KnownCanvas(canvas_id, 1, []))
            for other in (*AGENTS, SHORT_LIVED):
                role = "owner" if other == agent_id else "commenter" if other == COMMENTER else "editor"
                grant: Record = {"agentId": other, "role": role}
                self._todo.append(Operation(_canvas(canvas_id), "canvas_grant", grant, has_effects=False))

        body: Record = {"title": f"Plan {canvas_id}", "reason": "a run"}
        return as_agent(agent_id, _canvas(canvas_id), "canvas_create", body, True, heard)

    def _create_elements(self, rng: random.Random, agent_id: str) -> Operation:
        ids = [f"e{rng.randrange(10**9)}" for _ in range(rng.choice((1, 2)))]
        elements: list[Value] = [
            {"id": id_, "type": "rectangle", "x": rng.randrange(500), "y": 0, "width": 40, "height": 20} for id_ in ids
        ]
        return self._write(rng, agent_id, "canvas_create_elements", {"elements": elements}, ids)

    def _move(self, rng: random.Random, agent_id: str) -> Operation:
        known = rng.choice(self.canvases)
        if not known.elements:
            return self._create_elements(rng, agent_id)
        moves: list[Value] = [{"id": rng.choice(known.elements), "dx": rng.randrange(1, 50), "dy": rng.randrange(50)}]
        return self._write(rng, agent_id, "canvas_move_elements", {"moves": moves}, [], known)

    def _delete_or_restore(self, rng: random.Random, agent_id: str) -> Operation:
        known = rng.choice(self.canvases)
        if not known.elements:
            return self._create_elements(rng, agent_id)
        ids: list[Value] = [rng.choice(known.elements)]
        verb = f"canvas_{rng.choice(('delete', 'restore'))}_elements"
        return self._write(rng, agent_id, verb, {"elementIds": ids}, [], known)

    def _lock(self, rng: random.Random, agent_id: str) -> Operation:
        known = rng.choice(self.canvases)
        if not known.elements:
            return self._create_elements(rng, agent_id)
        ids: list[Value] = [rng.choice(known.elements)]
        agent_id = rng.choice((agent_id, agent_id, SHORT_LIVED))
        change: Record = {"elementIds": ids, "locked": rng.random() < 0.7, "seconds": rng.choice((1, 2, 5))}
        return self._write(rng, agent_id, "canvas_lock_elements", change, [], known)

    def _decide_proposal(self, rng: random.Random, agent_id: str) -> Operation:
        known = next((canvas for canvas in self.canvases if canvas.proposals), None)
        if known is None:
            return self._create_elements(rng, COMMENTER)
        verb = f"canvas_{rng.choice(('approve', 'approve', 'reject'))}_proposal"
        return self._write(rng, agent_id, verb, {"proposalId": rng.choice(known.proposals)}, [], known)

    def _write(
        self,
        rng: random.Random,
        agent_id: str,
        verb: str,
        change: Record,
        ids: list[str],
        known: KnownCanvas | None = None,
    ) -> Operation:
        canvas = known or rng.choice(self.canvases)

        def heard(record: CallRecord) -> None:
            if record.ok is None:
                return
            told = record.ok.get("revision", record.ok.get("currentRevision", 0))
            assert isinstance(told, int)
            canvas.revision = max(told, canvas.revision)
            match record.ok["outcome"]:
                case "applied" if verb.endswith("_proposal"):
                    canvas.proposals = [one for one in canvas.proposals if one != change["proposalId"]]
                case "applied":
                    canvas.elements.extend(ids)
                case "proposed":
                    canvas.proposals.append(str(record.ok["proposalId"]))

        body: Record = {"canvasId": canvas.id, "expectedRevision": canvas.revision, "reason": "a run", **change}
        if rng.random() < 0.5:
            body["rebase"] = "disjoint"
        return as_agent(agent_id, _canvas(canvas.id), verb, body, True, heard)

    def _summary(self, rng: random.Random, agent_id: str) -> Operation:
        canvas = _canvas(rng.choice(self.canvases).id)
        if rng.random() < 0.4:
            return Operation(canvas, "canvas_history", {"limit": 5}, has_effects=False)
        return Operation(canvas, "canvas_summary", {}, has_effects=False)

    def _revert(self, rng: random.Random, agent_id: str) -> Operation:
        """By the person, to some revision that there was."""
        canvas = rng.choice(self.canvases)

        def heard(record: CallRecord) -> None:
            if record.ok is not None and isinstance(record.ok.get("revision"), int):
                canvas.revision = max(int(str(record.ok["revision"])), canvas.revision)

        body: Record = {"canvasId": canvas.id, "expectedRevision": canvas.revision, "reason": "a run"}
        body["to"] = rng.randint(max(1, canvas.revision - 6), canvas.revision)
        return Operation(_canvas(canvas.id), "canvas_revert", body, has_effects=True, heard=heard)

    def _trigger(self, rng: random.Random, agent_id: str) -> Operation:
        recipient = rng.choice([other for other in (*AGENTS, SHORT_LIVED) if other != agent_id])

        def heard(record: CallRecord) -> None:
            if record.ok is not None:
                self.threads.append((recipient, str(record.ok["threadId"])))

        task: Record = {"title": "Count", "instructions": "Count the beans."}
        body: Record = {"agentId": recipient, "task": task}
        if rng.random() < 0.3:
            body["idempotencyKey"] = f"key{rng.randrange(3)}/{agent_id}"
            body["agentId"] = next(other for other in AGENTS if other != agent_id)
        return as_agent(agent_id, address.mailbox(agent_id), "agent_trigger", body, True, heard)

    def _inbox(self, rng: random.Random, agent_id: str) -> Operation:
        return as_agent(agent_id, address.mailbox(agent_id), "agent_inbox", {}, False)

    def _answer(self, rng: random.Random, agent_id: str) -> Operation:
        recipient, thread_id = rng.choice(self.threads)
        body: Record = {"threadId": thread_id}
        if rng.random() < 0.7:
            body |= {"outcome": rng.choice(("completed", "failed", "partial")), "body": "There are seven."}
            return as_agent(recipient, address.mailbox(recipient), "agent_reply", body, True)
        body |= {"reason": "No time."}
        return as_agent(recipient, address.mailbox(recipient), "agent_reject", body, True)

    def _rename(self, rng: random.Random, agent_id: str) -> Operation:
        body: Record = {"name": rng.choice(("Ada", "Bob", "Cyd", f"Name {rng.randrange(100)}"))}
        return as_agent(agent_id, address.agent(agent_id), "agent_update_self", body, True)

    def _remove(self, rng: random.Random, agent_id: str) -> Operation:
        return Operation(address.DIRECTORY, "agent_remove", {"agentId": SHORT_LIVED}, has_effects=True)


def _look(rng: random.Random, agent_id: str) -> Operation:
    if rng.random() < 0.5:
        return as_agent(agent_id, address.DIRECTORY, "agents_in_scope", {"limit": 50}, False)
    return as_agent(agent_id, address.workspace(WORKSPACE), "readable_canvases", {"limit": 50}, False)


def home_of(agents: Sequence[str]) -> list[Operation]:
    """What sets up a workspace with agents who have called."""
    workspace: Record = {"workspaceId": WORKSPACE, "name": "Workspace"}
    steps = [Operation(address.DIRECTORY, "workspace_add", workspace, has_effects=True)]
    for agent_id in agents:
        token_hash = agent_id.encode().ljust(32, b".")
        added: Record = {"agentId": agent_id, "name": f"Agent {agent_id}", "workspaceId": WORKSPACE, "mode": "auto"}
        added |= {"capabilities": ["mesh"], "tokenHash": token_hash}
        steps.append(Operation(address.DIRECTORY, "agent_add", added, has_effects=True))
        proof: Record = {"tokenHash": token_hash}
        steps.append(Operation(address.agent(agent_id), "authenticate", proof, has_effects=False, by_gateway=True))
    return steps


def _canvas(canvas_id: str) -> Address:
    return address.canvas(WORKSPACE, canvas_id)


def as_agent(
    agent_id: str, to: Address, verb: str, body: Record, has_effects: bool, heard: Heard | None = None
) -> Operation:
    return Operation(to, verb, body, has_effects, agent_id=agent_id, workspace_id=WORKSPACE, heard=heard)


def _with(operation: Operation, heard: Heard) -> Operation:
    return Operation(
        operation.to, operation.verb, operation.body, operation.has_effects, operation.by_gateway, heard=heard
    )
