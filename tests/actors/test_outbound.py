"""Streams between shards: a window of parcels is on its way, the rest waits on disk, and all of it arrives in order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from actors import stream
from bus import address
from bus.address import Address
from bus.store import StoreFull, Write, outbox_prefix
from bus.store_memory import MemoryStore
from bus.value import Record
from tests.support.hosts import Hosts
from tests.support.loop import until

ONE = Address("counter", "-", "one")


def other_shard() -> Address:
    names = (Address("counter", "-", f"n{n}") for n in range(100))
    return next(name for name in names if name.shard(2) != ONE.shard(2))


@pytest.mark.parametrize(("parcels", "size"), [(3, 1 << 30), (1_000, 10)])
def test_a_long_backlog_leaves_in_windows_and_arrives_whole_and_once(
    monkeypatch: pytest.MonkeyPatch, parcels: int, size: int
) -> None:
    monkeypatch.setattr(stream, "outbox_window_parcels", parcels)
    monkeypatch.setattr(stream, "outbox_window_bytes", size)

    async def main() -> None:
        hosts = Hosts(2)
        far = other_shard()
        hosts.running[far.shard(2)].close_links()
        for _ in range(150):
            await hosts.ok(ONE, "tell", {"to": str(far)})
        near = hosts.running[ONE.shard(2)].host
        assert len(hosts.stores[ONE.shard(2)].scan(outbox_prefix(far.shard(2)))) == 150
        hosts.restart(far.shard(2))
        await until(lambda: hosts.stores[ONE.shard(2)].scan(outbox_prefix(far.shard(2))) == [])
        assert near.outbox.size == 0
        assert (await hosts.ok(far, "read"))["total"] == 150

    asyncio.run(main())


def test_the_sender_of_a_dead_letter_is_told_if_its_kind_listens() -> None:
    """mesh 4.7"""
    from actors.roster import roster

    async def main() -> None:
        clockless = Hosts(roster=roster())
        person = clockless.ok
        await person(address.DIRECTORY, "workspace_add", {"workspaceId": "w", "name": "W"})
        for name in ("a", "b"):
            body: Record = {"agentId": name, "name": name, "workspaceId": "w", "mode": "auto", "capabilities": ["mesh"]}
            await person(address.DIRECTORY, "agent_add", {**body, "tokenHash": name.encode() * 32})
            facts: Record = {"tokenHash": name.encode() * 32}
            await clockless.agents.call(
                address.agent(name), "authenticate", facts, call_id=clockless.clock.new_id(), within_ms=5_000
            )
        store = clockless.stores[0]
        key = next(key for key, _ in store.scan(b"smailbox/-/b"))
        good = store.get(key)
        assert good is not None
        store.commit([(key, good[:-1] + bytes([good[-1] ^ 1]))])
        clockless.restart(0)
        stamp: Record = {"agentId": "a", "workspaceId": "w", "credential": "default", "version": 1}
        reply = await clockless.agents.call(
            address.mailbox("a"),
            "agent_trigger",
            {"agentId": "b", "task": {"title": "t", "instructions": "i"}},
            call_id=clockless.clock.new_id(),
            within_ms=8_000,
            stamp={**stamp, "issuedMs": clockless.clock.now_ms()},
        )
        assert reply.error is not None
        assert reply.error["code"] == "unavailable"
        assert len(store.scan(b"d")) == 1

    asyncio.run(main())


class PickyStore(MemoryStore):
    """Refuses to remove messages while told to."""

    def __init__(self) -> None:
        super().__init__()
        self.refuses = False
        self.refused = 0

    def commit(self, writes: Sequence[Write]) -> None:
        if self.refuses and any(key[:1] == b"o" and value is None for key, value in writes):
            self.refused += 1
            raise StoreFull
        super().commit(writes)


def test_a_refused_removal_of_messages_does_not_give_back_what_else_the_host_commits() -> None:
    async def main() -> None:
        far, near = other_shard(), ONE.shard(2)
        stores = [PickyStore(), PickyStore()]
        hosts = Hosts(2, stores=stores)
        for _ in range(40):
            await hosts.ok(ONE, "tell", {"to": str(far)})
            await until(lambda: hosts.running[near].host.outbox.size == 0)
        nobody = next(name for n in range(100) if (name := Address("nobody", "-", f"x{n}")).shard(2) == near)
        await hosts.ok(ONE, "tell", {"to": str(nobody)})
        await until(lambda: bool(stores[near].scan(b"d")))
        stores[near].refuses = True
        await hosts.ok(ONE, "tell", {"to": str(far)})
        await until(lambda: stores[near].refused > 0)
        letters = (await hosts.ok(address.host(near), "dead_list"))["letters"]
        assert isinstance(letters, list)
        (letter,) = letters
        assert isinstance(letter, dict)
        await hosts.ok(address.host(near), "dead_drop", {"letter": letter["letter"]})
        stores[near].refuses = False
        await until(lambda: hosts.running[near].host.outbox.size == 0)

    asyncio.run(main())
