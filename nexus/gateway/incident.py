"""A defect of ours: told to the log in full, to the client only by an id (common 6.3, 7.4)."""

from __future__ import annotations

from typing import Any

import structlog

from bus.clock import Clock
from tools.errors import Code, Refusal

logger = structlog.get_logger()


def incident(clock: Clock, event: str, **facts: Any) -> Refusal:
    """Log `event` with `facts`, and with the exception being handled if there is one; answer what a client may know."""
    incident_id = clock.new_id()
    logger.error(event, incident_id=incident_id, exc_info=True, **facts)
    return Refusal(
        Code.INTERNAL,
        "Something went wrong inside NEXUS. Repeating the call will not help; tell the person the incident id.",
        details={"incidentId": incident_id},
    )
