"""What the conformance suite is run for, and every check of it that NEXUS does not pass, with the reason.

The suite's fixtures show everything that the protocol can carry; NEXUS has no use for some of it and says so here.
Nothing stands here that would be a fault: a check that fails and is not listed fails the test, and so does an entry
that would pass.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.interop.node_judges import JUDGES
from tests.support.npm_folder import NODE, environment

_RUN_SECONDS_MAX: Final = 240
_DATE: Final = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z\Z")

_TEXT_ONLY = "every result of NEXUS is structured content and the same as text (common 1.6): no pictures, sound, links"
_NO_CLIENT_WORK = (
    "NEXUS never asks a client for a form, a completion of its model or its folders; approvals are the person's"
)
_NO_PROMPTS = "NEXUS has no prompts; prompts/list is empty and prompts/get refuses every name"
_OWN_RESOURCES = "the resources of NEXUS are its own three (common 1.8), all text in JSON and without templates"
_NO_COMPLETION = "no argument of NEXUS is completed; the capability is not declared"
_NO_LOGGING = "NEXUS sends clients no log messages; the capability is not declared"
_NO_PROGRESS = "no tool of NEXUS reports progress; a call is short, or durable and told by the mailbox"
_NO_SUBSCRIPTIONS = (
    "what the suite subscribes to or changes is none of NEXUS, whose list changes only with what it serves"
)
_NO_TASKS = "the tasks extension is not declared"
_NO_NEED = "no tool of NEXUS needs a capability of its client, so none refuses for the lack of one"
_OWN_SCHEMAS = "the suite's own schema has keywords that no model of a tool writes; schemas are listed as they are made"

EXCLUDED: Final[Mapping[str, str]] = {
    "completion-complete": _NO_COMPLETION,
    "tools-call-image": _TEXT_ONLY,
    "tools-call-audio": _TEXT_ONLY,
    "tools-call-embedded-resource": _TEXT_ONLY,
    "tools-call-mixed-content": _TEXT_ONLY,
    "tools-call-with-progress": _NO_PROGRESS,
    "resources-read-text": _OWN_RESOURCES,
    "resources-read-binary": _OWN_RESOURCES,
    "resources-templates-read": _OWN_RESOURCES,
    "prompts-get-simple": _NO_PROMPTS,
    "prompts-get-with-args": _NO_PROMPTS,
    "prompts-get-embedded-resource": _NO_PROMPTS,
    "prompts-get-with-image": _NO_PROMPTS,
    "json-schema-2020-12": _OWN_SCHEMAS,
    # 2025-11-25 alone
    "logging-set-level": _NO_LOGGING,
    "tools-call-with-logging": _NO_LOGGING,
    "tools-call-sampling": _NO_CLIENT_WORK,
    "tools-call-elicitation": _NO_CLIENT_WORK,
    "elicitation-sep1034-defaults": _NO_CLIENT_WORK,
    "elicitation-sep1330-enums": _NO_CLIENT_WORK,
    "resources-subscribe": _NO_SUBSCRIPTIONS,
    "resources-unsubscribe": _NO_SUBSCRIPTIONS,
    # 2026-07-28 alone
    "input-required-result-basic-elicitation": _NO_CLIENT_WORK,
    "input-required-result-basic-sampling": _NO_CLIENT_WORK,
    "input-required-result-basic-list-roots": _NO_CLIENT_WORK,
    "input-required-result-request-state": _NO_CLIENT_WORK,
    "input-required-result-multiple-input-requests": _NO_CLIENT_WORK,
    "input-required-result-multi-round": _NO_CLIENT_WORK,
    "input-required-result-missing-input-response": _NO_CLIENT_WORK,
    "input-required-result-non-tool-request": _NO_CLIENT_WORK,
    "input-required-result-result-type": _NO_CLIENT_WORK,
    "input-required-result-tampered-state": _NO_CLIENT_WORK,
    "input-required-result-capability-check": _NO_CLIENT_WORK,
    "input-required-result-ignore-extra-params": _NO_CLIENT_WORK,
    "tasks-lifecycle": _NO_TASKS,
    "tasks-capability-negotiation": _NO_TASKS,
    "tasks-wire-fields": _NO_TASKS,
    "tasks-request-state-removal": _NO_TASKS,
    "tasks-mrtr-input": _NO_TASKS,
    "tasks-request-headers": _NO_TASKS,
    "tasks-dispatch-and-envelope": _NO_TASKS,
    "tasks-status-notifications": _NO_TASKS,
    "tasks-required-task-error": _NO_TASKS,
    "tasks-mrtr-composition": _NO_TASKS,
}
"""Scenarios in which a check fails, is warned of or skipped, because the fixture is nothing that NEXUS has."""

EXCLUDED_CHECKS: Final[Mapping[tuple[str, str], str]] = {
    ("server-stateless", "sep-2575-server-rejects-undeclared-capability"): _NO_NEED,
    ("server-stateless", "sep-2575-missing-capability-http-400"): _NO_NEED,
    ("server-stateless", "sep-2575-server-sends-prompts-list-changed-on-subscription"): _NO_PROMPTS,
    ("server-stateless", "sep-2575-server-sends-tools-list-changed-on-subscription"): _NO_SUBSCRIPTIONS,
}
"""Single checks, of scenarios whose others must pass."""


@dataclass(frozen=True)
class Check:
    """One check that was not passed."""

    id: str
    status: str
    why: str


@dataclass(frozen=True)
class Verdicts:
    """What one run of the suite found: by scenario, the checks that were not passed."""

    not_passed: Mapping[str, tuple[Check, ...]]
    passed: Mapping[str, int]


def run_suite(package: str, url: str, results: Path, *options: str) -> Verdicts:
    """Run the suite's command against `url`. `package` is its folder in the judges' node_modules."""
    program = JUDGES.folder / "node_modules" / package / "dist" / "index.js"
    command = [str(NODE), str(program), "server", "--url", url, "--output-dir", str(results), *options]
    done = subprocess.run(
        command,
        cwd=results,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=_RUN_SECONDS_MAX,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr[-2000:]
    assert "=== SUMMARY ===" in done.stdout, (done.stdout[-2000:], done.stderr[-2000:])
    not_passed: dict[str, tuple[Check, ...]] = {}
    passed: dict[str, int] = {}
    for file in sorted(results.rglob("checks.json")):
        scenario = _DATE.sub("", file.parent.name.removeprefix("server-"))
        checks: list[dict[str, Any]] = json.loads(file.read_text())
        passed[scenario] = sum(check["status"] == "SUCCESS" for check in checks)
        not_passed[scenario] = tuple(
            Check(check["id"], check["status"], str(check.get("errorMessage", "")))
            for check in checks
            if check["status"] not in ("SUCCESS", "INFO")
        )
    return Verdicts(not_passed, passed)
