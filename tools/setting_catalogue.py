"""Every setting: one declaration each, with type, default, bounds, tier and meaning (workspace.md, settings_*).

Owners read a setting from the snapshot in their context, never from anywhere else. What is relevant to security
(limits, budgets, approvals) is at most readable by agents; only the person changes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Generic, TypeAlias, TypeVar

from bus.limits import open_threads_per_recipient_max, triggers_per_minute_max
from bus.value import Value

V = TypeVar("V", bool, int, str)


class Tier(StrEnum):
    """What agents may do with a setting; the person reads and changes every one."""

    WRITABLE = "writable"
    READABLE = "readable"
    HIDDEN = "hidden"


@dataclass(frozen=True, slots=True)
class Setting(Generic[V]):
    """`name` is dotted words, such as `creation.surfacesPerHour`; a unit that is not obvious is part of it."""

    name: str
    default: V
    tier: Tier
    meaning: str
    """One sentence for people and agents."""
    minimum: int | None = None
    """For whole numbers: the least and the most that it may be."""
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    """For text: all that it may be."""

    def problem_with(self, value: Value) -> str | None:
        """Why `value` cannot be this setting's, in words that say what can; None if it can."""
        kind = type(self.default)
        if type(value) is not kind:
            return {bool: "must be true or false", int: "must be a whole number", str: "must be text"}[kind]
        if isinstance(value, int) and not isinstance(value, bool):
            low, high = self.minimum, self.maximum
            if (low is not None and value < low) or (high is not None and value > high):
                return f"must be between {low} and {high}"
        if isinstance(value, str) and value not in self.choices:
            return "must be one of: " + ", ".join(self.choices)
        return None


AnySetting: TypeAlias = Setting[bool] | Setting[int] | Setting[str]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All settings at one moment; `values` holds those that the person or an agent has set."""

    version: int = 0
    values: Mapping[str, Value] = field(default_factory=dict)

    def of(self, setting: Setting[V]) -> V:
        """The value in force, as the setting's own type."""
        value = self.in_force(setting)
        assert isinstance(value, type(setting.default))
        return value

    def in_force(self, setting: AnySetting) -> bool | int | str:
        """A stored value that a newer release does not admit counts as not set."""
        value = self.values.get(setting.name, setting.default)
        if setting.problem_with(value) is not None:
            return setting.default
        assert isinstance(value, bool | int | str)
        return value


DEFAULTS: Final = Snapshot()

SURFACES_PER_HOUR: Final = Setting(
    "creation.surfacesPerHour",
    10,
    Tier.READABLE,
    "How many surfaces (canvases, sessions, Windows, bits) one agent may create within an hour.",
    0,
    10_000,
)
SURFACES_LIFETIME: Final = Setting(
    "creation.surfacesLifetime",
    200,
    Tier.READABLE,
    "How many surfaces one agent may create in all; closing one gives nothing back.",
    0,
    1_000_000,
)
CALLS_PER_MINUTE: Final = Setting(
    "limits.callsPerMinute", 30_000, Tier.READABLE, "How many calls one agent may make a minute.", 60, 1_000_000
)
CONNECTIONS: Final = Setting(
    "limits.connections", 256, Tier.READABLE, "How many requests of one agent may be under way at once.", 1, 2_000
)
STORED_MEBIBYTES: Final = Setting(
    "limits.storedMebibytes",
    1_024,
    Tier.READABLE,
    "How much one agent's work may take on disk, in MiB.",
    1,
    1_000_000,
)
TRIGGERS_PER_MINUTE: Final = Setting(
    "limits.triggersPerMinute",
    triggers_per_minute_max,
    Tier.READABLE,
    "How many tasks one agent may send a minute.",
    1,
    1_000_000,
)
OPEN_THREADS: Final = Setting(
    "limits.openThreads",
    open_threads_per_recipient_max,
    Tier.READABLE,
    "How many open tasks one agent's mailbox holds; one sender has at most half of them.",
    2,
    200_000,
)
STRICTEST_OF_CHAIN: Final = Setting(
    "authority.strictestOfChain",
    False,
    Tier.READABLE,
    "Whether an agent at work on others' tasks acts no more freely than the strictest of those that led to them.",
)
DESKTOP_NOTIFICATIONS: Final = Setting(
    "approvals.desktopNotifications",
    True,
    Tier.READABLE,
    "Whether a desktop notification tells that an approval waits, where there is a desktop.",
)
GRID_COLUMNS: Final = Setting(
    "workspaces.gridColumns", 2, Tier.WRITABLE, "How many columns a new workspace's pane grid has.", 1, 12
)

SETTINGS: Final[tuple[AnySetting, ...]] = (
    STRICTEST_OF_CHAIN,
    DESKTOP_NOTIFICATIONS,
    SURFACES_LIFETIME,
    SURFACES_PER_HOUR,
    CALLS_PER_MINUTE,
    CONNECTIONS,
    OPEN_THREADS,
    STORED_MEBIBYTES,
    TRIGGERS_PER_MINUTE,
    GRID_COLUMNS,
)
BY_NAME: Final[Mapping[str, AnySetting]] = {setting.name: setting for setting in SETTINGS}
assert len(BY_NAME) == len(SETTINGS), "two settings have one name"
assert all(setting.problem_with(setting.default) is None for setting in SETTINGS), "a default is out of bounds"
