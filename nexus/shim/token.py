"""Where the token comes from: a 0600 file or the environment, never a command line (common 2.2).

A token is in no exception, no message and no representation of an object here.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

from bus.limits import shim_token_file_bytes_max

TOKEN: Final = "NEXUS_TOKEN"
TOKEN_FILE: Final = "NEXUS_TOKEN_FILE"

_FORM: Final = re.compile(r"nx_([0-9A-Za-z-]{1,64})_[0-9A-Za-z_-]{1,256}", re.ASCII)
_HOW: Final = "`nexus agent credential add AGENT NAME` makes a new one."


class NoToken(Exception):
    """There is no token that may be used. The text is for the person."""


class NotYet(Exception):
    """There will be a token once NEXUS is reached."""


class TokenSource(Protocol):
    """Used by any thread."""

    def current(self) -> str:
        """The token to present now. Raises NoToken (for good), NotYet, or that nobody listens (agents_socket)."""
        ...

    def has_other_than(self, refused: str, shown_ns: int) -> bool:
        """Whether there is another token now than the one that NEXUS refused, or the same counts anew. It was asked for
        after `shown_ns`, by the monotonic clock."""
        ...


class TokenFromEnvironment:
    """It never changes."""

    def __init__(self, token: str) -> None:
        self._token = _well_formed(token, f"The variable {TOKEN} holds")

    def current(self) -> str:
        return self._token

    def has_other_than(self, refused: str, shown_ns: int) -> bool:
        return self._token != refused


class TokenFromFile:
    """Read anew when NEXUS refuses what it held: the person may have replaced it."""

    def __init__(self, path: Path) -> None:
        """Raises NoToken."""
        self._path = path
        self._token = token_in(path)

    def current(self) -> str:
        return self._token

    def has_other_than(self, refused: str, shown_ns: int) -> bool:
        if self._token == refused:
            try:
                self._token = token_in(self._path)
            except NoToken:
                return False
        return self._token != refused


def token_source(given: str | None, environment: Mapping[str, str]) -> TokenSource | None:
    """The file that NEXUS_TOKEN_FILE names, else `--token-file`, else NEXUS_TOKEN; None without any. Raises NoToken.

    NEXUS_TOKEN_FILE is set in what NEXUS runs for an agent, which then is that agent whatever a client's configuration
    says (common 2.4).
    """
    if environment.get(TOKEN_FILE):
        return TokenFromFile(Path(environment[TOKEN_FILE]))
    if given is not None:
        return TokenFromFile(Path(given))
    if environment.get(TOKEN):
        return TokenFromEnvironment(environment[TOKEN])
    return None


def token_in(path: Path) -> str:
    """The token in a file that only its owner can read and that no version control can pick up. Raises NoToken."""
    try:
        # Not blocking, in case it is a pipe that nobody writes to.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise NoToken(f"The token file {path} cannot be read: {error.strerror}. {_HOW}") from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise NoToken(f"The token file {path} is not a file.")
    with os.fdopen(descriptor, "rb") as file:
        if stat.S_IMODE(found.st_mode) & 0o077:
            raise NoToken(f"The token file {path} is open to other users. Close it with: chmod 600 {path}")
        if (tree := work_tree_around(path)) is not None:
            raise NoToken(
                f"The token file {path} lies in the git work tree {tree}, from where a token is soon published. "
                f"Move it out, and revoke it if it was ever committed. {_HOW}"
            )
        text = file.read(shim_token_file_bytes_max + 1).decode("ascii", "replace")
    return _well_formed(text, f"The token file {path} holds")


def work_tree_around(path: Path) -> Path | None:
    """The git work tree that the file lies in, by its real path. Folders that cannot be looked into are passed over."""
    for folder in Path(os.path.realpath(path)).parents:
        if os.path.lexists(folder / ".git"):
            return folder
    return None


def agent_of(text: str) -> str | None:
    """The id of the agent whose token `text` is, with nothing but spaces and ends of lines around it; else None."""
    found = _FORM.fullmatch(text.strip())
    return None if found is None else found[1]


def _well_formed(text: str, where: str) -> str:
    token = text.strip()
    if agent_of(token) is None:
        raise NoToken(f"{where} no token of NEXUS: one looks like nx_..., on one line. {_HOW}")
    return token
