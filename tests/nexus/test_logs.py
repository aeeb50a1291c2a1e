"""What logs hold (security 2.9)."""

from __future__ import annotations

import json
import logging

import pytest
import structlog

from nexus.logs import WithoutTokens, configure_logs, without_tokens
from tests.tools.test_secrets import CREDENTIALS

TOKEN = CREDENTIALS[0][1]
CODE = CREDENTIALS[2][1]


def test_no_event_string_holds_a_token_or_a_login_code(capfd: pytest.CaptureFixture[str]) -> None:
    """security 2.9"""
    defaults = structlog.get_config()
    try:
        configure_logs()
        try:
            raise ValueError(f"bad header: Bearer {TOKEN}")
        except ValueError:
            structlog.get_logger().exception(
                f"it failed with {CODE}", header=[{"Authorization": f"Bearer {TOKEN}"}], seen=(TOKEN,), number=7
            )
    finally:
        structlog.configure(**defaults)
    line = json.loads(capfd.readouterr().err.splitlines()[-1])
    assert (line["event"], line["number"]) == ("it failed with [redacted]", 7)
    assert line["header"] == [{"Authorization": "Bearer [redacted: nexus-token]"}]
    assert line["seen"] == ["[redacted: nexus-token]"]
    assert "ValueError: bad header: Bearer [redacted: nexus-token]" in line["exception"]


def test_an_object_is_logged_by_its_text_without_a_token() -> None:
    """security 2.9"""

    class Holder:
        def __repr__(self) -> str:
            return f"<holder of {TOKEN}>"

    event = without_tokens(None, "info", {"event": "x", TOKEN: Holder(), "count": 1.5, "is_so": True, "none": None})
    assert event["count"] == 1.5 and event["is_so"] is True and event["none"] is None
    assert "<holder of [redacted: nexus-token]>" in event.values()


def test_what_libraries_log_holds_no_token() -> None:
    """security 2.9"""
    record = logging.LogRecord("uvicorn", logging.ERROR, "", 0, "for %s", (TOKEN,), None)
    assert WithoutTokens(logging.BASIC_FORMAT).format(record) == "ERROR:uvicorn:for [redacted: nexus-token]"
