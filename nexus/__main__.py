"""`nexus` and `python -m nexus`."""

from __future__ import annotations

import sys

from nexus.cli import build_app
from nexus.command import run_command


def main() -> None:
    """Run the command line."""
    sys.exit(run_command(build_app(), "nexus", sys.argv[1:]))


if __name__ == "__main__":
    main()
