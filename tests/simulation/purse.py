"""Scripts and rules of judgement for calls that purses (tests/support/purse.py) send on to ledgers.

A purse spends something with each call that it sends on, as an agent's owner does with an approval or a charge. Clients
do as the gateway does: they ask the purse, then join the call at its ledger; sometimes they join before. Other calls
ride on an admission.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final

from bus import address
from bus.address import Address
from bus.admitted import STAMP_DISPATCHED
from bus.envelope import Reply
from bus.retention import Retention
from bus.store import answer_key, state_key
from bus.value import Record, Value
from tests.simulation.history import CallRecord, Fate, History, Operation
from tests.simulation.invariants import BEFORE_REPLY_US, Disks, LedgerJudge, demand

_TOOLS: Final = {"add": 12, "ask": 3, "refuse": 1, "fail": 1}
_WISHES: Final = {"send_on": 14, "admit": 4, "stamped": 6, "ride": 8, "narrow": 3}


def purses(shards: int) -> Sequence[Address]:
    """One a shard, so that calls go near and far."""
    names = [address.agent(f"p{number}") for number in range(40)]
    return [next(name for name in names if name.shard(shards) == shard) for shard in range(shards)]


class PurseScript:
    """One client's wishes. `make_id` makes the ids of calls that are sent on; `now_ms` is the client's time."""

    def __init__(self, owners: Sequence[Address], all_purses: Sequence[Address], rng: random.Random) -> None:
        self._owners = owners
        self._purses = all_purses
        self._rng = rng
        self._todo: list[Operation] = []
        self._stamps: list[Record] = []
        self._told: dict[Address, int] = {}
        """What a total was when this client last heard of it: what an approval saw."""

    def next(self, make_id: Callable[[], str], now_ms: int) -> Operation:
        if self._todo and self._rng.random() < 0.8:
            return self._todo.pop(0)
        wish = self._rng.choices(list(_WISHES), weights=list(_WISHES.values()))[0]
        purse = self._rng.choice(self._purses)
        match wish:
            case "narrow":
                return Operation(purse, "narrow", {}, has_effects=True, by_gateway=True)
            case "stamped" if self._stamps:
                stamp = self._rng.choice(self._stamps[-3:])
                return Operation(self._rng.choice(self._owners), "add", {}, has_effects=True, stamp=stamp)
            case "ride":
                verb = self._rng.choice(("add", "add", "read"))
                return Operation(self._rng.choice(self._owners), verb, {}, has_effects=verb == "add", via=purse)
            case "send_on":
                return self._send_on(purse, make_id(), now_ms)
        return Operation(purse, "admit", {}, has_effects=False, by_gateway=True, heard=self._heard_stamp)

    def heard_total(self, record: CallRecord) -> None:
        if record.ok is not None and isinstance(total := record.ok.get("total"), int):
            self._told[record.operation.to] = total

    def _heard_stamp(self, record: CallRecord) -> None:
        if record.ok is not None and isinstance(stamp := record.ok["stamp"], dict):
            self._stamps.append(stamp)

    def _send_on(self, purse: Address, call_id: str, now_ms: int) -> Operation:
        rng = self._rng
        to = rng.choice(self._owners)
        tool = rng.choices(list(_TOOLS), weights=list(_TOOLS.values()))[0]
        arguments: Record = {"to": str(rng.choice(self._owners))} if tool == "ask" else {}
        body: Record = {"to": str(to), "tool": tool, "callId": call_id, "arguments": arguments}
        if rng.random() < 0.4:
            arguments["by"] = body["deadlineMs"] = now_ms + rng.choice((5, 60, 1_500))
        if tool == "add" and rng.random() < 0.4:
            seen = self._told.get(to, 0)
            arguments["seen"], body["fingerprint"] = seen, {"total": seen}
        join = self._join(to, tool, arguments, call_id)

        def heard(record: CallRecord) -> None:
            if record.fate is Fate.ANSWERED and not joins_before:
                self._todo.append(join)

        joins_before = rng.random() < 0.25
        if joins_before:
            self._todo.append(join)
        return Operation(purse, "send_on", body, has_effects=True, by_gateway=True, heard=heard)

    def _join(self, to: Address, tool: str, arguments: Record, call_id: str) -> Operation:
        stamp: Record = {"agentId": "p", "workspaceId": "w1", "credential": "default", "version": 0, "issuedMs": 0}
        stamp[STAMP_DISPATCHED] = True
        has_effects = tool in ("add", "ask")
        return Operation(
            to, tool, arguments, has_effects, call_id=call_id, stamp=stamp, attempts_max=5, heard=self.heard_total
        )


class PurseJudge(LedgerJudge):
    """Judges runs of ledgers and purses. `clocks_jump`: a host that begins anew may not know how late it was."""

    def __init__(self, disks: Disks, clocks_jump: bool) -> None:
        super().__init__(disks)
        self._clocks_jump = clocks_jump
        self._sent_on: dict[str, CallRecord] = {}
        self._narrowed: dict[str, int] = {}
        """By agent, the version below which no host honours a stamp any more, as the person was told."""
        self._too_old: list[CallRecord] = []

    def began(self, record: CallRecord) -> None:
        super().began(record)
        stamp = record.operation.stamp
        if record.operation.verb == "send_on":
            self._sent_on[str(record.operation.body["callId"])] = record
        elif stamp is not None and not record.operation.call_id:
            version = stamp["version"]
            assert isinstance(version, int)
            if version < self._narrowed.get(str(stamp["agentId"]), 0):
                self._too_old.append(record)

    def checked(self, record: CallRecord, reply: Reply, now_us: int) -> None:
        if record.operation.to.kind == "ledger":
            super().checked(record, reply, now_us)
            sent_on = self._sent_on.get(record.id)
            is_answered = reply.ok is not None or (reply.error or {}).get("code") == "approval_lapsed"
            if is_answered and sent_on is not None and now_us - sent_on.begun_us < BEFORE_REPLY_US:
                told = self._disks.row(sent_on.operation.to, f"settled/{record.id}")
                demand(
                    bool(self._disks.torn_owners) or told is not None, "settled before it is told", record.describe()
                )
            return
        if reply.ok is None or self._disks.torn_owners:
            return
        purse = record.operation.to
        if record.operation.verb == "send_on":
            row = self._disks.row(purse, f"spent/{record.operation.body['callId']!s}")
            demand(row is not None, "acknowledged implies durable", record.describe())
        elif record.operation.verb == "narrow" and now_us - record.begun_us < BEFORE_REPLY_US:
            self._check_narrowing(purse, reply.ok["version"])

    def _check_narrowing(self, purse: Address, version: Value) -> None:
        """The person was told: from now on nothing happens by what was before."""
        assert isinstance(version, int)
        self._narrowed[purse.id] = max(version, self._narrowed.get(purse.id, 0))
        rows = self._disks.rows(purse)
        for row, paid in rows.items():
            if not row.startswith("spent/"):
                continue
            assert isinstance(paid, dict)
            assert isinstance(paid["version"], int)
            call_id, to = row.removeprefix("spent/"), Address.parse(str(paid["to"]))
            if paid["version"] < version and f"settled/{call_id}" not in rows and f"died/{call_id}" not in rows:
                demand(self._is_decided(to, call_id), "no call of before is left behind a narrowing", row, str(purse))

    def _is_decided(self, to: Address, call_id: str) -> bool:
        disk = self._disks.of(to).content
        is_known = disk.get(answer_key(call_id)) is not None or disk.get(state_key(to, f"~open/{call_id}")) is not None
        return is_known or call_id <= Retention(disk).floor or any(call_id.encode() in v for _, v in disk.scan(b"o"))

    def at_end(self, history: History) -> None:
        super().at_end(history)
        if self._disks.torn_owners:
            return
        paid: set[str] = set()
        for purse in self._disks.owners("agent"):
            rows = self._disks.rows(purse)
            for row, spent in rows.items():
                if row.startswith("spent/"):
                    paid.add(row.removeprefix("spent/"))
                    self._check_spent(row.removeprefix("spent/"), spent, rows)
            strange = [row for row in rows if row.startswith(("settled/", "died/")) and row.split("/")[1] not in paid]
            demand(not strange, "only what was sent on is settled", str(purse), strange)
        self._check_paid(paid)
        for record in self._too_old:
            effect = self._number(record.operation.to, f"effect/{record.id}")
            demand(effect == 0 or self._clocks_jump, "a narrowed authority is not honoured", record.describe(), effect)

    def _check_spent(self, call_id: str, spent: Value, rows: dict[str, Value]) -> None:
        """Nothing is spent without its effect; what is refused has none."""
        assert isinstance(spent, dict)
        told, effect = (
            rows.get(f"settled/{call_id}"),
            self._number(Address.parse(str(spent["to"])), f"effect/{call_id}"),
        )
        if f"died/{call_id}" in rows:
            demand(told is None and effect == 0, "a dead call is not settled and has no effect", call_id, told, effect)
            return
        demand(isinstance(told, dict) and told["times"] == 1, "each call sent on is settled once", call_id, spent, told)
        assert isinstance(told, dict)
        expected = 1 if "ok" in told else 0
        demand(effect == expected, "what is settled is what happened", call_id, spent, told, effect)

    def _check_paid(self, paid: set[str]) -> None:
        """No effect comes without what it costs."""
        for ledger in self._disks.owners("ledger"):
            effects = [row.removeprefix("effect/") for row in self._disks.rows(ledger, "effect/")]
            unpaid = [call_id for call_id in effects if call_id in self._sent_on and call_id not in paid]
            demand(not unpaid, "no effect without what it costs", str(ledger), unpaid)
