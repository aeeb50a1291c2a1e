"""Where the token comes from: a 0600 file or the environment, never a command line (common 2.2).

A token is in no exception, no message and no representation of an object here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from bus.token_file import TOKEN, TOKEN_FILE, NoToken, agent_of, token_in, well_formed

__all__ = [
    "TOKEN",
    "TOKEN_FILE",
    "NoToken",
    "NotYet",
    "TokenFromEnvironment",
    "TokenFromFile",
    "TokenSource",
    "agent_of",
    "token_in",
    "token_source",
]


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
        self._token = well_formed(token, f"The variable {TOKEN} holds")

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
