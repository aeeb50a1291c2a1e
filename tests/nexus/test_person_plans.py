"""The verbs behind `nexus plan`, over a real agent's owner: naming plans, watching them, an honest preview of undo."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator

import pytest

from bus.value import Record
from nexus.gateway import person_plans
from tests.actors.agent.planning import AGENT, Planning
from tests.nexus.test_person_port import DIRECTORY
from tests.support.bench import PERSON
from tests.support.person_port import RunningPort, ask, refused_code, running_port
from tests.support.reading import at
from tests.support.scripted_caller import Script, Sent
from tools.errors import NOT_FOUND, Refusal, unavailable

VERBS = ("plans_list", "plan_show", "plan_step", "plan_stop", "plan_run", "plan_discard", "plan_undo")
SHARED: Record = {"exists": True, "title": "Board", "changedByOthers": True, "sharedWith": ["b1", "gone"]}


def script(planning: Planning, facts: Record | Refusal = NOT_FOUND) -> Script:
    """The directory of two workspaces, Ada's owner as it is, and Bo who has no plan."""

    def agent(sent: Sent) -> Record | Refusal:
        if str(sent.to) != f"agent/-/{AGENT}":
            return {"plans": []} if sent.verb == "plans_list" else NOT_FOUND
        reply = planning.bench.send(sent.verb, sent.body, PERSON)
        assert reply is not None
        return reply

    return {
        ("app/-/directory", "directory_list"): DIRECTORY,
        **{("agent", verb): agent for verb in VERBS},
        ("canvas", "surface_facts"): facts,
    }


@pytest.fixture
def planning() -> Planning:
    return Planning()


@pytest.fixture
def port(planning: Planning) -> Iterator[RunningPort]:
    with running_port(script(planning, SHARED)) as port:
        yield port


def made(planning: Planning) -> str:
    """Makes a canvas in the running plan; its id."""
    call = planning.creation()
    planning.record(call)
    planning.settle(call.call_id)
    return call.target.id


def test_plans_of_every_agent_are_listed_with_whose_they_are(planning: Planning, port: RunningPort) -> None:
    plan_id = planning.begin("Draw", "One", "Two")
    (listed,) = ask(port, "plan.list")["ok"]["plans"]
    assert (listed["planId"], listed["agent"], listed["workspace"], listed["announcedCount"]) == (
        plan_id,
        "Ada",
        "Site",
        2,
    )
    assert ask(port, "plan.list", {"workspace": "Shop"})["ok"]["plans"] == []
    assert len(ask(port, "plan.list", {"agent": "a1"})["ok"]["plans"]) == 1


def test_a_plan_is_named_by_its_id_or_by_its_agent(planning: Planning, port: RunningPort) -> None:
    plan_id = planning.begin()
    for typed in ({"plan": plan_id}, {"plan": "Ada", "workspace": "Site"}, {"plan": "a1"}):
        assert ask(port, "plan.show", typed)["ok"]["planId"] == plan_id


@pytest.mark.parametrize("verb", ["show", "stop", "run", "discard", "undo", "undo_preview"])
def test_what_is_not_there_is_told_to_the_person_in_its_own_words(port: RunningPort, verb: str) -> None:
    for typed in ("Bo", f"a1.{'0' * 26}", f"nobody.{'0' * 26}"):
        answer = ask(port, f"plan.{verb}", {"plan": typed})
        assert refused_code(answer) == "not_found"
        assert "nexus plan list" in answer["error"]["message"]
    assert "nexus agent list" in ask(port, f"plan.{verb}", {"plan": "Zoe"})["error"]["message"]


