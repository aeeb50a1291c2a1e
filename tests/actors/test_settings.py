"""The owner of settings: tiers, typed values, honest answers, and what hosts are told (workspace.md, settings_*)."""

from __future__ import annotations

import orjson
import pytest

from actors import settings
from actors.decision import Principal
from bus.address import SETTINGS as ADDRESS
from bus.clock import ManualClock
from bus.value import Record, Value
from tests.support.bench import PERSON, OwnerBench, agent
from tests.support.reading import at
from tools.errors import NOT_FOUND, Code, Refusal
from tools.setting_catalogue import GRID_COLUMNS, SETTINGS, SURFACES_PER_HOUR, Setting, Snapshot, Tier
from tools.settings import SettingsGetOutput, SettingsListOutput, SettingsSetOutput

AGENT = agent("a1", "w1")
HIDDEN = Setting("inner.word", "calm", Tier.HIDDEN, "A setting that agents never hear of.", choices=("calm", "loud"))
SWITCH = Setting("outer.switch", False, Tier.WRITABLE, "A switch.")
WORD = Setting("outer.word", "left", Tier.WRITABLE, "A word.", choices=("left", "right"))
OWN = (HIDDEN, SWITCH, WORD, GRID_COLUMNS, SURFACES_PER_HOUR)


@pytest.fixture
def bench() -> OwnerBench[settings.SettingsState]:
    return OwnerBench(settings.SettingsRules(OWN), ADDRESS, ManualClock())


def _set(
    bench: OwnerBench[settings.SettingsState], name: str, value: Value, principal: Principal = AGENT
) -> Record | Refusal | None:
    return bench.send("settings_set", {"name": name, "value": value}, principal)


def _names(reply: object) -> list[str]:
    return [one["name"] for one in at(reply, "settings")]


def test_the_products_settings_are_listed_as_the_output_model_says() -> None:
    reply = OwnerBench(settings.RULES, ADDRESS).send("settings_list", {}, AGENT)
    listed = SettingsListOutput.model_validate(reply)
    assert [one.name for one in listed.settings] == [one.name for one in SETTINGS if one.tier is not Tier.HIDDEN]
    assert listed.truncated is False


def test_what_is_relevant_to_security_is_at_most_readable() -> None:
    """workspace.md, settings_*: limits and budgets are the person's"""
    guarded = [one for one in SETTINGS if one.name.split(".")[0] in ("limits", "creation", "approvals")]
    assert len(guarded) >= 6
    assert all(one.tier is not Tier.WRITABLE for one in guarded)


def test_a_setting_is_shown_with_type_default_and_bounds(bench: OwnerBench[settings.SettingsState]) -> None:
    reply = bench.send("settings_get", {"name": GRID_COLUMNS.name}, AGENT)
    shown = SettingsGetOutput.model_validate(reply).setting
    assert (shown.type, shown.value, shown.default, shown.minimum, shown.maximum) == ("integer", 2, 2, 1, 12)
    assert at(bench.send("settings_get", {"name": WORD.name}, AGENT), "setting", "choices") == ["left", "right"]


@pytest.mark.parametrize("name", [HIDDEN.name, "no.such", "x" * 200])
def test_to_an_agent_a_hidden_setting_is_as_one_that_never_existed(
    bench: OwnerBench[settings.SettingsState], name: str
) -> None:
    """common 3.3"""
    for value in ("loud", 1, True):
        assert _set(bench, name, value) == NOT_FOUND
    assert bench.send("settings_get", {"name": name}, AGENT) == NOT_FOUND
    assert name not in orjson.dumps(bench.send("settings_list", {}, AGENT)).decode()
    assert bench.rows == {}


def test_the_person_reads_and_changes_every_setting(bench: OwnerBench[settings.SettingsState]) -> None:
    assert _names(bench.send("settings_list", {}, PERSON)) == [one.name for one in OWN]
    for name, value in ((HIDDEN.name, "loud"), (SURFACES_PER_HOUR.name, 3)):
        assert at(_set(bench, name, value, PERSON), "changed") is True
        assert at(bench.send("settings_get", {"name": name}, PERSON), "setting", "value") == value


def test_an_agent_cannot_change_what_it_may_only_read(bench: OwnerBench[settings.SettingsState]) -> None:
    for value in (11, "eleven"):
        refusal = _set(bench, SURFACES_PER_HOUR.name, value)
        assert isinstance(refusal, Refusal)
        assert refusal.code is Code.WRONG_STATE
    assert (bench.rows, bench.told, bench.events) == ({}, [], [])


