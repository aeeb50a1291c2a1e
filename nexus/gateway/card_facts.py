"""What NEXUS knows at the moment about what a card is for, beside what must not change (common 5.4).

A fingerprint is title and id; whoever decides wants to know what would go with it. These facts are read when the card
is shown, and are part of what was seen: a card on which they differ is another card to approve.
"""

from __future__ import annotations

from bus.address import Address
from bus.value import Record
from nexus.gateway.person_owners import Directory, Owners, VerbRefused, text
from tools.errors import Code


async def facts_now(owners: Owners, directory: Directory, card: Record) -> Record:
    """Flat, in the order in which a card shows them. Empty when there is nothing to tell."""
    arguments = card.get("arguments")
    given = arguments if isinstance(arguments, dict) else {}
    try:
        if text(card, "owner").startswith("canvas/") and card.get("tool") != "canvas_create":
            return await _canvas(owners, directory, Address.parse(text(card, "owner")))
        if card.get("tool") == "workspace_delete":
            return await _workspace(owners, directory, text(given, "workspaceId"))
    except VerbRefused as refused:
        if refused.error.get("code") == Code.NOT_FOUND.value:
            return {"now": "it is gone"}
        raise
    if isinstance(given.get("agentId"), str):
        label = "recipient" if card.get("tool") == "agent_trigger" else "agent"
        return {label: directory.agent_name(text(given, "agentId")) or "no agent has this id"}
    return {}


async def _canvas(owners: Owners, directory: Directory, canvas: Address) -> Record:
    summary = await owners.read(canvas, "canvas_summary", {})
    others = await owners.read(canvas, "surface_facts", {})
    counts = summary.get("counts")
    shared = others.get("sharedWith")
    names = [directory.agent_name(str(one)) or str(one) for one in (shared if isinstance(shared, list) else [])]
    return {
        "revision now": summary.get("revision"),
        "elements now": counts.get("live") if isinstance(counts, dict) else None,
        "changed by others": "yes" if others.get("changedByOthers") is True else "no",
        "others with a role": ", ".join(names) or "nobody",
    }


async def _workspace(owners: Owners, directory: Directory, workspace_id: str) -> Record:
    canvases = await owners.canvases(workspace_id)
    agents = [text(one, "name") for one in directory.agents if one.get("workspaceId") == workspace_id]
    return {"canvases now": len(canvases), "agents there now": ", ".join(sorted(agents)) or "nobody"}
