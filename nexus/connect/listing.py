"""What `nexus connect --list` tells of one client: as which agents it is connected, and whether that still works.

What counts is three things together: the entry in the client's configuration, the token file of the home that it
names, and the credential that NEXUS honours. Whichever is missing is said. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from bus.value import Record, Value, records
from nexus.config import Home
from nexus.connect import config_file, token_files
from nexus.connect.clients import ENTRY, Client, Places, file_of, is_our_http, token_file_in
from nexus.connect.config_file import ConfigRefused
from nexus.connect.connecting import Person
from nexus.connect.document import entry_at
from nexus.connect.syntax import Broken
from nexus.person_client import NotRunning, Refused
from tools.errors import Code


class State(Enum):
    """How a connection stands. The values are for programs and people alike."""

    CONNECTED = "connected"
    REVOKED = "credential revoked"
    AGENT_REMOVED = "agent removed"
    TOKEN_MISSING = "token missing"
    ENTRY_MISSING = "entry missing"
    NOT_TOLD = "unknown, since NEXUS is not running"


@dataclass(frozen=True, slots=True)
class Connection:
    """One client as one agent. `families`: None when it is served every family; told only of a credential that is."""

    agent_id: str | None
    """None: an entry over HTTP does not tell, and no token of the home does."""
    agent_name: str | None
    credential: str
    state: State
    families: Value = None


@dataclass(frozen=True, slots=True)
class Listed:
    """`file` is None for a client that is configured by hand; `problem`: why its configuration cannot be read."""

    client: Client
    file: Path | None
    connections: Sequence[Connection]
    problem: str | None = None


def listed(home: Home, person: Person, places: Places, client: Client, project: Path | None) -> Listed:
    """Where and as whom the client is connected. Raises HomeRefused and Refused."""
    credential = token_files.credential_name(client.name, project)
    holders = token_files.owners_with(home, credential)
    file = file_of(client, places, project)
    if file is None:
        return Listed(client, None, [_connection(home, person, one, credential, True) for one in holders])
    try:
        entry = _entry(client, file)
    except ConfigRefused as refused:
        return Listed(client, file, [_connection(home, person, one, credential, True) for one in holders], str(refused))
    named = _named_by(home, client, entry, credential, holders)
    found = [
        _connection(home, person, agent_id, credential, agent_id in named)
        for agent_id in [*named, *(one for one in holders if one not in named)]
    ]
    if not found and isinstance(entry, dict) and is_our_http(client, entry):
        found = [Connection(None, None, credential, State.TOKEN_MISSING)]
    return Listed(client, file, found)


def _entry(client: Client, file: Path) -> Value:
    try:
        data = client.syntax.data(config_file.read(file).text)
        return entry_at(data, (*client.container(data), ENTRY))
    except Broken as broken:
        raise ConfigRefused(f"{file} cannot be edited: {broken}. Correct the file.") from None


def _named_by(home: Home, client: Client, entry: Value, credential: str, holders: Sequence[str]) -> Sequence[str]:
    """The agents that the entry stands for: at most one, if the entry is ours."""
    if not isinstance(entry, dict):
        return []
    token_file = token_file_in(entry)
    if token_file is None:
        return holders if is_our_http(client, entry) else []
    owner = token_files.owner_of(home, token_file)
    return [owner[0]] if owner is not None and owner[1] == credential else []


def _connection(home: Home, person: Person, agent_id: str, credential: str, has_entry: bool) -> Connection:
    try:
        agent = person.ask("agent.show", {"agent": agent_id})
    except NotRunning:
        return Connection(agent_id, None, credential, State.NOT_TOLD)
    except Refused as refused:
        if refused.error.get("code") != Code.NOT_FOUND.value:
            raise
        return Connection(agent_id, None, credential, State.AGENT_REMOVED)
    name = str(agent.get("name"))
    known: Record | None = next((one for one in records(agent, "credentials") if one.get("name") == credential), None)
    if known is None:
        return Connection(agent_id, name, credential, State.REVOKED)
    state = State.CONNECTED if has_entry else State.ENTRY_MISSING
    if not token_files.holds_token(home, agent_id, credential):
        state = State.TOKEN_MISSING
    return Connection(agent_id, name, credential, state, known.get("families"))
