"""Links between processes: a wire whose ends have proved that they belong to this home (ARCHITECTURE, Processes).

The handshake, client | host:

    Knock ->  |  <- Challenge(nonce)
    Hello(class, name, incarnation, own nonce, proof over all of it and the challenge) ->
              |  <- Welcome(shard, incarnation, proof over the client's nonce), or Rejected

A host answers anything else from a peer that it does not know with a Challenge, so a client whose host was restarted
finds out at its next heartbeat and introduces itself again. Silence for `link_silence_ms_max` closes a link at either
end. All envelopes of one loop turn to one peer leave as one frame. Proofs are keyed digests with the home's key.

Everything here runs on the event loop's thread.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final

import structlog

from bus.clock import Clock
from bus.codec import Undecodable, decode_frame, encode_envelope, encode_frame, join_frame, pack
from bus.envelope import (
    Challenge,
    Envelope,
    Hello,
    Knock,
    LinkClass,
    Ping,
    Pong,
    Rejected,
    Welcome,
)
from bus.limits import link_heartbeat_ms, link_silence_ms_max
from bus.value import Value
from bus.wire import Scheduler, Timer, Wire

PROTOCOL: Final = 1
_STRANGERS_MAX: Final = 1_024
_log = structlog.get_logger("link")


def _proof(key: bytes, *parts: Value) -> bytes:
    return hashlib.blake2b(pack(list(parts)), key=key, digest_size=32).digest()


def _hello_proof(key: bytes, challenge: bytes, hello: Hello) -> bytes:
    return _proof(
        key, "hello", challenge, hello.link_class.value, hello.name, hello.protocol, hello.incarnation, hello.nonce
    )


def _welcome_proof(key: bytes, nonce: bytes, shard: int, incarnation: str) -> bytes:
    return _proof(key, "welcome", nonce, shard, incarnation)


class Outbound:
    """Gathers the envelopes of one loop turn into one frame."""

    def __init__(self, scheduler: Scheduler, send: Callable[[bytes], bool]) -> None:
        self._scheduler = scheduler
        self._send = send
        self._gathered: list[bytes] = []

    def add(self, envelope: Envelope) -> None:
        """Raises Unencodable, at once and for this envelope alone."""
        self._gathered.append(encode_envelope(envelope))
        if len(self._gathered) == 1:
            self._scheduler.call_soon(self.flush)

    def flush(self) -> None:
        gathered, self._gathered = self._gathered, []
        if gathered:
            self._send(join_frame(gathered))


@dataclass(slots=True)
class Peer:
    """A client that proved who it is."""

    route: bytes
    link_class: LinkClass
    name: str
    incarnation: str
    outbound: Outbound
    heard_ms: int


class LinkServer:
    """A host's end. `received(peer, envelope)` hears what known peers send besides the handshake and heartbeats."""

    def __init__(
        self,
        wire: Wire,
        path: Path,
        *,
        key: bytes,
        shard: int,
        incarnation: str,
        clock: Clock,
        scheduler: Scheduler,
        nonce: Callable[[], bytes],
        received: Callable[[Peer, Envelope], None],
    ) -> None:
        self._key = key
        self._shard = shard
        self._incarnation = incarnation
        self._clock = clock
        self._scheduler = scheduler
        self._nonce = nonce
        self._received = received
        self._challenges: OrderedDict[bytes, bytes] = OrderedDict()
        self._peers: dict[bytes, Peer] = {}
        self._listener = wire.listen(path, self._frame)
        self._timer: Timer = scheduler.call_later(link_silence_ms_max / 1000, self._forget_silent)

    def send(self, peer: Peer, envelope: Envelope) -> None:
        """To a peer that may be gone by now: then the envelope is dropped and the client asks again by id.

        Raises Unencodable.
        """
        peer.outbound.add(envelope)

    def peers(self, link_class: LinkClass) -> list[Peer]:
        return [peer for peer in self._peers.values() if peer.link_class is link_class]

    def close(self) -> None:
        self._timer.cancel()
        for peer in self._peers.values():
            peer.outbound.flush()
        self._listener.close()

    def _frame(self, route: bytes, frame: bytes) -> None:
        try:
            envelopes = decode_frame(frame)
        except Undecodable:
            _log.warning("frame_refused", shard=self._shard, bytes=len(frame))
            return
        for envelope in envelopes:
            self._envelope(route, envelope)

    def _envelope(self, route: bytes, envelope: Envelope) -> None:
        peer = self._peers.get(route)
        match envelope:
            case Knock():
                self._challenge(route)
            case Hello():
                self._introduce(route, envelope)
            case _ if peer is None:
                self._challenge(route)
            case Ping():
                peer.heard_ms = self._clock.now_ms()
                peer.outbound.add(Pong())
            case _:
                peer.heard_ms = self._clock.now_ms()
                self._received(peer, envelope)

    def _challenge(self, route: bytes) -> None:
        nonce = self._challenges.get(route) or self._nonce()
        self._challenges[route] = nonce
        if len(self._challenges) > _STRANGERS_MAX:
            self._challenges.popitem(last=False)
        self._listener.send(route, encode_frame([Challenge(nonce)]))

    def _introduce(self, route: bytes, hello: Hello) -> None:
        challenge = self._challenges.pop(route, None)
        if challenge is None:
            self._challenge(route)
            return
        if not hmac.compare_digest(hello.proof, _hello_proof(self._key, challenge, hello)):
            self._reject(route, "the proof does not match this home's key")
            return
        if hello.protocol != PROTOCOL:
            self._reject(route, "the other process speaks another protocol version")
            return
        outbound = Outbound(self._scheduler, lambda frame: self._listener.send(route, frame))
        peer = Peer(route, hello.link_class, hello.name, hello.incarnation, outbound, self._clock.now_ms())
        self._peers[route] = peer
        proof = _welcome_proof(self._key, hello.nonce, self._shard, self._incarnation)
        outbound.add(Welcome(self._shard, self._incarnation, proof))

    def _reject(self, route: bytes, reason: str) -> None:
        _log.warning("hello_rejected", shard=self._shard, reason=reason)
        self._listener.send(route, encode_frame([Rejected(reason)]))

    def _forget_silent(self) -> None:
        oldest = self._clock.now_ms() - link_silence_ms_max
        for route in [route for route, peer in self._peers.items() if peer.heard_ms < oldest]:
            del self._peers[route]
        self._timer = self._scheduler.call_later(link_silence_ms_max / 1000, self._forget_silent)


