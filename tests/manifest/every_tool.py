"""contract/00-common.md"""

from __future__ import annotations

RULES = {
    "common 1.1": "one endpoint serves every family, in a fixed order",
    "common 1.2": "tools/list is live, deterministic, and fails when no owner can answer it",
    "common 1.3": "a family whose surface cannot be served is not listed",
    "common 1.4": "descriptions start with the marker and are constant text",
    "common 1.5": "routing is by exact name; capability, scope and kind are declared",
    "common 1.6": "closed input models, object roots, outputs admit success, collected and error forms",
    "common 1.7": "camelCase, opaque ids, RFC 3339 times; an unknown id is not_found",
    "common 1.8": "the resources capabilities, planes and mailbox",
    "common 1.9": "both protocol eras on one endpoint",
    "common 1.10": "no family stands in for another",
    "common 1.11": "every result says how many deliveries wait",
    "common 2.1": "identity is the token; revoking acts at once",
    "common 2.2": "tokens are in no argument, address or git tree",
    "common 2.3": "401 first; unavailable while the owner restarts",
    "common 2.4": "the person's verbs only for the person",
    "common 2.5": "loopback only, exact Host and Origin, bounded bodies",
    "common 3.1": "an agent is pinned; nothing resolves is scope_unresolved",
    "common 3.2": "another workspaceId is scope_mismatch",
    "common 3.3": "existence is private: foreign ids answer like unknown ones",
    "common 3.4": "which families are app-wide",
    "common 3.5": "the workspace is part of keys",
    "common 4.1": "one pure function admits, in a fixed order; undeclared tools fail at start-up",
    "common 4.2": "kinds and the table of modes",
    "common 4.3": "plan_end and release always pass",
    "common 4.4": "the collected form",
    "common 4.5": "required capabilities by family",
    "common 4.6": "certain refusals come before a card",
    "common 4.7": "browser writes resolve in the Window",
    "common 5.1": "one card a call, bounded",
    "common 5.2": "what the same call is",
    "common 5.3": "approvals fingerprint their target",
    "common 5.4": "what a card shows",
    "common 5.5": "an agent never decides an approval",
    "common 5.6": "cards can be linked to",
    "common 6.1": "the form of refusals; -32602 for unknown tools",
    "common 6.2": "messages never hold ids, names or commands",
    "common 6.3": "codes are a closed enumeration",
    "common 6.4": "deadlines and sizes of results",
    "common 7.1": "fences",
    "common 7.2": "redaction",
    "common 7.3": "ceilings, honest cursors, no character cut in half",
    "common 7.4": "no paths, tokens, process ids or exception texts in results",
    "common 8.1": "acknowledged means on disk",
    "common 8.2": "idempotency keys",
    "common 8.3": "effects on the world are recorded before they are tried",
    "common 8.4": "every write is attributed in the event log",
    "common 8.5": "each agent has limits",
    "common 10": "the choices where sources disagree",
    "common 9": "tools that must not exist",
}

NOT_BUILT = frozenset(
    {
        "common 4.7",
        "common 5.6",
    }
)

PARTLY_BUILT = {
    "common 7.2": "there is no shared memory yet, which refuses instead",
    "common 4.3": "browser_release_control does not exist yet",
    "common 5.3": "only canvases and workspaces are approved yet, no files, elements or programs",
    "common 5.4": "the chain of agents that led to a call comes with the mesh",
    "common 8.5": "artifacts do not exist yet; too many canvases of one workspace are not refused",
    "common 1.3": "no family can come and go yet; a credential cannot be narrowed to families",
    "common 2.1": "no launched programs yet, whose credentials die with them",
    "common 2.4": "no console login; sessions and runs do not exist yet, their marks are refused",
    "common 8.3": "no effects on the world yet; an unknown outcome is said",
}
