"""Stand-in until the real configuration is merged: where the home is."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


class HomeRefused(Exception):
    """The home cannot be used."""


class HomeMissing(HomeRefused):
    """There is no home there yet."""


@dataclass(frozen=True, slots=True)
class Home:
    path: Path

    @property
    def run(self) -> Path:
        return self.path / "run"


def resolve_home(given: Path | None) -> Home:
    return Home(given or Path(os.environ.get("NEXUS_HOME", "") or Path.home() / ".nexus"))
