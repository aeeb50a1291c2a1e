"""The tools that the conformance suite calls by name. They are declared as any tool of NEXUS is.

Which of the suite's fixtures are left out, because NEXUS has nothing that answers so, stands in `conformance.py`.
"""

from __future__ import annotations

from typing import Final

from pydantic import Field

from tools.base import Family, Kind, Model, Route, Scope, Tool, ToolInput

_SUMMARIES: Final = {
    "test_simple_text": "A fixture of the conformance suite: answers with text.",
    "test_error_handling": "A fixture of the conformance suite: refuses every call.",
    "test_logging_tool": "A fixture of the conformance suite: a call during which nothing is logged to the client.",
    "test_streaming_elicitation": "A fixture of the conformance suite: a call that asks nothing of the client.",
}


class FixtureInput(ToolInput):
    pass


class FixtureOutput(Model):
    text: str


class HeaderInput(ToolInput):
    """What a proxy may route by: this argument is also sent as a header, which must say the same."""

    region: str = Field(max_length=200, json_schema_extra={"x-mcp-header": "Region"})


def _fixture(name: str, summary: str, arguments: type[ToolInput] = FixtureInput) -> Tool:
    return Tool(
        name=name,
        family=Family.TOOL,
        kind=Kind.READ,
        scope=Scope.AGENT,
        capability=None,
        route=Route.OWN_AGENT,
        summary=summary,
        input=arguments,
        output=FixtureOutput,
        side_effects="None: it only reads.",
        reversibility="Nothing to undo.",
    )


FIXTURES: Final[tuple[Tool, ...]] = (
    *(_fixture(name, summary) for name, summary in _SUMMARIES.items()),
    _fixture("test_header_argument", "A fixture of the conformance suite: one argument is a header too.", HeaderInput),
)
