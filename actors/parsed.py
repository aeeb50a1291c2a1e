"""Verbs whose body is a model: parsed before the rule sees it, and told apart by whose mistake a bad body is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from actors.decision import Context, Decide, Decision, Message, PrincipalKind
from bus.address import Address
from tools.base import Model
from tools.errors import invalid_arguments
from tools.problems import problems_of

State = TypeVar("State")
Body = TypeVar("Body", bound=BaseModel)

DONE: Final = Decision({})
"""What an owner's message is answered when there is nothing left to do: it was handled before, or came too late."""


class Nothing(Model):
    """The body of a verb without arguments."""


class MessageDied(Model):
    """The body of `message_died`: a message of this owner's became a dead letter."""

    verb: str
    body: dict[str, Any]

    def waiting_call(self, verb: str) -> str | None:
        """The call that waits for the answer to it, if it was of that verb and names one."""
        call_id = self.body.get("callId")
        return call_id if self.verb == verb and isinstance(call_id, str) else None


def parsed(model: type[Body], decide: Callable[[State, Body, Context], Decision]) -> Decide[State]:
    """A rule that takes `model` instead of a raw body.

    A body that does not fit is refused `invalid_arguments` when an agent or the person sent it; from an owner or a
    gateway it is a defect of ours, so the ValidationError goes on to the host.
    """

    def decide_parsed(state: State, message: Message, context: Context) -> Decision:
        try:
            body = model.model_validate(message.body)
        except ValidationError as error:
            if context.principal.kind in (PrincipalKind.OWNER, PrincipalKind.GATEWAY):
                raise
            return Decision(invalid_arguments(problems_of(error)))
        return decide(state, body, context)

    return decide_parsed


def sending_owner(context: Context, *kinds: str) -> Address:
    """The owner that sent this message. Raises ValueError (a defect of ours) unless it is of one of `kinds`."""
    sender = context.principal.owner
    if sender is None or sender.kind not in kinds:
        raise ValueError(f"this verb is for owners of kind {kinds}")
    return sender
