"""What every shard host is told, `host/-/N`: narrowed authorities and the person's settings (docs/decisions/0009).

Invariants:
- A notice counts from the moment it arrives, before it is committed, so its acknowledgement says that no later decision
  here is by what was before. Early it does no harm: authorities only get narrower, settings are stored by their owner.
- A stamp is honoured only if it is not older than what was told of its agent, and not from before this host began:
  what was told before is forgotten. Dispatched calls, which may be older, are protected by the order of their stream
  (actors/admitted.py).
- Settings are a row, so that a host begins with those that it had; a lower version than the present one is old news.

The loop thread tells; any thread reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import structlog

from actors.decision import Context, Decision, Delete, PrincipalKind, Put, RowEffect, Rules, Verb
from actors.parsed import DONE, parsed, sending_owner
from bus.address import HOST, SETTINGS, host
from bus.admitted import AUTHORITY_CHANGED, SETTINGS_PUBLISHED, SETTINGS_ROW
from bus.clock import Clock
from bus.codec import CorruptRow, unpack_row
from bus.envelope import Parcel
from bus.limits import authorities_noted_max, authority_noted_ms
from bus.store import Store, state_key
from bus.value import Value
from tools.base import Model
from tools.setting_catalogue import DEFAULTS, Snapshot

_log = structlog.get_logger("host")


class AuthorityChanged(Model):
    agentId: str
    version: int


class SettingsPublished(Model):
    version: int
    values: dict[str, bool | int | str]


@dataclass(slots=True)
class Published:
    """The state of a host's own rules: the settings as they were last published."""

    settings: Snapshot = DEFAULTS
    rows: dict[str, Value] = field(default_factory=dict)


def authority_changed(state: Published, body: AuthorityChanged, context: Context) -> Decision:
    """Noted when it came, in memory only; deciding it is what acknowledges it."""
    if sending_owner(context, "agent").id != body.agentId:
        raise ValueError("an agent's owner tells of its own agent only")
    return DONE


def settings_published(state: Published, body: SettingsPublished, context: Context) -> Decision:
    if sending_owner(context, "settings") != SETTINGS:
        raise ValueError("only the owner of the settings publishes them")
    if body.version <= state.settings.version:
        return DONE
    return Decision({}, (Put(SETTINGS_ROW, {"version": body.version, "values": {**body.values}}),))


class HostRules(Rules[Published]):
    """A shard host as an owner."""

    kind = HOST
    verbs: Mapping[str, Verb[Published]] = {
        AUTHORITY_CHANGED: Verb(parsed(AuthorityChanged, authority_changed), frozenset({PrincipalKind.OWNER})),
        SETTINGS_PUBLISHED: Verb(parsed(SettingsPublished, settings_published), frozenset({PrincipalKind.OWNER})),
    }

    def new_state(self) -> Published:
        return Published()

    def apply(self, state: Published, effect: RowEffect) -> None:
        match effect:
            case Put(row, value) if row == SETTINGS_ROW and (settings := _snapshot(value)) is not None:
                state.settings = settings
            case Put(row, value):
                state.rows[row] = value
            case Delete(row):
                state.rows.pop(row, None)

    def problems(self, state: Published) -> list[str]:
        return [f"a host keeps no such row {row}" for row in state.rows]


RULES: Final = HostRules()


@dataclass(slots=True)
class _Noted:
    version: int
    at_ms: int


class HostNotices:
    """What this process was told, and since when it can have been told anything."""

    def __init__(self, shard: int, store: Store, clock: Clock) -> None:
        self._clock = clock
        self._began_ms = clock.now_ms()
        self._noted: dict[str, _Noted] = {}
        self.settings = _stored(shard, store)

    def heard(self, parcel: Parcel) -> None:
        """A parcel has come. What is not of the right form or sender is left to the rules, which refuse it."""
        if parcel.to.kind != HOST:
            return
        if parcel.verb == AUTHORITY_CHANGED and parcel.sender.kind == "agent":
            agent_id, version = parcel.body.get("agentId"), parcel.body.get("version")
            if agent_id == parcel.sender.id and isinstance(version, int):
                self._note(parcel.sender.id, version)
        elif parcel.verb == SETTINGS_PUBLISHED and parcel.sender == SETTINGS:
            published = _snapshot(parcel.body)
            if published is not None and published.version > self.settings.version:
                self.settings = published

    def is_narrowed(self, agent_id: str, version: int) -> bool:
        """Whether this host was told of a newer authority of that agent."""
        noted = self._noted.get(agent_id)
        return noted is not None and version < noted.version

    def is_from_before(self, issued_ms: int) -> bool:
        """Whether a stamp of that time may have been narrowed without this process knowing: its predecessor may have
        been told. No process ends and the next one begins within one millisecond, so one of that time is honoured."""
        return issued_ms < self._began_ms

    def _note(self, agent_id: str, version: int) -> None:
        now_ms = self._clock.now_ms()
        before = self._noted.get(agent_id)
        self._noted[agent_id] = _Noted(max(version, before.version) if before else version, now_ms)
        if len(self._noted) > authorities_noted_max:
            oldest = now_ms - authority_noted_ms
            for name in [name for name, noted in self._noted.items() if noted.at_ms < oldest]:
                del self._noted[name]


def _snapshot(value: Value) -> Snapshot | None:
    if not isinstance(value, dict):
        return None
    version, values = value.get("version"), value.get("values")
    if not isinstance(version, int) or not isinstance(values, dict):
        return None
    return Snapshot(version, values)


def _stored(shard: int, store: Store) -> Snapshot:
    """What is stored; the defaults when that is damaged, which `nexus-bus doctor` names."""
    stored = store.get(state_key(host(shard), SETTINGS_ROW))
    if stored is None:
        return DEFAULTS
    try:
        settings = _snapshot(unpack_row(stored))
    except CorruptRow:
        settings = None
    if settings is None:
        _log.critical("settings_unreadable")
        return DEFAULTS
    return settings
