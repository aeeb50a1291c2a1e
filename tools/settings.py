"""settings_*: what the person has set, as far as agents may read or change it (workspace.md, settings_*).

Every text that is answered here is program text: a setting's value is a switch, a number or one of fixed words.
"""

from __future__ import annotations

from math import isfinite
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, PlainValidator, WithJsonSchema

from bus.limits import integer_max, name_characters_max
from tools.base import Family, Kind, Model, Route, Scope, Tool, ToolInput
from tools.problems import problem

_NOT_A_VALUE: Final = "must be true or false, a whole number or text"


def _must_be_a_value(value: Any) -> bool | int | str:
    """Whole numbers also as 1.0: clients with one kind of number send that."""
    if isinstance(value, float) and isfinite(value) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and abs(value) <= integer_max:
        return value
    if isinstance(value, str) and len(value) <= name_characters_max:
        return value
    raise problem(_NOT_A_VALUE)


SettingValue: TypeAlias = Annotated[
    bool | int | str,
    PlainValidator(_must_be_a_value),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "integer"}, {"type": "string"}]}),
]
SettingName = Annotated[
    str, Field(min_length=1, max_length=name_characters_max, description="Its name, from settings_list.")
]


class SettingState(Model):
    """One setting as it stands. Bounds and choices are given where it has them."""

    name: str
    meaning: str
    type: Literal["boolean", "integer", "text"]
    value: SettingValue
    default: SettingValue
    tier: Literal["writable", "readable", "hidden"] = Field(
        description="writable: settings_set may change it; readable: only the person may."
    )
    minimum: int | None = None
    maximum: int | None = None
    choices: list[str] | None = None


class SettingsListInput(ToolInput):
    pass


class SettingsListOutput(Model):
    settings: list[SettingState]
    truncated: bool


class SettingsGetInput(ToolInput):
    name: SettingName


class SettingsGetOutput(Model):
    setting: SettingState


class SettingsSetInput(ToolInput):
    name: SettingName
    value: SettingValue = Field(description="Of the setting's type and within its bounds.")


class SettingsSetOutput(Model):
    name: str
    value: SettingValue
    oldValue: SettingValue
    changed: bool = Field(description="False: it had this value already.")


_READ_ONLY: Final = "None: it only reads."

SETTINGS_GET: Final = Tool(
    name="settings_get",
    family=Family.SETTINGS,
    kind=Kind.READ,
    scope=Scope.APP,
    capability=None,
    route=Route.SETTINGS,
    summary=(
        "Read one setting of this machine by its name: value, default, type, bounds and whether you may change it "
        "(`tier`). settings_list names those there are."
    ),
    input=SettingsGetInput,
    output=SettingsGetOutput,
    side_effects=_READ_ONLY,
    reversibility="Nothing to undo.",
)

SETTINGS_LIST: Final = Tool(
    name="settings_list",
    family=Family.SETTINGS,
    kind=Kind.READ,
    scope=Scope.APP,
    capability=None,
    route=Route.SETTINGS,
    summary=(
        "List the settings of this machine that you may read, each with its value, default, type, bounds and meaning. "
        "Only those whose tier is writable can be changed with settings_set; the others are the person's."
    ),
    input=SettingsListInput,
    output=SettingsListOutput,
    side_effects=_READ_ONLY,
    reversibility="Nothing to undo.",
)

SETTINGS_SET: Final = Tool(
    name="settings_set",
    family=Family.SETTINGS,
    kind=Kind.WRITE,
    scope=Scope.APP,
    capability=None,
    route=Route.SETTINGS,
    summary=(
        "Change a setting whose tier is writable, for everyone on this machine. Answers the former value (`oldValue`) "
        "and whether anything changed. A setting that is only readable is refused wrong_state: ask the person."
    ),
    input=SettingsSetInput,
    output=SettingsSetOutput,
    side_effects="The setting changes for everyone on this machine, from their next call on.",
    reversibility="Set it to oldValue again.",
)

TOOLS: Final[tuple[Tool, ...]] = (SETTINGS_GET, SETTINGS_LIST, SETTINGS_SET)
