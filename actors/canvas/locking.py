"""canvas_lock_elements: elements that one agent, or the person, alone may change for a while (canvas 2, 3.3).

What a lock keeps is the element's bytes: also what would only follow from a change of something else, such as an arrow
that would be led anew, is stopped by it. It counts while its time runs and its holder may write. Whoever holds it, an
agent that owns the canvas and the person take it off; what the person has locked, the person alone. With its holder's
role it goes for good.

Rows of locks that do not count go with the next call of this tool, and with a timer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from actors.canvas import outcome
from actors.canvas.access import asked, may_write
from actors.canvas.draft import Draft
from actors.canvas.lock import LAPSE, Lock
from actors.canvas.outcome import Rejected
from actors.canvas.rebase import clash
from actors.canvas.state import CanvasState, Head, lock_row
from actors.decision import (
    CancelTimer,
    Context,
    Decision,
    Delete,
    Effect,
    Event,
    Message,
    PrincipalKind,
    Put,
    SetTimer,
)
from bus.limits import locks_per_agent_max, locks_per_canvas_max
from bus.value import Record
from tools.canvas.inputs import CanvasLockElementsInput

_PERSON: Final = PrincipalKind.PERSON.value


def counts(state: CanvasState, lock: Lock, now_ms: int) -> bool:
    """Whether the lock keeps others out."""
    if not lock.is_alive(now_ms):
        return False
    role = "owner" if lock.holder == _PERSON else state.roles.get(lock.holder)
    return role is not None and may_write(role)


def lock_against(state: CanvasState, element_ids: Iterable[str], writers: Collection[str], now_ms: int) -> Lock | None:
    """The lock of somebody else than `writers` on one of these elements that ends last."""
    held = [lock for lock in state.locks.on(element_ids) if lock.holder not in writers and counts(state, lock, now_ms)]
    return max(held, key=lambda lock: (lock.until_ms, lock.element_id), default=None)


def lock_elements(state: CanvasState, message: Message, context: Context) -> Decision:
    """canvas_lock_elements (canvas 2, 3.1, 3.3): all that are named, or none.

    `rejected` `role`, `revision_ahead`, `unknown_element`, `deleted_element` (which can only be unlocked), `lock` if
    somebody else holds one, or `limits`; `conflict` as for any write. `elementIds` are those that are locked now, or
    that something was taken off.
    """
    found = asked(CanvasLockElementsInput, state, message, context, "editor", "locking elements takes editor")
    if isinstance(found, Decision):
        return found
    arguments, head, role = found
    draft = Draft(state, head, context, "", arguments.reason)  # to look elements up; it is never finished
    try:
        wanted = _wanted(draft, arguments)
    except Rejected as refused:
        return clash(draft, arguments.expectedRevision) or Decision(outcome.rejected(refused.code, refused.message))
    return clash(draft, arguments.expectedRevision) or _changed(state, head, wanted, arguments, role, context)


def lapse(state: CanvasState, message: Message, context: Context) -> Decision:
    """Some locks may be over."""
    if state.head is None:
        return Decision({})
    return Decision({}, tuple(_kept(state, {}, context)))


def dropped(state: CanvasState, agent_id: str, context: Context) -> list[Effect]:
    """What goes with an agent's role, or with that part of it that lets it write (canvas 1.1): its locks, also should
    it be given the role again."""
    gone: dict[str, Lock | None] = {id_: None for id_, lock in state.locks.all().items() if lock.holder == agent_id}
    if not gone:
        return []
    told: Record = {"canvasId": context.address.id, "elements": len(gone)}
    return [*_kept(state, gone, context), Event(outcome.UNLOCKED, told)]


def _wanted(draft: Draft, arguments: CanvasLockElementsInput) -> list[str]:
    """The elements that are named, each once. Raises Rejected. A deleted one can only be unlocked."""
    for position, id_ in enumerate(arguments.elementIds):
        if arguments.locked:
            draft.require_live(id_, f"elementIds.{position}")
        else:
            draft.require(id_, f"elementIds.{position}")
    return [*draft.named_ids]


def _changed(
    state: CanvasState,
    head: Head,
    wanted: list[str],
    arguments: CanvasLockElementsInput,
    role: str,
    context: Context,
) -> Decision:
    holder, now_ms = context.principal.label(), context.now_ms
    against = [
        lock
        for lock in state.locks.on(wanted)
        if counts(state, lock, now_ms) and not _may_take(lock, arguments, role, context)
    ]
    if against:
        return Decision(outcome.locked(max(against, key=lambda lock: lock.until_ms)))
    if arguments.locked:
        until_ms = now_ms + arguments.seconds * 1_000
        changes: dict[str, Lock | None] = {id_: Lock(id_, holder, until_ms) for id_ in wanted}
        if _is_too_many(state, wanted, holder, now_ms):
            words = "So many elements cannot be locked at once. Take off locks that are not needed any more first."
            return Decision(outcome.rejected("limits", words))
    else:
        changes = {id_: None for id_ in wanted if state.locks.of(id_) is not None}
    reply = outcome.applied(head.revision, changes)
    if arguments.expectedRevision < head.revision:
        reply["rebasedFrom"] = arguments.expectedRevision
    if not changes:
        return Decision(reply)
    event = Event(
        outcome.LOCKED if arguments.locked else outcome.UNLOCKED,
        {"canvasId": context.address.id, "elements": len(changes)},
    )
    return Decision(reply, (*_kept(state, changes, context), event))


def _may_take(lock: Lock, arguments: CanvasLockElementsInput, role: str, context: Context) -> bool:
    """Whether the caller may put its own lock in place of this one, or take it off."""
    if context.principal.kind is PrincipalKind.PERSON or lock.holder == context.principal.label():
        return True
    return not arguments.locked and role == "owner" and lock.holder != _PERSON


def _is_too_many(state: CanvasState, wanted: Collection[str], holder: str, now_ms: int) -> bool:
    """Only what counts takes room: nobody is held up by what nobody can see or take off."""
    named = frozenset(wanted)
    others = [lock for id_, lock in state.locks.all().items() if id_ not in named and counts(state, lock, now_ms)]
    own = sum(lock.holder == holder for lock in others)
    return len(others) + len(wanted) > locks_per_canvas_max or own + len(wanted) > locks_per_agent_max


def _kept(state: CanvasState, changes: dict[str, Lock | None], context: Context) -> list[Effect]:
    """Rows as they are after `changes`, without those of locks that do not count, and the timer for what is left."""
    effects: list[Effect] = []
    left: list[int] = []
    lapsed = 0
    for id_, lock in state.locks.all().items():
        if id_ in changes:
            continue
        if counts(state, lock, context.now_ms):
            left.append(lock.until_ms)
        else:
            effects.append(Delete(lock_row(id_)))
            lapsed += 1
    for id_, changed in changes.items():
        if changed is None:
            effects.append(Delete(lock_row(id_)))
        else:
            effects.append(Put(lock_row(id_), changed.to_record()))
            left.append(changed.until_ms)
    if lapsed:
        effects.append(Event(outcome.UNLOCKED, {"canvasId": context.address.id, "elements": lapsed, "lapsed": True}))
    effects.append(SetTimer(LAPSE, min(left), LAPSE, {}) if left else CancelTimer(LAPSE))
    return effects
