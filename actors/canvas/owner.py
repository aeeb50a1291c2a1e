"""The canvas owner: one canvas, its verbs and who may send them (docs/decisions/0001-first-slice.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.canvas import deleting, found, importing, reads
from actors.canvas.create import create_elements
from actors.canvas.giving_out import export_part
from actors.canvas.invariants import problems
from actors.canvas.move import move_elements
from actors.canvas.remove import delete_elements, restore_elements
from actors.canvas.state import HISTORY, CanvasState
from actors.canvas.taking_in import CONTINUE, proceed
from actors.canvas.update import update_elements
from actors.canvas.write import as_of_now, shown_of, write
from actors.decision import Decide, PrincipalKind, RowEffect, Rules, Verb
from tools.canvas import inputs

_CALLERS: Final = frozenset({PrincipalKind.AGENT, PrincipalKind.PERSON})
_PERSON: Final = frozenset({PrincipalKind.PERSON})
_OWNER: Final = frozenset({PrincipalKind.OWNER})


def _written(decide: Decide[CanvasState]) -> Verb[CanvasState]:
    return Verb(decide, _CALLERS, fingerprint=shown_of, as_of_now=as_of_now)


VERBS: Final[Mapping[str, Verb[CanvasState]]] = {
    "canvas_get_state": Verb(reads.overview, _CALLERS),
    "canvas_query_region": Verb(reads.region, _CALLERS),
    "canvas_create_elements": _written(write(inputs.CanvasCreateElementsInput, "created", create_elements)),
    "canvas_update_elements": _written(write(inputs.CanvasUpdateElementsInput, "updated", update_elements)),
    "canvas_move_elements": _written(write(inputs.CanvasMoveElementsInput, "moved", move_elements)),
    "canvas_delete_elements": _written(write(inputs.CanvasDeleteElementsInput, "deleted", delete_elements)),
    "canvas_restore_elements": _written(write(inputs.CanvasRestoreElementsInput, "restored", restore_elements)),
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
    deleting.CLEAR: Verb(deleting.clear, _OWNER),
    "canvas_export": Verb(export_part, _PERSON),
    "canvas_grant": Verb(found.grant_role, _PERSON),
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
