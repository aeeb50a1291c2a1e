"""A NEXUS whose leases are short and nothing else is of a test: `python -I FILE`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

COMMAND: Final = (sys.executable, "-I", str(Path(__file__).resolve()))
LEASE_MS: Final = 2_000


def shorten_leases() -> None:
    """Before anything that reads their length is imported, but for the relations of limits: those are the product's."""
    import bus.limit_relations
    import bus.limits
    import bus.runtime_limits

    assert "actors" not in sys.modules, "somebody has read it already"
    bus.limits.lease_ms = LEASE_MS  # type: ignore[misc]


def main() -> None:
    role = sys.argv[1] if len(sys.argv) > 1 else ""
    if role == "shard":
        shorten_leases()
    if role in ("supervisor", "shard", "gateway"):
        from nexus.children import product_bodies, run

        sys.exit(run(sys.argv[1:], product_bodies, COMMAND))
    from nexus.cli import new_app
    from nexus.lifecycle_cli import register

    app = new_app()
    register(app, COMMAND)
    app()


if __name__ == "__main__":
    # Children import `tests` from beside this file's folder: -I leaves only what is installed on the path.
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    main()
