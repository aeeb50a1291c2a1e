"""The browser bundle as it was built when NEXUS was installed (nexus/console/build_hook.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

BUILT: Final = Path(__file__).resolve().parent / "built"
_HOW_TO_BUILD: Final = (
    "Where NEXUS was installed from, `make bundle` builds it and needs an npm registry for that, once; "
    "or install NEXUS from a wheel that holds it."
)


class BundleMissing(Exception):
    """NEXUS was installed without its browser bundle. The text says in sentences why and what to do."""


def bundle_folder(built: Path = BUILT) -> Path:
    """Where the pages, scripts and fonts lie. Raises BundleMissing."""
    if (built / "built-from").is_file():
        return built
    why = ""
    try:
        why = (built / "why-missing").read_text().partition("\n")[0]
    except (OSError, UnicodeDecodeError):
        why = "It was never built."
    raise BundleMissing(f"The browser bundle, which holds Excalidraw, is missing. {why} {_HOW_TO_BUILD}")
