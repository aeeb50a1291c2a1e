"""The verbs behind `nexus settings`: what is typed becomes a value of the setting's type, and its owner decides."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import Field

from bus.address import SETTINGS
from bus.limits import name_characters_max
from bus.value import Record
from nexus.gateway.person_owners import Owners, VerbRefused
from nexus.gateway.person_table import Run, checked
from tools.base import Model
from tools.errors import Code, Refusal, invalid_arguments
from tools.setting_catalogue import BY_NAME, AnySetting
from tools.settings import SettingsListInput

Typed = Annotated[str, Field(min_length=1, max_length=name_characters_max)]

_NO_SETTING: Final = Refusal(
    Code.NOT_FOUND, "There is no setting of that name. `nexus settings list` shows those there are."
)
_WHOLE: Final = re.compile(r"[+-]?\d{1,18}\Z", re.ASCII)
_SWITCHES: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class SettingNamed(Model):
    name: Typed


class SettingTyped(Model):
    name: Typed
    value: Typed


def typed_value(setting: AnySetting, typed: str) -> bool | int | str:
    """`typed` as a value that the setting can have. Raises VerbRefused in words that say what it can be."""
    value: bool | int | str = typed
    if isinstance(setting.default, bool):
        if typed.lower() not in _SWITCHES:
            raise VerbRefused.by(invalid_arguments({"value": "must be true or false (or yes, no, on, off)"}))
        value = _SWITCHES[typed.lower()]
    elif isinstance(setting.default, int) and _WHOLE.match(typed):
        value = int(typed)
    problem = setting.problem_with(value)
    if problem is not None:
        raise VerbRefused.by(invalid_arguments({"value": problem}))
    return value


async def settings_list(owners: Owners, asked: SettingsListInput) -> Record:
    return await owners.read(SETTINGS, "settings_list", {})


async def settings_get(owners: Owners, asked: SettingNamed) -> Record:
    return await owners.read(SETTINGS, "settings_get", {"name": _known(asked.name).name})


async def settings_set(owners: Owners, asked: SettingTyped) -> Record:
    setting = _known(asked.name)
    body: Record = {"name": setting.name, "value": typed_value(setting, asked.value)}
    return await owners.ask(SETTINGS, "settings_set", body)


async def settings_reset(owners: Owners, asked: SettingNamed) -> Record:
    return await owners.ask(SETTINGS, "settings_reset", {"name": _known(asked.name).name})


def _known(name: str) -> AnySetting:
    if name not in BY_NAME:
        raise VerbRefused.by(_NO_SETTING)
    return BY_NAME[name]


SETTINGS_VERBS: Final[Mapping[str, Run]] = {
    "settings.list": checked(SettingsListInput, settings_list),
    "settings.get": checked(SettingNamed, settings_get),
    "settings.set": checked(SettingTyped, settings_set),
    "settings.reset": checked(SettingNamed, settings_reset),
}