class LinkState(Enum):
    KNOCKING = "knocking"
    PROVING = "proving"
    OPEN = "open"


TRANSITIONS: Final[Mapping[tuple[LinkState, type[Envelope]], LinkState]] = {
    (LinkState.KNOCKING, Challenge): LinkState.PROVING,
    (LinkState.PROVING, Challenge): LinkState.PROVING,
    (LinkState.OPEN, Challenge): LinkState.PROVING,
    (LinkState.PROVING, Welcome): LinkState.OPEN,
    (LinkState.PROVING, Rejected): LinkState.KNOCKING,
}
"""The client's side of the handshake. What is absent is ignored: a late or foreign handshake envelope."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a client says of itself in its HELLO."""

    link_class: LinkClass
    name: str
    incarnation: str
    key: bytes = field(repr=False)


class LinkClient:
    """One process's end of its link to one shard host; keeps itself open until `close`."""

    def __init__(
        self,
        wire: Wire,
        path: Path,
        identity: Identity,
        *,
        clock: Clock,
        scheduler: Scheduler,
        nonce: Callable[[], bytes],
        received: Callable[[Envelope], None],
        welcomed: Callable[[Welcome], None],
    ) -> None:
        """`welcomed` is called whenever the link opens: what is still unanswered must be sent again then."""
        self._identity = identity
        self._clock = clock
        self._scheduler = scheduler
        self._make_nonce = nonce
        self._received = received
        self._welcomed = welcomed
        self._state = LinkState.KNOCKING
        self._nonce = b""
        self._heard_ms = clock.now_ms()
        self._connection = wire.connect(path, self._frame)
        self._outbound = Outbound(scheduler, self._connection.send)
        self._timer: Timer = scheduler.call_later(0, self._beat)

    @property
    def is_open(self) -> bool:
        return self._state is LinkState.OPEN

    def send(self, envelope: Envelope) -> bool:
        """False, and nothing sent, while the link is not open. Raises Unencodable."""
        if self._state is not LinkState.OPEN:
            return False
        self._outbound.add(envelope)
        return True

    def close(self) -> None:
        self._timer.cancel()
        self._connection.close()

    def _beat(self) -> None:
        if self._state is LinkState.OPEN and self._clock.now_ms() - self._heard_ms > link_silence_ms_max:
            self._state = LinkState.KNOCKING
        self._outbound.add(Ping() if self._state is LinkState.OPEN else Knock())
        self._timer = self._scheduler.call_later(link_heartbeat_ms / 1000, self._beat)

    def _frame(self, frame: bytes) -> None:
        try:
            envelopes = decode_frame(frame)
        except Undecodable:
            _log.warning("frame_refused", bytes=len(frame))
            return
        self._heard_ms = self._clock.now_ms()
        for envelope in envelopes:
            self._envelope(envelope)

    def _envelope(self, envelope: Envelope) -> None:
        match envelope:
            case Pong():
                return
            case Challenge() | Welcome() | Rejected():
                following = TRANSITIONS.get((self._state, type(envelope)))
                if following is not None:
                    self._shake(envelope, following)
            case _ if self._state is LinkState.OPEN:
                self._received(envelope)

    def _shake(self, envelope: Challenge | Welcome | Rejected, following: LinkState) -> None:
        match envelope:
            case Challenge(nonce):
                self._state = following
                self._prove(nonce)
            case Welcome(shard, incarnation, proof):
                if hmac.compare_digest(proof, _welcome_proof(self._identity.key, self._nonce, shard, incarnation)):
                    self._state = following
                    self._welcomed(envelope)
            case Rejected(reason):
                self._state = following
                _log.error("link_rejected", reason=reason)

    def _prove(self, challenge: bytes) -> None:
        self._nonce = self._make_nonce()
        me = self._identity
        unsigned = Hello(me.link_class, me.name, PROTOCOL, me.incarnation, self._nonce, b"")
        proof = _hello_proof(me.key, challenge, unsigned)
        self._outbound.add(Hello(me.link_class, me.name, PROTOCOL, me.incarnation, self._nonce, proof))
