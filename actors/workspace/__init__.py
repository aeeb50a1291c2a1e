"""A workspace's owner: its name and look, its channels, and the index of its canvases with who has which role on them.

The canvas itself is the authority on its roles; this index is what lists are made from, kept by messages of the canvas
owners. Nothing here limits canvases: by the time the index hears of one it exists. `RULES` is in owner.py.
"""

from actors.workspace.owner import RULES

__all__ = ["RULES"]
