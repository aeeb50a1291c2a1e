"""Which gateways a host gives notice of what (docs/decisions/0012).

Invariants:
- Nothing here is stored, and nothing is promised but this: a gateway that listens for a topic hears of every change
  that becomes durable while its session lasts. With the session ends what it listens for; it says so again in the next.
- Whoever begins to listen for a topic is told of it once, at once, so that what changed before is read then.
- No gateway makes a host remember more than `topics_per_link_max` topics.

Runs on the host's loop thread only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import structlog

from bus.envelope import Listen, Notice
from bus.limits import identifier_characters_max, topics_per_link_max
from bus.link import Peer

_log = structlog.get_logger("host")
_TOPIC_CHARACTERS_MAX = 2 * identifier_characters_max


class Listening:
    """`send` gives an envelope to a peer."""

    def __init__(self, send: Callable[[Peer, Notice], None]) -> None:
        self._send = send
        self._peers: dict[int, tuple[Peer, set[str]]] = {}
        """By the peer's identity: each session of a gateway is a Peer of its own."""
        self._by_topic: dict[str, dict[int, Peer]] = {}

    def heard(self, peer: Peer, listen: Listen) -> None:
        """A gateway says what it listens for from now on, beside what it said before."""
        _, topics = self._peers.setdefault(id(peer), (peer, set()))
        for topic in listen.dropped:
            self._drop(peer, topics, topic)
        for topic in listen.added:
            if len(topics) >= topics_per_link_max or len(topic) > _TOPIC_CHARACTERS_MAX:
                _log.error("topic_refused", link=peer.name, topics=len(topics))
                continue
            topics.add(topic)
            self._by_topic.setdefault(topic, {})[id(peer)] = peer
            self._send(peer, Notice(topic, {}))
        if not topics:
            del self._peers[id(peer)]

    def tell(self, notices: Iterable[Notice]) -> None:
        """What has become durable."""
        for notice in notices:
            for peer in [*self._by_topic.get(notice.topic, {}).values()]:
                if peer.is_gone:
                    self._forget(peer)
                else:
                    self._send(peer, notice)

    def forget_gone(self) -> None:
        """Of sessions that are over nothing is kept; called now and then."""
        for peer, _ in [*self._peers.values()]:
            if peer.is_gone:
                self._forget(peer)

    @property
    def topics(self) -> int:
        """How many are listened for."""
        return len(self._by_topic)

    def _forget(self, peer: Peer) -> None:
        _, topics = self._peers.pop(id(peer), (peer, set()))
        for topic in [*topics]:
            self._drop(peer, topics, topic)

    def _drop(self, peer: Peer, topics: set[str], topic: str) -> None:
        topics.discard(topic)
        listeners = self._by_topic.get(topic, {})
        listeners.pop(id(peer), None)
        if not listeners:
            self._by_topic.pop(topic, None)
