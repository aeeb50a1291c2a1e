"""One message of the client on its way to NEXUS and what comes back: the journey of the shim.

Try: token, headers, exchange; pass the answer on. Trouble in between is waited out within bounds (patience.py), and a
message that may be carried out twice is sent again; what remains is told to the client as a JSON-RPC error that says
what to do. Used by any thread; nothing here is kept between two messages but the session and the token.
"""

from __future__ import annotations

import http
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from nexus.shim.agents_socket import AgentsSocket, Answer, Broken, Cancellation, NotListening, Unreachable
from nexus.shim.messages import INITIALIZE, SUBSCRIBE, UNSUBSCRIBE, ClientMessage, Kind, one_line
from nexus.shim.patience import Patience
from nexus.shim.session import SESSION_HEADER, LegacySession, NotRenewed, Reply
from nexus.shim.token import NoToken, NotYet, TokenSource

_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
_HTTP: Final = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

_ABSENT: Final = "NEXUS is not running. Start it with `nexus up`, or let `nexus mcp --start` do it."
_AWAY: Final = "NEXUS is being restarted or was stopped. Try again; if that does not help, start it with `nexus up`."
_BROKEN_OFTEN: Final = "NEXUS broke the connection each time. Look at its state with `nexus doctor`."
_UNKNOWN: Final = "The connection to NEXUS broke, so this may or may not have happened. Look before you try again."
_GONE: Final = (
    "NEXUS does not accept this token (any more): it was revoked or replaced, or belongs to another home. Ask the "
    "person for a new one (`nexus agent credential add AGENT NAME`) and start this client again."
)
_NOT_RENEWED: Final = "NEXUS was restarted and did not take up this session again. Connect anew."


class Refused(Exception):
    """The message ends with a JSON-RPC error. `is_final`: and so will every other one; the shim ends."""

    def __init__(self, code: str, message: str, *, retryable: bool = False, is_final: bool = False) -> None:
        super().__init__(message)
        self.data: Mapping[str, object] = {"code": code, "retryable": retryable}
        self.is_final = is_final


class Starter(Protocol):
    """What starts NEXUS if the person asked for it."""

    def begin(self) -> bool:
        """Start NEXUS unless that is being done; whether it is on its way. Raises StartFailed."""
        ...


