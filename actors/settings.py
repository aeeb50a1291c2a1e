"""The one owner of settings: what was set, by whom it may be read or changed, and telling it to every host.

Rows: `version`, and `value/<name>` for each setting that differs from its default, so that a default which a later
release changes is the one in force. Owners never ask here: every change publishes a snapshot to the hosts in the same
commit (docs/decisions/0009), and they hand it to `decide`. What agents may do with a setting is its tier; to them a
hidden one is as one that never existed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from actors.decision import (
    Context,
    Decision,
    Delete,
    Effect,
    Event,
    PrincipalKind,
    Put,
    RowEffect,
    Rules,
    TellHosts,
    Verb,
    VerbTable,
)
from actors.parsed import parsed
from bus.value import Record, Value
from tools.errors import NOT_FOUND, Code, Refusal, invalid_arguments
from tools.setting_catalogue import SETTINGS, AnySetting, Snapshot, Tier
from tools.settings import SettingsGetInput, SettingsListInput, SettingsSetInput

_VERSION_ROW: Final = "version"
_VALUE: Final = "value"
_TYPES: Final[Mapping[type, str]] = {bool: "boolean", int: "integer", str: "text"}
_PERSONS_ALONE: Final = Refusal(
    Code.WRONG_STATE,
    "You may read this setting, but only the person may change it. Ask the person if it should change.",
)


@dataclass(slots=True)
class SettingsState:
    version: int = 0
    values: dict[str, Value] = field(default_factory=dict)


class SettingsRules(Rules[SettingsState]):
    """Settings as they are declared; the catalogue is handed in, so that tests have one of their own."""

    def __init__(self, settings: tuple[AnySetting, ...]) -> None:
        self._settings: Final = {setting.name: setting for setting in settings}
        readers, person = frozenset({PrincipalKind.AGENT, PrincipalKind.PERSON}), frozenset({PrincipalKind.PERSON})
        self._table: Final[VerbTable[SettingsState]] = VerbTable(
            {
                "settings_list": Verb(parsed(SettingsListInput, self._list), readers),
                "settings_get": Verb(parsed(SettingsGetInput, self._get), readers),
                "settings_set": Verb(parsed(SettingsSetInput, self._set), readers),
                "settings_reset": Verb(parsed(SettingsGetInput, self._reset), person),
            }
        )

    @property
    def kind(self) -> str:
        return "settings"

    @property
    def verbs(self) -> Mapping[str, Verb[SettingsState]]:
        return self._table.verbs

    def new_state(self) -> SettingsState:
        return SettingsState()

    def _list(self, state: SettingsState, body: SettingsListInput, context: Context) -> Decision:
        shown = [_shown(state, one) for one in self._settings.values() if _may_read(one, context)]
        return Decision({"settings": [*shown], "truncated": False})

    def _get(self, state: SettingsState, body: SettingsGetInput, context: Context) -> Decision:
        setting = self._settings.get(body.name)
        if setting is None or not _may_read(setting, context):
            return Decision(NOT_FOUND)
        return Decision({"setting": _shown(state, setting)})

    def _set(self, state: SettingsState, body: SettingsSetInput, context: Context) -> Decision:
        setting = self._settings.get(body.name)
        if setting is None or not _may_read(setting, context):
            return Decision(NOT_FOUND)
        if context.principal.kind is not PrincipalKind.PERSON and setting.tier is not Tier.WRITABLE:
            return Decision(_PERSONS_ALONE)
        problem = setting.problem_with(body.value)
        if problem is not None:
            return Decision(invalid_arguments({_VALUE: problem}))
        return self._changed(state, setting, body.value)

    def _reset(self, state: SettingsState, body: SettingsGetInput, context: Context) -> Decision:
        setting = self._settings.get(body.name)
        return Decision(NOT_FOUND) if setting is None else self._changed(state, setting, setting.default)

    def _changed(self, state: SettingsState, setting: AnySetting, value: Value) -> Decision:
        former = _in_force(state, setting)
        reply: Record = {"name": setting.name, "value": value, "oldValue": former, "changed": value != former}
        # A stored value that is no longer admitted is not in force, and goes whatever the new one is.
        stored = None if value == setting.default else value
        if stored == state.values.get(setting.name):
            return Decision(reply)
        row = f"{_VALUE}/{setting.name}"
        values = {name: kept for name, kept in state.values.items() if name != setting.name}
        if stored is not None:
            values[setting.name] = stored
        effects: tuple[Effect, ...] = (
            Delete(row) if stored is None else Put(row, stored),
            Put(_VERSION_ROW, state.version + 1),
            Event("settings.changed", {"name": setting.name}),
            TellHosts("settings_published", {"version": state.version + 1, "values": values}),
        )
        return Decision(reply, effects)

    def apply(self, state: SettingsState, effect: RowEffect) -> None:
        match effect.row.partition("/"), effect:
            case ("version", _, _), Put(_, int(version)):
                state.version = version
            case ("value", _, name), Put(_, value):
                state.values[name] = value
            case ("value", _, name), Delete():
                state.values.pop(name, None)
            case _:
                raise ValueError("settings have no such row")

    def problems(self, state: SettingsState) -> list[str]:
        return ["a value is stored, but none was ever published"] if state.values and not state.version else []


def _in_force(state: SettingsState, setting: AnySetting) -> bool | int | str:
    return Snapshot(state.version, state.values).in_force(setting)


def _may_read(setting: AnySetting, context: Context) -> bool:
    return context.principal.kind is PrincipalKind.PERSON or setting.tier is not Tier.HIDDEN


def _shown(state: SettingsState, setting: AnySetting) -> Record:
    shown: Record = {
        "name": setting.name,
        "meaning": setting.meaning,
        "type": _TYPES[type(setting.default)],
        _VALUE: _in_force(state, setting),
        "default": setting.default,
        "tier": setting.tier.value,
    }
    if setting.minimum is not None:
        shown["minimum"] = setting.minimum
    if setting.maximum is not None:
        shown["maximum"] = setting.maximum
    if setting.choices:
        shown["choices"] = [*setting.choices]
    return shown


RULES: Final = SettingsRules(SETTINGS)
