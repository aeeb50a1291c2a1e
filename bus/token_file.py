"""A token in a file or the environment, never on a command line (common 2.2).

A token is in no exception and no message here. The standard library alone: the stdio shim starts with it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bus.limits import shim_token_file_bytes_max

TOKEN: Final = "NEXUS_TOKEN"
TOKEN_FILE: Final = "NEXUS_TOKEN_FILE"

_FORM: Final = re.compile(r"nx_([0-9A-Za-z-]{1,64})_[0-9A-Za-z_-]{1,256}", re.ASCII)
_HOW: Final = "`nexus agent credential add AGENT NAME` makes a new one."


class NoToken(Exception):
    """There is no token that may be used. The text is for the person."""


def token_from(environment: Mapping[str, str]) -> str:
    """Of the file that NEXUS_TOKEN_FILE names, else NEXUS_TOKEN. Raises NoToken."""
    if environment.get(TOKEN_FILE):
        return token_in(Path(environment[TOKEN_FILE]))
    if environment.get(TOKEN):
        return well_formed(environment[TOKEN], f"The variable {TOKEN} holds")
    raise NoToken(f"Neither {TOKEN_FILE} nor {TOKEN} is set, so there is no token to connect with. {_HOW}")


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
    return well_formed(text, f"The token file {path} holds")


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


def well_formed(text: str, where: str) -> str:
    """The token in `text`; `where` begins the sentence of a refusal. Raises NoToken."""
    token = text.strip()
    if agent_of(token) is None:
        raise NoToken(f"{where} no token of NEXUS: one looks like nx_..., on one line. {_HOW}")
    return token
