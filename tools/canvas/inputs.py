"""What callers may say to a canvas. Shapes only: what a scene allows is decided by the canvas owner (canvas.md 3, 4).

Numbers here may be infinite (JSON's 1e999 is): a geometry that is not finite is the outcome `rejected`, not a bad
argument (canvas 3.1). Elements and changes admit unknown fields, which are kept (canvas 4.4).
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, JsonValue, WithJsonSchema, model_validator

from bus.limits import (
    element_type_characters_max,
    elements_per_call_max,
    integer_max,
    lock_seconds_default,
    lock_seconds_max,
    region_elements_default,
    region_elements_max,
    region_types_max,
)
from tools.base import FiniteNumber, Identifier, Integer, Model, Name, Number, PageCursor, Reason, ScopedInput
from tools.plain_json import JsonObject
from tools.problems import problem


def _must_not_be_negative(number: float) -> float:
    if number < 0:
        raise problem("must be at least 0")
    return number


# Not Field(ge=0), which pydantic neither advertises nor applies behind a validator.
Side = Annotated[FiniteNumber, AfterValidator(_must_not_be_negative), WithJsonSchema({"type": "number", "minimum": 0})]
Color = Annotated[str, Field(max_length=100)]
ElementType = Literal[
    "rectangle", "ellipse", "diamond", "text", "line", "arrow", "freedraw", "image", "frame", "magicframe",
    "embeddable", "iframe",
]  # fmt: skip
Arrowhead = Literal[
    "arrow", "bar", "circle", "circle_outline", "triangle", "triangle_outline", "diamond", "diamond_outline",
    "crowfoot_one", "crowfoot_many", "crowfoot_one_or_many",
]  # fmt: skip

Change = TypeVar("Change", bound="ElementUpdate | ElementMove")
_OPEN: Final = ConfigDict(extra="allow", strict=True, allow_inf_nan=True, frozen=True)


def _without_defaults(schema: dict[str, JsonValue]) -> None:
    """A change leaves out what it does not name: defaults in its schema would say otherwise."""
    properties = schema["properties"]
    assert isinstance(properties, dict)
    for described in properties.values():
        if isinstance(described, dict):
            described.pop("default", None)


def _without_default(schema: dict[str, JsonValue]) -> None:
    schema.pop("default", None)


class ElementFields(Model):
    """Fields of an Excalidraw element that may be given; others are kept as they are."""

    model_config = ConfigDict(**_OPEN, json_schema_extra=_without_defaults)
    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)

    x: Number = Field(default=0, description="Left edge; of lines and arrows the first point.")
    y: Number = Field(default=0, description="Top edge; y grows downwards.")
    width: Number = 0
    height: Number = Field(default=0, description="Of text it follows from the text.")
    angle: Number = Field(default=0, description="Radians, clockwise around the centre.")
    strokeColor: Color = "#1e1e1e"
    backgroundColor: Color = "transparent"
    fillStyle: Literal["hachure", "cross-hatch", "solid", "zigzag"] = "solid"
    strokeWidth: Number = 2
    strokeStyle: Literal["solid", "dashed", "dotted"] = "solid"
    roughness: Number = 1
    opacity: Number = 100
    roundness: dict[str, JsonValue] | None = Field(default=None, description='{"type": 3} for round corners.')
    groupIds: list[Identifier] = Field(default_factory=list, description="Innermost group first.")
    frameId: Identifier | None = Field(default=None, description="A frame on this canvas.")
    link: str | None = None
    locked: bool = False
    text: str = Field(default="", description="For text: the words, with newlines. Wrapping and size are computed.")
    fontSize: Number = 20
    fontFamily: Integer = Field(default=5, ge=0, le=integer_max)
    textAlign: Literal["left", "center", "right"] = "left"
    verticalAlign: Literal["top", "middle", "bottom"] = "top"
    points: list[Annotated[list[Number], Field(min_length=2, max_length=2)]] = Field(
        default_factory=list, description="For line, arrow, freedraw: [x, y] pairs relative to x, y; first [0, 0]."
    )
    startArrowhead: str | None = None
    endArrowhead: str | None = None
    name: str | None = Field(default=None, description="For frames.")
    customData: dict[str, JsonValue] | None = None


class NewLabel(Model):
    """Words inside a shape or on an arrow, as a text element of their own that is centred, wrapped and kept there."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=True, frozen=True)

    id: Identifier | None = Field(default=None, description="Of the text element; made when left out.")
    text: Annotated[str, Field(min_length=1)]
    fontSize: Number = 20
    fontFamily: Integer = Field(default=5, ge=0, le=integer_max)
    textAlign: Literal["left", "center", "right"] = "center"
    verticalAlign: Literal["top", "middle", "bottom"] = "middle"
    strokeColor: Color | None = Field(default=None, description="Left out: that of the shape.")


def _as_label(given: object) -> object:
    return {"text": given} if isinstance(given, str) else given


class ArrowEnd(Model):
    id: Identifier = Field(description="A shape, text, image or frame, on this canvas or anywhere in this call.")


