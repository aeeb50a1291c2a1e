"""Where NEXUS' sockets are: the home as nexus/config.py finds it, without what that module imports.

tests/shim/test_place.py holds that both say the same. Nothing is judged here: whether a socket is the right one is
told by its peer.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Place:
    """`home` is where the home is or would be; `socket` is one agents' socket that is meant, wherever it is."""

    home: Path
    socket: Path | None = None

    def agents_socket(self) -> Path:
        return self.socket if self.socket is not None else self._run() / "mcp.sock"

    def person_socket(self) -> Path:
        return self._run() / "person.sock"

    def _run(self) -> Path:
        run = self.home / "run"
        try:
            elsewhere = Path(os.fsdecode((run / "elsewhere").read_bytes()))
        except (OSError, ValueError):
            return run
        return elsewhere if elsewhere.is_absolute() else run


def home_of(given: str | None, environment: Mapping[str, str]) -> Path:
    """`--home`, else NEXUS_HOME, else the platform's data folder; absolute. Raises ValueError for an unknown user."""
    chosen = given or environment.get("NEXUS_HOME") or _data_folder(environment)
    try:
        return Path(os.path.abspath(Path(chosen).expanduser()))  # noqa: PTH100 - resolve() would hide a link
    except RuntimeError:
        raise ValueError(f"{chosen} names a user that is not known here. Choose another with --home.") from None


def _data_folder(environment: Mapping[str, str]) -> str:
    if sys.platform == "darwin":
        return "~/Library/Application Support/nexus"
    folder = environment.get("XDG_DATA_HOME", "").strip()
    return f"{folder}/nexus" if folder else "~/.local/share/nexus"
