"""`nexus` and `python -m nexus`."""

from __future__ import annotations

import sys
from typing import Final

_SHIM: Final = ["mcp"]


def main() -> None:
    """Run the command line. `nexus mcp` is looked at first: what the others import takes a client a second."""
    if sys.argv[1:2] == _SHIM:
        from nexus.shim.command import run

        sys.exit(run(sys.argv[2:]))
    from nexus.cli import build_app
    from nexus.command import run_command

    sys.exit(run_command(build_app(*sys.argv[1:2]), "nexus", sys.argv[1:]))


if __name__ == "__main__":
    main()
