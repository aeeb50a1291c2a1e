"""What holds for every test."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes depends on what else the machine does; no test is judged by time.
settings.register_profile("nexus", deadline=None)
settings.load_profile("nexus")
