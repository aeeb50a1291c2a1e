"""contract/security.md, section 2: attacks."""

from __future__ import annotations

RULES = {
    "security 1": "way out of a sandbox",
    "security 2": "self-approval",
    "security 3": "card and call differ",
    "security 4": "lying cards",
    "security 5": "floods and stolen clicks",
    "security 6": "another local port",
    "security 7": "rebinding, null origin, odd hosts, compressed bodies",
    "security 8": "login link",
    "security 9": "tokens in argv, addresses, logs",
    "security 10": "late revocation, squatted port",
    "security 11": "replay",
    "security 12": "existence",
    "security 13": "fence",
    "security 14": "hostile markup",
    "security 15": "escape sequences",
    "security 16": "environment",
    "security 17": "roots",
    "security 18": "hostile repositories",
    "security 19": "bombs",
    "security 20": "selectors that probe",
    "security 21": "Windows reaching NEXUS",
    "security 22": "engine address",
    "security 23": "exhaustion, file modes",
    "security 24": "laundering",
}

NOT_BUILT = frozenset(f"security {n}" for n in (1, 2, 3, 4, 5, 6, 8, 10, 11, 14, 17, 18, 20, 21, 22, 24))
