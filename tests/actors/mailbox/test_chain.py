"""Who led to a task, and for whom an agent is working (security 2.24)."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from actors.agent.state import WorkingFor
from actors.mailbox.originators import Originators, stricter
from actors.mailbox.rows import ChainLink, Received
from bus import address
from bus.limits import chain_depth_max, originators_told_max
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


def _row(arrival: int, chain: list[str], mode: ModeName) -> Received:
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
        strictest=mode,
    )


def _said_simply(rows: Mapping[str, Received]) -> object:
    """Walk all threads, the oldest first."""
    found: dict[str, str] = {}
    for row in sorted(rows.values(), key=lambda each: each.arrival):
        for link in row.chain:
            found.setdefault(link.agentId, link.name)
    listed = [{"agentId": agent_id, "name": name} for agent_id, name in found.items()][:originators_told_max]
    strictest: ModeName = "auto"
    for row in rows.values():
        strictest = stricter(strictest, row.strictest)
    return {"originators": listed, "more": len(found) - len(listed), "strictest": strictest}


_MODES: list[ModeName] = ["auto", "approval", "plan_collect", "plan"]
chains = st.lists(st.integers(0, 70).map(lambda number: f"a{number}"), min_size=1, max_size=chain_depth_max)


@given(st.lists(st.tuples(chains, st.sampled_from(_MODES)), max_size=30), st.data())
def test_what_is_told_is_what_walking_all_threads_would_say(
    made: list[tuple[list[str], ModeName]], data: st.DataObject
) -> None:
    """security 2.24"""
    threads = {f"t{number}": _row(number, chain, mode) for number, (chain, mode) in enumerate(made)}
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


def test_modes_are_ordered_from_auto_to_plan() -> None:
    assert [stricter("auto", mode) for mode in _MODES] == _MODES
    assert {*Mode} == {*map(Mode, _MODES)}
