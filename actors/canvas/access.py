"""Who may do what on a canvas (canvas 1), arguments as parsed models, and the checks that every write begins with.

Roles live in head rows: viewer < commenter < editor < owner, by the person's grant only; creating a canvas grants its
creator `owner`. Whoever has no role is answered as if the canvas did not exist, before any outcome.
"""

from __future__ import annotations

from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError

from actors.canvas import outcome
from actors.canvas.state import CanvasState, Head
from actors.decision import Context, Decision, Message, PrincipalKind
from bus.limits import field_path_characters_max
from tools.canvas.inputs import CanvasWrite
from tools.errors import NOT_FOUND, Refusal, invalid_arguments

ROLES: Final = ("viewer", "commenter", "editor", "owner")
"""Each may do what those before it may."""

Arguments = TypeVar("Arguments", bound=BaseModel)
Write = TypeVar("Write", bound=CanvasWrite)


def role_of(state: CanvasState, context: Context) -> str | None:
    """The caller's role. The person may do everything and so counts as `owner`; None: nothing to see here."""
    principal = context.principal
    if state.head is None:
        return None
    if principal.kind is PrincipalKind.PERSON:
        return "owner"
    # The address is under the caller's own scope already; this holds even if routing ever fails to.
    if principal.workspace_id != context.address.workspace:
        return None
    return state.roles.get(principal.agent_id)


def may_write(role: str) -> bool:
    """Whether writes apply, and others' proposals may be decided and elements locked."""
    return ROLES.index(role) >= ROLES.index("editor")


def may_propose(role: str) -> bool:
    return ROLES.index(role) >= ROLES.index("commenter")


def seen(state: CanvasState, context: Context) -> tuple[Head, str] | Refusal:
    """Head and role for a caller who has one; otherwise the refusal that says nothing (canvas 1.2)."""
    role = role_of(state, context)
    if role is None or state.head is None:
        return NOT_FOUND
    return state.head, role


def parsed(model: type[Arguments], message: Message) -> Arguments | Refusal:
    """The message's body as its input model, or the refusal that names each bad field."""
    try:
        return model.model_validate(message.body)
    except ValidationError as error:
        fields = {_path(item["loc"]): item["msg"] for item in error.errors(include_url=False, include_input=False)}
        return invalid_arguments(fields)


def asked(
    model: type[Write], state: CanvasState, message: Message, context: Context, least_role: str, words: str
) -> tuple[Write, Head, str] | Decision:
    """Arguments, head and the caller's role for a write that may go on; otherwise what it is answered.

    The order is the contract's (canvas 3.2): whoever has no role learns nothing, whoever has too little of one is
    `rejected` `role`, and a call for another revision is answered before anything that it names is looked at, unless it
    may be rebased. `words` say what takes which role.
    """
    arguments = parsed(model, message)
    if isinstance(arguments, Refusal):
        return Decision(arguments)
    found = seen(state, context)
    if isinstance(found, Refusal):
        return Decision(found)
    head, role = found
    if ROLES.index(role) < ROLES.index(least_role):
        return Decision(outcome.rejected("role", f"Your role here is {role}; {words}. Ask the person."))
    differs = outcome.revision_differs(state, head, arguments.expectedRevision, arguments.rebase)
    return (arguments, head, role) if differs is None else Decision(differs)


def _path(location: tuple[int | str, ...]) -> str:
    path = ".".join(str(part) for part in location)
    return path.encode(errors="replace").decode()[:field_path_characters_max]
