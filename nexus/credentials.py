"""Which tokens a set of shards would accept, told apart by the hashes that agent owners keep.

The one place outside of actors/agent that knows its rows: `head` (name, removed) and `credential/NAME` (hash, lentBy).
Reads stores that nobody else has open. tests/nexus/test_restore.py makes the rows with the owner's own rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bus.address import Address
from bus.codec import unpack_versioned
from bus.store import Store, owners, row_of, state_prefix
from bus.value import Record, Value


@dataclass(frozen=True, order=True)
class Credential:
    """One token of one agent, without the token."""

    agent_id: str
    agent: str
    name: str
    digest: bytes

    def record(self) -> Record:
        return {"agentId": self.agent_id, "name": self.agent, "credential": self.name}


def that_come_back(restored: Iterable[Credential], present: Iterable[Credential] | None) -> list[Credential]:
    """What the home would accept again and does not now: another hash, or an agent or credential that is gone."""
    known = {(one.agent_id, one.name, one.digest) for one in present or ()}
    return sorted(one for one in restored if (one.agent_id, one.name, one.digest) not in known)


def credentials_of(store: Store) -> Iterable[Credential]:
    """Every credential that counts in this shard. Raises CorruptRow."""
    after: Address | None = None
    while page := list(owners(store, "agent", after, 100)):
        for agent in page:
            yield from _of_agent(store, agent)
        after = page[-1]


def _of_agent(store: Store, agent: Address) -> Iterable[Credential]:
    rows = {row_of(key): unpack_versioned(value)[1] for key, value in store.scan(state_prefix(agent))}
    head = _record(rows.get("head"))
    if head.get("removed") is True:
        return
    for row, value in rows.items():
        digest, lender = _record(value).get("hash"), _record(value).get("lentBy")
        # One that is lent admits nothing until it is lent again, which takes more than its token.
        if row.startswith("credential/") and isinstance(digest, bytes) and lender is None:
            yield Credential(agent.id, str(head.get("name", "")), row.removeprefix("credential/"), digest)


def _record(value: Value) -> Record:
    return value if isinstance(value, dict) else {}
