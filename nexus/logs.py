"""Logs of NEXUS' own processes: one JSON object a line on standard error, which the supervisor keeps in `logs/`.

Secrets never get here: tokens ride only in headers and are hashed at once, keys are in no object that is logged.
"""

from __future__ import annotations

import logging
import sys

import structlog


def configure_logs() -> None:
    """For the whole process, once, at its entry."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
