"""What holds for every test."""

from __future__ import annotations

import structlog
from hypothesis import settings

# How long an example takes depends on what else the machine does; no test is judged by time.
settings.register_profile("nexus", deadline=None)
settings.load_profile("nexus")

# Rich's tracebacks, with the values of every frame, cost most of a second each.
structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)
