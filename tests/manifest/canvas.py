"""contract/canvas.md"""

from __future__ import annotations

RULES = {
    "canvas 1.1": "roles only by the person's grant; a creator is owner",
    "canvas 1.2": "what each role may do; no role sees nothing",
    "canvas 2": "the tools, their kinds, arguments and results",
    "canvas 3.1": "the four outcomes and what they carry",
    "canvas 3.2": "role, revision, elements, in this order; older is conflict, newer rejected",
    "canvas 3.3": "all or nothing; a write that changes nothing stays at its revision",
    "canvas 3.4": "proposals are approved under the disjoint rule, once",
    "canvas 3.5": "a refused call leaves everything as it was",
    "canvas 4.1": "stored elements are complete, versions rise, indexes are valid",
    "canvas 4.2": "bindings hold both ways through moving, deleting and restoring",
    "canvas 4.3": "labels fit; any script stays exact",
    "canvas 4.4": "unknown types and fields survive; links are inert unless web or mail",
    "canvas 4.5": "import and export with files, bounded",
    "canvas 4.6": "history of every revision, and revert",
    "canvas 5": "large canvases: no rewrite of the scene, listing loads none",
}

NOT_BUILT: frozenset[str] = frozenset()

PARTLY_BUILT = {
    "canvas 2": "visualize comes with memory",
}
