"""What the commands' exit codes mean."""

from __future__ import annotations

from typing import Final

OK: Final = 0
REFUSED: Final = 1
USAGE: Final = 2
NOT_RUNNING: Final = 3
ALREADY_RUNNING: Final = 4
HOME_REFUSED: Final = 5
