"""What travels on a link. Every kind is a frozen record; `bus/codec.py` is the only place that turns one into bytes.

A call never says who sent it: the receiving host stamps the principal from the class of the link (signed HELLO) and,
on a gateway's link, from the admission stamp that rides in `Call.stamp` (ARCHITECTURE, Processes and Admission).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from bus.address import Address
from bus.message_record import message_record
from bus.value import Record


class LinkClass(StrEnum):
    """What a process is to the host it connects to, proved by the signed HELLO."""

    GATEWAY = "gateway"
    PERSON = "person"
    SHARD = "shard"
    ENGINE = "engine"


@message_record
class Onward:
    """A call that rides on its own admission: the host sends it on when the answer is a plain stamp for it
    (docs/decisions/0007)."""

    call_id: str
    to: Address
    verb: str
    body: Record
    workspace_id: str
    """The scope under which `to` was found. Under another one it is not sent on."""


@message_record
class Call:
    """A request that wants a reply. Repeats carry the same `call_id` and get the same answer."""

    call_id: str
    to: Address
    verb: str
    body: Record
    stamp: Record | None
    """The admission's stamp when an agent calls; None when the link's own class is the principal."""
    deadline_ms: int
    """Milliseconds since the epoch after which nobody waits for the reply any more."""
    onward: Onward | None = None
    """The call that this one admits."""


@message_record
class Reply:
    """The one answer to a call: exactly one of `ok` and `error` is set. `error` is a refusal's record."""

    call_id: str
    ok: Record | None
    error: Record | None
    admission: Record | None = None
    """What the admission answered, when the call that rode on it was sent on: then `ok` and `error` are that call's."""


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A place in one shard's outbox: grows with every message, so the highest one seen says what was handled."""

    sequence: int
    index: int


@message_record
class Parcel:
    """A message between owners, from the outbox of `source`; resent until its mark is acknowledged."""

    source: int
    mark: Mark
    sender: Address
    to: Address
    verb: str
    body: Record
    message_id: str
    origin_call: str
    """The id of the call that led to it, for traces."""


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Shard `destination` has committed every parcel of this link's outbox up to `mark`."""

    destination: int
    mark: Mark


@dataclass(frozen=True, slots=True)
class Listen:
    """A gateway is told of these topics from now on, until its session ends or it drops them. Each one that is new is
    answered by one Notice, so that nothing is missed between reading and listening (docs/decisions/0012)."""

    added: tuple[str, ...]
    dropped: tuple[str, ...]


@message_record
class Notice:
    """Something of `topic` has changed, and that is on disk: a hint, never stored. What counts is what is read then."""

    topic: str
    data: Record


@dataclass(frozen=True, slots=True)
class Knock:
    """A client asks to be let in."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """A host asks who it is: sent to knocks, and to anything else from a peer that it does not know."""

    nonce: bytes


@dataclass(frozen=True, slots=True)
class Hello:
    """The client's proof: `proof` is a keyed digest over the challenge and every other field."""

    link_class: LinkClass
    name: str
    protocol: int
    incarnation: str
    nonce: bytes
    proof: bytes


@dataclass(frozen=True, slots=True)
class Welcome:
    """The host's proof over the client's nonce. A new `incarnation` tells the client to resend what is open."""

    shard: int
    incarnation: str
    now_ms: int
    proof: bytes


@dataclass(frozen=True, slots=True)
class Rejected:
    """The HELLO was not accepted; `reason` is for the log of the process that connects."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ping:
    """The client's heartbeat, sent through its event loop, so that a stuck loop counts as silence.

    `sent` is the number of the last frame that its end has sent in this session, `heard` the last that it has taken.
    """

    session: bytes
    sent: int
    heard: int


@dataclass(frozen=True, slots=True)
class Pong:
    """The host's answer, with the same numbers of its own."""

    session: bytes
    sent: int
    heard: int


@dataclass(frozen=True, slots=True)
class Resend:
    """Frames from number `first` on are missing."""

    session: bytes
    first: int


Control: TypeAlias = Knock | Challenge | Hello | Welcome | Rejected | Ping | Pong | Resend
"""Travels outside the numbered frames: handshake, heartbeats, and what mends gaps."""

Envelope: TypeAlias = Call | Reply | Parcel | Acknowledgement | Listen | Notice | Control
