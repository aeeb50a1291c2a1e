"""The older era's stream of what the server says unasked: a GET for as long as the session lasts.

A server that has none answers 405, and the client is told nothing of that. What comes here is a hint (decision 0012,
Being told), so nothing is made up for while the stream is away.
"""

from __future__ import annotations

import http
import time

from bus.limits import shim_back_off_ms_first, shim_stream_back_off_ms_max
from nexus.shim.agents_socket import Broken, Cancellation, Cancelled, NotListening, Unreachable
from nexus.shim.carrier import Carrier
from nexus.shim.messages import one_line
from nexus.shim.session import SESSION_HEADER, NotRenewed
from nexus.shim.token import NoToken, NotYet


def follow_session(carrier: Carrier, cancellation: Cancellation) -> None:
    """Pass on what comes until cancelled, or until NEXUS says that nothing will come. Runs in a thread of its own."""
    pause_ms = shim_back_off_ms_first
    while True:
        try:
            if not _is_open_again(carrier, cancellation):
                return
            pause_ms = shim_back_off_ms_first
        except (NotListening, NotYet, Broken):
            pass  # it is being restarted
        except (Cancelled, Unreachable, NoToken, NotRenewed):
            return  # the next request tells the client
        try:
            cancellation.pause(pause_ms / 1_000)
        except Cancelled:
            return
        pause_ms = min(2 * pause_ms, shim_stream_back_off_ms_max)


def _is_open_again(carrier: Carrier, cancellation: Cancellation) -> bool:
    """One stream to its end; whether another may follow."""
    session = carrier.session.headers()
    shown_ns = time.monotonic_ns()
    token, authorization = carrier.authorization()
    headers = {"Accept": "text/event-stream", **authorization, **session}
    with carrier.socket.exchange("GET", None, headers, cancellation) as answer:
        if answer.status == http.HTTPStatus.OK and answer.is_stream:
            for event in answer.events():
                try:
                    carrier.write(one_line(event))
                except ValueError:
                    raise Broken(was_sent=True) from None
            return True
        status = answer.status
    if status == http.HTTPStatus.NOT_FOUND and SESSION_HEADER in session:
        carrier.renew_session(session[SESSION_HEADER], cancellation)
        return True
    if status == http.HTTPStatus.UNAUTHORIZED:  # a gateway that was started anew may know it in a moment
        return carrier.tokens.has_other_than(token, shown_ns)
    return status == http.HTTPStatus.SERVICE_UNAVAILABLE
