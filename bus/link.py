"""Links between processes: a wire whose ends have proved that they belong to this home (ARCHITECTURE, Processes).

The handshake, client | host:

    Knock ->  |  <- Challenge(nonce)
    Hello(class, name, incarnation, own nonce, proof over all of it and the challenge) ->
              |  <- Welcome(shard, incarnation, proof over the client's nonce), or Rejected

A host answers anything else from a peer that it does not know with a Challenge, so a client whose host was restarted
finds out at its next heartbeat and introduces itself again; each handshake begins a new session (bus/session.py), named
by the client's nonce. Silence for `link_silence_ms_max` closes a link at either end. Proofs are keyed digests with the
home's key.

Everything here runs on the event loop's thread.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Final

import structlog

from bus.clock import Clock
from bus.codec import Undecodable, pack
from bus.envelope import (
    Challenge,
    Envelope,
    Hello,
    Knock,
    LinkClass,
    Ping,
    Pong,
    Rejected,
    Resend,
    Welcome,
)
from bus.limits import link_heartbeat_ms, link_silence_ms_max
from bus.session import SESSION_BYTES, Session, control_frame, read_frame
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


def _welcome_proof(key: bytes, nonce: bytes, welcome: Welcome) -> bytes:
    return _proof(key, "welcome", nonce, welcome.shard, welcome.incarnation, welcome.now_ms)


@dataclass(slots=True)
class Peer:
    """A client that proved who it is."""

    route: bytes
    link_class: LinkClass
    name: str
    incarnation: str
    session: Session
    heard_ms: int
    nonce: bytes
    """Of its HELLO."""
    welcome: bytes
    """The frame that answered its HELLO, to be sent again if that is asked again."""
    is_gone: bool = False
    """Nothing reaches it any more: it was silent, or has begun a new session, which is another Peer."""


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
        peer.session.add(envelope)

    def peers(self, link_class: LinkClass) -> list[Peer]:
        return [peer for peer in self._peers.values() if peer.link_class is link_class]

    def close(self) -> None:
        self._timer.cancel()
        for peer in self._peers.values():
            peer.session.flush()
        self._listener.close()

    def _frame(self, route: bytes, frame: bytes) -> None:
        peer = self._peers.get(route)
        try:
            read = read_frame(frame)
            envelopes = read if isinstance(read, list) else peer.session.take(read) if peer is not None else ()
        except Undecodable:
            # Its number is taken: going on would pass over what it held. A new session brings that again.
            _log.error("frame_refused", shard=self._shard, bytes=len(frame))
            self._forget(route)
            return
        if peer is None and not isinstance(read, list):
            self._challenge(route)
        for envelope in envelopes:
            self._envelope(route, envelope, is_control=isinstance(read, list))

    def _envelope(self, route: bytes, envelope: Envelope, is_control: bool) -> None:
        peer = self._peers.get(route)
        match envelope:
            case Knock() if is_control:
                self._challenge(route)
            case Hello() if is_control:
                self._introduce(route, envelope)
            case _ if peer is None:
                self._challenge(route)
            case Ping(session, sent, heard) if session != peer.session.id:
                self._challenge(route)
            case Ping(session, sent, heard):
                peer.heard_ms = self._clock.now_ms()
                peer.session.heartbeat(session, sent, heard)
                mine = peer.session
                self._listener.send(route, control_frame(Pong(mine.id, mine.sent, mine.heard)))
            case Resend(session, first):
                peer.session.resend(session, first)
            case _ if not is_control:
                peer.heard_ms = self._clock.now_ms()
                self._received(peer, envelope)

    def _challenge(self, route: bytes) -> None:
        nonce = self._challenges.get(route) or self._nonce()
        self._challenges[route] = nonce
        if len(self._challenges) > _STRANGERS_MAX:
            self._challenges.popitem(last=False)
        self._listener.send(route, control_frame(Challenge(nonce)))

    def _introduce(self, route: bytes, hello: Hello) -> None:
        peer = self._peers.get(route)
        if peer is not None and peer.nonce == hello.nonce:
            self._listener.send(route, peer.welcome)  # its HELLO came twice, or the answer was lost
            return
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
        session = Session(
            hello.nonce[:SESSION_BYTES],
            self._scheduler,
            lambda frame: self._listener.send(route, frame),
            over=lambda: self._over(route, hello.nonce),
        )
        unsigned = Welcome(self._shard, self._incarnation, self._clock.now_ms(), b"")
        welcome = control_frame(replace(unsigned, proof=_welcome_proof(self._key, hello.nonce, unsigned)))
        self._forget(route)
        self._peers[route] = Peer(
            route, hello.link_class, hello.name, hello.incarnation, session, self._clock.now_ms(), hello.nonce, welcome
        )
        self._listener.send(route, welcome)

    def _forget(self, route: bytes) -> None:
        """The next thing that the client sends is answered with a Challenge."""
        peer = self._peers.pop(route, None)
        if peer is not None:
            peer.is_gone = True

    def _over(self, route: bytes, nonce: bytes) -> None:
        """A session was given up; a newer one of the same peer is not its affair."""
        peer = self._peers.get(route)
        if peer is not None and peer.nonce == nonce:
            self._forget(route)

    def _reject(self, route: bytes, reason: str) -> None:
        _log.warning("hello_rejected", shard=self._shard, reason=reason)
        self._listener.send(route, control_frame(Rejected(reason)))

    def _forget_silent(self) -> None:
        oldest = self._clock.now_ms() - link_silence_ms_max
        for route in [route for route, peer in self._peers.items() if peer.heard_ms < oldest]:
            self._forget(route)
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
        self._answered_challenge = b""
        self._hello = b""
        self._heard_ms = clock.now_ms()
        self._connection = wire.connect(path, self._frame)
        self._session = self._new_session(b"")
        self._timer: Timer = scheduler.call_later(0, self._beat)

    @property
    def is_open(self) -> bool:
        return self._state is LinkState.OPEN

    def send(self, envelope: Envelope) -> bool:
        """False, and nothing sent, while the link is not open. Raises Unencodable."""
        if self._state is not LinkState.OPEN:
            return False
        self._session.add(envelope)
        return True

    def close(self) -> None:
        self._timer.cancel()
        self._session.flush()
        self._connection.close()

    def _new_session(self, session: bytes) -> Session:
        return Session(session, self._scheduler, self._connection.send, over=self._start_over)

    def _start_over(self) -> None:
        self._state = LinkState.KNOCKING
        self._answered_challenge = b""

    def _beat(self) -> None:
        if self._state is LinkState.OPEN and self._clock.now_ms() - self._heard_ms > link_silence_ms_max:
            self._start_over()
        mine = self._session
        is_open = self._state is LinkState.OPEN
        self._connection.send(control_frame(Ping(mine.id, mine.sent, mine.heard) if is_open else Knock()))
        self._timer = self._scheduler.call_later(link_heartbeat_ms / 1000, self._beat)

    def _frame(self, frame: bytes) -> None:
        self._heard_ms = self._clock.now_ms()
        try:
            read = read_frame(frame)
            if isinstance(read, list):
                for envelope in read:
                    self._control(envelope)
            elif self._state is LinkState.OPEN:
                for envelope in self._session.take(read):
                    self._received(envelope)
        except Undecodable:
            _log.error("frame_refused", bytes=len(frame))
            self._start_over()

    def _control(self, envelope: Envelope) -> None:
        match envelope:
            case Pong(session, sent, heard):
                self._session.heartbeat(session, sent, heard)
            case Resend(session, first):
                self._session.resend(session, first)
            case Challenge() | Welcome() | Rejected():
                following = TRANSITIONS.get((self._state, type(envelope)))
                if following is not None:
                    self._shake(envelope, following)
            case _:
                _log.warning("envelope_ignored", kind=type(envelope).__name__)

    def _shake(self, envelope: Challenge | Welcome | Rejected, following: LinkState) -> None:
        match envelope:
            case Challenge(nonce) if nonce == self._answered_challenge:
                if self._state is not LinkState.OPEN:  # else it is an old one that comes again: the link is open by it
                    self._state = following  # a late Rejected of an older HELLO may have come between
                    self._connection.send(self._hello)
            case Challenge(nonce):
                self._state = following
                self._prove(nonce)
            case Welcome(_, _, now_ms, proof):
                if hmac.compare_digest(proof, _welcome_proof(self._identity.key, self._nonce, envelope)):
                    self._clock.not_before(now_ms)
                    self._state = following
                    self._session = self._new_session(self._nonce[:SESSION_BYTES])
                    self._welcomed(envelope)
            case Rejected(reason):
                self._state = following
                _log.error("link_rejected", reason=reason)

    def _prove(self, challenge: bytes) -> None:
        self._nonce = self._make_nonce()
        me = self._identity
        unsigned = Hello(me.link_class, me.name, PROTOCOL, me.incarnation, self._nonce, b"")
        proof = _hello_proof(me.key, challenge, unsigned)
        hello = Hello(me.link_class, me.name, PROTOCOL, me.incarnation, self._nonce, proof)
        self._answered_challenge = challenge
        self._hello = control_frame(hello)
        self._connection.send(self._hello)
