"""What `nexus canvas show` prints."""

from __future__ import annotations

from bus.value import Record
from nexus.canvas_text import canvas_lines


def label(text: str) -> Record:
    return {"elementId": "e", "text": {"untrusted": True, "source": "canvas", "text": text}}


def test_a_canvas_is_told_in_words_and_no_json() -> None:
    state: Record = {
        "canvasId": "c1",
        "title": "Plan",
        "workspaceId": "w1",
        "revision": 7,
        "role": "owner",
        "counts": {"live": 12, "deleted": 3},
        "types": {"arrow": 2, "text": 4, "rectangle": 6},
        "extent": {"x": -20, "y": 0.123456, "width": 1_500_000, "height": 300.5},
        "createdAt": "2026-11-30T12:00:00.000Z",
        "updatedAt": "2026-11-30T13:00:00.000Z",
        "labels": [label("Login"), label("Pay\x1b[31m")],
        "labelsTruncated": False,
        "proposals": [],
    }
    assert canvas_lines(state) == [
        "title:     Plan",
        "id:        c1",
        "workspace: w1",
        "revision:  7",
        "created:   2026-11-30T12:00:00.000Z",
        "updated:   2026-11-30T13:00:00.000Z",
        "elements:  12, 3 deleted",
        "types:     6 rectangle, 4 text, 2 arrow",
        "extent:    1500000 wide, 300.5 high, from x -20, y 0.12",
        "labels: 2",
        "  Login",
        "  Pay\\x1b[31m",
    ]


def test_an_empty_canvas_and_one_with_many_labels_are_told_briefly() -> None:
    assert canvas_lines({"title": "Empty", "extent": None, "labels": [], "types": {}}) == [
        "title: Empty",
        "labels: none",
    ]
    many: Record = {"labels": [label(str(n)) for n in range(25)], "labelsTruncated": True}
    lines = canvas_lines(many)
    assert lines[0] == "labels: 25 and more"
    assert lines[-1] == "  and 15 more; --json prints them"


def test_roles_proposals_and_locks_are_told_with_names() -> None:
    """canvas 1.1, 2"""
    fence: Record = {"untrusted": True, "source": "canvas", "text": "tidy\x1b up"}
    proposal: Record = {"proposalId": "p1", "by": "a1", "what": "moved", "elementCount": 3, "reason": fence}
    lock: Record = {"elementId": "e1", "holder": "person", "until": "2026-11-30T12:00:00.000Z"}
    told: Record = {
        "title": "Plan",
        "roles": [{"agentId": "a1", "role": "commenter"}, {"agentId": "gone", "role": "owner"}],
        "names": {"a1": "Ada"},
        "proposals": [proposal] * 12,
        "proposalCount": 30,
        "locks": [lock],
        "lockCount": 1,
        "labels": [],
    }
    lines = canvas_lines(told)
    assert lines[1:6] == [
        "roles: 2",
        "  commenter Ada",
        "  owner     gone",
        "proposals: 30",
        "  p1  Ada, 3 moved: tidy\\x1b up",
    ]
    assert "  and 20 more; --json prints them" in lines
    assert lines[-3:] == ["locks: 1", "  e1  person until 2026-11-30T12:00:00.000Z", "labels: none"]
