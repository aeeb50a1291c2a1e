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
from actors.settings import RULES as SETTINGS
from actors.workspace import RULES as WORKSPACE


def roster() -> Mapping[str, Rules[Any]]:
    """By the kind in an owner's address."""
    return {rules.kind: rules for rules in (DIRECTORY, WORKSPACE, AGENT, MAILBOX, CANVAS, SETTINGS, HOST)}
