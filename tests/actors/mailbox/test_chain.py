"""Who led to a task, and for whom an agent is working (security 2.24)."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from actors.agent.state import WorkingFor
from actors.mailbox.originators import Originators, stricter
from actors.mailbox.rows import ChainLink, Received
from bus import address
from bus.limits import chain_agents_max, chain_depth_max, inbox_items_max, leases_a_call_max
from bus.value import Value
from tests.support.bench import PERSON
from tests.support.exchange import Home
from tests.support.reading import at
from tools.autonomy import Mode, ModeName


def _home() -> Home:
    home = Home()
    home.add_workspace("w1")
    for agent_id, name in (("a1", "Ada"), ("a2", "Eve"), ("a3", "Kim")):
        home.add_agent(agent_id, name=name)
    return home


def _working_for(home: Home, agent_id: str) -> WorkingFor:
    found = home.bench(address.agent(agent_id)).state.working_for
    assert isinstance(found, WorkingFor)
    return found


def _chain(home: Home, agent_id: str, thread_id: str) -> list[str]:
    return [link.agentId for link in home.bench(address.mailbox(agent_id)).state.received[thread_id].chain]


def test_a_task_carries_the_agents_that_led_to_it_and_the_strictest_of_their_modes() -> None:
    """security 2.24"""
    home = _home()
    home.ok(address.agent("a1"), "agent_set_mode", {"mode": "approval"}, PERSON)
    first = home.triggered("a1", "a2")
    home.inbox("a2")
    second = home.triggered("a2", "a3", parentThreadId=first)
    assert _chain(home, "a3", second) == ["a1", "a2"]
    assert home.bench(address.mailbox("a3")).state.received[second].strictest == "approval"


def test_leaving_the_parent_out_launders_nothing() -> None:
    """security 2.24"""
    home = _home()
    home.ok(address.agent("a1"), "agent_set_mode", {"mode": "plan"}, PERSON)
    home.triggered("a1", "a2")
    home.mailbox_call("a2", "mail_lease", runtimeId="r1")
    thread_id = home.triggered("a2", "a3")
    received = home.bench(address.mailbox("a3")).state.received[thread_id]
    assert (_chain(home, "a3", thread_id), received.strictest, received.depth) == (["a1", "a2"], "plan", 1)


def test_an_agent_works_for_those_whose_tasks_it_was_given_until_they_end() -> None:
    """security 2.24"""
    home = _home()
    waiting = home.triggered("a1", "a2")
    assert _working_for(home, "a2") == WorkingFor()
    home.inbox("a2")
    assert [link.name for link in _working_for(home, "a2").originators] == ["Ada"]
    home.triggered("a3", "a2")
    leased = home.mailbox_call("a2", "mail_lease", runtimeId="r1", count=5)
    assert [link.agentId for link in _working_for(home, "a2").originators] == ["a1", "a3"]
    home.mailbox_call("a2", "agent_reply", threadId=waiting, outcome="completed", body="7")
    assert [link.agentId for link in _working_for(home, "a2").originators] == ["a3"]
    delivery_id: Value = at(leased, "deliveries", 1, "deliveryId")
    home.mailbox_call("a2", "mail_finish", deliveryId=delivery_id, outcome="completed", body="7")
    assert _working_for(home, "a2") == WorkingFor()


def _busy_home(agents: int) -> Home:
    """Eve (a2) has a task of each of so many, the last one's the newest."""
    home = Home()
    home.add_workspace("w1")
    for agent_id in ("a2", "a3", *_senders(agents)):
        home.add_agent(agent_id)
    for sender in _senders(agents):
        home.triggered(sender, "a2")
    for _ in range(1 + agents // inbox_items_max):
        home.inbox("a2", limit=inbox_items_max)
        home.mailbox_call("a2", "mail_lease", runtimeId="r1", count=leases_a_call_max)
    return home


def _senders(count: int) -> list[str]:
    return [f"s{number:03}" for number in range(count)]


def _received(home: Home, thread_id: str) -> Received:
    row = home.bench(address.mailbox("a3")).state.received[thread_id]
    assert isinstance(row, Received)
    return row


def test_naming_another_open_thread_as_the_parent_launders_nothing() -> None:
    """security 2.24: the parent's first, then all for whom the sender works besides."""
    home = _home()
    home.add_agent("a4", name="Mallory")
    home.ok(address.agent("a4"), "agent_set_mode", {"mode": "plan"}, PERSON)
    home.triggered("a4", "a2")
    harmless = home.triggered("a1", "a2")
    home.inbox("a2")
    row = _received(home, home.triggered("a2", "a3", parentThreadId=harmless))
    assert [link.agentId for link in row.chain] == ["a1", "a4", "a2"]
    assert (row.depth, row.strictest, row.chainMore) == (2, "plan", 0)


def test_a_parent_that_was_not_shown_yet_leads_to_the_task_like_any_other() -> None:
    """security 2.24"""
    home = _home()
    home.ok(address.agent("a1"), "agent_set_mode", {"mode": "plan"}, PERSON)
    unread = home.triggered("a1", "a2")
    row = _received(home, home.triggered("a2", "a3", parentThreadId=unread))
    assert ([link.agentId for link in row.chain], row.strictest) == (["a1", "a2"], "plan")


def test_who_works_for_many_names_all_of_them_whatever_the_depth_of_chains() -> None:
    """security 2.24: being busy launders nothing."""
    home = _busy_home(2 * chain_depth_max)
    row = _received(home, home.triggered("a2", "a3"))
    assert [link.agentId for link in row.chain] == [*_senders(2 * chain_depth_max), "a2"]
    assert row.chainMore == 0


def test_of_too_many_the_newest_are_named_and_the_parents_always_and_the_rest_is_counted() -> None:
    """security 2.24"""
    count = chain_agents_max + 10
    home = _busy_home(count)
    box = home.bench(address.mailbox("a2")).state
    oldest = next(id_ for id_, row in box.received.items() if row.senderId == "s000")
    row = _received(home, home.triggered("a2", "a3", parentThreadId=oldest))
    named = [link.agentId for link in row.chain]
    assert named == ["s000", *_senders(count)[-(chain_agents_max - 2) :], "a2"]
    assert (len(named), row.chainMore) == (chain_agents_max, count - (chain_agents_max - 1))
    told = _working_for(home, "a2")
    assert [link.agentId for link in told.originators] == _senders(count)[-chain_agents_max:]
    assert told.more == count - chain_agents_max


def test_what_a_chain_left_out_is_counted_on_every_chain_that_follows() -> None:
    """security 2.24"""
    count = chain_agents_max + 10
    home = _busy_home(count)
    home.add_agent("a4")
    first = home.triggered("a2", "a3")
    left_out = count - (chain_agents_max - 1)
    unread = home.triggered("a3", "a4", parentThreadId=first)
    row = home.bench(address.mailbox("a4")).state.received[unread]
    assert (len(row.chain), row.chainMore) == (chain_agents_max + 1, left_out), "the parent's are all kept"
    home.inbox("a3")
    assert _working_for(home, "a3").more == left_out
    beside = home.bench(address.mailbox("a4")).state.received[home.triggered("a3", "a4")]
    assert beside.chainMore == left_out + 1, "one of those that fill the chain makes room for its sender"
    home.assert_reloads()


def _row(arrival: int, chain: list[str], mode: ModeName, more: int) -> Received:
    return Received(
        senderId=chain[-1],
        senderName="Ada",
        workspaceId="w1",
        title="Count",
        rank=3,
        arrival=arrival,
        depth=len(chain),
        state="delivered",
        queuedAt=arrival,
        changedAt=arrival,
        chain=[ChainLink(agentId=agent_id, name=f"{agent_id} in {arrival}") for agent_id in chain],
        chainMore=more,
        strictest=mode,
    )


def _said_simply(rows: Mapping[str, Received]) -> object:
    """Walk all threads, the oldest first; where not all can be named, the newest come first."""
    found: dict[str, str] = {}
    newest: dict[str, int] = {}
    places = [link for row in sorted(rows.values(), key=lambda each: each.arrival) for link in row.chain]
    for place, link in enumerate(places):
        found.setdefault(link.agentId, link.name)
        newest[link.agentId] = place
    named = sorted(found, key=lambda agent_id: newest[agent_id])[-chain_agents_max:]
    listed = [{"agentId": agent_id, "name": name} for agent_id, name in found.items() if agent_id in named]
    left_out = max((row.chainMore for row in rows.values()), default=0)
    strictest: ModeName = "auto"
    for row in rows.values():
        strictest = stricter(strictest, row.strictest)
    return {"originators": listed, "more": len(found) - len(listed) + left_out, "strictest": strictest}


_MODES: list[ModeName] = ["auto", "approval", "plan_collect", "plan"]
chains = st.lists(st.integers(0, 70).map(lambda number: f"a{number}"), min_size=1, max_size=chain_depth_max)


@given(st.lists(st.tuples(chains, st.sampled_from(_MODES), st.integers(0, 3)), max_size=30), st.data())
def test_what_is_told_is_what_walking_all_threads_would_say(
    made: list[tuple[list[str], ModeName, int]], data: st.DataObject
) -> None:
    """security 2.24"""
    threads = {f"t{number}": _row(number, chain, mode, more) for number, (chain, mode, more) in enumerate(made)}
    is_here = {id_: data.draw(st.booleans()) for id_ in threads}
    is_changed = {id_: data.draw(st.booleans()) for id_ in threads}
    book = Originators()
    for id_ in data.draw(st.permutations([*threads])):
        if is_here[id_]:
            book.add(id_, threads[id_])
    added = {id_: row for id_, row in threads.items() if is_changed[id_] and not is_here[id_]}
    removed = {id_: row for id_, row in threads.items() if is_changed[id_] and is_here[id_]}
    after = {id_: row for id_, row in threads.items() if is_here[id_] != is_changed[id_]}
    assert book.told({id_: threads[id_] for id_ in threads if is_here[id_]}.get, added, removed) == _said_simply(after)
    for id_, row in removed.items():
        book.remove(id_, row)
    for id_, row in added.items():
        book.add(id_, row)
    assert book.told(after.get, {}, {}) == _said_simply(after)
    but = data.draw(st.sets(st.integers(0, 70).map(lambda number: f"a{number}"), max_size=5))
    named = book.named(after.get, 200, but)
    everybody = dict.fromkeys(link.agentId for row in after.values() for link in row.chain)
    assert {link.agentId for link in named.links} == everybody.keys() - but
    assert named.more == max((row.chainMore for row in after.values()), default=0)


def test_modes_are_ordered_from_auto_to_plan() -> None:
    assert [stricter("auto", mode) for mode in _MODES] == _MODES
    assert {*Mode} == {*map(Mode, _MODES)}
