"""What tools/list and nexus://capabilities show (common 1.4, 1.6)."""

from __future__ import annotations

import pytest

from nexus.gateway.listing import RECORD_KEY, capability_record, listed_tool
from tests.support.gateway_bench import TOOLS, tool
from tools.base import Kind, Route, Tool


@pytest.mark.parametrize("each", TOOLS, ids=lambda each: each.name)
def test_a_listed_tool_carries_marker_schemas_and_record(each: Tool) -> None:
    listed = listed_tool(each)
    assert listed.description is not None and listed.description.startswith("[Local NEXUS app] ")
    assert listed.input_schema["type"] == "object"
    assert listed.output_schema is not None and listed.output_schema["type"] == "object"
    assert listed.meta == {RECORD_KEY: capability_record(each)}
    assert set(capability_record(each)) == {
        "family",
        "kind",
        "requiredCapability",
        "approvalLevel",
        "sideEffects",
        "reversibility",
    }


@pytest.mark.parametrize(
    ("kind", "reads", "destroys", "approval"),
    [
        (Kind.READ, True, False, "none"),
        (Kind.WRITE, False, False, "by_autonomy"),
        (Kind.IRREVERSIBLE, False, True, "always"),
        (Kind.ALWAYS_ASK, False, False, "always"),
    ],
)
def test_annotations_and_approval_level_follow_the_kind(kind: Kind, reads: bool, destroys: bool, approval: str) -> None:
    """common 4.2"""
    declared = tool("canvas_x", Route.CANVAS, kind)
    annotations = listed_tool(declared).annotations
    assert annotations is not None
    assert (annotations.read_only_hint, annotations.destructive_hint) == (reads, destroys)
    assert annotations.idempotent_hint is reads and annotations.open_world_hint is False
    assert capability_record(declared)["approvalLevel"] == approval
