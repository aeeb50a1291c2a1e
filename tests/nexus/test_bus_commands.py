"""`nexus-bus doctor | pending | dead | trace | export | top`: the gateway over two real hosts, and the commands."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from bus.address import Address
from bus.store import state_key
from bus.store_lmdb import LmdbStore
from bus.value import Record
from nexus import exit_codes
from nexus.bus_upkeep_cli import top_lines
from nexus.gateway.person_backup import Backup, backup
from nexus.gateway.person_owners import Owners, VerbRefused
from nexus.gateway.person_verbs import STREAMS, VERBS
from tests.nexus.test_person_cli import HOSTILE, commands
from tests.nexus.test_person_port import LISTS
from tests.support.hosts import Hosts
from tests.support.loop import until
from tests.support.person_port import ask, refused_code, running_port
from tests.support.scripted_caller import Script, Sent
from tools.errors import NOT_FOUND, unavailable

ONE = Address("counter", "-", "one")
FAR = next(a for a in (Address("counter", "-", f"n{n}") for n in range(99)) if a.shard(2) != ONE.shard(2))


def over_hosts(body: Callable[[Hosts, Owners], Awaitable[None]], shards: int = 2) -> None:
    async def main() -> None:
        hosts = Hosts(shards)
        await body(hosts, Owners(hosts.person, hosts.clock, shards))

    asyncio.run(main())


async def streamed(owners: Owners, verb: str, arguments: Record | None = None) -> tuple[list[Any], Any]:
    events: list[Any] = []

    async def emit(event: Record) -> None:
        events.append(event)

    return events, await STREAMS[verb](owners, arguments or {}, emit)


async def a_letter(hosts: Hosts, owners: Owners) -> str:
    await hosts.ok(ONE, "tell", {"to": "nobody/-/x"}, call_id="origin")
    await until(lambda: any(store.scan(b"d") for store in hosts.stores))
    answer: Any = await VERBS["bus.dead.ls"](owners, {})
    (letter,) = answer["letters"]
    return str(letter["letter"])


def test_doctor_finds_nothing_in_sound_stores_and_names_what_is_damaged() -> None:
    async def body(hosts: Hosts, owners: Owners) -> None:
        await hosts.ok(ONE, "tell", {"to": str(FAR), "wait": True})
        problems, answer = await streamed(owners, "bus.doctor")
        assert (problems, answer["healthy"], answer["owners"]) == ([], True, 2)
        hosts.stores[FAR.shard(2)].commit([(state_key(FAR, "head"), b"\x01torn")])
        problems, answer = await streamed(owners, "bus.doctor")
        assert answer["healthy"] is False
        assert {problem.get("owner") for problem in problems} == {str(FAR), None}

    over_hosts(body)


def test_a_trace_follows_a_call_over_shards_in_the_order_of_cause() -> None:
    async def body(hosts: Hosts, owners: Owners) -> None:
        await hosts.ok(FAR, "add")
        await hosts.ok(ONE, "tell", {"to": str(FAR), "wait": True}, call_id="traced")
        answer: Any = await VERBS["bus.trace"](owners, {"call": "traced"})
        assert [record["owner"] for record in answer["records"]] == [str(ONE), str(FAR)]
        assert answer["records"][0]["sent"] == [[str(FAR), "told"]]
        assert (answer["state"], answer["underWay"], answer["deadLetters"]) == ("answered", [], [])
        name = await a_letter(hosts, owners)
        answer = await VERBS["bus.trace"](owners, {"call": "origin"})
        assert answer["deadLetters"] == [name]

    over_hosts(body)


def test_letters_are_retried_and_dropped_by_name_over_all_shards() -> None:
    async def body(hosts: Hosts, owners: Owners) -> None:
        name = await a_letter(hosts, owners)
        assert (await VERBS["bus.dead.retry"](owners, {"letter": name}))["letter"] == name
        await until(lambda: any(store.scan(b"d") for store in hosts.stores))
        again: Any = await VERBS["bus.dead.ls"](owners, {})
        (letter,) = again["letters"]
        await VERBS["bus.dead.drop"](owners, {"letter": letter["letter"]})
        for gone in (letter["letter"], name, "9:0:1:0"):
            with pytest.raises(VerbRefused) as refused:
                await VERBS["bus.dead.retry"](owners, {"letter": gone})
            assert refused.value.error["code"] == "not_found"
        with pytest.raises(VerbRefused) as refused:
            await VERBS["bus.dead.drop"](owners, {"letter": "x"})
        assert refused.value.error["code"] == "invalid_arguments"

    over_hosts(body)


def test_an_export_is_everything_in_order_of_time_and_since_leaves_out_what_is_older() -> None:
    async def body(hosts: Hosts, owners: Owners) -> None:
        times: list[int] = []
        for number in range(40):
            await hosts.ok(ONE if number % 3 else FAR, "add")
            times.append(hosts.clock.now_ms())
            hosts.clock.advance(10)  # type: ignore[attr-defined]
        events, answer = await streamed(owners, "bus.export")
        assert [event["at"] for event in events] == times
        assert answer["events"] == 40
        later, _ = await streamed(owners, "bus.export", {"sinceMs": times[25]})
        assert [event["at"] for event in later] == times[25:]
        assert (await streamed(owners, "bus.export", {"sinceMs": times[-1] + 1}))[0] == []

    over_hosts(body)


def test_an_open_call_that_another_shard_answered_is_not_pending() -> None:
    def answer(sent: Sent) -> Record:
        calls: list[Any] = [{"call": "a", "since": 1}, {"call": "b", "since": 2}] if sent.to.id == "0" else []
        return {"shard": int(sent.to.id), "destinations": [], "messages": [], "openCalls": calls}

    def states(sent: Sent) -> Record:
        there = sent.to.id
        return {"states": {"a": "answered" if there == "1" else "open", "b": "open" if there == "0" else "none"}}

    script: Script = {("host", "pending"): answer, ("host", "call_states"): states}
    with running_port(script, shards=2) as port:
        assert ask(port, "bus.pending")["ok"]["openCalls"] == [{"call": "b", "since": 2}]


def test_a_backup_of_two_shards_is_of_one_moment(tmp_path: Path) -> None:
    async def body() -> None:
        hosts = Hosts(2, backups=tmp_path)
        owners = Owners(hosts.person, hosts.clock, 2)
        await hosts.ok(ONE, "tell", {"to": str(FAR), "wait": True})
        answer: Any = await backup(owners, Backup(backup="0" * 26))
        assert len(answer["sequences"]) == len(answer["heldMs"]) == 2
        await hosts.ok(ONE, "add")
        for shard, sequence in enumerate(answer["sequences"]):
            copy = LmdbStore(tmp_path / ("0" * 26) / str(shard))
            assert len(copy.scan(b"j")) == sequence
            copy.close()

    asyncio.run(body())


def test_a_host_that_does_not_hold_makes_the_backup_try_again_and_then_be_refused(tmp_path: Path) -> None:
    script: Script = {
        ("host/-/0", "backup_hold"): {"sequence": 1},
        ("host/-/1", "backup_hold"): unavailable(),
        ("host", "backup_release"): {"held": True, "heldUs": 5},
        ("host", "backup_discard"): {},
    }
    with running_port(script, shards=2) as port:
        assert refused_code(ask(port, "backup", {"backup": "0" * 26})) == "unavailable"
        assert len(port.caller.bodies("backup_release")) >= 4, "what was held is released each time"
        assert refused_code(ask(port, "backup", {"backup": "../x"})) == "invalid_arguments"


SCRIPT: Script = {
    **LISTS,
    ("mailbox", "mailbox_peek"): {"isPaused": False, "queued": 0},
    ("host", "check_store"): {"problems": [{"shard": 0, "row": HOSTILE, "problem": HOSTILE}], "rows": 3},
    ("host", "check_owners"): {"problems": [], "owners": 1},
    ("host", "pending"): {
        "shard": 0,
        "destinations": [{"destination": 1, "messages": 2, "oldestAt": 1}],
        "messages": [{"from": HOSTILE, "to": "x", "verb": HOSTILE, "call": "k"}],
        "openCalls": [{"call": "k", "since": 1}],
    },
    ("host", "dead_list"): {"letters": [{"letter": "0:1:0", "to": HOSTILE, "why": HOSTILE}]},
    ("host", "dead_retry"): {"letter": "0:1:0"},
    ("host", "dead_drop"): NOT_FOUND,
    ("host", "trace_records"): {
        "records": [{"shard": 0, "sequence": 1, "at": 5, "owner": HOSTILE, "by": "a", "events": [[HOSTILE, {}]]}]
    },
    ("host", "trace_rest"): {"shard": 0, "state": "open", "underWay": [], "deadLetters": ["0:1:0"]},
    ("host", "events"): {"events": [{"sequence": 1, "index": 0, "at": 5, "owner": HOSTILE, "type": "x"}], "last": 1},
    ("host", "first_since"): {"after": 0},
    ("host", "activity"): {
        "windowMs": 500,
        "messages": {"canvas": 5},
        "busiest": [{"address": HOSTILE, "messages": 5}],
    },
}


def test_the_commands_print_text_that_cannot_act_on_the_terminal_and_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """security 2.15"""
    monkeypatch.setattr("nexus.gateway.person_upkeep._fresh_seconds", 0)
    asked = {
        ("doctor",): exit_codes.UNHEALTHY,
        ("pending",): 0,
        ("dead", "ls"): 0,
        ("dead", "retry", "0:0:1:0"): 0,
        ("trace", "k"): 0,
        ("top",): 0,
    }
    with commands(monkeypatch, SCRIPT) as (run, _):
        for arguments, code in asked.items():
            text, as_json = run.bus(*arguments), run.bus(*arguments, "--json")
            assert (text.exit_code, as_json.exit_code) == (code, code), (arguments, text.output)
            assert not {"\x1b", "\x07", "\u202e"} & set(text.stdout + as_json.stdout)
            assert isinstance(json.loads(as_json.stdout), dict)
        assert "10.0" in run.bus("top").stdout, "five messages in half a second"
        dropped = run.bus("dead", "drop", "0:0:1:0")
        assert (dropped.exit_code, "--yes" in dropped.stderr) == (exit_codes.USAGE, True)
        assert run.bus("dead", "drop", "0:0:1:0", "--yes").exit_code == exit_codes.REFUSED


def test_an_export_goes_to_a_new_private_file_or_to_standard_output(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "events.jsonl"
    with commands(monkeypatch, SCRIPT) as (run, _):
        assert json.loads(run.bus("export", str(file), "--json").stdout)["events"] == 1
        assert json.loads(file.read_text())["owner"] == HOSTILE
        assert file.stat().st_mode & 0o777 == 0o600
        assert run.bus("export", str(file)).exit_code == exit_codes.REFUSED
        assert json.loads(run.bus("export", "-", "--since", "24h").stdout or "{}") == {}
        assert run.bus("export", "-", "--since", "yesterday").exit_code == exit_codes.USAGE
    broken = {**SCRIPT, ("host", "events"): unavailable()}
    with commands(monkeypatch, broken) as (run, _):
        assert run.bus("export", str(tmp_path / "half")).exit_code == exit_codes.REFUSED
        assert not (tmp_path / "half").exists()


def test_a_quiet_sample_says_so() -> None:
    assert "no busiest now" in top_lines({"time": 1, "shards": [], "kinds": [], "busiest": []})


@pytest.mark.parametrize("name", ["doctor", "pending", "dead ls", "dead retry", "dead drop", "trace", "export", "top"])
def test_each_command_has_examples_exit_codes_home_and_json(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with commands(monkeypatch, {}) as (run, _):
        shown = run.bus(*name.split(), "--help").stdout
    for part in (f"nexus-bus {name}", "Examples:", "Exit codes:", "--home", "--json"):
        assert part in shown
    assert f"bus.{name.replace(' ', '.')}" in {**VERBS, **STREAMS}
