"""Every exit code of `nexus` and `nexus-bus`, with its meaning; the help text prints this table.

Numbers never change their meaning. 130 and 141 are what shells show for these ends; in `up` Ctrl-C means stop.
"""

from __future__ import annotations

from typing import Final

OK: Final = 0
REFUSED: Final = 1
USAGE: Final = 2
NOT_RUNNING: Final = 3
ALREADY_RUNNING: Final = 4
HOME_REFUSED: Final = 5
PORT_TAKEN: Final = 6
START_FAILED: Final = 7
UNHEALTHY: Final = 8
INTERRUPTED: Final = 130
CLOSED_PIPE: Final = 141

MEANINGS: Final = {
    OK: "done",
    REFUSED: "refused or failed; the message says why",
    USAGE: "the command line was wrong",
    NOT_RUNNING: "NEXUS does not run on this home",
    ALREADY_RUNNING: "NEXUS already runs on this home",
    HOME_REFUSED: "the home folder is unsafe or damaged",
    PORT_TAKEN: "the port cannot be listened on",
    START_FAILED: "a process of NEXUS did not become ready; the message names its log",
    UNHEALTHY: "doctor found something to mend",
    INTERRUPTED: "interrupted by Ctrl-C",
    CLOSED_PIPE: "whoever read the output had gone",
}


def exit_code_table() -> str:
    """The table for help: one paragraph, since help text is wrapped."""
    return "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in MEANINGS.items()) + "."