class NewElement(ElementFields):
    """A full Excalidraw element, or the short form: type, position, size, style, `label`, `start` and `end`."""

    model_config = ConfigDict(json_schema_extra=None)

    id: Identifier | None = Field(default=None, description="Must be new on this canvas; made when left out.")
    type: ElementType
    x: Number = Field(
        default=0,
        description="Left edge; of lines the first point. Required, except for an arrow with start and end; with only"
        " one of these, and no points or size, x, y is where its other end lies.",
    )
    y: Number = Field(default=0, description="Required like x. Top edge; y grows downwards.")
    label: Annotated[NewLabel | None, BeforeValidator(_as_label, json_schema_input_type=str | NewLabel | None)] = Field(
        default=None, description="Words in a rectangle, ellipse or diamond, or on an arrow: a string, or more."
    )
    start: ArrowEnd | None = Field(default=None, description="For arrows: tie the start to this element's outline.")
    end: ArrowEnd | None = Field(default=None, description="For arrows: tie the end. With both, points are not needed.")

    elbowed: bool = Field(default=False, description="For arrows: in right angles.")

    @model_validator(mode="after")
    def _says_where_it_is(self) -> NewElement:
        is_led = self.type == "arrow" and self.start is not None and self.end is not None
        for name in ("x", "y"):
            if name not in self.model_fields_set and not is_led:
                raise problem("is required", [name])
        given = self.__pydantic_extra__ or {}
        for name, end in (("start", self.start), ("end", self.end)):
            if end is not None and given.get(f"{name}Binding") is not None:
                raise problem(f"and {name}Binding say the same; give one of them", [name])
        return self


class ElementUpdate(Model):
    id: Identifier
    set: ElementFields = Field(
        description="Fields to change. Not: id, type, version, index, isDeleted, bindings and containers."
    )


class ElementMove(Model):
    """By dx, dy, or to x, y."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=True, frozen=True)

    id: Identifier
    dx: Number | None = None
    dy: Number | None = None
    x: Number | None = None
    y: Number | None = None

    @model_validator(mode="after")
    def _is_one_kind_of_move(self) -> ElementMove:
        relative = self.dx is not None or self.dy is not None
        absolute = self.x is not None or self.y is not None
        if relative == absolute:
            raise problem("must have either dx, dy or both, or x, y or both")
        return self


def _names_each_once(changes: list[Change]) -> list[Change]:
    ids = [change.id for change in changes]
    if len(set(ids)) != len(ids):
        raise problem("names an element twice; say all that is to change about it once")
    return changes


class CanvasTarget(ScopedInput):
    canvasId: Identifier


class CanvasWrite(CanvasTarget):
    """What every write to an existing canvas carries (canvas 2)."""

    expectedRevision: Integer = Field(
        ge=0, le=integer_max, description="The revision you last read; an older one is answered `conflict`."
    )
    reason: Reason = Field(description="Why, in one line; it stands in the canvas's history.")
    rebase: Literal["disjoint"] | None = Field(
        default=None,
        description="With an older expectedRevision: apply all the same if nothing that the call touches was changed.",
    )


class CanvasListInput(ScopedInput):
    cursor: PageCursor = None


class CanvasGetStateInput(CanvasTarget):
    pass


class CanvasQueryRegionInput(CanvasTarget):
    x: FiniteNumber
    y: FiniteNumber
    width: Side
    height: Side
    match: Literal["intersects", "contains"] = Field(
        default="intersects", description="`contains`: only elements that lie wholly inside the region."
    )
    types: list[Annotated[str, Field(min_length=1, max_length=element_type_characters_max)]] | None = Field(
        default=None, max_length=region_types_max, description="Only elements of these types."
    )
    includeDeleted: bool = False
    limit: Integer = Field(default=region_elements_default, ge=1, le=region_elements_max)
    cursor: PageCursor = None


class CanvasCreateElementsInput(CanvasWrite):
    elements: list[NewElement] = Field(min_length=1, max_length=elements_per_call_max)


class Connection(Model):
    """An arrow from one element to another."""

    fromId: Identifier
    toId: Identifier
    label: Annotated[str, Field(min_length=1)] | None = Field(default=None, description="Words on the arrow.")
    kind: Literal["arrow", "line"] = Field(
        default="arrow", description="`line` has no arrowheads; it follows its elements like an arrow."
    )
    startArrowhead: Arrowhead | None = Field(default=None, description="Left out: none.")
    endArrowhead: Arrowhead | None = Field(
        default=None, json_schema_extra=_without_default, description="Left out: `arrow`; with kind `line` none."
    )


class CanvasConnectElementsInput(CanvasWrite):
    connections: list[Connection] = Field(min_length=1, max_length=elements_per_call_max)


class CanvasUpdateElementsInput(CanvasWrite):
    updates: Annotated[list[ElementUpdate], AfterValidator(_names_each_once)] = Field(
        min_length=1, max_length=elements_per_call_max
    )


class CanvasMoveElementsInput(CanvasWrite):
    moves: Annotated[list[ElementMove], AfterValidator(_names_each_once)] = Field(
        min_length=1, max_length=elements_per_call_max
    )
    includeGroup: bool = Field(default=False, description="Also move everything in the same outermost group.")


class CanvasElementIdsInput(CanvasWrite):
    elementIds: list[Identifier] = Field(min_length=1, max_length=elements_per_call_max)


class CanvasDeleteElementsInput(CanvasElementIdsInput):
    pass


class CanvasRestoreElementsInput(CanvasElementIdsInput):
    pass


class CanvasLockElementsInput(CanvasElementIdsInput):
    locked: bool = Field(default=True, description="false takes locks off.")
    seconds: Integer = Field(
        default=lock_seconds_default, ge=1, le=lock_seconds_max, description="How long, from now. Lock again to renew."
    )


class CanvasDecideProposalInput(CanvasWrite):
    proposalId: Identifier = Field(description="From `proposals` of canvas_get_state.")


class CanvasDeleteInput(CanvasWrite):
    pass


class CanvasCreateInput(ScopedInput):
    title: Name
    reason: Reason
    fromScene: JsonObject | None = Field(
        default=None, description="The content of an .excalidraw file as a JSON object, at most 4 MiB."
    )
