"""Whether a process descends from what NEXUS runs for agents; such a one is no person (common 2.4, security 2.2).

Looked at are the process and each of its ancestors: the environment that it was started with, which a program does not
lose by clearing the environment of what it starts in turn, and whether it is the supervisor of this NEXUS, which starts
every session and launch. Nothing is remembered between two questions: process ids are used again.

This keeps a misled agent with a shell from approving its own calls. It is no border against a program that means
harm and runs as the same user: one that leaves its parents (two forks, and the first ends) looks like any other
(contract/security.md 1). macOS does not show the environment of the system's own programs, such as /bin/zsh: there
those are known by their parents alone.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Final

import psutil

MARKERS: Final = ("NEXUS_SESSION_ID", "NEXUS_RUN_ID", "NEXUS_LAUNCH_ID", "NEXUS_TOKEN_FILE")
"""What NEXUS puts into the environment of a session, a run and a launch, and only there."""

ancestors_max: Final = 512
"""Deeper than any terminal of a person; a deeper chain was made to be that deep."""


class Lineage(StrEnum):
    OUTSIDE = "outside"
    INSIDE = "inside"
    """It descends from a session, run or launch."""
    UNKNOWN = "unknown"
    """The process is gone, or the system does not show it: nobody can say where it comes from."""


def lineage_of(process_id: int, roots: Collection[int] = ()) -> Lineage:
    """Where a process comes from; `roots` are the processes of NEXUS that start programs for agents.

    May block for as long as the system takes to show another process's memory; do not call it on an event loop.
    """
    if process_id in roots:
        return Lineage.INSIDE
    if process_id <= 0:  # a process outside of this system's view of processes has no number here
        return Lineage.UNKNOWN
    try:
        process = psutil.Process(process_id)
        if _is_marked(process):
            return Lineage.INSIDE
        parent_id = process.ppid()
    except (psutil.Error, OSError):
        return Lineage.UNKNOWN
    for _ in range(ancestors_max):
        if parent_id in roots:
            return Lineage.INSIDE
        if parent_id <= 0:
            return Lineage.OUTSIDE
        try:
            ancestor = psutil.Process(parent_id)
            parent_id = ancestor.ppid()
        except (psutil.Error, OSError):
            return Lineage.OUTSIDE  # hidden, since it is another user's, so NEXUS did not start it
        try:
            if _is_marked(ancestor):
                return Lineage.INSIDE
        except (psutil.Error, OSError):
            continue  # another user's, such as the login or the terminal's server
    return Lineage.INSIDE


def _is_marked(process: psutil.Process) -> bool:
    environment = process.environ()
    return any(name in environment for name in MARKERS)
