"""Whether tasks reach an agent, by the person's word: pausing it, keeping one agent from sending to it (mesh 2.1)."""

from __future__ import annotations

from typing import Final

from actors.agent.state import AgentState, Head
from actors.decision import Context, Decision, Effect, Event, PrincipalKind, Send, Verb, VerbTable
from actors.parsed import parsed
from bus import address
from bus.limits import blocked_senders_max
from bus.value import Record
from tools.base import Identifier, Model
from tools.errors import NOT_FOUND, Code, Refusal


class AgentPause(Model):
    paused: bool


class AgentBlock(Model):
    agentId: Identifier
    """Which agent may not send, or may again."""
    blocked: bool


def agent_pause(state: AgentState, body: AgentPause, context: Context) -> Decision:
    """What it has it keeps; it is offered nothing new, and nobody can send to it."""
    head = state.living()
    if head is None or head.is_guest:
        return Decision(NOT_FOUND)
    effects: tuple[Effect, ...] = ()
    if head.paused != body.paused:
        event = Event("agent.paused", {"agentId": context.address.id, "paused": body.paused})
        effects = (*_changed(head, context, paused=body.paused), event)
    return _done(head, context, {"paused": body.paused}, effects)


def agent_block(state: AgentState, body: AgentBlock, context: Context) -> Decision:
    head = state.living()
    if head is None or head.is_guest:
        return Decision(NOT_FOUND)
    if body.agentId == context.address.id:
        return Decision(Refusal(Code.WRONG_STATE, "An agent sends itself no tasks, so there is nothing to block."))
    others = [agent_id for agent_id in head.blocked if agent_id != body.agentId]
    if body.blocked and len(others) >= blocked_senders_max:
        message = "As many agents are kept from sending to this one as may be. Let one send again first."
        return Decision(Refusal(Code.WRONG_STATE, message, details={"limit": blocked_senders_max}))
    blocked = [*others, body.agentId] if body.blocked else others
    effects: tuple[Effect, ...] = ()
    if (body.agentId in head.blocked) != body.blocked:
        told: Record = {"agentId": context.address.id, "from": body.agentId, "blocked": body.blocked}
        effects = (*_changed(head, context, blocked=blocked), Event("agent.blocked", told))
    return _done(head, context, {"from": body.agentId, "blocked": body.blocked}, effects)


def _changed(head: Head, context: Context, **changes: object) -> tuple[Effect, ...]:
    facts = head.model_copy(update=changes).mailbox_facts()
    # before_reply: the next task is decided by it.
    told = Send(address.mailbox(context.address.id), "facts_changed", facts, before_reply=True)
    return (*head.widened(**changes), told)


def _done(head: Head, context: Context, reply: Record, effects: tuple[Effect, ...]) -> Decision:
    return Decision({"agentId": context.address.id, "name": head.name, **reply, "changed": bool(effects)}, effects)


_PERSON: Final = frozenset({PrincipalKind.PERSON})

VERBS: Final[VerbTable[AgentState]] = VerbTable(
    {
        "agent_pause": Verb(parsed(AgentPause, agent_pause), _PERSON),
        "agent_block": Verb(parsed(AgentBlock, agent_block), _PERSON),
    }
)
