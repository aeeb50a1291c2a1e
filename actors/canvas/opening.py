"""What makes a canvas be there: its head, its first revision, and its place in the workspace's index, in one commit.

Its elements may have been written long before, part by part: nobody sees them until the head is (ARCHITECTURE, The
store). Whoever made it finds it in the list with the reply (before_reply).
"""

from __future__ import annotations

from typing import Final

from actors.canvas.arrival import Founding
from actors.canvas.state import HEAD, Head, history_row, role_row
from actors.canvas.usage import charged, history_bytes
from actors.decision import Context, Effect, Event, PrincipalKind, Put, Send
from bus import address
from bus.value import Record, Value

INDEXED: Final = "canvas_indexed"


def founding_by(context: Context, title: str, reason: str, event: str) -> Founding:
    """By the sender of the message at hand."""
    principal = context.principal
    agent_id = principal.agent_id if principal.kind is PrincipalKind.AGENT else ""
    return Founding(title, reason, event, principal.label(), agent_id, principal.credential, context.call_id)


def opening(context: Context, founding: Founding, live: int, deleted: int, size: int = 0) -> list[Effect]:
    """`size`: how many bytes the scene that it begins with takes."""
    head = Head(founding.title, 1, live, deleted, founding.by, context.now_ms, context.now_ms)
    head, reports = charged(head, founding.agent_id, size + history_bytes(0), context)
    roles = {founding.agent_id: "owner"} if founding.agent_id else {}
    history: Record = {
        "revision": 1,
        "atMs": context.now_ms,
        "by": founding.by,
        "credential": founding.credential,
        "callId": founding.call_id,
        "what": "created",
        "reason": founding.reason,
        "elements": [],  # everything: nothing was there before
    }
    told: Record = {"canvasId": context.address.id, "elements": live + deleted}
    if context.principal.kind is PrincipalKind.OWNER:
        told["by"] = founding.by  # the last step of an import is a message of the canvas's own
    return [
        Put(HEAD, head.to_record()),
        *(Put(role_row(agent_id), {"role": role}) for agent_id, role in roles.items()),
        Put(history_row(1), history),
        Event(founding.event, told),
        indexed(context, founding.title, roles),
        *reports,
    ]


def opened(context: Context) -> Record:
    """The outcome that tells of it."""
    return {"outcome": "applied", "canvasId": context.address.id, "revision": 1}


def indexed(context: Context, title: str, roles: dict[str, str]) -> Send:
    """Tell the workspace's index."""
    listed: dict[str, Value] = dict(roles)
    body: Record = {"canvasId": context.address.id, "title": title, "roles": listed}
    return Send(address.workspace(context.address.workspace), INDEXED, body, before_reply=True)
