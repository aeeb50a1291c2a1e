"""Whether a workspace takes one more canvas, read before it is charged, asked for or collected (common 4.6, 8.5).

A canvas is there before the index of its workspace hears of it, and to undo it then would take back what its creator
was answered. So the index is asked first. What is made at the very same moment is not in it yet: such calls can pass
the bound by their number, which the creation budgets of the agents keep small. So can the steps of a collected plan
that the person runs, which were looked at when they were collected.
"""

from __future__ import annotations

from bus import address
from bus.admitted import WOULD
from bus.client import Caller
from bus.clock import Clock
from bus.value import Record
from tools.base import Route, Tool
from tools.errors import Refusal


async def canvas_room_refusal(
    caller: Caller, clock: Clock, tool: Tool, stamp: Record, within_ms: int
) -> Refusal | None:
    """`stamp` is a look's. None also when the owner cannot say. Raises DeadlinePassed."""
    if tool.route is not Route.NEW_CANVAS:
        return None
    workspace = address.workspace(str(stamp["workspaceId"]))
    reply = await caller.call(
        workspace, "room_for_canvas", {}, call_id=clock.new_id(), within_ms=within_ms, stamp=stamp
    )
    would = (reply.ok or {}).get(WOULD)
    error = would.get("error") if isinstance(would, dict) else None
    return Refusal.from_record(error) if isinstance(error, dict) else None
