"""Logs of NEXUS' own processes: one JSON object a line on standard error, which the supervisor keeps in `logs/`.

Secrets should never get here: tokens ride only in headers and are hashed at once, keys are in no object that is
logged. Should a defect bring a token or login code of NEXUS here all the same, it is replaced (security 2.9).
"""

from __future__ import annotations

import logging
import sys

import structlog
from structlog.typing import EventDict, WrappedLogger

from tools.redact import redacted
from tools.secret_rules import OWN_RULES


def configure_logs() -> None:
    """For the whole process, once, at its entry."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            without_tokens,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    of_libraries = logging.StreamHandler(sys.stderr)
    of_libraries.setFormatter(WithoutTokens(logging.BASIC_FORMAT))
    logging.basicConfig(level=logging.WARNING, handlers=[of_libraries])


def without_tokens(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """The last processor before the one that renders: what is left of an event is plain, and holds no token."""
    return {name: _plain(value) for name, value in event.items()}


class WithoutTokens(logging.Formatter):
    """For what libraries log."""

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record), OWN_RULES)


def _plain(value: object) -> object:
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return redacted(value, OWN_RULES)
        case list() | tuple():
            return [_plain(item) for item in value]
        case dict():
            return {redacted(str(name), OWN_RULES): _plain(item) for name, item in value.items()}
        case _:
            return redacted(repr(value), OWN_RULES)
