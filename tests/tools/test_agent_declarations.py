"""The declarations of agent_* and the models behind them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tools.agent import TOOLS, AgentReplyInput, AgentTriggerInput
from tools.base import Capability, Family, Kind, Route, Scope, ScopedInput, Tool
from tools.problems import problems_of
from tools.schema import input_schema, output_schema
from tools.task import TaskEnvelope

BY_NAME = {tool.name: tool for tool in TOOLS}
TASK = {"title": "Count", "instructions": "Count the beans."}


def test_tools_stand_in_the_order_of_their_names() -> None:
    """common 1.1"""
    assert [tool.name for tool in TOOLS] == sorted(tool.name for tool in TOOLS)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_is_workspace_scoped_and_needs_mesh(tool: Tool) -> None:
    """common 4.5"""
    assert (tool.family, tool.scope, tool.capability) == (Family.AGENT, Scope.WORKSPACE, Capability.MESH)
    assert issubclass(tool.input, ScopedInput)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_schema_has_an_object_at_its_root(tool: Tool) -> None:
    """common 1.6"""
    for schema in (input_schema(tool), output_schema(tool)):
        assert schema["type"] == "object"


def test_kinds_and_routes_are_those_of_the_contract() -> None:
    assert {name: (tool.kind, tool.route) for name, tool in BY_NAME.items()} == {
        "agent_create": (Kind.WRITE, Route.WORKSPACE),
        "agent_get": (Kind.READ, Route.COMPOSED),
        "agent_inbox": (Kind.READ, Route.OWN_MAILBOX),
        "agent_invite_to_channel": (Kind.WRITE, Route.WORKSPACE),
        "agent_list_peers": (Kind.READ, Route.COMPOSED),
        "agent_reject": (Kind.WRITE, Route.OWN_MAILBOX),
        "agent_reply": (Kind.WRITE, Route.OWN_MAILBOX),
        "agent_trigger": (Kind.WRITE, Route.OWN_MAILBOX),
        "agent_update_self": (Kind.WRITE, Route.OWN_AGENT),
    }


def test_the_inbox_names_the_sender_from_in_its_schema() -> None:
    """mesh 5.3"""
    schema: Any = output_schema(BY_NAME["agent_inbox"])
    assert "from" in schema["$defs"]["Delivery"]["properties"]


@pytest.mark.parametrize("missing", ["title", "instructions"])
def test_a_task_needs_a_title_and_instructions(missing: str) -> None:
    """mesh 3.1"""
    with pytest.raises(ValidationError, match=missing):
        TaskEnvelope.model_validate({key: value for key, value in TASK.items() if key != missing})


@pytest.mark.parametrize(
    "field",
    [
        {"title": "x" * 201},
        {"title": "two\nlines"},
        {"instructions": ""},
        {"instructions": "half a pair \ud800"},
        {"inputs": ["not", "an", "object"]},
        {"inputs": {"number": 2**63}},
        {"inputs": {"number": float("nan")}},
        {"inputs": {"text": "\udfff"}},
        {"priority": "p5"},
        {"deadline": "2027-01-01T00:00:00"},
        {"contextRefs": ["window://w1"]},
        {"contextRefs": ["canvas://c1?x=1"]},
        {"contextRefs": ["canvas://c1#part"]},
        {"contextRefs": ["canvas://c1/elements"]},
        {"contextRefs": ["canvas://c1\n"]},
        {"contextRefs": ["canvas://"]},
    ],
    ids=str,
)
def test_a_task_that_does_not_fit_is_refused(field: dict[str, Any]) -> None:
    """mesh 3.1"""
    with pytest.raises(ValidationError):
        TaskEnvelope.model_validate({**TASK, **field})


def test_a_reference_to_something_else_is_told_what_can_be_named() -> None:
    """mesh 3.1, common 6.3"""
    with pytest.raises(ValidationError) as refused:
        TaskEnvelope.model_validate({**TASK, "contextRefs": ["canvas://c1", "memory://m1"]})
    [(path, sentence)] = problems_of(refused.value).items()
    assert path == "contextRefs.1" and "only canvases can be named today" in sentence


def test_data_nested_without_end_is_refused_and_not_followed() -> None:
    nested: Any = 1
    for _ in range(200):
        nested = {"deeper": nested}
    with pytest.raises(ValidationError):
        AgentTriggerInput.model_validate({"agentId": "a1", "task": {**TASK, "inputs": nested}})


def test_a_reply_holds_a_bounded_number_of_artifacts() -> None:
    """common 7.3"""
    with pytest.raises(ValidationError, match="artifacts"):
        AgentReplyInput.model_validate({"threadId": "t", "outcome": "partial", "body": "x", "artifacts": [1] * 51})


def test_an_id_that_names_nothing_is_still_a_well_formed_argument() -> None:
    """common 1.7"""
    AgentTriggerInput.model_validate({"agentId": "no such / agent", "task": TASK})
