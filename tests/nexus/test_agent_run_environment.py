"""What of the person's environment reaches a task's program (security 2.16)."""

from __future__ import annotations

from pathlib import Path

from nexus.agent_run_environment import is_own, own_variables, run_environment

OWN = own_variables(Path("/h"), "run-1", "t1", Path("/f/token"), Path("/f/task.json"))
PLAIN = {"PATH": "/bin", "HOME": "/u", "LANG": "C", "LC_ALL": "C", "TERM": "x", "XDG_CONFIG_HOME": "/c"}
HIDDEN = {"AWS_SECRET_ACCESS_KEY": "s", "PYTHONPATH": "/p", "LD_PRELOAD": "/l", "NODE_OPTIONS": "n"}
OTHERS = {"NEXUS_TOKEN": "t", "NEXUS_TOKEN_FILE": "/other", "nexus_token": "t"}
TERMINAL = {**PLAIN, **HIDDEN, **OTHERS, "MODEL_KEY": "k"}


def test_only_where_and_who_passes_and_what_is_named() -> None:
    """security 2.16"""
    passed = run_environment(TERMINAL, {"MODEL_KEY"}, OWN)
    assert set(passed) - set(OWN) == {*PLAIN, "MODEL_KEY"}


def test_variables_of_nexus_are_those_of_the_run_even_if_others_are_named() -> None:
    """security 2.2, 2.16"""
    passed = run_environment(TERMINAL, {"NEXUS_TOKEN", "NEXUS_TOKEN_FILE", "nexus_token"}, OWN)
    assert passed["NEXUS_TOKEN_FILE"] == "/f/token"
    assert not {"NEXUS_TOKEN", "nexus_token"} & set(passed)
    assert is_own("nexus_token") and not is_own("MODEL_KEY")
