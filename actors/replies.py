"""Answers leave: to whoever waits for the call, or on with the call that rides on an admission (actors/onward.py).

Runs on the host's loop thread only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import structlog

from actors.callers import Callers, Waiter
from actors.onward import Admitted, Admitting, call_sent_on
from bus.codec import Unencodable
from bus.envelope import Call, Envelope, Reply
from bus.link import Peer
from tools.errors import Code, Refusal

_log = structlog.get_logger("host")

DEFECT: Final = Refusal(
    Code.INTERNAL, "NEXUS made a mistake in its answer. Report it to the person who runs NEXUS."
).to_record()


class Replies:
    """Of the host of one shard. `take(peer, waiter, call)` gives a call to its owner, as one from that link."""

    def __init__(self, shard: int, shards: int, callers: Callers, take: Callable[[Peer, Waiter, Call], None]) -> None:
        self._shard = shard
        self._shards = shards
        self._callers = callers
        self._take = take

    def attach(self, send: Callable[[Peer, Envelope], None]) -> None:
        self._send = send

    def leave(self, reply: Reply) -> None:
        """A call is answered. Never raises."""
        for waiter in self._callers.answered(reply.call_id):
            match waiter:
                case Admitting():
                    self._send_on(waiter, reply)
                case Admitted():
                    self._send_to(waiter.peer, waiter.told(reply))
                case _:
                    self._send_to(waiter, reply)

    def _send_on(self, waiter: Admitting, answer: Reply) -> None:
        call = call_sent_on(waiter.admission, answer)
        if call is None or call.to.shard(self._shards) != self._shard:
            self._send_to(waiter.peer, answer)
            return
        try:
            self._take(waiter.peer, Admitted(waiter.peer, answer), call)
        except Exception:  # noqa: BLE001 - a defect with one call must not take what leaves behind it along
            _log.exception("call_failed", owner=str(call.to), call=call.call_id)
            self.leave(Reply(call.call_id, None, DEFECT))

    def _send_to(self, peer: Peer, reply: Reply) -> None:
        try:
            self._send(peer, reply)
        except Unencodable:
            _log.exception("reply_unencodable", call=reply.call_id)
            self._send(peer, replace(reply, ok=None, error=DEFECT))
