"""The catalogue as a whole (common 1)."""

from __future__ import annotations

import re

import orjson
import pytest

from tests.support.gateway_bench import tool
from tools.base import Capability, Family, Route, Tool
from tools.catalogue import BY_NAME, TOOLS, ordered
from tools.schema import input_schema, output_schema

_MUST_NOT_EXIST = re.compile(
    r"workspace_switch|window_(open|close|rename|resize)|canvas_(comment|attach|grant|role)|team_delete|model_"
    r"|browser_(reload|navigate_forward|scroll|download|evaluate)|browser_profile|approve$|reject$|plan_execute"
    r"|work_item_delete|thread"
)
_NO_CAPABILITY = {Family.CANVAS, Family.SESSION, Family.BIT, Family.PLAN, Family.SETTINGS}


def test_tools_stand_in_the_order_of_their_families_and_then_of_their_names() -> None:
    """common 1.1"""
    order = list(Family)
    assert list(TOOLS) == sorted(TOOLS, key=lambda each: (order.index(each.family), each.name))


def test_a_name_declared_twice_is_refused_at_import() -> None:
    with pytest.raises(ValueError, match="canvas_twice"):
        ordered((tool("canvas_twice", Route.CANVAS),), (tool("canvas_twice", Route.CANVAS),))


def test_tools_are_found_by_their_exact_name() -> None:
    """common 1.5"""
    assert tuple(BY_NAME.values()) == TOOLS
    assert all(BY_NAME[each.name] is each for each in TOOLS)


@pytest.mark.parametrize("each", TOOLS, ids=lambda each: each.name)
def test_every_tool_is_declared_as_the_contract_asks(each: Tool) -> None:
    """common 1.4, 1.6, 4.5"""
    assert each.name.startswith(f"{each.family.value}_")
    assert re.fullmatch(r"[a-z_]{1,64}", each.name)
    assert each.description.startswith("[Local NEXUS app] ") and "\n" not in each.description
    assert each.capability is (None if each.family in _NO_CAPABILITY else Capability.MESH)
    assert each.side_effects and each.reversibility
    assert input_schema(each)["additionalProperties"] is False
    assert output_schema(each)["type"] == "object"


def test_the_description_of_canvas_list_is_the_contracts() -> None:
    """common 1.4"""
    assert BY_NAME["canvas_list"].description == (
        "[Local NEXUS app] List the canvases the calling agent may read in its workspace."
    )


def test_no_tool_is_served_that_must_not_exist() -> None:
    """common 9"""
    allowed = {"agent_reply", "agent_reject"}
    assert [each.name for each in TOOLS if _MUST_NOT_EXIST.search(each.name) and each.name not in allowed] == []


def test_the_list_is_constant_text() -> None:
    """common 1.4"""
    listed = [(each.name, each.description, input_schema(each), output_schema(each)) for each in TOOLS]
    assert orjson.dumps(listed) == orjson.dumps(
        [(each.name, each.description, input_schema(each), output_schema(each)) for each in TOOLS]
    )
