"""An import by parts and steps: nothing is there before all is, however it is cut or interrupted (canvas 4.5)."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.canvas import fractional
from actors.canvas.arrival import TRANSITIONS, Event, Facts, Phase
from actors.canvas.mend import PASSES
from actors.canvas.opening import founding_by
from actors.decision import Context, Message
from bus.limits import elements_per_canvas_max, part_elements_max, scene_elements_bytes_max, scene_files_bytes_max
from bus.value import Record, Value
from tests.actors.canvas.board import EDITOR, SCENES, Board, rectangle
from tests.support.bench import PERSON
from tests.support.large_scene import large_scene
from tools.canvas.scene_parts import announcement_of, parts_of
from tools.errors import NOT_FOUND, Code, Refusal

PICTURE = "data:image/gif;base64,R0lGODlhAQAB" + "A" * 250_000
FILES: Record = {"pic": {"mimeType": "image/gif", "dataURL": PICTURE}, "page": {"dataURL": "data:text/html,<b>"}}
SCENE: Record = {**large_scene(300), "files": FILES, "note": "kept"}
LEGACY: Record = json.loads((SCENES / "farm-legacy.excalidraw").read_text(encoding="utf-8"))

INDEXED: list[Value] = [{**rectangle(f"r{n}"), "index": fractional.nth(2 * n)} for n in range(140)]
MISORDERED: Record = {"elements": [*INDEXED, {**rectangle("low"), "index": "a1"}, {**rectangle("next"), "index": "zz"}]}


def cut(scene: Record, places: list[int]) -> list[Record]:
    """The scene in parts that end at these places."""
    elements = cast("list[Value]", scene["elements"])
    ends = [*sorted(place % (len(elements) + 1) for place in places), len(elements)]
    starts = [0, *ends[:-1]]
    parts: list[Record] = [{"elements": elements[a:b]} for a, b in zip(starts, ends, strict=True)]
    return [*parts, *(part for part in parts_of(scene) if "pieces" in part)]


def brought(scene: Record, parts: list[Record]) -> tuple[Board, Record]:
    board = Board()
    import_id = board.begin(scene)
    for number, part in enumerate(parts):
        assert board.send_part(import_id, number, part) == {"parts": number + 1}
    return board, board.finish(import_id)


def is_invisible(board: Board) -> bool:
    asked: tuple[tuple[str, Record], ...]
    asked = ("canvas_summary", {}), ("canvas_get_state", {"canvasId": "canvas1"}), ("canvas_export", {})
    return all(board.bench.decide(verb, body, PERSON).reply == NOT_FOUND for verb, body in asked) and not [
        sent for sent in board.bench.sent if sent.verb == "canvas_indexed"
    ]


@pytest.mark.parametrize("scene", [SCENE, LEGACY, MISORDERED])
@settings(max_examples=15, deadline=None)
@given(places=st.lists(st.integers(0, 400), max_size=6))
def test_any_cut_into_parts_gives_the_same_canvas(scene: Record, places: list[int]) -> None:
    """canvas 4.1, 4.2, 4.5"""
    whole, report = brought(scene, list(parts_of(scene)))
    board, other_report = brought(scene, cut(scene, places))
    # Seeds follow from the import's id, which differs.
    seeds = {"seed", "versionNonce"}

    def plain(exported: Record) -> Value:
        elements = cast("list[Record]", exported["elements"])
        return [{name: value for name, value in element.items() if name not in seeds} for element in elements]

    left, right = whole.take_out(includeDeleted=True), board.take_out(includeDeleted=True)
    assert plain(left) == plain(right)
    assert {**left, "elements": []} == {**right, "elements": []}
    assert report == other_report
    assert board.bench.reloaded() == board.state
    assert not [row for row in board.bench.rows if row.startswith("arriving")]


def test_a_scene_of_a_tool_is_the_same_whether_it_is_taken_in_at_once_or_in_steps() -> None:
    """canvas 2, 4.2"""
    small = large_scene(part_elements_max)
    at_once, stepwise = Board(), Board()
    reply = at_once.answer("canvas_create", {"title": "T", "reason": "r", "fromScene": small})
    large = {**small, "elements": [*cast("list[Value]", small["elements"]), rectangle("one-more")]}
    assert stepwise.bench.send("canvas_create", {"title": "T", "reason": "r", "fromScene": large}, EDITOR, "c1") is None
    assert is_invisible(stepwise)
    assert stepwise.go_on()
    (answer,) = stepwise.bench.answers
    assert answer.call_id == "c1" and isinstance(answer.reply, dict)
    assert answer.reply == {**reply, "elementCount": part_elements_max + 1, "repairedCount": reply["repairedCount"]}
    assert stepwise.answer("canvas_summary", {})["role"] == "owner"
    assert at_once.element("box-3")["boundElements"] == stepwise.element("box-3")["boundElements"]


def test_nothing_is_there_before_the_last_step_and_a_reload_goes_on_where_it_was() -> None:
    """canvas 4.5"""
    board = Board()
    import_id = board.begin(SCENE)
    assert is_invisible(board)
    for number, part in enumerate(parts_of(SCENE)):
        board.send_part(import_id, number, part)
        assert is_invisible(board)
        board.bench.state = board.bench.reloaded()
    assert board.bench.send("import_finish", {"importId": import_id}, PERSON, "f1") is None
    while not board.go_on(1):
        assert is_invisible(board)
        assert not board.bench.answers
        board.bench.state = board.bench.reloaded()
    (answer,) = board.bench.answers
    assert answer.call_id == "f1" and isinstance(answer.reply, dict) and answer.reply["outcome"] == "applied"
    assert board.answer("canvas_summary", {}, PERSON)["counts"] == {"live": 300, "deleted": 0}
    assert [event.type for event in board.bench.events] == ["canvas.imported"]
    assert board.bench.timers == {}


@pytest.mark.parametrize("parts", [0, 1, 3])
@pytest.mark.parametrize("how", ["abort", "idle"])
def test_an_import_that_ends_early_leaves_no_row(how: str, parts: int) -> None:
    """canvas 3.5"""
    board = Board()
    import_id = board.begin(SCENE)
    for number, part in enumerate(list(parts_of(SCENE))[:parts]):
        board.send_part(import_id, number, part)
    if how == "abort":
        board.bench.send("import_abort", {"importId": import_id}, PERSON)
    else:
        board.bench.fire("import_idle")
        if parts:
            assert board.bench.timers  # there was progress since it was set: it looks again
            board.bench.fire("import_idle")
    assert is_invisible(board)
    while not board.go_on(1):
        board.bench.state = board.bench.reloaded()
    assert (board.bench.rows, board.bench.timers) == ({}, {})
    assert board.bench.state == board.bench.reloaded()
    assert [event.type for event in board.bench.events] == ["canvas.import_given_up"]
    assert board.bring_in(SCENE)["outcome"] == "applied"


def test_a_repeated_part_changes_nothing_and_another_one_of_its_number_is_refused() -> None:
    board = Board()
    import_id, parts = board.begin(SCENE), list(parts_of(SCENE))
    for number, part in enumerate(parts[:2]):
        board.send_part(import_id, number, part)
    for number in (0, 1):
        body: Record = {"importId": import_id, "number": number, **parts[number]}
        decision = board.bench.decide("import_part", body, PERSON)
        assert (decision.reply, decision.effects) == ({"parts": 2}, ())
    for body in (
        {"importId": import_id, "number": 1, **parts[0]},
        {"importId": import_id, "number": 3, **parts[2]},
        {"importId": "another", "number": 2, **parts[2]},
    ):
        assert board.refused("import_part", body, PERSON).code is Code.WRONG_STATE


def test_parts_and_ends_that_come_when_they_should_not_are_refused_and_change_nothing() -> None:
    board = Board()
    parts = list(parts_of(SCENE))
    assert board.refused("import_part", {"importId": "i", "number": 0, **parts[0]}, PERSON).code is Code.WRONG_STATE
    assert board.refused("import_finish", {"importId": "i"}, PERSON).code is Code.WRONG_STATE
    import_id = board.begin(SCENE)
    assert board.refused("import_finish", {"importId": import_id}, PERSON).code is Code.WRONG_STATE
    begin: Record = {"title": "T", **announcement_of(SCENE)}
    assert board.refused("import_begin", begin, PERSON).code is Code.WRONG_STATE
    assert board.refused("canvas_create", {"title": "T", "reason": "r"}).code is Code.WRONG_STATE
    assert board.refused("canvas_grant", {"agentId": "a", "role": "viewer"}, PERSON) == NOT_FOUND
    for number, part in enumerate(parts):
        board.send_part(import_id, number, part)
    board.bench.send("import_finish", {"importId": import_id}, PERSON, "f1")
    assert board.refused("import_finish", {"importId": import_id}, PERSON).code is Code.WRONG_STATE
    assert board.bench.decide("import_abort", {"importId": import_id}, PERSON).effects == ()
    board.go_on()
    assert board.refused("import_begin", begin, PERSON).code is Code.WRONG_STATE
    assert len(board.bench.answers) == 1


def test_what_is_too_much_is_refused_before_anything_is_stored() -> None:
    """canvas 4.5"""
    board = Board()
    said = announcement_of(SCENE)
    one_too_many = {"title": "T", **said, "elements": elements_per_canvas_max + 1}
    answer = board.answer("import_begin", one_too_many, PERSON)
    assert (answer["outcome"], answer["code"]) == ("rejected", "limits")
    for field, limit in (("elementBytes", scene_elements_bytes_max), ("fileBytes", scene_files_bytes_max)):
        refusal = board.refused("import_begin", {"title": "T", **said, field: limit + 1}, PERSON)
        assert (refusal.code, refusal.details["limit"]) == (Code.TOO_LARGE, limit)
    assert board.bench.rows == {}


def test_more_elements_than_were_announced_end_the_import() -> None:
    board = Board()
    import_id = board.begin({"elements": [rectangle("a")]})
    reply = board.send_part(import_id, 0, {"elements": [rectangle("a"), rectangle("b")]})
    assert (reply["outcome"], reply["code"]) == ("rejected", "limits")
    assert board.go_on()
    assert board.bench.rows == {}


def test_an_id_that_comes_again_in_another_part_ends_the_import() -> None:
    """canvas 3.1"""
    board = Board()
    import_id = board.begin({"elements": [rectangle("a"), rectangle("a")]})
    board.send_part(import_id, 0, {"elements": [rectangle("a")]})
    reply = board.send_part(import_id, 1, {"elements": [rectangle("a")]})
    assert reply["code"] == "id_taken"
    assert board.go_on()
    assert board.bench.rows == {}


def test_pieces_of_files_that_do_not_follow_each_other_end_the_import() -> None:
    first: Record = {"id": "f", "meta": {}, "text": PICTURE[:99], "more": True}
    for second in ({"id": "g", "text": "x", "more": False}, {"id": "g", "meta": {}, "text": PICTURE, "more": False}):
        board = Board()
        import_id = board.begin({"elements": []})
        board.send_part(import_id, 0, {"pieces": [first]})
        assert board.send_part(import_id, 1, {"pieces": [cast(Value, second)]})["outcome"] == "rejected"
        assert board.go_on()
        assert board.bench.rows == {}


def test_no_step_of_a_large_import_writes_more_than_a_part() -> None:
    """canvas 5"""
    scene = large_scene(3_000)
    board = Board()
    import_id = board.begin(scene)
    for number, part in enumerate(parts_of(scene)):
        board.send_part(import_id, number, part)
    board.bench.send("import_finish", {"importId": import_id}, PERSON)
    while True:
        due = [sent for sent in board.bench.sent if sent.to == board.bench.address]
        if not due:
            break
        before = dict(board.bench.rows)
        board.go_on(1)
        changed = [
            row for row in before.keys() | board.bench.rows.keys() if before.get(row) != board.bench.rows.get(row)
        ]
        assert len(changed) <= part_elements_max + 30
    assert board.state.head is not None


def test_a_full_canvas_is_exported_in_bounded_parts() -> None:
    """canvas 4.5, 5"""
    board = Board()
    board.bring_in(SCENE)
    reply = board.answer("canvas_export", {}, PERSON)
    part = reply["part"]
    assert isinstance(part, dict) and isinstance(part["elements"], list)
    assert len(part["elements"]) == part_elements_max
    assert board.take_out()["files"] == {"pic": {"mimeType": "image/gif", "dataURL": PICTURE, "id": "pic"}}


def test_what_changes_during_an_export_is_told_afterwards() -> None:
    """canvas 4.5"""
    board = Board()
    board.bring_in(SCENE)
    board.answer("canvas_grant", {"agentId": EDITOR.agent_id, "role": "editor"}, PERSON)
    begun = board.answer("canvas_export", {}, PERSON)
    board.applied("move", moves=[{"id": "box-1", "dx": 5, "dy": 5}])
    board.applied("delete", elementIds=["drawn-0"])
    reply = board.answer("canvas_export", {"since": begun["revision"]}, PERSON)
    part = cast(Record, reply["part"])
    ids = {str(element["id"]) for element in cast("list[Record]", part["elements"])}
    assert {"box-1", "words-1", "drawn-0"} <= ids
    assert (reply["revision"], reply["next"]) == (board.revision, None)


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("event", list(Event))
def test_an_event_that_a_phase_does_not_know_is_refused(phase: Phase, event: Event) -> None:
    context = Context(0, PERSON, "c", Board().bench.address)
    facts = Facts(founding_by(context, "T", "r", "canvas.imported"), 0, phase)
    if (phase, event) in TRANSITIONS:
        assert facts.after(event).phase is TRANSITIONS[phase, event]
    else:
        with pytest.raises(KeyError):
            facts.after(event)
    assert facts.phase is phase
    assert Facts.from_record(facts.to_record()) == facts


def test_every_pass_has_its_phase() -> None:
    assert set(PASSES) < {phase.value for phase in Phase}


def test_only_the_canvas_itself_goes_on_with_its_import() -> None:
    board = Board()
    refusal = board.bench.decide("import_abort", {"importId": "none"}, PERSON).reply
    assert not isinstance(refusal, Refusal)
    with pytest.raises(ValueError, match="only the canvas itself"):
        board.bench.rules.verbs["import_continue"].decide(
            board.state, _message(), Context(0, PERSON, "c", board.bench.address)
        )


def _message() -> Message:
    return Message("import_continue", {})


def test_a_large_canvas_is_let_go_of_in_steps() -> None:
    """canvas 5"""
    board = Board()
    board.bring_in(large_scene(2_001))
    assert not board.state.shed()
    assert len(board.state.entries) == 1
    assert board.state.shed()