def test_an_agent_changes_a_writable_setting_and_hears_the_former_value(
    bench: OwnerBench[settings.SettingsState],
) -> None:
    for value, former, changed in ((3, 2, True), (3, 3, False), (2, 3, True), (2, 2, False)):
        answer = SettingsSetOutput.model_validate(_set(bench, GRID_COLUMNS.name, value))
        assert (answer.value, answer.oldValue, answer.changed) == (value, former, changed)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (GRID_COLUMNS.name, 0),
        (GRID_COLUMNS.name, 13),
        (GRID_COLUMNS.name, "3"),
        (GRID_COLUMNS.name, True),
        (GRID_COLUMNS.name, 2.5),
        (GRID_COLUMNS.name, 2**60),
        (GRID_COLUMNS.name, None),
        (GRID_COLUMNS.name, [3]),
        (SWITCH.name, 1),
        (SWITCH.name, "true"),
        (WORD.name, "up"),
        (WORD.name, "x" * 201),
        (WORD.name, float("nan")),
    ],
)
def test_a_value_that_does_not_fit_is_refused_at_its_path(
    bench: OwnerBench[settings.SettingsState], name: str, value: Value
) -> None:
    """common 6.3"""
    refusal = _set(bench, name, value)
    assert isinstance(refusal, Refusal)
    assert (refusal.code, at(refusal.details, "fields", 0, "path")) == (Code.INVALID_ARGUMENTS, "value")
    assert bench.rows == {}


def test_a_whole_number_may_be_written_with_a_point(bench: OwnerBench[settings.SettingsState]) -> None:
    assert at(_set(bench, GRID_COLUMNS.name, 3.0), "value") == 3
    assert bench.rows["value/workspaces.gridColumns"] == 3


def test_only_what_differs_from_its_default_is_stored(bench: OwnerBench[settings.SettingsState]) -> None:
    _set(bench, GRID_COLUMNS.name, 4)
    _set(bench, SWITCH.name, True)
    assert bench.rows == {"value/workspaces.gridColumns": 4, "value/outer.switch": True, "version": 2}
    _set(bench, GRID_COLUMNS.name, GRID_COLUMNS.default)
    assert bench.rows == {"value/outer.switch": True, "version": 3}
    assert bench.reloaded() == bench.state


def test_every_change_is_published_to_hosts_with_a_growing_version(bench: OwnerBench[settings.SettingsState]) -> None:
    _set(bench, GRID_COLUMNS.name, 4)
    _set(bench, GRID_COLUMNS.name, 4)
    _set(bench, HIDDEN.name, "loud", PERSON)
    bench.send("settings_reset", {"name": GRID_COLUMNS.name}, PERSON)
    assert [(told.verb, told.body) for told in bench.told] == [
        ("settings_published", {"version": 1, "values": {GRID_COLUMNS.name: 4}}),
        ("settings_published", {"version": 2, "values": {GRID_COLUMNS.name: 4, HIDDEN.name: "loud"}}),
        ("settings_published", {"version": 3, "values": {HIDDEN.name: "loud"}}),
    ]


def test_the_event_log_names_what_changed_and_holds_no_value(bench: OwnerBench[settings.SettingsState]) -> None:
    """common 8.4"""
    _set(bench, HIDDEN.name, "loud", PERSON)
    _set(bench, HIDDEN.name, "loud", PERSON)
    assert [(event.type, event.data) for event in bench.events] == [("settings.changed", {"name": HIDDEN.name})]


def test_the_person_resets_a_setting(bench: OwnerBench[settings.SettingsState]) -> None:
    _set(bench, SURFACES_PER_HOUR.name, 3, PERSON)
    for former, changed in ((3, True), (10, False)):
        answer = bench.send("settings_reset", {"name": SURFACES_PER_HOUR.name}, PERSON)
        assert (at(answer, "value"), at(answer, "oldValue"), at(answer, "changed")) == (10, former, changed)
    assert bench.send("settings_reset", {"name": "no.such"}, PERSON) == NOT_FOUND


def test_a_stored_value_that_a_newer_release_does_not_admit_counts_as_not_set() -> None:
    narrower = Setting(GRID_COLUMNS.name, 2, Tier.WRITABLE, "Narrower.", 1, 3)
    bench = OwnerBench(settings.SettingsRules((narrower,)), ADDRESS)
    bench.state.version, bench.state.values = 1, {narrower.name: 9}
    assert at(bench.send("settings_get", {"name": narrower.name}, AGENT), "setting", "value") == 2
    assert Snapshot(1, {narrower.name: 9}).of(narrower) == 2
    assert at(_set(bench, narrower.name, 2), "changed") is False
    assert bench.state.values == {}
