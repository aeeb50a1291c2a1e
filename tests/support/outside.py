"""Whether the tests themselves run inside NEXUS, from where the person's commands are refused (common 2.4)."""

from __future__ import annotations

import os
from typing import Final

from nexus.lineage import Lineage, lineage_of

WHY_SKIPPED: Final = (
    "these tests were started inside a session, run or launch of NEXUS (or with one of its variables set), from where "
    "the person's commands are refused; start them from a terminal outside"
)


def are_outside() -> bool:
    return lineage_of(os.getpid()) is Lineage.OUTSIDE
