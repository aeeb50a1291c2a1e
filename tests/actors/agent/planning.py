"""One agent's owner on a bench, with what admission and approvals do to plans as verbs of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.agent import RULES
from actors.agent.plan_book import Plan, Step
from actors.agent.plan_steps import StepCall, collected, recorded
from actors.agent.state import AgentState
from actors.decision import Context, Decision, Message, PrincipalKind, Put, RowEffect, Rules, Verb
from bus import address
from bus.address import Address
from bus.clock import ManualClock
from bus.identifier import derived_id, milliseconds_of
from bus.value import Record
from tests.support.bench import PERSON, OwnerBench, agent, owner
from tests.support.reading import at
from tools.errors import Code, Refusal

AGENT = "a1"
WORKSPACE = "w1"
MADE_MS: Final = ManualClock().now_ms()
"""When the default credential was made: first of all."""
HASH = b"h" * 32
FINGERPRINT: Record = {"title": "Plan", "revision": 3}
_ANYBODY = frozenset(PrincipalKind)


class PlanningRules(Rules[AgentState]):
    """The agent's rules; `record` and `collect` stand for admission."""

    def __init__(self) -> None:
        self.call = canvas_call("none")

    @property
    def kind(self) -> str:
        return "agent"

    @property
    def verbs(self) -> Mapping[str, Verb[AgentState]]:
        own = {"record": self._record, "collect": self._collect}
        return {**RULES.verbs, **{name: Verb(decide, _ANYBODY) for name, decide in own.items()}}

    def new_state(self) -> AgentState:
        return RULES.new_state()

    def apply(self, state: AgentState, effect: RowEffect) -> None:
        RULES.apply(state, effect)

    def problems(self, state: AgentState) -> list[str]:
        return RULES.problems(state)

    def _record(self, state: AgentState, message: Message, context: Context) -> Decision:
        noted = recorded(state, self.call, context)
        return Decision(noted) if isinstance(noted, Refusal) else Decision({}, noted)

    def _collect(self, state: AgentState, message: Message, context: Context) -> Decision:
        noted = collected(state, self.call, context)
        return Decision(noted) if isinstance(noted, Refusal) else Decision(noted[1], noted[0])


class Planning:
    """An agent `a1` of workspace `w1`, and everyone who has to do with its plans."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.rules = PlanningRules()
        self.bench = OwnerBench(self.rules, address.agent(AGENT), self.clock)
        created: Record = {
            "name": "Ada",
            "workspaceId": WORKSPACE,
            "mode": "auto",
            "capabilities": [],
            "tokenHash": HASH,
        }
        self.bench.send("agent_created", created, owner(address.DIRECTORY))

    def begin(self, title: str = "Draw", *steps: str) -> str:
        reply = self.bench.send("plan_begin", {"title": title, "steps": [*steps]}, agent(AGENT, WORKSPACE))
        assert isinstance(reply, dict), reply
        return str(reply["planId"])

    def end(self, note: str | None = None) -> Record | Refusal | None:
        return self.bench.send("plan_end", {"note": note}, agent(AGENT, WORKSPACE))

    def get(self, **arguments: int | str) -> Record | Refusal | None:
        return self.bench.send("plan_get", {**arguments}, agent(AGENT, WORKSPACE))

    def record(self, call: StepCall) -> Record | Refusal | None:
        self.rules.call = call
        return self.bench.send("record", {}, PERSON)

    def collect(self, call: StepCall) -> Record | Refusal | None:
        self.rules.call = call
        return self.bench.send("collect", {}, PERSON)

    def collect_all(self, *calls: StepCall) -> str:
        """The id of the plan that collects them."""
        (plan_id,) = {str(at(self.collect(call), "planId")) for call in calls}
        return plan_id

    def revoke(self) -> None:
        self.person("credential_revoke", name="default")

    def pin_elsewhere(self) -> None:
        head = self.bench.state.head
        assert head is not None
        self.rules.apply(self.bench.state, Put("head", head.model_copy(update={"workspaceId": "w2"}).model_dump()))

    def settle(self, call_id: str, ok: Record | None = None, error: Code | None = None) -> None:
        """As the owner of the target tells it; `ok` is a plain success unless an error is given."""
        told: Record | None = None if error is None else {"code": error.value, "message": "No.", "retryable": False}
        told_ok: Record | None = {"outcome": "applied"} if ok is None and told is None else ok
        sent = self.bench.state.dispatched.get(call_id)
        target = canvas("any") if sent is None else Address.parse(sent.target)
        self.bench.send("settled", {"callId": call_id, "ok": told_ok, "error": told}, owner(target))

    def decide(self, decision: str) -> Record | Refusal | None:
        """The person decides the card of a step that waits for it."""
        (card,) = [id_ for id_, approval in self.bench.state.approvals.items() if approval.state == "pending"]
        body: Record = {"approvalId": f"{AGENT}.{card}", "decision": decision, "how": "command"}
        return self.bench.send("approval_decide", body, PERSON)

    def person(self, verb: str, **body: int | str | bool) -> Record | Refusal | None:
        return self.bench.send(verb, {**body}, PERSON)

    def gone(self, plan_id: str, canvas_id: str, *, existed: bool = True) -> None:
        body: Record = {"planId": plan_id, "kind": "canvas", "id": canvas_id, "existed": existed}
        self.bench.send("surface_gone", body, owner(canvas(canvas_id)))

    def plan(self, plan_id: str) -> Plan:
        return self.bench.state.plans.plans[plan_id]

    def steps(self, plan_id: str) -> list[Step]:
        return [*self.bench.state.plans.steps_of(plan_id).values()]

    def phases(self, plan_id: str) -> list[str]:
        return [step.phase for step in self.steps(plan_id)]

    def write(self, canvas_id: str = "c1", **arguments: int | str) -> StepCall:
        return canvas_call(self.clock.new_id(), canvas_id, **arguments)

    def creation(self) -> StepCall:
        """canvas_create, as the gateway addresses it: the new canvas's id follows from the call's."""
        call_id = self.clock.new_id()
        made = derived_id(milliseconds_of(call_id), call_id, "canvas")
        return StepCall(
            "canvas_create", "write", {"title": "T"}, canvas(made), call_id, WORKSPACE, "default", MADE_MS, "canvas"
        )

    def assert_reloads(self) -> None:
        assert self.bench.reloaded() == self.bench.state


def canvas(canvas_id: str) -> Address:
    return address.canvas(WORKSPACE, canvas_id)


def canvas_call(call_id: str, canvas_id: str = "c1", **arguments: int | str) -> StepCall:
    body: Record = {"canvasId": canvas_id, **arguments}
    return StepCall(
        "canvas_move_elements", "write", body, canvas(canvas_id), call_id, WORKSPACE, "default", MADE_MS, None
    )
