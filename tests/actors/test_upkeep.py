"""What a host does for the person beside its work: backups, dead letters, checks, traces, activity."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from actors.pool import ThreadPool
from bus import address
from bus.address import Address
from bus.clock import ManualClock
from bus.codec import pack_row
from bus.envelope import Mark
from bus.journal_thread import ThreadJournal
from bus.store import journal_key, outbox_key, state_key
from bus.store_memory import MemoryStore
from bus.value import Record
from nexus.gateway.person_log import in_order
from tests.support.counter import CounterRules
from tests.support.hosts import Hosts
from tests.support.loop import until

ONE, TWO = Address("counter", "-", "one"), Address("counter", "-", "two")
HOST = address.host(0)


def run(body: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await body()

    asyncio.run(main())


async def listed(hosts: Hosts, verb: str, name: str, body: Record | None = None) -> list[Any]:
    found = (await hosts.ok(HOST, verb, body))[name]
    assert isinstance(found, list)
    return found


async def with_a_letter(hosts: Hosts, to: str = "nobody/-/x") -> str:
    await hosts.ok(ONE, "tell", {"to": to}, call_id="origin")
    await until(lambda: bool(hosts.stores[0].scan(b"d")))
    (letter,) = await listed(hosts, "dead_list", "letters")
    return str(letter["letter"])


def test_a_dead_letter_is_listed_with_why_it_died() -> None:
    async def body() -> None:
        hosts = Hosts()
        await with_a_letter(hosts)
        (letter,) = await listed(hosts, "dead_list", "letters")
        assert (letter["to"], letter["from"], letter["verb"], letter["call"]) == (
            "nobody/-/x",
            str(ONE),
            "told",
            "origin",
        )
        assert "kind nobody" in letter["why"]

    run(body)


def test_a_letter_that_is_retried_is_handled_once_however_often_it_is_asked_and_keeps_its_sender() -> None:
    async def body() -> None:
        class Mended(CounterRules):
            kind = "mended"

        store = MemoryStore()
        broken = Hosts(stores=[store])
        name = await with_a_letter(broken, "mended/-/x")
        broken.running[0].close_links()
        clock = ManualClock()
        clock.advance(60_000)
        hosts = Hosts(stores=[store], clock=clock, roster={"counter": CounterRules(), "mended": Mended()})
        first = await hosts.ok(HOST, "dead_retry", {"letter": name}, call_id="retry")
        again = await hosts.ok(HOST, "dead_retry", {"letter": name}, call_id="retry")
        assert first == again
        third = await hosts.ask(HOST, "dead_retry", {"letter": name})
        assert third.error is not None
        assert third.error["code"] == "not_found"
        await until(lambda: hosts.running[0].host.outbox.size == 0)
        assert (await hosts.ok(Address("mended", "-", "x"), "read"))["total"] == 1
        assert await listed(hosts, "dead_list", "letters") == []
        traced = await listed(hosts, "trace_records", "records", {"call": "origin"})
        assert [record["by"] for record in traced][-2:] == ["person", str(ONE)]
        hosts.restart(0)
        assert (await hosts.ok(Address("mended", "-", "x"), "read"))["total"] == 1

    run(body)


def test_two_retries_at_once_send_one_message() -> None:
    async def body() -> None:
        hosts = Hosts()
        name = await with_a_letter(hosts)
        hold = hosts.running[0].journal.hold(lambda: None)
        asks = [asyncio.ensure_future(hosts.ask(HOST, "dead_retry", {"letter": name})) for _ in range(2)]
        await until(lambda: any(ask.done() for ask in asks))
        hold.release()
        codes = sorted(str(reply.error and reply.error["code"]) for reply in await asyncio.gather(*asks))
        assert codes == ["None", "unavailable"]

    run(body)


def test_a_letter_that_is_dropped_is_gone_and_the_event_log_says_by_whom() -> None:
    async def body() -> None:
        hosts = Hosts()
        name = await with_a_letter(hosts)
        await hosts.ok(HOST, "dead_drop", {"letter": name})
        assert hosts.stores[0].scan(b"d") == []
        event = (await listed(hosts, "events", "events", {"limit": 1}))[0]
        assert (event["type"], event["by"], event["data"]["letter"]) == ("message.dropped", "person", name)

    run(body)


def test_only_the_person_may_look_and_what_names_nothing_is_refused() -> None:
    async def body() -> None:
        hosts = Hosts()
        for verb in ("dead_list", "backup_hold", "check_store", "pending", "activity"):
            reply = await hosts.agents.call(HOST, verb, {}, call_id=hosts.clock.new_id(), within_ms=5_000)
            assert reply.error is not None
        for verb, arguments in (("dead_retry", {}), ("dead_drop", {"letter": "x"}), ("trace_records", {})):
            bad = await hosts.ask(HOST, verb, dict(arguments))
            assert bad.error is not None
            assert bad.error["code"] == "invalid_arguments"

    run(body)


def test_pending_tells_what_waits_for_whom_and_which_calls_are_open() -> None:
    async def body() -> None:
        hosts = Hosts(2)
        far = next(a for a in (Address("counter", "-", f"n{n}") for n in range(99)) if a.shard(2) != ONE.shard(2))
        hosts.running[far.shard(2)].close_links()
        open_id = hosts.clock.new_id()
        asking = asyncio.ensure_future(hosts.ask(ONE, "ask", {"to": str(far)}, open_id))
        await hosts.ok(ONE, "tell", {"to": str(far)}, call_id="told")
        answer: Any = await hosts.ok(address.host(ONE.shard(2)), "pending", {"limit": 1})
        (destination,) = answer["destinations"]
        assert (destination["destination"], destination["messages"]) == (far.shard(2), 2)
        assert destination["oldestAt"] == hosts.clock.now_ms()
        assert len(answer["messages"]) == 1
        assert [call["call"] for call in answer["openCalls"]] == [open_id]
        rest: Any = await hosts.ok(address.host(ONE.shard(2)), "trace_rest", {"call": "told"})
        assert (rest["state"], len(rest["underWay"])) == ("answered", 1)
        asking.cancel()

    run(body)


def test_a_sound_store_has_no_problems_and_damage_is_named() -> None:
    async def body() -> None:
        hosts = Hosts()
        await hosts.ok(ONE, "tell", {"to": str(TWO), "wait": True})
        await hosts.ok(ONE, "alarm", {"seconds": 60, "verb": "rang"})
        assert await listed(hosts, "check_store", "problems") == []
        assert await listed(hosts, "check_owners", "problems") == []
        store = hosts.stores[0]
        last = store.last(b"j")
        assert last is not None
        good = store.get(state_key(TWO, "head"))
        assert good is not None
        store.commit(
            [
                (state_key(TWO, "head"), good[:-1] + b"\xff"),
                (journal_key(90), last[1]),
                (outbox_key(0, Mark(1, 0)), pack_row("no parcel")),
                (b"x?", pack_row(1)),
                (state_key(Address("ghost", "-", "g"), "head"), pack_row(1)),
            ]
        )
        found = [f"{p['row']}: {p['problem']}" for p in await listed(hosts, "check_store", "problems")]
        assert len(found) == 4, found
        for part in ("state counter/-/two head: the row fails", "records are missing between", "form", "no table"):
            assert any(part in one for one in found), (part, found)
        owners = {p["owner"]: p["problem"] for p in await listed(hosts, "check_owners", "problems")}
        assert owners.keys() == {str(TWO), "ghost/-/g"}

    run(body)


def test_an_owners_own_rules_are_asked_on_the_thread_beside_and_never_on_the_loop() -> None:
    async def body() -> None:
        threads: set[int] = set()

        class Watched(CounterRules):
            def problems(self, state: Any) -> list[str]:
                threads.add(threading.get_ident())
                return super().problems(state)

        pool = ThreadPool(1)
        hosts = Hosts(roster={"counter": Watched()}, executor=pool, make_journal=ThreadJournal)
        await hosts.ok(ONE, "make_odd")
        (problem,) = await listed(hosts, "check_owners", "problems")
        assert problem["owner"] == str(ONE)
        assert "odd" in problem["problem"]
        assert threads
        assert threading.get_ident() not in threads
        pool.close()

    run(body)


def test_a_barrier_that_nobody_releases_ends_by_itself_and_work_goes_on() -> None:
    async def body() -> None:
        hosts = Hosts()
        backup: Record = {"backup": "b1"}
        assert (await hosts.ok(HOST, "backup_hold", backup))["sequence"] == 0
        adding = asyncio.ensure_future(hosts.ok(ONE, "add"))
        assert await adding == {"total": 1}  # the hold has expired by then
        late = await hosts.ask(HOST, "backup_release", backup)
        assert late.error is not None
        assert late.error["code"] == "wrong_state"

    run(body)


def test_activity_counts_the_last_whole_window() -> None:
    async def body() -> None:
        hosts = Hosts()
        assert isinstance(hosts.clock, ManualClock)
        for _ in range(3):
            await hosts.ok(ONE, "add")
        hosts.clock.advance(1_000)
        sample: Any = await hosts.ok(HOST, "activity")
        assert (sample["messages"], sample["commits"], sample["windowMs"]) == ({"counter": 3}, {"counter": 3}, 1_000)
        assert sample["busiest"] == [{"address": str(ONE), "messages": 3}]
        assert sample["waitingCalls"] == 0
        hosts.clock.advance(5_000)
        assert (await hosts.ok(HOST, "activity"))["messages"] == {}

    run(body)


def test_a_traces_records_stand_in_the_order_of_cause_even_within_one_millisecond() -> None:
    cause: Record = {"shard": 1, "sequence": 4, "at": 7}
    effect: Record = {"shard": 0, "sequence": 9, "at": 7, "message": [1, 4, 0]}
    later: Record = {"shard": 0, "sequence": 10, "at": 8}
    assert in_order([later, effect, cause]) == [cause, effect, later]
    loop: Record = {"shard": 0, "sequence": 1, "at": 1, "message": [0, 1, 0]}
    assert in_order([loop]) == [loop]
