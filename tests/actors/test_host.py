"""A shard host's promises, with a small kind of owner: answers once, effects once, nothing before it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from types import MappingProxyType
from typing import Any

import pytest
from structlog.testing import capture_logs

from actors.decision import Context, Decision, Message, PrincipalKind, Put, Send, Verb
from actors.pool import ThreadPool
from bus import address
from bus.address import Address
from bus.admitted import marks_of_chain
from bus.clock import ManualClock, SystemClock
from bus.journal_thread import ThreadJournal
from bus.limits import value_depth_max
from bus.store import StoreFull, Write, answer_key, state_prefix
from bus.store_memory import MemoryStore
from bus.value import Record, records
from tests.support.counter import CounterRules
from tests.support.hosts import Hosts
from tests.support.loop import until

ONE = Address("counter", "-", "one")
TWO = Address("counter", "-", "two")


def run(body: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await body()

    asyncio.run(main())


def other_shard(shards: int) -> Address:
    """A counter on another shard than ONE."""
    names = (Address("counter", "-", f"n{n}") for n in range(100))
    return next(name for name in names if name.shard(shards) != ONE.shard(shards))


def test_a_write_is_answered_and_read_back_also_by_the_next_incarnation() -> None:
    async def body() -> None:
        hosts = Hosts()
        assert await hosts.ok(ONE, "add") == {"total": 1}
        hosts.restart(0)
        assert await hosts.ok(ONE, "read") == {"total": 1, "whole": False}

    run(body)


def test_a_repeated_call_id_gets_the_first_answer_and_has_no_second_effect() -> None:
    """common 8.1"""

    async def body() -> None:
        hosts = Hosts()
        first = await hosts.ok(ONE, "add", call_id="same")
        hosts.restart(0)
        assert await hosts.ok(ONE, "add", call_id="same") == first
        assert await hosts.ok(ONE, "read") == {"total": 1, "whole": False}

    run(body)


def test_a_message_reaches_another_owner_once_also_after_a_restart() -> None:
    async def body() -> None:
        hosts = Hosts()
        await hosts.ok(ONE, "tell", {"to": str(TWO), "wait": True})
        assert await hosts.ok(TWO, "read") == {"total": 1, "whole": False}
        hosts.restart(0)
        assert await hosts.ok(TWO, "read") == {"total": 1, "whole": False}
        assert hosts.running[0].host.outbox.size == 0

    run(body)


def test_messages_cross_shards_in_order_are_acknowledged_and_survive_a_dead_receiver() -> None:
    async def body() -> None:
        hosts = Hosts(2)
        far = other_shard(2)
        for _ in range(5):
            await hosts.ok(ONE, "tell", {"to": str(far), "wait": True})
        assert (await hosts.ok(far, "read"))["total"] == 5
        hosts.running[far.shard(2)].close_links()
        await hosts.ok(ONE, "tell", {"to": str(far)})
        hosts.restart(far.shard(2))
        sender = hosts.running[ONE.shard(2)].host
        await until(lambda: sender.outbox.size == 0)
        assert (await hosts.ok(far, "read"))["total"] == 6
        assert hosts.stores[ONE.shard(2)].scan(b"o") == []

    run(body)


def test_a_call_left_open_is_answered_when_its_message_comes_back_and_a_repeat_hears_the_same() -> None:
    async def body() -> None:
        hosts = Hosts(2)
        far = other_shard(2)
        await hosts.ok(far, "add")
        assert await hosts.ok(ONE, "ask", {"to": str(far)}, call_id="open") == {"total": 1}
        await hosts.ok(far, "add")
        hosts.restart(ONE.shard(2))
        assert await hosts.ok(ONE, "ask", {"to": str(far)}, call_id="open") == {"total": 1}

    run(body)


def test_a_repeat_of_an_open_call_joins_it_across_a_restart() -> None:
    async def body() -> None:
        hosts = Hosts(2)
        far = other_shard(2)
        hosts.running[far.shard(2)].close_links()
        waiting = asyncio.ensure_future(hosts.ok(ONE, "ask", {"to": str(far)}, call_id="open"))
        store = hosts.stores[ONE.shard(2)]
        await until(lambda: store.get(answer_key("open")) is not None)
        hosts.restart(ONE.shard(2))
        hosts.restart(far.shard(2))
        assert await waiting == {"total": 0}

    run(body)


def test_an_exception_in_a_decision_is_answered_without_its_text_and_changes_nothing() -> None:
    """common 7.4"""

    async def body() -> None:
        hosts = Hosts()
        await hosts.ok(ONE, "add")
        reply = await hosts.ask(ONE, "fail")
        assert reply.error is not None
        assert reply.error["code"] == "internal"
        assert "secret" not in str(reply.error)
        assert await hosts.ok(ONE, "add") == {"total": 2}

    run(body)


@pytest.mark.parametrize("value", ["raise", 1 << 70, "\ud800"])
def test_an_effect_that_cannot_be_applied_or_stored_leaves_memory_and_disk_as_they_were(value: str | int) -> None:
    async def body() -> None:
        hosts = Hosts()
        await hosts.ok(ONE, "add")
        bad: Record = {"value": value}
        if value == "raise":
            reply = await hosts.ask(ONE, "half", bad)
            assert reply.error is not None
            assert reply.error["code"] == "internal"
        else:
            with pytest.raises(ValueError):  # the link refuses it before it is sent
                await hosts.ask(ONE, "half", bad)
        assert (await hosts.ok(ONE, "read"))["total"] == 1
        hosts.restart(0)
        assert (await hosts.ok(ONE, "read"))["total"] == 1

    run(body)


def test_an_answer_that_cannot_be_encoded_is_a_defect_and_the_caller_hears_so() -> None:
    async def body() -> None:
        reply = await Hosts().ask(ONE, "odd")
        assert reply.error is not None
        assert reply.error["code"] == "internal"

    run(body)


def test_a_message_that_only_its_row_makes_too_deep_is_a_defect_of_one_call_and_the_host_goes_on() -> None:
    def deep(state: Any, message: Message, context: Context) -> Decision:
        body: Record = {}
        for _ in range(value_depth_max):
            body = {"in": body}
        return Decision({}, (Put("head", 1), Send(ONE, "told", body)))

    class Deep(CounterRules):
        verbs = MappingProxyType({**CounterRules.verbs, "deep": Verb(deep, frozenset({PrincipalKind.PERSON}))})

    async def body() -> None:
        hosts = Hosts(roster={"counter": Deep()}, make_journal=ThreadJournal, executor=ThreadPool(1))
        with capture_logs():  # drawing the whole depth takes seconds
            reply = await hosts.ask(ONE, "deep")
        assert reply.error is not None
        assert reply.error["code"] == "internal"
        assert hosts.broken == []
        assert await hosts.ok(ONE, "add") == {"total": 1}

    run(body)


def test_a_full_disk_refuses_the_write_and_reads_go_on_from_what_is_stored() -> None:
    async def body() -> None:
        hosts = Hosts(stores=[MemoryStore(bytes_max=1_500)])
        totals: list[object] = []
        for _ in range(40):
            reply = await hosts.ask(ONE, "add")
            totals.append(reply.ok["total"] if reply.ok else reply.error and reply.error["code"])
        assert totals[0] == 1
        assert totals[-1] == "storage_full"
        stored = max(total for total in totals if isinstance(total, int))
        assert (await hosts.ok(ONE, "read"))["total"] == stored

    run(body)


class OnceFullStore(MemoryStore):
    """Is full once, when a commit writes to the state of `full_at`."""

    full_at: Address | None = None

    def commit(self, writes: Sequence[Write]) -> None:
        if self.full_at is not None and any(key.startswith(state_prefix(self.full_at)) for key, _ in writes):
            self.full_at = None
            raise StoreFull
        super().commit(writes)


def test_a_message_whose_effect_was_not_stored_comes_again_and_counts_once() -> None:
    async def body() -> None:
        store = OnceFullStore()
        hosts = Hosts(stores=[store])
        await hosts.ok(ONE, "tell", {"to": str(TWO), "wait": True})
        store.full_at = TWO
        await hosts.ok(ONE, "tell", {"to": str(TWO), "wait": True})
        assert (await hosts.ok(TWO, "read"))["total"] == 2

    run(body)


def test_a_message_that_no_owner_can_decide_becomes_a_dead_letter_and_the_stream_goes_on() -> None:
    async def body() -> None:
        hosts = Hosts()
        await hosts.ok(ONE, "tell", {"to": "nobody/-/x"})
        await hosts.ok(ONE, "tell", {"to": str(TWO)})
        await until(lambda: hosts.running[0].host.outbox.size == 0 or bool(hosts.stores[0].scan(b"d")))
        await until(lambda: hosts.running[0].host.outbox.size == 0)
        assert (await hosts.ok(TWO, "read"))["total"] == 1

    run(body)


def test_a_verb_that_does_not_exist_or_is_not_for_this_side_is_refused() -> None:
    async def body() -> None:
        hosts = Hosts()
        for verb in ("nonsense", "told"):
            reply = await hosts.ask(ONE, verb)
            assert reply.error is not None
            assert reply.error["code"] == "internal"
        assert (await hosts.ok(ONE, "read"))["total"] == 0

    run(body)


def test_a_stamp_that_is_too_old_is_refused_as_stale_and_a_fresh_one_passes() -> None:
    async def body() -> None:
        hosts = Hosts()
        now = hosts.clock.now_ms()
        codes = []
        for issued in (now - 6_000, now):
            stamp: Record = {"agentId": "a", "workspaceId": "w", "credential": "d", "issuedMs": issued, "version": 1}
            call_id = hosts.clock.new_id()
            reply = await hosts.agents.call(ONE, "add", {}, call_id=call_id, within_ms=5_000, stamp=stamp)
            codes.append(reply.error and reply.error["code"])
        assert codes == ["stale_stamp", None]

    run(body)


def test_only_the_persons_link_may_inspect_a_host() -> None:
    async def body() -> None:
        hosts = Hosts()
        await hosts.ok(ONE, "add")
        reply = await hosts.agents.call(address.host(0), "events", {}, call_id="x", within_ms=5_000)
        assert reply.error is not None
        events = await hosts.ok(address.host(0), "events", {"limit": 5})
        happened = events["events"]
        assert isinstance(happened, list)
        assert [(e["type"], e["by"], e["owner"]) for e in happened if isinstance(e, dict)] == [
            ("test.added", "person", str(ONE))
        ]

    run(body)


def test_the_log_says_for_whom_a_call_was_made_and_how_many_it_does_not_name() -> None:
    """security 2.24"""

    async def body() -> None:
        hosts = Hosts()
        stamp: Record = {"agentId": "a", "workspaceId": "w", "credential": "d", "version": 1}
        for marks in ({}, marks_of_chain(("b", "c"), 2)):
            whole: Record = {**stamp, "issuedMs": hosts.clock.now_ms(), **marks}
            call_id = hosts.clock.new_id()
            assert (
                await hosts.agents.call(ONE, "add", {}, call_id=call_id, within_ms=5_000, stamp=whole)
            ).error is None
        events = records(await hosts.ok(address.host(0), "events", {"limit": 5}), "events")
        told = [{name: event[name] for name in ("chain", "chainMore") if name in event} for event in events]
        assert told == [{}, {"chain": ["b", "c"], "chainMore": 2}]

    run(body)


def test_events_that_are_waited_for_are_told_when_they_happen() -> None:
    async def body() -> None:
        hosts = Hosts()
        waiting = asyncio.ensure_future(hosts.ok(address.host(0), "events", {"after": 0, "limit": 5, "waitMs": 5_000}))
        await hosts.ok(ONE, "add")
        answer = await waiting
        assert answer["last"] == 1

    run(body)


def test_an_idle_owner_leaves_memory_and_comes_back_with_its_state() -> None:
    async def body() -> None:
        clock = ManualClock()
        hosts = Hosts(clock=clock)
        await hosts.ok(ONE, "add")
        host = hosts.running[0].host
        clock.advance(60_000)
        host._sweep()
        assert host.inspector._is_live(ONE) is False
        assert await hosts.ok(ONE, "add") == {"total": 2}

    run(body)


def test_a_head_only_verb_does_not_load_the_rest() -> None:
    """canvas 5: listing loads no scene."""

    async def body() -> None:
        hosts = Hosts()
        await hosts.ok(ONE, "add")
        await hosts.ok(ONE, "extra")
        hosts.restart(0)
        assert await hosts.ok(ONE, "glance") == {"total": 1, "whole": False}
        assert await hosts.ok(ONE, "read") == {"total": 1, "whole": True}

    run(body)


def test_with_threads_many_callers_get_every_number_once_and_reads_see_their_own_writes() -> None:
    async def body() -> None:
        pool = ThreadPool(2)
        hosts = Hosts(clock=SystemClock(), executor=pool, make_journal=ThreadJournal)
        counters = [Address("counter", "-", f"c{n}") for n in range(5)]

        async def worker(number: int) -> list[tuple[Address, object]]:
            seen: list[tuple[Address, object]] = []
            for turn in range(20):
                counter = counters[(number + turn) % 5]
                total = (await hosts.ok(counter, "add"))["total"]
                read = (await hosts.ok(counter, "read"))["total"]
                assert isinstance(read, int)
                assert isinstance(total, int)
                assert read >= total
                seen.append((counter, total))
            return seen

        everything = [pair for seen in await asyncio.gather(*map(worker, range(16))) for pair in seen]
        assert len(set(everything)) == len(everything) == 320
        pool.close()

    run(body)
