"""Every tool that changes the scene, and so can be proposed: one line a tool (canvas 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from actors.canvas.attempt import Change
from actors.canvas.connect import connect_elements
from actors.canvas.create import create_elements
from actors.canvas.move import move_elements
from actors.canvas.remove import delete_elements, restore_elements
from actors.canvas.update import update_elements
from tools.canvas import inputs

CHANGES: Final[Mapping[str, Change[Any]]] = {
    "canvas_create_elements": Change(inputs.CanvasCreateElementsInput, "created", create_elements),
    "canvas_update_elements": Change(inputs.CanvasUpdateElementsInput, "updated", update_elements),
    "canvas_move_elements": Change(inputs.CanvasMoveElementsInput, "moved", move_elements),
    "canvas_connect_elements": Change(inputs.CanvasConnectElementsInput, "connected", connect_elements),
    "canvas_delete_elements": Change(inputs.CanvasDeleteElementsInput, "deleted", delete_elements),
    "canvas_restore_elements": Change(inputs.CanvasRestoreElementsInput, "restored", restore_elements),
}
