"""`nexus` and `python -m nexus`."""

from __future__ import annotations

from nexus.cli import build_app


def main() -> None:
    """Run the command line."""
    build_app()()


if __name__ == "__main__":
    main()
