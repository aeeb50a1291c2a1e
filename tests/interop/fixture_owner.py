"""The owner of an agent, with the verbs of the fixture tools besides its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.agent import RULES, AgentRules
from actors.agent.state import AgentState
from actors.decision import Context, Decision, Message, PrincipalKind, Verb
from tests.interop.fixture_tools import FIXTURES
from tools.errors import Code, Refusal

_ANSWERS: Final[Mapping[str, str]] = {"test_simple_text": "This is a simple text response for testing."}
_REFUSED: Final = Refusal(Code.WRONG_STATE, "This tool refuses every call, which is what it is for.")


def _decide(state: AgentState, message: Message, context: Context) -> Decision:
    if message.verb == "test_error_handling":
        return Decision(_REFUSED)
    return Decision({"text": _ANSWERS.get(message.verb, "done")})


class AgentWithFixtures(AgentRules):
    """An agent of the product that also answers the suite's fixtures."""

    @property
    def verbs(self) -> Mapping[str, Verb[AgentState]]:
        return _VERBS


_VERBS: Final[Mapping[str, Verb[AgentState]]] = {
    **RULES.verbs,
    **{tool.name: Verb(_decide, frozenset({PrincipalKind.AGENT})) for tool in FIXTURES},
}
