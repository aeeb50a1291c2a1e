"""The person's verbs on workspaces, on where agents act, and on the end of canvases: what they ask of owners."""

from __future__ import annotations

import pytest

from bus.limits import deletion_deadline_ms
from bus.value import Record
from tests.nexus.test_person_port import LISTS
from tests.support.person_port import ask, refused_code, running_port
from tests.support.scripted_caller import Script
from tools.errors import NOT_FOUND

DIRECTORY = "app/-/directory"


def test_what_is_being_deleted_stands_apart_from_the_workspaces_that_are_there() -> None:
    deleting: list[Record] = [{"workspaceId": "w9", "name": "Old"}]
    listed: Record = {**LISTS[DIRECTORY, "directory_list"], "deleting": deleting}  # type: ignore[dict-item]
    with running_port({**LISTS, (DIRECTORY, "directory_list"): listed}) as port:
        answer = ask(port, "workspace.list")["ok"]
        assert [one["workspaceId"] for one in answer["workspaces"]] == ["w1", "w2"]
        assert answer["deleting"] == deleting
        assert refused_code(ask(port, "workspace.use", {"workspace": "Old"})) == "not_found"


def test_an_update_tells_only_what_is_given() -> None:
    script: Script = {**LISTS, (DIRECTORY, "workspace_update"): {"id": "w1", "name": "New", "updated": ["name"]}}
    with running_port(script) as port:
        answer = ask(port, "workspace.update", {"workspace": "site", "name": "New"})
        assert answer["ok"] == {"workspaceId": "w1", "name": "New", "updated": ["name"]}
        assert port.caller.bodies("workspace_update") == [{"workspaceId": "w1", "name": "New"}]


def test_the_contents_of_a_workspace_are_its_canvases_channels_and_the_agents_pinned_there() -> None:
    with running_port(LISTS) as port:
        assert ask(port, "workspace.contents", {"workspace": "Shop"})["ok"] == {
            "workspaceId": "w2",
            "name": "Shop",
            "canvases": [{"canvasId": "c2", "title": "Plan"}],
            "channels": [{"channelId": "h2", "name": "Reviews"}],
            "agents": [{"agentId": "a2", "name": "Ada"}, {"agentId": "b1", "name": "Bo"}],
        }


def test_a_deletion_may_take_long_and_tells_what_went() -> None:
    with running_port({**LISTS, (DIRECTORY, "workspace_delete"): {"id": "w2", "name": "Shop"}}) as port:
        answer = ask(port, "workspace.delete", {"workspace": "Shop"})["ok"]
        assert answer["canvases"] == [{"canvasId": "c2", "title": "Plan"}]
        (sent,) = port.caller.sent_of("workspace_delete")
        assert (sent.body, sent.within_ms) == ({"workspaceId": "w2"}, deletion_deadline_ms)


@pytest.mark.parametrize(
    ("verb", "asked", "sent", "body"),
    [
        ("agent.pin", {"to": "Site"}, "agent_pin", {"agentId": "b1", "workspaceId": "w1"}),
        ("agent.inherit", {"inherits": True}, "agent_inherit", {"agentId": "b1", "inherits": True}),
        ("agent.rename", {"name": "Cyd"}, "agent_rename", {"agentId": "b1", "name": "Cyd"}),
    ],
)
def test_where_an_agent_acts_and_under_which_name_goes_to_the_directory(
    verb: str, asked: Record, sent: str, body: Record
) -> None:
    told: Record = {"agentId": "b1", "name": "Bo", "workspaceId": "w1", "inherits": False}
    with running_port({**LISTS, (DIRECTORY, sent): told}) as port:
        answer = ask(port, verb, {"agent": "Bo", "workspace": "Shop", **asked})["ok"]
        assert port.caller.bodies(sent) == [body]
        assert answer.items() >= told.items()
        heard = [sent.to.id for sent in port.caller.sent_of("authority_tell")]
        assert heard == ([] if verb == "agent.rename" else ["b1"]), "every host knows before the person is answered"


def test_a_canvas_is_deleted_at_the_revision_that_it_has() -> None:
    script: Script = {
        **LISTS,
        ("canvas/w2/c2", "canvas_summary"): {"revision": 7, "counts": {"live": 3, "deleted": 1}},
        ("canvas/w2/c2", "canvas_delete"): {"outcome": "applied", "revision": 7, "elementIds": []},
    }
    with running_port(script) as port:
        answer = ask(port, "canvas.delete", {"canvas": "Plan", "workspace": "Shop"})["ok"]
        assert (answer["canvasId"], answer["revision"]) == ("c2", 7)
        (body,) = port.caller.bodies("canvas_delete")
        assert (body["canvasId"], body["expectedRevision"]) == ("c2", 7)


def test_a_canvas_that_was_changed_meanwhile_is_not_deleted() -> None:
    script: Script = {
        **LISTS,
        ("canvas/w2/c2", "canvas_summary"): {"revision": 7},
        ("canvas/w2/c2", "canvas_delete"): {"outcome": "conflict", "currentRevision": 8, "changedSince": []},
    }
    with running_port(script) as port:
        answer = ask(port, "canvas.delete", {"canvas": "c2"})
        assert refused_code(answer) == "wrong_state"
        assert "changed" in answer["error"]["message"]


def test_a_workspace_that_goes_while_canvases_are_listed_is_left_out() -> None:
    script: Script = {
        **LISTS,
        ("workspace/w1/w1", "readable_canvases"): NOT_FOUND,
        ("canvas/w2/c2", "canvas_summary"): {"revision": 7},
    }
    with running_port(script) as port:
        assert [one["canvasId"] for one in ask(port, "canvas.list")["ok"]["canvases"]] == ["c2"]
