"""Installs and bundles the editor that judges scenes, once: `python -m tests.browser.editor_bundle`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tests.support.npm_folder import NpmFolder

BUNDLE: Final = NpmFolder(
    Path(__file__).resolve().parent / "page", "editor-judge", "The Excalidraw editor", builds=True
)
EDITORS: Final = ("release", "next")
"""Folders under `built`: the published release, and main as it was last published with all of its parts."""


def built(editor: str) -> Path:
    """The folder that the page of this editor is served from."""
    return BUNDLE.folder / "built" / editor


if __name__ == "__main__":
    sys.exit(BUNDLE.main(sys.argv[1:]))