def test_a_long_plan_is_read_page_by_page(
    planning: Planning, port: RunningPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.agent.plan_reads.plan_page_bytes_max", 1_500)
    plan_id = planning.begin()
    for _ in range(9):
        planning.record(planning.write())
    steps = ask(port, "plan.show", {"plan": plan_id})["ok"]["steps"]
    assert [step["number"] for step in steps] == list(range(1, 10))
    assert [body["after"] for body in port.caller.bodies("plan_show")] == [0, 4, 8]


def test_one_step_is_shown_with_all_of_its_arguments(planning: Planning, port: RunningPort) -> None:
    planning.collect(planning.write(text="x" * 9_000))
    assert len(ask(port, "plan.step", {"plan": "a1", "step": 1})["ok"]["step"]["arguments"]["text"]) == 9_000
    assert refused_code(ask(port, "plan.step", {"plan": "a1", "step": 2})) == "not_found"


def test_a_run_is_asked_for_as_far_as_the_person_has_read(planning: Planning, port: RunningPort) -> None:
    for _ in range(3):
        planning.collect(planning.write())
    answer = ask(port, "plan.run", {"plan": "a1", "through": 2})["ok"]
    assert (answer["phase"], answer["agent"]) == ("executing", "Ada")
    assert port.caller.bodies("plan_run")[0]["through"] == 2


def test_the_preview_of_an_undo_says_what_it_closes_and_what_nothing_restores(
    planning: Planning, port: RunningPort
) -> None:
    plan_id = planning.begin()
    first, second = made(planning), made(planning)
    inside, outside = planning.write(first), planning.write("c-old")
    for call in (inside, outside):
        planning.record(call)
        planning.settle(call.call_id)
    preview = ask(port, "plan.undo_preview", {"plan": plan_id})["ok"]
    assert [(one["id"], one["state"]) for one in preview["surfaces"]] == [(second, "open"), (first, "open")]
    assert [one["sharedWithNames"] for one in preview["surfaces"]] == [["Bo", "gone"]] * 2
    assert [(one["number"], one["tool"]) for one in preview["cannotRestore"]] == [(4, "canvas_move_elements")]


def test_the_preview_knows_surfaces_that_are_gone(planning: Planning) -> None:
    plan_id = planning.begin()
    first, second = made(planning), made(planning)
    planning.person("plan_undo", planId=plan_id)
    planning.gone(plan_id, second)
    with running_port(script(planning)) as port:
        preview = ask(port, "plan.undo_preview", {"plan": plan_id})["ok"]
        assert [(one["id"], one["state"], one["exists"]) for one in preview["surfaces"]] == [
            (second, "closed", False),
            (first, "closing", False),
        ]
        assert [str(sent.to.id) for sent in port.caller.sent_of("surface_facts")] == [first]


def test_a_preview_that_an_owner_cannot_answer_for_now_is_no_preview(planning: Planning) -> None:
    planning.begin()
    made(planning)
    with running_port(script(planning, unavailable())) as port:
        assert refused_code(ask(port, "plan.undo_preview", {"plan": "a1"})) == "unavailable"


def test_undo_is_answered_once_every_surface_is_known_to_be_gone(
    planning: Planning, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(person_plans, "follow_retry_ms", 1)
    plan_id = planning.begin()
    canvas_ids = [made(planning), made(planning)]
    scripted = dict(script(planning))
    show = scripted["agent", "plan_show"]
    assert callable(show)
    shown: Callable[[Sent], object] = show

    def closing_meanwhile(sent: Sent) -> object:
        if planning.plan(plan_id).undoAskedAt is not None and canvas_ids:
            planning.gone(plan_id, canvas_ids.pop(), existed=bool(canvas_ids))
        return shown(sent)

    scripted["agent", "plan_show"] = closing_meanwhile  # type: ignore[assignment]
    with running_port(scripted) as port:
        answer = ask(port, "plan.undo", {"plan": plan_id})["ok"]
        assert [one["state"] for one in answer["surfaces"]] == ["closed", "absent"]


def test_an_undo_whose_owners_do_not_answer_in_time_says_what_is_not_known(
    planning: Planning, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(person_plans, "follow_retry_ms", 1)
    monkeypatch.setattr(person_plans, "plan_undo_wait_ms", 3)
    plan_id = planning.begin()
    made(planning)
    with running_port(script(planning)) as port:
        answer = ask(port, "plan.undo", {"plan": plan_id})["ok"]
        assert [one["state"] for one in answer["surfaces"]] == ["closing"]


def test_watching_shows_what_is_and_then_each_change_until_the_plan_ends(
    planning: Planning, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(person_plans, "follow_retry_ms", 1)
    plan_id = planning.begin("Draw", "Make a board")
    first, second = planning.write(), planning.write()
    planning.record(first)
    happening: list[Callable[[], object]] = [
        lambda: planning.record(second),
        lambda: planning.settle(first.call_id),
        lambda: planning.settle(second.call_id, {"outcome": "conflict"}),
        lambda: planning.end("Ready."),
    ]
    looks = 0

    def events(sent: Sent) -> Record | Refusal:
        """Something happens whenever it is asked for; now and then to somebody else, and once the host is away."""
        nonlocal looks
        looks += 1
        if sent.body.get("limit") == 0:
            return {"events": [], "last": 1}
        if looks == 2:
            return unavailable()
        if looks % 2:
            return {"events": [{"sequence": looks, "owner": "agent/-/b1", "data": {"planId": plan_id}}], "last": looks}
        happening.pop(0)()
        event: Record = {"sequence": looks, "owner": f"agent/-/{AGENT}", "data": {"planId": plan_id}}
        return {"events": [event], "last": looks}

    scripted: Script = {**script(planning), ("host", "events"): events}
    with (
        running_port(scripted) as port,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection,
    ):
        connection.settimeout(10)
        connection.connect(str(port.socket_path))
        connection.sendall(json.dumps({"verb": "plan.watch", "arguments": {"plan": plan_id}}).encode() + b"\n")
        with connection.makefile("rb") as lines:
            got = [json.loads(line) for line in lines]
    told = [
        (at(one, "event", "step", "number"), at(one, "event", "step", "state"))
        for one in got
        if "step" in one.get("event", {})
    ]
    assert told == [(1, "running"), (2, "running"), (1, "done"), (2, "failed")]
    assert at(got[0], "event", "plan", "announced") == ["Make a board"]
    assert [at(one, "event", "plan", "phase") for one in got if "plan" in one.get("event", {})] == ["running", "ended"]
    assert at(got[-1], "ok", "phase") == "ended"
