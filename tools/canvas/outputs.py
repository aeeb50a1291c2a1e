"""What canvas tools answer. Every write answers one `WriteOutcome`; which fields stand beside `outcome`:

| outcome | fields |
| --- | --- |
| applied | revision, elementIds (what changed, bounded: then truncated), rebasedFrom?, unknownFields? |
| proposed | proposalId, baseRevision |
| conflict | currentRevision, changedSince (newest first, bounded: then truncated) |
| rejected | code, message, and for locks holder, until |

Fields of other outcomes are absent, never null (canvas 3.1).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, WithJsonSchema

from tools.base import Model
from tools.fence import Fence

Role = Literal["viewer", "commenter", "editor", "owner"]
RejectedCode = Literal[
    "role", "revision_ahead", "lock", "unknown_element", "deleted_element", "id_taken", "geometry", "bound_text",
    "field", "self_approval", "decided", "limits",
]  # fmt: skip
What = Literal["created", "updated", "moved", "connected", "deleted", "restored", "reverted"]
Number = Annotated[int | float, WithJsonSchema({"type": "number"})]


class Counts(Model):
    live: int
    deleted: int


class CanvasRow(Model):
    canvasId: str
    title: str
    revision: int
    role: Role
    counts: Counts
    updatedAt: str
    createdBy: str


class CanvasListOutput(Model):
    canvases: list[CanvasRow]
    nextCursor: str | None = None


class Extent(Model):
    x: Number
    y: Number
    width: Number
    height: Number


class Label(Model):
    """One text, or the name of a frame. `containerId`: the shape or arrow whose label it is."""

    elementId: str
    containerId: str | None = None
    text: Fence


class PendingProposal(Model):
    """A commenter's write that waits. `elementIds`: the first of those that it would change, of `elementCount`."""

    proposalId: str
    by: str
    at: str
    baseRevision: int
    what: What
    reason: Fence
    elementIds: list[str]
    elementCount: int


class DecidedProposal(Model):
    """What became of a proposal. `decidedBy`: an agent's id or `person`; `decidedBecause`: the reason given."""

    proposalId: str
    stage: Literal["approved", "rejected"]
    decidedBy: str
    decidedAt: str
    decidedBecause: Fence


class LockedElement(Model):
    elementId: str
    holder: str
    until: str


class CanvasGetStateOutput(CanvasRow):
    createdAt: str
    types: dict[str, int]
    extent: Extent | None
    labels: list[Label]
    labelsTruncated: bool
    proposals: list[PendingProposal] = Field(description="Pending ones, oldest first; proposalCount is of all.")
    proposalCount: int
    decided: list[DecidedProposal] = Field(description="Of your own, the last few that were decided, newest first.")
    locks: list[LockedElement] = Field(description="Those that end last, first; lockCount is of all.")
    lockCount: int


class CanvasQueryRegionOutput(Model):
    """`elements` are in Excalidraw's own form, lowest first; what they say was written by others."""

    revision: int
    untrusted: Literal[True]
    source: str
    elements: list[dict[str, JsonValue]]
    nextCursor: str | None = None


class Change(Model):
    elementId: str
    revision: int
    by: str
    what: What


class LeftOut(Model):
    """An element or file of an imported scene that could not be kept."""

    position: int | None = Field(default=None, description="Place in the scene's elements, from 0.")
    id: str | None = None
    why: str


class WriteOutcome(Model):
    outcome: Literal["applied", "proposed", "conflict", "rejected"]
    revision: int | None = None
    elementIds: list[str] | None = None
    truncated: bool | None = None
    rebasedFrom: int | None = None
    unknownFields: list[str] | None = Field(
        default=None, description="Given fields that no element of that type has: kept, and most likely slips."
    )
    proposalId: str | None = None
    baseRevision: int | None = None
    currentRevision: int | None = None
    changedSince: list[Change] | None = None
    code: RejectedCode | None = None
    message: str | None = None
    holder: str | None = None
    until: str | None = None


class CanvasCreateOutput(WriteOutcome):
    """`applied` carries canvasId and revision 1, and with a scene what became of it."""

    canvasId: str | None = None
    elementCount: int | None = None
    repairedCount: int | None = None
    leftOutCount: int | None = None
    leftOut: list[LeftOut] | None = None
