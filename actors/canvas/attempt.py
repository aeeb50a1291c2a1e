"""A rule of a tool, tried on the present scene: what would be committed, or the outcome that says why not (canvas 3).

The last part of every write's journey, for a call that is applied, one that is proposed, and a proposal that is
approved: the rule, then whether what it touches was changed since (rebase.py), then locks, then what must hold of any
scene that is stored (draft.py). Effects are what finishing the draft gives; none means that nothing is to be stored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Generic, TypeVar

from actors.canvas import outcome
from actors.canvas.draft import Draft
from actors.canvas.locking import lock_against
from actors.canvas.outcome import Rejected
from actors.canvas.rebase import clash
from actors.decision import Decision
from tools.canvas.inputs import CanvasWrite

Arguments = TypeVar("Arguments", bound=CanvasWrite)


@dataclass(frozen=True, slots=True)
class Change(Generic[Arguments]):
    """What a tool does to a scene. `what` is how conflicts and the history name it: created, moved ..."""

    arguments: type[Arguments]
    what: str
    rule: Callable[[Draft, Arguments], None]
    """Raises Rejected; the draft is dropped then."""


@dataclass(frozen=True, slots=True)
class Terms:
    """On what a change is judged: what whoever wants it has seen, and who they are."""

    since: int
    """The oldest revision that one of them has seen."""
    writers: Collection[str]
    """Agents' ids, or `person`: their own locks do not stop them."""
    now_ms: int
    heeds_locks: bool = True
    """The person may do everything (canvas 1.2)."""


def attempted(draft: Draft, change: Change[Arguments], arguments: Arguments, terms: Terms) -> Decision:
    """The outcome, with effects only when there is something to store. Changes nothing by itself."""
    since, revision = terms.since, draft.head.revision
    try:
        change.rule(draft, arguments)
    except Rejected as refused:
        return clash(draft, since) or _rejected(refused)
    stopped = clash(draft, since) or _locked(draft, terms)
    if stopped is not None:
        return stopped
    try:
        decision = draft.finish()
    except Rejected as refused:
        return _rejected(refused)
    assert isinstance(decision.reply, dict)
    reply = decision.reply if since >= revision else {**decision.reply, "rebasedFrom": since}
    return Decision(reply, decision.effects)


def _locked(draft: Draft, terms: Terms) -> Decision | None:
    if not terms.heeds_locks or not len(draft.state.locks):
        return None
    lock = lock_against(draft.state, draft.changed_ids(), terms.writers, terms.now_ms)
    return None if lock is None else Decision(outcome.locked(lock))


def _rejected(refused: Rejected) -> Decision:
    return Decision(outcome.rejected(refused.code, refused.message))
