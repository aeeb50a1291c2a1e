"""contract/security.md, section 2: attacks."""

from __future__ import annotations

RULES = {
    "security 2.1": "way out of a sandbox",
    "security 2.2": "self-approval",
    "security 2.3": "card and call differ",
    "security 2.4": "lying cards",
    "security 2.5": "floods and stolen clicks",
    "security 2.6": "another local port",
    "security 2.7": "rebinding, null origin, odd hosts, compressed bodies",
    "security 2.8": "login link",
    "security 2.9": "tokens in argv, addresses, logs",
    "security 2.10": "late revocation, squatted port",
    "security 2.11": "replay",
    "security 2.12": "existence",
    "security 2.13": "fence",
    "security 2.14": "hostile markup",
    "security 2.15": "escape sequences",
    "security 2.16": "environment",
    "security 2.17": "roots",
    "security 2.18": "hostile repositories",
    "security 2.19": "bombs",
    "security 2.20": "selectors that probe",
    "security 2.21": "Windows reaching NEXUS",
    "security 2.22": "engine address",
    "security 2.23": "exhaustion, file modes",
    "security 2.24": "laundering",
}

NOT_BUILT = frozenset(f"security 2.{n}" for n in (1, 6, 8, 18, 20, 21, 22))

PARTLY_BUILT = {
    "security 2.3": "no files and no page elements are approved yet; canvases, workspaces, programs are held",
    "security 2.5": "the console does not exist yet; the 21st card is held",
    "security 2.2": "sessions do not exist yet; runs, and processes that carry the marks of any, are refused",
    "security 2.4": "no elements of pages are on cards yet",
    "security 2.12": "families not served yet; every served tool is held",
    "security 2.15": "console and attach do not exist yet",
    "security 2.16": "sessions and launches do not exist yet; children, provider programs and runs are held",
    "security 2.17": "nothing is opened beneath a root yet; which folders can be one is held",
    "security 2.14": "console and artifacts do not exist yet; scenes, their pictures and exports are held",
    "security 2.19": "archives do not exist yet; pictures and secret rules are held",
    "security 2.23": "artifacts do not exist yet",
}
