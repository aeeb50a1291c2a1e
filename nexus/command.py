"""Running a command line to its exit code: what is the same for `nexus` and `nexus-bus`, whatever was typed.

typer's own runner ends with 1 when whoever read the output has gone, and knows nothing of --json.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final, cast

import typer
from typer.main import get_command

from nexus import exit_codes
from nexus.output import escape, print_json

_JSON_OPTION: Final = "--json"


def run_command(app: typer.Typer, name: str, arguments: Sequence[str]) -> int:
    """Carry out one command line; answers its exit code."""
    try:
        code = _run(app, name, arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        _let_go_of_output()
        return exit_codes.CLOSED_PIPE
    return code


def _run(app: typer.Typer, name: str, arguments: Sequence[str]) -> int:
    try:
        with get_command(app).make_context(name, list(arguments)) as context:
            context.command.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    except typer.TyperException as wrong:
        if _JSON_OPTION in arguments:
            print_json({"error": {"message": escape(wrong.format_message())}})
        # What the parser of a command line raises shows itself, with the usage of the command.
        cast(typer.BadParameter, wrong).show()
        return wrong.exit_code
    except (KeyboardInterrupt, EOFError, typer.Abort):
        return exit_codes.INTERRUPTED
    return exit_codes.OK


def _let_go_of_output() -> None:
    """What is still buffered has no reader; without this Python would complain about it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
