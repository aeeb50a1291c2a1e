"""The canvas owner: one canvas, its verbs and who may send them (docs/decisions/0001-first-slice.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.canvas import deciding, deleting, found, importing, reads, standing
from actors.canvas.attempt import Change
from actors.canvas.changes import CHANGES
from actors.canvas.giving_out import export_part
from actors.canvas.history import history, rows_of_page
from actors.canvas.invariants import problems
from actors.canvas.lock import LAPSE
from actors.canvas.locking import lapse, lock_elements
from actors.canvas.revert import CanvasRevert, revert, rows_since
from actors.canvas.state import HISTORY, CanvasState
from actors.canvas.taking_in import CONTINUE, proceed
from actors.canvas.write import as_of_now, shown_of, written
from actors.decision import Decide, Fingerprint, PrincipalKind, RowEffect, Rules, Verb

_CALLERS: Final = frozenset({PrincipalKind.AGENT, PrincipalKind.PERSON})
_PERSON: Final = frozenset({PrincipalKind.PERSON})
_OWNER: Final = frozenset({PrincipalKind.OWNER})


def _written(decide: Decide[CanvasState], shown: Fingerprint[CanvasState] = shown_of) -> Verb[CanvasState]:
    return Verb(decide, _CALLERS, fingerprint=shown, as_of_now=as_of_now, prepare=CanvasState.keep_some)


VERBS: Final[Mapping[str, Verb[CanvasState]]] = {
    "canvas_get_state": Verb(reads.overview, _CALLERS, prepare=CanvasState.place_some),
    "canvas_query_region": Verb(reads.region, _CALLERS, prepare=CanvasState.place_some),
    **{tool: _written(written(change)) for tool, change in CHANGES.items()},
    "canvas_lock_elements": _written(lock_elements),
    LAPSE: Verb(lapse, frozenset({PrincipalKind.TIMER})),
    "canvas_approve_proposal": _written(deciding.approve, deciding.shown_of_proposal),
    "canvas_reject_proposal": _written(deciding.reject, deciding.shown_of_proposal),
    "canvas_proposals": Verb(standing.proposals, _PERSON, prepare=CanvasState.keep_some),
    "canvas_proposal": Verb(standing.proposal, _PERSON, prepare=CanvasState.keep_some),
    "canvas_create": Verb(found.create_canvas, _CALLERS),
    "canvas_summary": Verb(reads.summary, _CALLERS, head_only=True),
    "import_begin": Verb(importing.begin, _PERSON),
    "import_part": Verb(importing.part, _PERSON),
    "import_finish": Verb(importing.finish, _PERSON),
    "import_abort": Verb(importing.abort, _PERSON),
    importing.IDLE: Verb(importing.idle, frozenset({PrincipalKind.TIMER})),
    CONTINUE: Verb(proceed, _OWNER),
    "canvas_delete": _written(deleting.delete),
    "destroy": Verb(deleting.destroy, _OWNER),
    "surface_closed": Verb(deleting.surface_closed, _OWNER),
    "surface_facts": Verb(deleting.surface_facts, _PERSON),
    deleting.CLEAR: Verb(deleting.clear, _OWNER, cold_rows=deleting.history_left),
    "canvas_export": Verb(export_part, _PERSON, prepare=CanvasState.keep_some),
    "canvas_history": Verb(history, _PERSON, head_only=True, cold_rows=rows_of_page),
    "canvas_revert": Verb(
        written(Change(CanvasRevert, "reverted", revert)), _PERSON, cold_rows=rows_since, prepare=CanvasState.keep_some
    ),
    "canvas_grant": Verb(found.grant_role, _PERSON),
    "role_ends": Verb(found.role_ends, _OWNER),
    "canvas_roles": Verb(found.roles, _PERSON, head_only=True),
}


class CanvasRules(Rules[CanvasState]):
    """actors.decision.Rules for kind `canvas`."""

    kind: Final = "canvas"
    verbs: Final = VERBS
    cold: Final = (HISTORY,)

    def new_state(self) -> CanvasState:
        return CanvasState()

    def apply(self, state: CanvasState, effect: RowEffect) -> None:
        state.apply(effect)

    def problems(self, state: CanvasState) -> list[str]:
        return problems(state)

    def shed(self, state: CanvasState) -> bool:
        return state.shed()


RULES: Final = CanvasRules()
