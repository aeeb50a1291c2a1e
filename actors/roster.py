"""Which rules own which kind of address. The only file that knows all owners; owners never import each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actors.agent import RULES as AGENT
from actors.canvas import RULES as CANVAS
from actors.decision import Rules
from actors.directory import RULES as DIRECTORY
from actors.host_notices import RULES as HOST
from actors.mailbox import RULES as MAILBOX
from actors.providers import RULES as PROVIDERS
from actors.settings import RULES as SETTINGS
from actors.teams import RULES as TEAMS
from actors.workspace import RULES as WORKSPACE


def roster() -> Mapping[str, Rules[Any]]:
    """By the kind in an owner's address."""
    kinds = (DIRECTORY, WORKSPACE, AGENT, MAILBOX, CANVAS, SETTINGS, TEAMS, PROVIDERS, HOST)
    return {rules.kind: rules for rules in kinds}
