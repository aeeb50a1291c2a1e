"""What the contract promises, rule by rule, split by contract file. tests/test_manifest.py ties each to tests.

A test holds a rule by naming it in its docstring ("common 5.3", "canvas 3.2", "mesh 4.1", "security 2.19").
`NOT_BUILT` lists what no test can hold yet, `PARTLY_BUILT` what tests hold in part, with what is missing. Both only
ever shrink: their size is asserted, and a rule in the first that a test names fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.manifest import canvas, every_tool, mesh, security

RULES: Final[Mapping[str, str]] = {**every_tool.RULES, **canvas.RULES, **mesh.RULES, **security.RULES}
NOT_BUILT: Final[frozenset[str]] = every_tool.NOT_BUILT | canvas.NOT_BUILT | mesh.NOT_BUILT | security.NOT_BUILT
PARTLY_BUILT: Final[Mapping[str, str]] = {
    **every_tool.PARTLY_BUILT,
    **canvas.PARTLY_BUILT,
    **mesh.PARTLY_BUILT,
    **security.PARTLY_BUILT,
}

CODES_NOT_BUILT: Final[frozenset[str]] = frozenset(
    {
        "role_required",
        "lease_required",
        "lease_held",
        "page_owned_by_person",
        "origin_changed",
        "scheme_refused",
        "target_refused",
        "stale_reference",
        "secret_detected",
        "pinned",
        "version_conflict",
        "knowledge_disabled",
    }
)
"""Refusal codes that nothing can answer yet."""
