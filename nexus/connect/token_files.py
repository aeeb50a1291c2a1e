"""The tokens of connected clients: one private file each in the home's `credentials/`, never in a git work tree.

Invariants: a file is named by agent and credential and readable by this user alone; no token is in any client's
configuration, command line or answer (common 2.2).
"""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path
from typing import Final

from bus.limits import shim_token_file_bytes_max
from nexus.config import Home, refuse_unless_private
from nexus.connect.config_file import put_private
from nexus.shim.token import agent_of

FOLDER: Final = "credentials"
_SUFFIX: Final = ".token"


class InWorkTree(Exception):
    """The home lies in a git work tree, where a token could be committed. The text is for the person."""


def credential_name(client_name: str, project: Path | None) -> str:
    """The name of the credential that a client has, for the user or for one project."""
    name = f"connect-{client_name}"
    return name if project is None else f"{name}-{hashlib.sha256(str(project).encode()).hexdigest()[:8]}"


def token_file(home: Home, agent_id: str, credential: str) -> Path:
    return home.path / FOLDER / f"{agent_id}.{credential}{_SUFFIX}"


def owner_of(home: Home, file: Path) -> tuple[str, str] | None:
    """The agent's id and the credential that a token file of this home is for."""
    if file.parent != home.path / FOLDER or file.suffix != _SUFFIX:
        return None
    agent_id, _, credential = file.name.removesuffix(_SUFFIX).partition(".")
    return (agent_id, credential) if agent_id and credential else None


def owners_with(home: Home, credential: str) -> list[str]:
    """The ids of the agents that have a token file for this credential."""
    owners = [owner_of(home, file) for file in sorted((home.path / FOLDER).glob(f"*{_SUFFIX}"))]
    return [owner[0] for owner in owners if owner is not None and owner[1] == credential]


def refuse_work_tree(home: Home) -> None:
    """Raises InWorkTree (common 2.2)."""
    folder = home.path.resolve()
    for place in (folder, *folder.parents):
        if (place / ".git").exists():
            raise InWorkTree(
                f"The home {home.path} lies in the git work tree {place}, where its tokens could be committed. "
                "Use a home outside of it: --home FOLDER or NEXUS_HOME."
            )


def holds_token(home: Home, agent_id: str, credential: str) -> bool:
    """Whether there is a token in place that `nexus mcp` takes. Raises HomeRefused when others may read it."""
    file = token_file(home, agent_id, credential)
    if not file.exists():
        return False
    refuse_unless_private(file, stat.S_ISREG, "file")
    with file.open("rb") as opened:
        text = opened.read(shim_token_file_bytes_max + 1).decode("ascii", "replace")
    return len(text) <= shim_token_file_bytes_max and agent_of(text) == agent_id


def keep_token(home: Home, agent_id: str, credential: str, token: str) -> None:
    """Write the token down. Raises InWorkTree, HomeRefused and OSError."""
    refuse_work_tree(home)
    folder = home.path / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    refuse_unless_private(folder, stat.S_ISDIR, "folder")
    put_private(token_file(home, agent_id, credential), f"{token}\n".encode())


def drop_token(home: Home, agent_id: str, credential: str) -> bool:
    """Whether there was one to delete."""
    file = token_file(home, agent_id, credential)
    if not file.is_file():
        return False
    file.unlink()
    return True
