"""A stand-in for agents' owners: it spends something with each call that it sends on, and keeps what it is told.

| row | holds |
| --- | --- |
| version | of its authority |
| spent/CALL | where it sent the call on to, and under which version: an approval, gone with the same commit |
| settled/CALL | how often it was told what became of it, and the last time what |
| looked/CALL | what it was told that the call would do |
| died/CALL | that the call became a dead letter |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from actors.decision import (
    Context,
    Decision,
    Delete,
    Dispatch,
    Effect,
    Message,
    PrincipalKind,
    Put,
    RowEffect,
    Rules,
    TellHosts,
    Verb,
)
from bus.address import Address
from bus.value import Record, Value

WORKSPACE: Final = "w1"


@dataclass
class Purse:
    rows: dict[str, Value] = field(default_factory=dict)

    @property
    def version(self) -> int:
        version = self.rows.get("version", 1)
        assert isinstance(version, int)
        return version


def _stamp(state: Purse, context: Context) -> Record:
    return {
        "agentId": context.address.id,
        "workspaceId": WORKSPACE,
        "credential": "default",
        "version": state.version,
        "issuedMs": context.now_ms,
    }


def _admit(state: Purse, message: Message, context: Context) -> Decision:
    return Decision({"stamp": _stamp(state, context)})


def _send_on(state: Purse, message: Message, context: Context) -> Decision:
    """`stamp` in the body replaces its own, as no agent's owner would."""
    body = message.body
    call_id, arguments, stamp = str(body["callId"]), body.get("arguments", {}), body.get("stamp")
    deadline_ms, fingerprint = body.get("deadlineMs"), body.get("fingerprint")
    if f"spent/{call_id}" in state.rows and body.get("again") is not True:
        return Decision({"dispatched": call_id})
    assert isinstance(arguments, dict)
    dispatch = Dispatch(
        Address.parse(str(body["to"])),
        str(body["tool"]),
        arguments,
        call_id,
        stamp if isinstance(stamp, dict) else _stamp(state, context),
        deadline_ms=deadline_ms if isinstance(deadline_ms, int) else None,
        fingerprint=fingerprint if isinstance(fingerprint, dict) else None,
        as_of_now=body.get("asOfNow") is True,
        is_look=body.get("isLook") is True,
    )
    spent: tuple[Effect, ...] = () if dispatch.is_look else (_spent(dispatch),)
    return Decision({"dispatched": call_id}, (*spent, dispatch))


def _spent(dispatch: Dispatch) -> Put:
    paid: Record = {"to": str(dispatch.to), "tool": dispatch.tool, "version": dispatch.stamp.get("version")}
    return Put(f"spent/{dispatch.call_id}", paid)


def _settled(state: Purse, message: Message, context: Context) -> Decision:
    row = f"settled/{message.body['callId']!s}"
    before = state.rows.get(row)
    times = before["times"] if isinstance(before, dict) else 0
    assert isinstance(times, int)
    told: Record = {"ok": message.body["ok"]} if "ok" in message.body else {"error": message.body["error"]}
    return Decision({}, (Put(row, {**told, "times": times + 1}),))


def _looked(state: Purse, message: Message, context: Context) -> Decision:
    body = message.body
    return Decision({}, (Put(f"looked/{body['callId']!s}", {"would": body["would"], "print": body["fingerprint"]}),))


def _died(state: Purse, message: Message, context: Context) -> Decision:
    body = message.body["body"]
    assert isinstance(body, dict)
    return Decision({}, (Put(f"died/{body.get('callId')!s}", message.body["verb"]),))


def _narrow(state: Purse, message: Message, context: Context) -> Decision:
    version = state.version + 1
    told = TellHosts("authority_changed", {"agentId": context.address.id, "version": version})
    return Decision({"version": version}, (Put("version", version), told))


def _tell_all(state: Purse, message: Message, context: Context) -> Decision:
    body = message.body["body"]
    assert isinstance(body, dict)
    return Decision({}, (TellHosts(str(message.body["verb"]), body),))


def _publish(state: Purse, message: Message, context: Context) -> Decision:
    return Decision({}, (TellHosts("settings_published", message.body),))


def _rows(state: Purse, message: Message, context: Context) -> Decision:
    return Decision({"rows": dict(state.rows)})


_OUTSIDE: Final = frozenset({PrincipalKind.PERSON, PrincipalKind.GATEWAY})
_OWNER: Final = frozenset({PrincipalKind.OWNER})


class PurseRules(Rules[Purse]):
    kind = "agent"
    verbs: Mapping[str, Verb[Purse]] = {
        "admit": Verb(_admit, _OUTSIDE),
        "send_on": Verb(_send_on, _OUTSIDE),
        "narrow": Verb(_narrow, _OUTSIDE),
        "tell_all": Verb(_tell_all, _OUTSIDE),
        "rows": Verb(_rows, _OUTSIDE),
        "settled": Verb(_settled, _OWNER),
        "looked": Verb(_looked, _OWNER),
        "message_died": Verb(_died, _OWNER),
    }

    def new_state(self) -> Purse:
        return Purse()

    def apply(self, state: Purse, effect: RowEffect) -> None:
        match effect:
            case Put(row, value):
                state.rows[row] = value
            case Delete(row):
                state.rows.pop(row, None)


class PublisherRules(PurseRules):
    """A stand-in for the settings' owner."""

    kind = "settings"
    verbs: Mapping[str, Verb[Purse]] = {"publish": Verb(_publish, _OUTSIDE)}
