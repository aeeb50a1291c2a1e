"""The canvas owner's rules (contract canvas.md). Pure: no input, output, time or randomness of their own.

A write's journey is write.py; the rules it calls are create, update, move and remove; draft.py turns what they did
into rows. `RULES` is in owner.py.
"""

from actors.canvas.owner import RULES

__all__ = ["RULES"]
