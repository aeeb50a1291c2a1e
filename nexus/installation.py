"""How other programs run this installation's `nexus`: by an absolute path, since their PATH is their own."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def command() -> tuple[str, ...]:
    """The words that run `nexus`."""
    # Beside the interpreter as it was started: resolved, it would be the one that the environment was made with.
    beside = Path(sys.executable).with_name("nexus")
    if beside.is_file() and os.access(beside, os.X_OK):
        return (str(beside),)
    return (sys.executable, "-I", "-m", "nexus")
