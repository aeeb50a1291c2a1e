"""The closed enumeration of refusals (common 6.3) and how one is carried.

By blame: most codes are the caller's to mend; `unavailable` is ours and worth a retry; `outcome_unknown` says that
the call may or may not have happened; `internal` is a defect, told only by an incident id. A message is one or two
plain sentences - what, why, what next - and never holds an id or a name that someone typed (common 6.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Final

from bus.limits import bad_fields_listed_max
from bus.value import Record, Value


class Code(StrEnum):
    INVALID_ARGUMENTS = "invalid_arguments"
    NOT_FOUND = "not_found"
    SCOPE_MISMATCH = "scope_mismatch"
    SCOPE_UNRESOLVED = "scope_unresolved"
    UNIDENTIFIED_CALLER = "unidentified_caller"
    CAPABILITY_DISABLED = "capability_disabled"
    CAPABILITY_MISSING = "capability_missing"
    BLOCKED_BY_AUTONOMY = "blocked_by_autonomy"
    APPROVAL_REQUIRED = "approval_required"
    APPROVAL_DENIED = "approval_denied"
    APPROVAL_LAPSED = "approval_lapsed"
    PLAN_STOPPED = "plan_stopped"
    BUDGET_EXHAUSTED = "budget_exhausted"
    ROLE_REQUIRED = "role_required"
    LEASE_REQUIRED = "lease_required"
    LEASE_HELD = "lease_held"
    PAGE_OWNED_BY_PERSON = "page_owned_by_person"
    ORIGIN_CHANGED = "origin_changed"
    SCHEME_REFUSED = "scheme_refused"
    TARGET_REFUSED = "target_refused"
    STALE_REFERENCE = "stale_reference"
    SECRET_DETECTED = "secret_detected"
    TOO_LARGE = "too_large"
    PINNED = "pinned"
    WRONG_STATE = "wrong_state"
    VERSION_CONFLICT = "version_conflict"
    IDEMPOTENCY_MISMATCH = "idempotency_mismatch"
    KNOWLEDGE_DISABLED = "knowledge_disabled"
    CLOUD_MANAGED = "cloud_managed"
    THREAD_CLOSED = "thread_closed"
    DELIVERY_WITHHELD = "delivery_withheld"
    RATE_LIMITED = "rate_limited"
    LAST_WORKSPACE = "last_workspace"
    UNAVAILABLE = "unavailable"
    OUTCOME_UNKNOWN = "outcome_unknown"
    STORAGE_FULL = "storage_full"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is not a success. `details` are the further fields inside `error` (common 6.1)."""

    code: Code
    message: str
    retryable: bool = False
    details: Mapping[str, Value] = field(default_factory=dict)

    def to_record(self) -> Record:
        return {"code": self.code.value, "message": self.message, "retryable": self.retryable, **self.details}

    @classmethod
    def from_record(cls, record: Record) -> Refusal:
        """Read back what `to_record` wrote. Raises KeyError or ValueError on anything else."""
        details = {key: value for key, value in record.items() if key not in ("code", "message", "retryable")}
        return cls(Code(str(record["code"])), str(record["message"]), record["retryable"] is True, details)


NOT_FOUND: Final = Refusal(
    Code.NOT_FOUND,
    "Nothing with that id is here for you. List what exists in your workspace and use an id from there.",
)
"""The one answer for an id that never existed, is another workspace's, or is not yours to see (common 3.3)."""


def invalid_arguments(fields: Mapping[str, str]) -> Refusal:
    """Bad arguments; `fields` maps the path of each bad field (`elements.3.width`) to what is wrong with it."""
    first = islice(fields.items(), bad_fields_listed_max)
    listed: list[Value] = [{"path": path, "problem": problem} for path, problem in first]
    return Refusal(
        Code.INVALID_ARGUMENTS,
        "Some arguments do not fit this tool. Correct the fields that are listed and call again.",
        details={"fields": listed},
    )


APPROVAL_REQUIRED: Final = (
    "The person must approve this call before it runs. Make the same call again once it is approved; go on with other "
    "work meanwhile."
)


def approval_required(approval_id: str) -> Refusal:
    """The refusal that makes or repeats a card (common 5.1)."""
    return Refusal(Code.APPROVAL_REQUIRED, APPROVAL_REQUIRED, retryable=True, details={"approvalId": approval_id})


def rate_limited(message: str, details: Mapping[str, Value]) -> Refusal:
    """As many as may be, for now: it is over with time, or once the person has decided, so it may always be retried."""
    return Refusal(Code.RATE_LIMITED, message, retryable=True, details=details)


def unavailable(message: str = "The owner of this is restarting. Try again in a moment.") -> Refusal:
    return Refusal(Code.UNAVAILABLE, message, retryable=True)
