"""Workspaces that come and go under everything that fails: the saga of actors/directory/deletion.py.

The person makes workspaces, draws in them, deletes canvases and whole workspaces - also draws in those that are gone,
as a caller does whose stamp is a little old - and moves one agent about while another follows the active workspace.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from actors.decision import Put
from actors.directory.state import DirectoryState
from actors.directory.state import apply as apply_to_directory
from bus import address
from bus.address import DIRECTORY, Address
from bus.codec import unpack_row
from bus.envelope import Reply
from bus.value import Record, Value
from tests.simulation.history import CallRecord, Fate, History, Operation
from tests.simulation.invariants import Disks, demand, same_answer

SETUP_CALLS: Final = 8
_STAYS: Final = "stays"
_PINNED, _FOLLOWER = "pinned", "follower"
_WORKSPACES_MAX: Final = 6


class DeletionScript:
    """What all clients of a run know together."""

    def __init__(self) -> None:
        self._setup = _setup()
        self._setup_is_waiting = False
        self._added = 0
        self._workspaces: list[str] = []
        self._canvases: list[tuple[Address, list[int]]] = []
        """With the last revision that anybody was told."""

    def script(self, number: int, rng: random.Random) -> Callable[[], Operation | None]:
        def following() -> Operation | None:
            if not self._setup:
                return self._random(rng)
            return self._next_of_setup() if number == 0 else None

        return following

    def _next_of_setup(self) -> Operation | None:
        if self._setup_is_waiting:
            return None
        self._setup_is_waiting = True

        def heard(record: CallRecord) -> None:
            self._setup_is_waiting = False
            if record.fate is Fate.ANSWERED:
                self._setup.pop(0)

        to, verb, body = self._setup[0]
        return Operation(to, verb, body, has_effects=verb != "agent_inherit", heard=heard)

    def _random(self, rng: random.Random) -> Operation:
        if not self._workspaces or (self._added < _WORKSPACES_MAX and rng.random() < 0.15):
            return self._add()
        wishes: list[tuple[int, Callable[[random.Random], Operation]]] = [(30, self._create), (10, self._end)]
        wishes += [(8, self._use), (8, self._pin), (10, self._list)]
        if self._canvases:
            wishes += [(25, self._draw), (8, self._delete_canvas), (6, self._look)]
        chosen = rng.choices([wish for _, wish in wishes], weights=[weight for weight, _ in wishes])[0]
        return chosen(rng)

    def _add(self) -> Operation:
        workspace_id = f"d{self._added}"
        self._added += 1

        def heard(record: CallRecord) -> None:
            if record.ok is not None:
                self._workspaces.append(workspace_id)  # nobody draws in one that may never have been made

        body: Record = {"workspaceId": workspace_id, "name": f"Workspace {workspace_id}"}
        return Operation(DIRECTORY, "workspace_add", body, has_effects=True, heard=heard)

    def _create(self, rng: random.Random) -> Operation:
        canvas = address.canvas(rng.choice(self._workspaces), f"c{rng.randrange(10**9)}")

        def heard(record: CallRecord) -> None:
            if record.ok is not None:
                self._canvases.append((canvas, [1]))

        return Operation(canvas, "canvas_create", {"title": "Plan", "reason": "a run"}, has_effects=True, heard=heard)

    def _draw(self, rng: random.Random) -> Operation:
        box: Value = {"type": "rectangle", "x": rng.randrange(500), "y": 0, "width": 40, "height": 20}
        elements: list[Value] = [box] * rng.choice((1, 3))
        return self._write(rng, "canvas_create_elements", {"elements": elements})

    def _delete_canvas(self, rng: random.Random) -> Operation:
        return self._write(rng, "canvas_delete", {})

    def _write(self, rng: random.Random, verb: str, change: Record) -> Operation:
        canvas, revision = rng.choice(self._canvases)

        def heard(record: CallRecord) -> None:
            told = None if record.ok is None else record.ok.get("revision", record.ok.get("currentRevision"))
            if isinstance(told, int):
                revision[0] = max(told, revision[0])

        body: Record = {"canvasId": canvas.id, "expectedRevision": revision[0], "reason": "a run", **change}
        return Operation(canvas, verb, body, has_effects=True, heard=heard)

    def _look(self, rng: random.Random) -> Operation:
        return Operation(rng.choice(self._canvases)[0], "canvas_summary", {}, has_effects=False)

    def _end(self, rng: random.Random) -> Operation:
        body: Record = {"workspaceId": rng.choice(self._workspaces)}
        return Operation(DIRECTORY, "workspace_delete", body, has_effects=True)

    def _use(self, rng: random.Random) -> Operation:
        body: Record = {"workspaceId": rng.choice((_STAYS, *self._workspaces))}
        return Operation(DIRECTORY, "workspace_use", body, has_effects=False)

    def _pin(self, rng: random.Random) -> Operation:
        body: Record = {"agentId": _PINNED, "workspaceId": rng.choice((_STAYS, *self._workspaces))}
        return Operation(DIRECTORY, "agent_pin", body, has_effects=False)

    def _list(self, rng: random.Random) -> Operation:
        place = address.workspace(rng.choice(self._workspaces))
        return Operation(place, "readable_canvases", {"limit": 50}, has_effects=False)


class DeletionJudge:
    """Judges runs of these scripts. Not for torn rows: what is damaged keeps a deletion open until it is mended."""

    def __init__(self, disks: Disks) -> None:
        self._disks = disks

    def began(self, record: CallRecord) -> None:
        """Nothing is judged by what was known before."""

    def had_effects(self, record: CallRecord) -> bool:
        assert record.ok is not None
        if record.operation.verb.startswith("canvas_"):
            return record.ok.get("outcome") == "applied"
        return record.operation.has_effects

    def checked(self, record: CallRecord, reply: Reply, now_us: int) -> None:
        same_answer(record, reply, self.had_effects)
        if reply.ok is None:
            return
        if record.operation.verb == "workspace_delete":
            workspace_id = str(record.operation.body["workspaceId"])
            row = self._disks.row(DIRECTORY, f"workspace/{workspace_id}")
            demand(row is None, "a deletion is answered when all is gone", record.describe(), row)
            self._check_gone(workspace_id)
        if record.operation.verb == "canvas_delete" and reply.ok["outcome"] == "applied":
            head = self._disks.row(record.operation.to, "head")
            demand(head is None, "acknowledged implies durable", record.describe(), head)

    def at_end(self, history: History) -> None:
        letters = [unpack_row(value) for disk in self._disks.disks for _, value in disk.content.scan(b"d")]
        demand(not letters, "nothing becomes a dead letter", letters)
        directory = DirectoryState()
        for row, value in self._disks.rows(DIRECTORY).items():
            apply_to_directory(directory, Put(row, value))
        ending = [id_ for id_, workspace in directory.workspaces.items() if workspace.deleting is not None]
        demand(not ending, "a deletion that began ends", ending)
        for workspace in self._disks.owners("workspace"):
            if workspace.id in directory.workspaces:
                self._check_living(workspace)
            else:
                self._check_gone(workspace.id)
        for canvas in self._disks.owners("canvas"):
            rows = self._disks.rows(canvas)
            demand("head" in rows or [*rows] == ["gone"], "what is deleted leaves no rows", str(canvas), [*rows])
            if canvas.workspace not in directory.workspaces:
                demand([*rows] == ["gone"], "nothing outlives its workspace", str(canvas), [*rows])
        self._check_scopes(directory)

    def _check_gone(self, workspace_id: str) -> None:
        rows = [*self._disks.rows(address.workspace(workspace_id))]
        demand(rows in ([], ["gone"]), "a deleted workspace leaves no rows", workspace_id, rows)

    def _check_living(self, workspace: Address) -> None:
        rows = self._disks.rows(workspace)
        indexed = sorted(row.removeprefix("canvas/") for row in rows if row.startswith("canvas/"))
        there = [canvas for canvas in self._disks.owners("canvas") if canvas.workspace == workspace.id]
        living = sorted(canvas.id for canvas in there if self._disks.row(canvas, "head") is not None)
        demand(indexed == living, "the index knows every canvas that is there", str(workspace), indexed, living)
        demand("deleting" not in rows and "gone" not in rows, "a workspace that is listed is there", str(workspace))

    def _check_scopes(self, directory: DirectoryState) -> None:
        active = directory.active
        demand(active in directory.workspaces, "the active workspace is there", active)
        for agent_id in (_PINNED, _FOLLOWER):
            listed = directory.agents.get(agent_id)
            if listed is None:
                continue  # the run ended before it was made
            head = self._disks.row(address.agent(agent_id), "head")
            facts = self._disks.row(address.mailbox(agent_id), "facts")
            assert isinstance(head, dict)
            assert isinstance(facts, dict)
            places = (listed.workspaceId, head["workspaceId"], facts["workspaceId"])
            demand(len(set(places)) == 1, "an agent acts where the directory says", agent_id, places)
            demand(listed.inherits == head["inherits"], "an agent knows whether it inherits", agent_id, head)
            is_there = listed.workspaceId == "" or listed.workspaceId in directory.workspaces
            demand(is_there, "no agent is in a workspace that is gone", agent_id, places)
            if listed.inherits:
                demand(listed.workspaceId == active, "who inherits is where the person is", agent_id, places)


def _setup() -> list[tuple[Address, str, Record]]:
    steps: list[tuple[Address, str, Record]] = [(DIRECTORY, "workspace_add", {"workspaceId": _STAYS, "name": "Stays"})]
    for agent_id in (_PINNED, _FOLLOWER):
        added: Record = {"agentId": agent_id, "name": f"Agent {agent_id}", "workspaceId": _STAYS, "mode": "auto"}
        steps.append((DIRECTORY, "agent_add", {**added, "capabilities": ["mesh"], "tokenHash": bytes(32)}))
    return [*steps, (DIRECTORY, "agent_inherit", {"agentId": _FOLLOWER, "inherits": True})]
