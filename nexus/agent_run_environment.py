"""What a task's program gets of the person's environment (security 2.16). Pure.

Only what says where and who, and what the person or the preset names: a secret that happens to be in the terminal
reaches nobody. Nothing of NEXUS's own variables passes but what says which task it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

OWN_PREFIX: Final = "NEXUS_"
RUN_ID: Final = "NEXUS_RUN_ID"
THREAD_ID: Final = "NEXUS_THREAD_ID"
TASK_FILE: Final = "NEXUS_TASK_FILE"

_ALLOWED: Final = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ", "TMPDIR"),
        *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"),
    }
)


def is_own(name: str) -> bool:
    """Whether a variable is NEXUS's, which the person cannot pass on."""
    return name.upper().startswith(OWN_PREFIX)


def run_environment(environment: Mapping[str, str], named: Collection[str], own: Mapping[str, str]) -> dict[str, str]:
    """`named` are those that the person or the preset passes on besides; `own` are set by NEXUS."""
    passed = {
        name: value
        for name, value in environment.items()
        if not is_own(name) and (name in _ALLOWED or name.startswith("LC_") or name in named)
    }
    return {**passed, **own}


def own_variables(home: Path, run_id: str, thread_id: str, token_file: Path, task_file: Path) -> dict[str, str]:
    """What tells the program, and `nexus mcp` within it, who it is and what it works on."""
    return {
        "NEXUS_HOME": str(home),
        RUN_ID: run_id,
        THREAD_ID: thread_id,
        "NEXUS_TOKEN_FILE": str(token_file),
        TASK_FILE: str(task_file),
    }
