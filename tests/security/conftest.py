"""The one real NEXUS that tests of attacks share with the tests of processes."""

from __future__ import annotations

from tests.processes.conftest import running as running
