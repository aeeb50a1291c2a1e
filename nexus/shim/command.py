"""`nexus mcp` and `nexus-mcp`: the options, and the composition root of the shim."""

from __future__ import annotations

import argparse
import os
import pwd
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from nexus.shim.agents_socket import AgentsSocket
from nexus.shim.carrier import Carrier
from nexus.shim.lease import LeasedToken
from nexus.shim.lines import LineWriter, read_lines
from nexus.shim.place import Place, home_of
from nexus.shim.session import LegacySession
from nexus.shim.shim import Shim
from nexus.shim.token import TOKEN, TOKEN_FILE, NoToken, TokenSource, token_source

# As nexus/exit_codes.py has them.
_REFUSED: Final = 1
_USAGE: Final = 2

_HELP_COLUMNS: Final = 100

DESCRIPTION: Final = (
    "Serve MCP over standard input and output: carries each message to the NEXUS that runs. The token comes from "
    f"--token-file, else from {TOKEN}, else from the file that {TOKEN_FILE} names; or --agent borrows one."
)
_NO_TOKEN: Final = (
    f"Give a token: --token-file FILE (mode 0600), or {TOKEN} or {TOKEN_FILE} in the environment; or --agent NAME, to "
    "borrow one for as long as this runs. `nexus agent credential add AGENT NAME` makes a token."
)


def main() -> None:
    """The script `nexus-mcp`."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Be the shim; the exit code."""
    given, others = _parser().parse_known_args(arguments)
    if others:
        # What was typed is not repeated: it may be a token, and this goes into the client's log.
        tell("There is an option or argument that `nexus mcp` does not have. A token is never given here. See --help.")
        return _USAGE
    try:
        place = Place(home_of(given.home, os.environ), Path(given.socket).absolute() if given.socket else None)
        tokens = _tokens(given, place, os.environ)
        user_id = os.getuid() if given.user is None else _user_id(given.user)
    except (NoToken, ValueError) as reason:
        tell(str(reason))
        return _REFUSED
    if tokens is None:
        tell(_NO_TOKEN)
        return _USAGE
    starter = None
    if given.start:
        from nexus.shim.starting import StartsNexus  # what starts processes takes 2 MB that few need

        starter = StartsNexus(place.home, os.environ, tell)
    write = LineWriter(sys.stdout.fileno(), lambda: shim.end())  # noqa: PLW0108 - there is no shim yet
    carrier = Carrier(AgentsSocket(place.agents_socket, user_id), tokens, LegacySession(), write, starter)
    shim = Shim(carrier, write, tell)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: shim.end())
    return shim.run(read_lines(sys.stdin.fileno()))


def tell(sentence: str) -> None:
    """Say something to the person, who finds it in the client's log."""
    try:
        os.write(2, f"nexus mcp: {sentence}\n".encode(errors="backslashreplace"))
    except OSError:
        return  # nobody reads it


def _tokens(given: argparse.Namespace, place: Place, environment: Mapping[str, str]) -> TokenSource | None:
    """Raises NoToken."""
    if given.agent is None:
        return token_source(given.token_file, environment)
    if given.token_file is not None:
        raise NoToken("Give --agent or --token-file, not both.")
    if environment.get(TOKEN_FILE):  # set in what NEXUS runs for an agent, where no credential is lent (common 2.4)
        tell(f"The token in the file that {TOKEN_FILE} names is used, and --agent is not.")
        return token_source(environment[TOKEN_FILE], environment)
    return LeasedToken(place.person_socket, given.agent, given.workspace)


def _parser() -> argparse.ArgumentParser:
    # Without abbreviations: `--token nx_...` must not be taken for the beginning of `--token-file`.
    # With a width, or argparse would import all that shutil needs just to ask for it.
    formatter = partial(argparse.HelpFormatter, width=_HELP_COLUMNS)
    parser = argparse.ArgumentParser(
        "nexus mcp", description=DESCRIPTION, allow_abbrev=False, formatter_class=formatter
    )
    parser.add_argument("--token-file", metavar="FILE", help="a file, mode 0600, that holds the token")
    parser.add_argument("--socket", metavar="PATH", help="the agents' socket; default: run/mcp.sock of the home")
    parser.add_argument("--agent", metavar="NAME", help="borrow a credential of this agent as long as this runs")
    parser.add_argument("-w", "--workspace", metavar="NAME", help="look for that agent only in this workspace")
    parser.add_argument("--home", metavar="FOLDER", help="default: NEXUS_HOME, else the platform's")
    parser.add_argument("--user", metavar="NAME", help="whose NEXUS it is, when it is another user's")
    parser.add_argument("--start", action="store_true", help="start NEXUS if it does not run")
    return parser


def _user_id(typed: str) -> int:
    """Raises ValueError."""
    if typed.isdecimal():
        return int(typed)
    try:
        return pwd.getpwnam(typed).pw_uid
    except KeyError:
        raise ValueError(f"This system knows no user {typed!r}. --user takes a name or a number.") from None
