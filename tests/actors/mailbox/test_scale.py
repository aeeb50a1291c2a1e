"""A hundred thousand waiting threads cost no more a step than a hundred (issue 6)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sized
from dataclasses import fields
from types import FrameType

import pytest

from actors import mailbox
from actors.decision import Context, Delete, Message, Principal, Put
from actors.mailbox import state as state_module
from actors.mailbox.originators import Originators
from actors.mailbox.rows import Facts, RequestNotice, request_row
from actors.mailbox.state import MailboxState
from bus.limits import lease_ms, leases_a_call_max, leases_per_mailbox_max, mailbox_shed_at_once
from bus.value import Record
from tests.support.bench import PERSON, OwnerBench, agent
from tests.support.full_mailbox import full_mailbox, thread_id_of

SMALL, LARGE = 100, 10_000


@pytest.fixture(scope="module")
def mailboxes() -> tuple[OwnerBench[MailboxState], OwnerBench[MailboxState]]:
    return full_mailbox(SMALL), full_mailbox(LARGE)


def _calls(what: Callable[[], object]) -> int:
    """How many Python functions are called: the same on every machine, whatever else runs."""
    count = 0

    def noted(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    former = sys.getprofile()
    sys.setprofile(noted)
    try:
        what()
    finally:
        sys.setprofile(former)
    return count


def _step(bench: OwnerBench[MailboxState], verb: str, body: Record, principal: Principal) -> Record:
    """Decide and apply, without the check of all invariants that the bench makes after each."""
    context = Context(bench.clock.now_ms(), principal, bench.clock.new_id(), bench.address)
    decision = mailbox.RULES.verbs[verb].decide(bench.state, Message(verb, body), context)
    for effect in decision.effects:
        if isinstance(effect, (Put, Delete)):
            mailbox.RULES.apply(bench.state, effect)
    assert isinstance(decision.reply, dict), decision.reply
    return decision.reply


def _journey(bench: OwnerBench[MailboxState]) -> None:
    """Read, lease, begin, renew, answer, list; the state is left with one thread fewer."""
    me = agent("a2", "w1")
    _step(bench, "agent_inbox", {"limit": 3}, me)
    leased = _step(bench, "mail_lease", {"runtimeId": "r", "count": 1}, me)["deliveries"]
    assert isinstance(leased, list) and isinstance(leased[0], dict)
    delivery: Record = {"deliveryId": leased[0]["deliveryId"]}
    _step(bench, "mail_start", delivery, me)
    _step(bench, "mail_renew", {"runtimeId": "r", "deliveryIds": [delivery["deliveryId"]]}, me)
    _step(bench, "mail_finish", {**delivery, "outcome": "completed", "body": "7"}, me)
    _step(bench, "threads_page", {"limit": 3}, PERSON)
    _step(bench, "threads_page", {"limit": 3, "states": ["working"]}, PERSON)
    _step(bench, "mailbox_peek", {"limit": 3}, PERSON)


def test_an_inbox_of_a_hundred_times_as_many_costs_about_the_same(
    mailboxes: tuple[OwnerBench[MailboxState], OwnerBench[MailboxState]],
) -> None:
    """mesh 4.6. A fault of others: mailboxes that stop at a thousand messages."""
    small, large = mailboxes
    for bench in mailboxes:
        _journey(bench)  # what is made once is made
    assert _calls(lambda: _journey(large)) < 1.3 * _calls(lambda: _journey(small))


def test_what_is_over_at_once_is_settled_in_turns_and_leases_stay_bounded(
    mailboxes: tuple[OwnerBench[MailboxState], OwnerBench[MailboxState]],
) -> None:
    """mesh 4.4"""
    _, bench = mailboxes
    me = agent("a2", "w1")
    for _ in range(leases_per_mailbox_max // leases_a_call_max + 1):
        _step(bench, "mail_lease", {"runtimeId": "r", "count": leases_a_call_max}, me)
    assert len(bench.state.leases) == leases_per_mailbox_max
    order = [*bench.state.queue]
    bench.clock.advance(lease_ms)
    assert _step(bench, "mail_lease", {"runtimeId": "r", "count": 1}, me)["deliveries"] == [], "more is due"
    while bench.state.leases:
        _step(bench, "mail_due", {}, Principal(PERSON.kind.TIMER, owner=bench.address))
    assert [*bench.state.leasable] == order, "each in its old place"
    assert mailbox.RULES.problems(bench.state) == []


def test_a_large_state_is_let_go_of_in_steps() -> None:
    bench = full_mailbox(mailbox_shed_at_once + 10)
    steps = 1
    while not mailbox.RULES.shed(bench.state):
        steps += 1
    assert steps == 2
    assert thread_id_of(0) not in bench.state.received


def test_all_that_grows_with_the_threads_is_let_go_of_before_a_state_counts_as_shed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ARCHITECTURE, owners: what is left is dropped in one step, so it must be little."""
    monkeypatch.setattr(state_module, "mailbox_shed_at_once", 7)
    bench = full_mailbox(100)
    me = agent("a2", "w1")
    _step(bench, "agent_inbox", {"limit": 50}, me)
    _step(bench, "mail_lease", {"runtimeId": "r", "count": 40}, me)
    for number in range(20):
        notice = RequestNotice(
            requestId=f"r{number}", kind="agent_create", outcome="refused", endedAt=number, unseen=True
        )
        mailbox.RULES.apply(bench.state, Put(request_row(notice.requestId), notice.model_dump()))
    sizes = [_most_at_once(bench.state)]
    while not mailbox.RULES.shed(bench.state):
        sizes.append(_most_at_once(bench.state))
    assert len(sizes) >= 100 // 7
    assert sizes == sorted(sizes, reverse=True)
    assert _most_at_once(bench.state) == 0


def _most_at_once(state: MailboxState) -> int:
    """The size of the largest collection, whatever fields there are; one of another kind fails the test."""
    sizes = []
    for each in fields(state):
        value = getattr(state, each.name)
        match value:
            case None | int() | Facts():
                continue
            case Originators():
                parts: list[Sized] = [value.links, value.lasts, value.left_out, *value.links.values()]
                sizes += [len(part) for part in parts]
            case Mapping() if each.name == "by_state":
                sizes += [len(order) for order in value.values()]
            case Sized():
                sizes.append(len(value))
            case _:
                raise AssertionError(f"{each.name} is of a kind that this test does not know")
    return max(sizes)
