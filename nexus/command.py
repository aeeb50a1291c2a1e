"""Running a command line to its exit code: what is the same for `nexus` and `nexus-bus`, whatever was typed.

typer's own runner ends with 1 when whoever read the output has gone, and knows nothing of --json.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import Final, cast

import typer
from typer.main import get_command

from nexus import exit_codes
from nexus.output import escape, local_error, print_json, print_line

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
            print_json({"error": local_error(escape(wrong.format_message()), wrong.exit_code)})
        _show(wrong)
        return wrong.exit_code
    except (KeyboardInterrupt, EOFError, typer.Abort):
        return exit_codes.INTERRUPTED
    return exit_codes.OK


def _show(wrong: typer.TyperException) -> None:
    """What the parser of a command line raises shows itself, with the usage of the command. It quotes what was typed,
    some of it as it is (security 2.15)."""
    told = io.StringIO()
    cast(typer.BadParameter, wrong).show(file=told)
    for line in told.getvalue().removesuffix("\n").split("\n"):
        print_line(escape(line), to_stderr=True)


def _let_go_of_output() -> None:
    """What is still buffered has no reader; without this Python would complain about it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
