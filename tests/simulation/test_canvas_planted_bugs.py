"""Bugs put into the canvas and its history on purpose: the simulation must find each within a few seeds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from actors.canvas import deciding
from actors.cold import UncommittedCold
from actors.decision import Effect, Put
from actors.workspace import channels, roles
from tests.simulation.test_planted_bugs import caught_after


def test_a_history_that_is_read_from_the_disk_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """ARCHITECTURE, Owners: a decision sees what was decided before it."""
    monkeypatch.setattr(UncommittedCold, "newest", lambda self, wanted: {})
    caught_after("slow disk", "product", seeds_max=120)


def test_a_proposal_that_stays_pending_when_it_was_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """canvas 3.4"""
    whole = deciding._decided

    def undecided(*arguments: Any) -> Iterable[Effect]:
        return [effect for effect in whole(*arguments) if not isinstance(effect, Put)]

    monkeypatch.setattr(deciding, "_decided", undecided)
    caught_after("calm", "product", seeds_max=120)


def test_roles_that_outlive_their_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """canvas 1.1"""
    monkeypatch.setattr(channels, "roles_ending", lambda *arguments: [])
    caught_after("calm", "product", seeds_max=60)


def test_roles_that_come_after_their_agent_was_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """canvas 1.1"""
    monkeypatch.setattr(roles, "noted", lambda *arguments: [])
    caught_after("calm", "product", seeds_max=120)
