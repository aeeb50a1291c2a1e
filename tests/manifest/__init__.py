"""What the contract promises, rule by rule, split by contract file. tests/test_manifest.py ties each to tests.

A test holds a rule by naming it in its docstring ("common 5.3", "canvas 3.2", "mesh 4.1", "security 19"). `NOT_BUILT`
lists what no test can hold yet; it only ever shrinks (its size is asserted), and a rule in it that a test names fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.manifest import canvas, common, mesh, security

RULES: Final[Mapping[str, str]] = {**common.RULES, **canvas.RULES, **mesh.RULES, **security.RULES}
NOT_BUILT: Final[frozenset[str]] = common.NOT_BUILT | canvas.NOT_BUILT | mesh.NOT_BUILT | security.NOT_BUILT

CODES_NOT_BUILT: Final[frozenset[str]] = frozenset(
    {
        "capability_disabled",
        "blocked_by_autonomy",
        "approval_required",
        "approval_denied",
        "approval_lapsed",
        "plan_stopped",
        "budget_exhausted",
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
        "idempotency_mismatch",
        "knowledge_disabled",
        "cloud_managed",
        "last_workspace",
    }
)
"""Refusal codes that nothing can answer yet."""
