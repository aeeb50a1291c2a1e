"""Lines of the client by their length: what is sent on, and what is answered here (common 2.5)."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from bus.limits import request_body_bytes_max
from tests.shim.test_shim import echo
from tests.support.scripted_mcp import scripted_mcp, shim_on

LONG = "x" * (request_body_bytes_max + 10)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ({"id": 7, "method": "tools/call", "params": {"name": "t", "arguments": {"text": LONG}}}, 7),
        ({"method": "tools/call", "params": {"id": 1, "text": LONG}, "id": "after"}, "after"),
        ({"id": 1, "method": LONG}, 1),
        ({"method": "notifications/x", "params": {"id": 1, "text": LONG}}, None),
        ({"id": 1, "result": {"text": LONG}}, None),
    ],
)
def test_a_line_longer_than_any_message_is_refused_under_its_id_and_the_next_is_served(
    message: dict[str, Any], told: object
) -> None:
    """common 2.5: the bound of a body is the shim's, whichever member comes first."""
    with scripted_mcp(echo) as server, shim_on(server.path) as client:
        long = json.dumps({"jsonrpc": "2.0", **message}).encode()
        threading.Thread(target=client.send_line, args=(long,), daemon=True).start()
        refused = client.next()
        assert refused["id"] == told and refused["error"]["code"] == -32600
        error = refused["error"]["data"]["error"]
        assert (error["code"], error["retryable"], error["limit"]) == ("too_large", False, request_body_bytes_max)
        assert client.ask("ping", id=2)["result"] == {"method": "ping"}
        assert [seen.method for seen in server.seen] == ["ping"]


def test_a_line_as_long_as_a_message_may_be_is_sent() -> None:
    """common 2.5"""
    with scripted_mcp(echo) as server, shim_on(server.path) as client:
        head, tail = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"', b'"}}'
        line = head + b"x" * (request_body_bytes_max - len(head) - len(tail)) + tail
        threading.Thread(target=client.send_line, args=(b"  " + line + b" ",), daemon=True).start()
        assert client.next()["result"] == {"method": "ping"}
        assert [seen.raw for seen in server.seen] == [line]
