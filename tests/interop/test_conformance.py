"""The conformance suite of the protocol's makers, for both eras, against a real NEXUS (common 1.9)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.conformance import EXCLUDED, EXCLUDED_CHECKS, Check, run_suite
from tests.interop.conftest import Judged
from tests.interop.header_proxy import with_token

pytestmark = pytest.mark.processes

SUITES = {
    "2026-07-28": ("conformance-next", ("--requirements", "2026-07-28")),
    "2025-11-25": ("conformance-next", ("--requirements", "2025-11-25")),
    "the released suite": ("conformance", ("--suite", "active")),
}
MUST_PASS = {
    "2026-07-28": ("server-stateless", "tools-list", "tools-call-simple-text", "tools-call-error", "caching"),
    "2025-11-25": ("server-initialize", "ping", "tools-list", "server-session-lifecycle", "dns-rebinding-protection"),
    "the released suite": ("server-initialize", "ping", "tools-call-simple-text", "dns-rebinding-protection"),
}
"""So that an empty run does not pass."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", SUITES)
def test_every_check_passes_but_for_those_whose_reason_is_written_down(
    name: str, judged: Judged, node: Path, tmp_path: Path
) -> None:
    """common 1.9"""
    package, options = SUITES[name]
    with with_token(judged.url, judged.agent(f"Suite {name}").token) as url:
        verdicts = run_suite(package, url, tmp_path, *options)
    for scenario in MUST_PASS[name]:
        assert verdicts.passed[scenario] > 0, scenario
    unexplained = {
        scenario: left
        for scenario, checks in verdicts.not_passed.items()
        if (left := unexpected(scenario, checks)) and scenario not in EXCLUDED
    }
    assert unexplained == {}
    pass_after_all = [
        *(scenario for scenario in EXCLUDED if verdicts.not_passed.get(scenario) == ()),
        *(
            key
            for key in EXCLUDED_CHECKS
            if key[0] in verdicts.not_passed and key[1] not in [check.id for check in verdicts.not_passed[key[0]]]
        ),
    ]
    assert pass_after_all == [], "take these out of conformance.py"


def unexpected(scenario: str, checks: tuple[Check, ...]) -> list[Check]:
    return [check for check in checks if (scenario, check.id) not in EXCLUDED_CHECKS]
