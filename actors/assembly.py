"""Puts a shard host together from its parts. Everything that differs between a process, a test and the simulation
(store, wire, threads, clock) is an argument; `nexus/shard_process.py` chooses for processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from actors.decision import Rules
from actors.host import Host, Place
from actors.owner import Executor
from bus.clock import Clock
from bus.envelope import Acknowledgement, Envelope, LinkClass, Welcome
from bus.journal import GroupWriter, Journal
from bus.link import Identity, LinkClient, LinkServer
from bus.store import Store
from bus.stored_time import newest_record_ms
from bus.wire import Scheduler, Wire


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a host stands in."""

    place: Place
    sockets: Sequence[Path]
    """Of all shard hosts, by number."""
    key: bytes
    store: Store
    wire: Wire
    clock: Clock
    scheduler: Scheduler
    executor: Executor
    nonce: Callable[[], bytes]
    beside: Executor | None = None
    """Runs what takes long and is no owner's turn; the owners' executor when there is none."""
    backups: Path | None = None
    """Where copies for a backup go."""


@dataclass(slots=True)
class RunningHost:
    """A host that serves, with what must be closed to end it."""

    host: Host
    journal: Journal
    server: LinkServer
    links: list[LinkClient]

    def close_links(self) -> None:
        """Send what is due, then leave the wire."""
        for link in self.links:
            link.close()
        self.server.close()


def start_host(
    around: Surroundings,
    roster: Mapping[str, Rules[Any]],
    make_journal: Callable[[GroupWriter], Journal],
    disk_broke: Callable[[], None],
) -> RunningHost:
    """`disk_broke` is called from the writer's thread when the disk failed: the process must end."""
    host = Host(
        around.place,
        roster,
        store=around.store,
        clock=around.clock,
        scheduler=around.scheduler,
        executor=around.executor,
        beside=around.beside or around.executor,
        backups=around.backups,
    )
    around.clock.not_before(newest_record_ms(around.store))
    writer = GroupWriter(around.store, around.place.shard, host.group_stored, disk_broke)
    journal = make_journal(writer)
    incarnation = around.clock.new_id()
    server = LinkServer(
        around.wire,
        around.sockets[around.place.shard],
        key=around.key,
        shard=around.place.shard,
        incarnation=incarnation,
        clock=around.clock,
        scheduler=around.scheduler,
        nonce=around.nonce,
        received=host.received,
    )
    host.attach(journal, writer, server.send)
    others = [shard for shard in range(around.place.shards) if shard != around.place.shard]
    links = [_link_to(shard, around, host, incarnation) for shard in others]
    return RunningHost(host, journal, server, links)


def _link_to(shard: int, around: Surroundings, host: Host, incarnation: str) -> LinkClient:
    def received(envelope: Envelope) -> None:
        if isinstance(envelope, Acknowledgement):
            host.outbox.acknowledged(shard, envelope.mark)

    def welcomed(welcome: Welcome) -> None:
        host.outbox.link_opened(shard, link.send)

    link = LinkClient(
        around.wire,
        around.sockets[shard],
        Identity(LinkClass.SHARD, str(around.place.shard), incarnation, around.key),
        clock=around.clock,
        scheduler=around.scheduler,
        nonce=around.nonce,
        received=received,
        welcomed=welcomed,
    )
    return link
