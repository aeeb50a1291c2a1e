"""Where a message goes: `kind/workspace/id` (ARCHITECTURE, Owners).

An address names exactly one owner and decides, by a stable hash, which shard hosts it. Agents, mailboxes and
app-wide owners have no workspace in their address (`agent/-/ID`): their workspace is state, not identity.
"""

from __future__ import annotations

import functools
import re
import zlib
from dataclasses import dataclass
from typing import Final

NO_WORKSPACE: Final = "-"
HOST: Final = "host"
_PARSED_KEPT_MAX: Final = 4_096

_KIND: Final = re.compile(r"[a-z][a-z_]{0,31}\Z")
_PART: Final = re.compile(r"[0-9A-Za-z_-]{1,64}\Z")


class MalformedAddress(ValueError):
    """The text is not `kind/workspace/id`. Raised by `Address.parse`; commands turn it into a refusal."""


def is_id(text: str) -> bool:
    """Whether `text` can be the id of an owner at all. One that cannot names nothing (common 1.7)."""
    return _PART.match(text) is not None and text != NO_WORKSPACE


@dataclass(frozen=True, slots=True)
class Address:
    """One owner. Construct with parts known to be well formed; `parse` checks text from outside."""

    kind: str
    workspace: str
    id: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.workspace}/{self.id}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read `kind/workspace/id`. Raises MalformedAddress."""
        return _parsed(text)

    def shard(self, shards: int) -> int:
        """The shard that hosts this owner when there are `shards` of them. Stable over releases and machines."""
        if self.kind == HOST:
            return int(self.id)
        return zlib.crc32(str(self).encode()) % shards


@functools.lru_cache(_PARSED_KEPT_MAX)
def _parsed(text: str) -> Address:
    """Kept, since a busy owner's address comes with each of its messages; addresses never change."""
    parts = text.split("/")
    if len(parts) != 3 or not _KIND.match(parts[0]) or not all(_PART.match(part) for part in parts[1:]):
        raise MalformedAddress(f"An address has the form kind/workspace/id; {text!r} has not.")
    return Address(*parts)


DIRECTORY: Final = Address("app", NO_WORKSPACE, "directory")
SETTINGS: Final = Address("settings", NO_WORKSPACE, "settings")
TEAMS: Final = Address("teams", NO_WORKSPACE, "teams")
PROVIDERS: Final = Address("providers", NO_WORKSPACE, "providers")


def agent(agent_id: str) -> Address:
    return Address("agent", NO_WORKSPACE, agent_id)


def mailbox(agent_id: str) -> Address:
    return Address("mailbox", NO_WORKSPACE, agent_id)


def workspace(workspace_id: str) -> Address:
    return Address("workspace", workspace_id, workspace_id)


def canvas(workspace_id: str, canvas_id: str) -> Address:
    return Address("canvas", workspace_id, canvas_id)


def projection(kind: str) -> Address:
    """The one owner of a kind that is built from events of all others."""
    return Address(kind, NO_WORKSPACE, "all")


def host(shard: int) -> Address:
    """A shard host itself: for inspection, and what every host is told (0009). It lies on the shard of its number."""
    return Address(HOST, NO_WORKSPACE, str(shard))
