"""Leases that end within seconds of a simulated run: what a run costs is its simulated time, since links ping."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final
from unittest.mock import patch

from actors.mailbox import due, leasing

LEASE_MS: Final = 2_000
LEASE_LATE_MS: Final = 700


@contextmanager
def short_leases() -> Iterator[None]:
    """As bus.limits has them, in the same proportions but shorter."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(due, "lease_ms", LEASE_MS))
        stack.enter_context(patch.object(leasing, "lease_ms", LEASE_MS))
        stack.enter_context(patch.object(due, "lease_late_ms", LEASE_LATE_MS))
        yield
