"""Installs the judges of the protocol that are npm packages, once: `python -m tests.interop.node_judges`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tests.support.npm_folder import NpmFolder

JUDGES: Final = NpmFolder(Path(__file__).resolve().parent / "node", "node-judges", "The judges of the protocol")


if __name__ == "__main__":
    sys.exit(JUDGES.main(sys.argv[1:]))
