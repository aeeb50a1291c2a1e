"""A session that takes the place of a lost one hears what the client had subscribed to (common 1.9)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from nexus.shim.session import LegacySession, Reply

INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize"}'
SUBSCRIBE = b'{"jsonrpc":"2.0","id":5,"method":"resources/subscribe","params":{"uri":"nexus://mailbox"}}'
ANSWER = json.dumps({"result": {"protocolVersion": "2025-11-25"}}).encode()


def renewed(session: LegacySession) -> list[tuple[bytes, str | None]]:
    """What is sent for a new session, and in which."""
    sent: list[tuple[bytes, str | None]] = []

    def post(body: bytes, headers: Mapping[str, str]) -> Reply:
        sent.append((body, {name.lower(): value for name, value in headers.items()}.get("mcp-session-id")))
        return Reply(200, "new", ANSWER)

    assert session.id is not None
    session.renew(session.id, post)
    return sent


def begun() -> LegacySession:
    session = LegacySession()
    session.began(INITIALIZE, "old", ANSWER)
    session.initialized()
    return session


def test_what_was_subscribed_to_is_subscribed_to_anew_after_the_handshake() -> None:
    session = begun()
    session.subscribed("nexus://mailbox", SUBSCRIBE)
    sent = renewed(session)
    assert sent[0][0] == INITIALIZE
    assert sent[-1] == (SUBSCRIBE, "new")
    assert len(sent) == 3


def test_what_was_given_up_is_not() -> None:
    session = begun()
    session.subscribed("nexus://mailbox", SUBSCRIBE)
    session.subscribed("nexus://mailbox", None)
    assert len(renewed(session)) == 2


def test_a_client_that_begins_anew_has_subscribed_to_nothing() -> None:
    session = begun()
    session.subscribed("nexus://mailbox", SUBSCRIBE)
    session.began(INITIALIZE, "other", ANSWER)
    assert SUBSCRIBE not in [body for body, _ in renewed(session)]
