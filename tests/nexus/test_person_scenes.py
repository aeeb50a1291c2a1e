"""Whole scenes over the person's socket: a line a part, in and out."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Sequence
from typing import Any

from bus.value import Record, Value
from tests.nexus.test_person_port import LISTS
from tests.support.person_port import RunningPort, refused_code, running_port
from tests.support.scripted_caller import Answerer, Script, Scripted, Sent
from tests.support.waiting import eventually
from tools.canvas.scene_parts import announcement_of
from tools.errors import Code, Refusal

APPLIED: Record = {"outcome": "applied", "revision": 1}
BOXES: list[Value] = [{"id": f"e{number}", "x": 0.5} for number in range(600)]
SCENE: Record = {"type": "excalidraw", "elements": BOXES, "appState": {"grid": 5}, "files": {}}


def importing(answer: Record, **others: Scripted) -> Script:
    """What a canvas answers to an import that goes well, and `others` by verb."""
    script: dict[str, Scripted] = {"import_begin": {"importId": "i1"}, "import_part": {"parts": 1}}
    script |= {"import_finish": answer, "import_abort": {}, **others}
    return {("canvas", verb): scripted for verb, scripted in script.items()}


def exported(elements: list[Value], revision: int = 4) -> Answerer:
    """What a canvas answers to an export: one element a part."""

    def answer(sent: Sent) -> Record:
        body = sent.body
        at = int(str(body["after"][1])) + 1 if isinstance(body.get("after"), list) else 0  # type: ignore[index]
        part = elements[at : at + 1] if "since" not in body else []
        following: Value = {"after": ["", str(at)]} if at + 1 < len(elements) and "since" not in body else None
        return {"title": "Plan", "revision": revision, "rest": {}, "part": {"elements": part}, "next": following}

    return answer


def talk(port: RunningPort, verb: str, arguments: Record, lines: Sequence[Record] = ()) -> list[dict[str, Any]]:
    """Every line that is answered."""
    request: Record = {"verb": verb, "arguments": arguments}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(10)
        connection.connect(str(port.socket_path))
        connection.sendall(b"".join(json.dumps(line).encode() + b"\n" for line in (request, *lines)))
        with connection.makefile("rb") as answers:
            return [json.loads(answer) for answer in answers]


def begun(**more: Value) -> Record:
    return {"workspace": "Shop", "title": "Plan", **announcement_of(SCENE), **more}


def test_a_scene_is_imported_part_by_part_as_a_new_canvas_of_the_workspace() -> None:
    """canvas 4.5"""
    lines: list[Record] = [{"part": {"elements": BOXES[:125]}}, {"part": {"elements": BOXES[125:]}}, {"finish": True}]
    with running_port({**LISTS, **importing(APPLIED)}) as port:
        (answer,) = talk(port, "canvas.import", begun(), lines)
        ok = answer["ok"]
        calls = [call for call in port.caller.sent if str(call.to) == f"canvas/w2/{ok['canvasId']}"]
        assert [call.verb for call in calls] == ["import_begin", "import_part", "import_part", "import_finish"]
        assert calls[0].body == {"title": "Plan", **announcement_of(SCENE)}
        assert [call.body.get("number") for call in calls] == [None, 0, 1, None]
        assert all(call.body["importId"] == "i1" for call in calls[1:])


def test_nothing_is_taken_in_for_a_workspace_that_has_no_room_for_a_canvas() -> None:
    """common 8.5"""
    full = Refusal(Code.WRONG_STATE, "Full.", details={"limit": 3})
    with running_port({**LISTS, **importing(APPLIED), ("workspace", "room_for_canvas"): full}) as port:
        (answer,) = talk(port, "canvas.import", begun(), [{"part": {"elements": []}}, {"finish": True}])
        assert answer["error"]["code"] == "wrong_state"
        assert answer["error"]["limit"] == 3
        assert port.caller.bodies("import_begin") == []


def test_a_refused_announcement_part_or_end_is_a_refusal_for_the_person_and_ends_the_import() -> None:
    """canvas 4.5"""
    rejected: Record = {"outcome": "rejected", "code": "limits", "message": "Too many elements."}
    lines: list[Record] = [{"part": {"elements": []}}, {"finish": True}]
    for verb in ("import_begin", "import_part", "import_finish"):
        with running_port({**LISTS, **importing(APPLIED, **{verb: rejected})}) as port:
            (answer,) = talk(port, "canvas.import", begun(), lines if verb != "import_begin" else ())
            assert answer == {"error": {"code": "limits", "message": "Too many elements."}}
            assert len(port.caller.bodies("import_abort")) == (verb != "import_begin")


def test_a_sender_that_leaves_has_its_import_aborted() -> None:
    with running_port({**LISTS, **importing(APPLIED)}) as port:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(str(port.socket_path))
            connection.sendall(json.dumps({"verb": "canvas.import", "arguments": begun()}).encode() + b"\n")
        eventually(lambda: port.caller.bodies("import_abort") == [{"importId": "i1"}])


def test_a_line_that_is_no_part_ends_the_import() -> None:
    for field, value in (("partly", 1), ("part", 7), ("finish", False)):
        with running_port({**LISTS, **importing(APPLIED)}) as port:
            (answer,) = talk(port, "canvas.import", begun(), [{field: value}])
            assert refused_code(answer) == "invalid_arguments"
            assert port.caller.bodies("import_abort") == [{"importId": "i1"}]


def test_a_canvas_is_found_by_title_in_the_workspace_that_decides() -> None:
    with running_port({**LISTS, ("canvas/w2/c2", "canvas_export"): exported(BOXES[:3])}) as port:
        (refused,) = talk(port, "canvas.export", {"canvas": "Plan"})
        assert [one["id"] for one in refused["error"]["candidates"]] == ["c1", "c2"]
        *parts, answer = talk(port, "canvas.export", {"canvas": "Plan", "workspace": "w2"})
        assert [line["event"]["part"]["elements"] for line in parts] == [[one] for one in BOXES[:3]]
        assert answer["ok"] == {"canvasId": "c2", "title": "Plan", "revision": 4, "rest": {}}


def test_what_changed_during_an_export_is_sent_again_until_nothing_did() -> None:
    """canvas 4.5"""
    later: list[Record] = [
        {"title": "Plan", "revision": 5, "rest": {}, "part": {"elements": [{"id": "e0"}]}, "next": {"after": ["", ""]}},
        {"title": "Plan", "revision": 6, "part": {"elements": [{"id": "e1"}]}, "next": None},
        {"title": "Plan", "revision": 7, "rest": {}, "part": {"elements": [{"id": "e2"}]}, "next": None},
    ]
    first: Record = {"title": "Plan", "revision": 4, "rest": {"a": 1}, "part": {"elements": BOXES[:2]}, "next": None}
    answers = iter([first, *later])
    with running_port({**LISTS, ("canvas/w2/c2", "canvas_export"): lambda sent: next(answers)}) as port:
        *parts, answer = talk(port, "canvas.export", {"canvas": "c2"})
        assert (len(parts), answer["ok"]["revision"], answer["ok"]["rest"]) == (4, 7, {"a": 1})
        asked = port.caller.bodies("canvas_export")
        assert asked == [{}, {"since": 4}, {"since": 4, "after": ["", ""]}, {"since": 5}]


def test_an_export_that_never_catches_up_is_refused_and_may_be_tried_again() -> None:
    revisions = iter(range(1, 1_000))

    def busy(sent: Sent) -> Record:
        body = sent.body
        following: Value = {"after": ["", ""]} if "after" not in body and "since" in body else None
        return {"title": "Plan", "revision": next(revisions), "rest": {}, "part": {"elements": []}, "next": following}

    with running_port({**LISTS, ("canvas/w2/c2", "canvas_export"): busy}) as port:
        *_, answer = talk(port, "canvas.export", {"canvas": "c2"})
        assert (answer["error"]["code"], answer["error"]["retryable"]) == ("unavailable", True)


def test_a_refusal_in_the_middle_of_an_export_is_passed_on() -> None:
    gone = Refusal(Code.NOT_FOUND, "gone")
    answers: Iterator[Scripted] = iter(
        [{"title": "P", "revision": 4, "part": {"elements": []}, "next": {"after": ["", ""]}}, gone]
    )
    with running_port({**LISTS, ("canvas/w2/c2", "canvas_export"): lambda sent: next(answers)}) as port:
        *_, answer = talk(port, "canvas.export", {"canvas": "c2"})
        assert answer == {"error": gone.to_record()}