class StartFailed(Exception):
    """The text is for the person."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """`write` takes one line for the client, without its end, and never raises."""

    socket: AgentsSocket
    tokens: TokenSource
    session: LegacySession
    write: Callable[[bytes], None]
    starter: Starter | None = None

    def carry(self, message: ClientMessage, cancellation: Cancellation, answered: Callable[[], None]) -> None:
        """Until the message is answered or taken. Raises Refused or Cancelled. `answered` is called just before the
        answer is written: from then on the client may use the id again."""
        patience = Patience()
        attempt = _Attempt(self, message, cancellation, answered)
        while True:
            try:
                if attempt.is_done():
                    return
                if not patience.may_repeat():  # a session or a token that NEXUS gave and does not know
                    raise Refused("unavailable", _BROKEN_OFTEN, retryable=True)
            except Broken as broken:
                if broken.was_sent and message.kind is Kind.REQUEST and not message.is_repeatable:
                    raise Refused("outcome_unknown", _UNKNOWN) from broken
                if broken.was_sent and not patience.may_repeat():
                    raise Refused("unavailable", _BROKEN_OFTEN, retryable=True) from broken
                self.wait(patience, cancellation)
            except NotListening:
                self.wait(patience, cancellation, listens=False, is_starting=self.starting())
            except NotYet:
                self.wait(patience, cancellation)
            except Unreachable as reason:
                raise Refused("unavailable", str(reason)) from reason
            except NoToken as reason:
                raise Refused("unidentified_caller", str(reason), is_final=True) from reason
            except NotRenewed as reason:
                raise Refused("unavailable", _NOT_RENEWED) from reason

    def wait(
        self, patience: Patience, cancellation: Cancellation, *, listens: bool = True, is_starting: bool = False
    ) -> None:
        """Raises Refused when it has taken too long, and Cancelled."""
        is_expected = listens or self.socket.has_answered
        now_ms = time.monotonic_ns() // 1_000_000
        pause_ms = patience.pause_ms(now_ms, is_expected=is_expected, is_starting=is_starting)
        if pause_ms is None:
            raise Refused("unavailable", _AWAY if is_expected else _ABSENT, retryable=True)
        cancellation.pause(pause_ms / 1_000)

    def starting(self) -> bool:
        """Whether NEXUS is on its way because this shim was asked to start it. Raises Refused."""
        if self.starter is None:
            return False
        try:
            return self.starter.begin()
        except StartFailed as failed:
            raise Refused("unavailable", str(failed), retryable=True) from failed

    def authorization(self) -> tuple[str, dict[str, str]]:
        """The token and the header that holds it. Raises NoToken or NotYet."""
        token = self.tokens.current()
        return token, {"Authorization": f"Bearer {token}"}

    def renew_session(self, forgotten: str, cancellation: Cancellation) -> None:
        """Raises NotRenewed and whatever a single exchange raises."""

        def post(body: bytes, headers: Mapping[str, str]) -> Reply:
            sent = {**_HTTP, **self.authorization()[1], **headers}
            with self.socket.exchange("POST", body, sent, cancellation) as answer:
                return Reply(answer.status, answer.header(SESSION_HEADER), answer.body())

        self.session.renew(forgotten, post)


@dataclass(slots=True)
class _Attempt:
    """The tries of one message."""

    carrier: Carrier
    message: ClientMessage
    cancellation: Cancellation
    answered: Callable[[], None]
    was_acknowledged: bool = False
    """A subscription that is opened again after a restart was acknowledged to the client before."""

    def is_done(self) -> bool:
        """One try; False asks for another at once. Raises what the exchange raises, and Refused."""
        carrier, message = self.carrier, self.message
        shown_ns = time.monotonic_ns()
        token, authorization = carrier.authorization()
        in_session = not message.is_modern and message.method != INITIALIZE
        session = carrier.session.headers() if in_session else {}
        headers = {**_HTTP, **authorization, **session, **message.headers()}
        with carrier.socket.exchange("POST", message.body, headers, self.cancellation) as answer:
            if answer.status == http.HTTPStatus.OK and message.kind is Kind.REQUEST:
                self._pass_on(answer)
                return True
            status, body = answer.status, answer.body()
        if status == http.HTTPStatus.UNAUTHORIZED:
            if carrier.tokens.has_other_than(token, shown_ns):
                return False
            raise Refused("unidentified_caller", _GONE, is_final=True)
        return self._is_settled(status, body, session.get(SESSION_HEADER))

    def _pass_on(self, answer: Answer) -> None:
        if not answer.is_stream:
            body = answer.body()
            if self.message.method == INITIALIZE:
                self.carrier.session.began(self.message.body, answer.header(SESSION_HEADER), body)
            elif self.message.method in (SUBSCRIBE, UNSUBSCRIBE) and not self.message.is_modern:
                self._note_subscription(body)
            self._write(body, is_answer=True)
            return
        for event in answer.events():
            message = _parsed(event)
            if message.get("method") == _ACKNOWLEDGED:
                if self.was_acknowledged:
                    continue
                self.was_acknowledged = True
            is_answer = "method" not in message and message.get("id") == self.message.id
            if is_answer and self.message.method == INITIALIZE:
                self.carrier.session.began(self.message.body, answer.header(SESSION_HEADER), event)
            self._write(event, is_answer=is_answer)
            if is_answer:
                return
        raise Broken(was_sent=True)

    def _note_subscription(self, answer: bytes) -> None:
        """What was taken is asked for again in a session that takes this one's place."""
        params = _parsed(self.message.body).get("params")
        address = params.get("uri") if isinstance(params, dict) else None
        if isinstance(address, str) and "result" in _parsed(answer):
            is_kept = self.message.method == SUBSCRIBE
            self.carrier.session.subscribed(address, self.message.body if is_kept else None)

    def _write(self, text: bytes, *, is_answer: bool) -> None:
        try:
            line = one_line(text)
        except ValueError:
            raise Broken(was_sent=True) from None
        if not self.cancellation.is_cancelled:
            if is_answer:
                self.answered()
            self.carrier.write(line)

    def _is_settled(self, status: int, body: bytes, session: str | None) -> bool:
        """What a status means that is neither 200 nor 401: True when the client has its answer, False to try again."""
        match status:
            case http.HTTPStatus.NOT_FOUND if session is not None:
                self.carrier.renew_session(session, self.cancellation)
                return False
            case _ if self.message.kind is not Kind.REQUEST:
                if status == http.HTTPStatus.SERVICE_UNAVAILABLE:
                    raise Broken(was_sent=False)
                return True
        message = _parsed(body)
        if "error" in message:
            # A gateway that did not read as far as the id answers null; the client waits for its own.
            self._write(json.dumps({**message, "id": self.message.id}).encode(), is_answer=True)
            return True
        if status == http.HTTPStatus.SERVICE_UNAVAILABLE:
            raise Broken(was_sent=False)
        raise Refused("internal", f"NEXUS answered with the HTTP status {status}, which this client cannot use.")


def _parsed(text: bytes) -> Mapping[str, object]:
    try:
        message = json.loads(text)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}
