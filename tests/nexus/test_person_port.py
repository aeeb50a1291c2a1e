"""The person's socket: who may speak, what is a request, and what each verb asks of owners."""

from __future__ import annotations

import hashlib
import json
import os
import socket

import pytest

from bus.client import DeadlinePassed
from bus.limits import json_depth_max, page_items_max
from bus.value import Record, Value
from nexus.gateway import person_port
from nexus.gateway.person_scenes import CONVERSATIONS
from nexus.gateway.person_verbs import VERBS
from tests.support.person_port import ask, exchange, refused_code, running_port
from tests.support.scripted_caller import Script, Sent
from tools.errors import Code, Refusal

DIRECTORY: Record = {
    "workspaces": [
        {"workspaceId": "w1", "name": "Site", "root": None, "isActive": True},
        {"workspaceId": "w2", "name": "Shop", "root": "/srv", "isActive": False},
    ],
    "agents": [
        {"agentId": "a1", "name": "Ada", "workspaceId": "w1"},
        {"agentId": "a2", "name": "Ada", "workspaceId": "w2"},
        {"agentId": "b1", "name": "Bo", "workspaceId": "w2"},
    ],
    "activeWorkspaceId": "w1",
}
LISTS: Script = {
    ("app/-/directory", "directory_list"): DIRECTORY,
    ("workspace/w1/w1", "readable_canvases"): {"canvases": [{"canvasId": "c1", "title": "Plan", "role": "owner"}]},
    ("workspace/w2/w2", "readable_canvases"): {"canvases": [{"canvasId": "c2", "title": "Plan", "role": "owner"}]},
    ("workspace", "room_for_canvas"): {},
    ("workspace", "roles_of"): {"canvases": 0, "ownedAlone": 0},
    ("workspace/w2/w2", "channels_list"): {"channels": [{"channelId": "h2", "name": "Reviews", "members": ["b1"]}]},
}


def test_another_user_is_refused_before_anything_is_read() -> None:
    """common 2.4, security 2.2"""
    with running_port({}, user_id=os.getuid() + 1) as port:
        assert refused_code(exchange(port, b"")) == "unidentified_caller"
        assert port.caller.sent == []


@pytest.mark.parametrize(
    "raw",
    [
        b"not json\n",
        b"\n",
        b"[]\n",
        b'{"verb": 7}\n',
        b'{"verb": "status", "arguments": []}\n',
        b'{"verb": "status", "arguments": {"x": NaN}}\n',
        b"\xff\xfe\n",
        b"[" * 5000 + b"\n",
    ],
)
def test_what_is_no_request_is_refused_in_words(raw: bytes) -> None:
    with running_port({}) as port:
        answer = exchange(port, raw)
        assert refused_code(answer) == "invalid_arguments"
        assert "one line of JSON" in answer["error"]["message"]


def test_nesting_deeper_than_any_scene_is_refused() -> None:
    """security 2.19"""
    deep: object = 0
    for _ in range(json_depth_max + 10):
        deep = [deep]
    with running_port(LISTS) as port:
        answer = ask(port, "canvas.import", {"workspace": "w1", "title": "t", "rest": {"x": deep}})
        assert refused_code(answer) == "invalid_arguments"
        assert "nested" in answer["error"]["message"]


def test_a_line_beyond_the_bound_is_refused_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person_port, "person_request_bytes_max", 1000)
    with running_port({}) as port:
        assert refused_code(exchange(port, b'"' + b"x" * 4000)) == "too_large"


def test_an_unknown_verb_is_refused() -> None:
    with running_port({}) as port:
        assert refused_code(ask(port, "approvals.approve")) == "invalid_arguments"


def test_bad_arguments_are_refused_with_each_path() -> None:
    with running_port({}) as port:
        answer = ask(port, "workspace.add", {"name": "", "colour": 1})
        assert {field["path"] for field in answer["error"]["fields"]} == {"name", "colour"}


def test_a_defect_is_told_by_an_incident_and_no_exception_text() -> None:
    """common 7.4"""

    def explode(sent: Sent) -> Record:
        raise RuntimeError("secret path /var/x")

    with running_port({("app/-/directory", "directory_list"): explode}) as port:
        answer = ask(port, "workspace.list")
        assert refused_code(answer) == "internal"
        assert answer["error"]["incidentId"]
        assert "secret" not in json.dumps(answer)


def test_a_defect_while_a_token_is_made_logs_no_token(capfd: pytest.CaptureFixture[str]) -> None:
    """security 2.9"""
    hashes: list[Value] = []

    def explode(sent: Sent) -> Record:
        hashes.append(sent.body["tokenHash"])
        raise RuntimeError("broken")

    with running_port({**LISTS, ("app/-/directory", "agent_add"): explode}) as port:
        incident = ask(port, "agent.add", {"name": "Cy", "workspace": "w1"})["error"]["incidentId"]
    logged = capfd.readouterr()
    assert hashes
    assert incident in logged.out + logged.err
    assert "nx_" not in logged.out + logged.err


def test_an_owners_refusal_is_passed_on_as_it_is() -> None:
    refusal = Refusal(Code.STORAGE_FULL, "The disk is full.", details={"limit": 3})
    with running_port({("app/-/directory", "directory_list"): refusal}) as port:
        assert ask(port, "workspace.list") == {"error": refusal.to_record()}


def test_a_passed_deadline_is_unknown_for_a_write_and_unavailable_when_nothing_can_have_happened() -> None:
    script: Script = {("app/-/directory", "workspace_add"): DeadlinePassed(was_sent=True)}
    with running_port(script) as port:
        assert refused_code(ask(port, "workspace.add", {"name": "X"})) == "outcome_unknown"
    script = {("app/-/directory", "workspace_add"): DeadlinePassed(was_sent=False)}
    with running_port(script) as port:
        assert refused_code(ask(port, "workspace.add", {"name": "X"})) == "unavailable"
    script = {("app/-/directory", "directory_list"): DeadlinePassed(was_sent=True)}
    with running_port(script) as port:
        assert refused_code(ask(port, "workspace.list")) == "unavailable"


def test_a_workspace_is_added_under_a_new_id_with_no_stamp() -> None:
    with running_port({("app/-/directory", "workspace_add"): {}}) as port:
        answer = ask(port, "workspace.add", {"name": "Site", "root": "/srv/site"})
        (made,) = port.caller.sent
        assert made.body == {"workspaceId": answer["ok"]["workspaceId"], "name": "Site", "root": "/srv/site"}
        assert made.stamp is None


def test_an_agent_gets_a_token_of_which_owners_learn_only_the_hash() -> None:
    """common 2.1"""
    with running_port({**LISTS, ("app/-/directory", "agent_add"): {}}) as port:
        ok = ask(port, "agent.add", {"name": "Cy", "workspace": "Site", "capabilities": ["mesh", "mesh"]})["ok"]
        prefix, agent_id, secret = ok["token"].split("_", 2)
        (body,) = port.caller.bodies("agent_add")
        assert (prefix, agent_id) == ("nx", ok["agentId"])
        assert body == {
            "agentId": agent_id,
            "name": "Cy",
            "workspaceId": "w1",
            "mode": "auto",
            "capabilities": ["mesh"],
            "tokenHash": hashlib.sha256(secret.encode()).digest(),
        }
        assert not any(secret in repr(made) for made in port.caller.sent)


def test_an_agent_has_no_capability_unless_given() -> None:
    with running_port({**LISTS, ("app/-/directory", "agent_add"): {}}) as port:
        ask(port, "agent.add", {"name": "Cy", "workspace": "w1"})
        assert port.caller.bodies("agent_add")[0]["capabilities"] == []


def test_a_replaced_token_goes_to_the_agents_own_owner() -> None:
    with running_port({**LISTS, ("agent/-/b1", "token_replace"): {}}) as port:
        ok = ask(port, "agent.token", {"agent": "Bo"})["ok"]
        secret = ok["token"].split("_", 2)[2]
        assert port.caller.bodies("token_replace") == [{"tokenHash": hashlib.sha256(secret.encode()).digest()}]


def test_an_ambiguous_agent_is_refused_with_its_ids_and_a_workspace_decides() -> None:
    with running_port({**LISTS, ("app/-/directory", "agent_remove"): {}}) as port:
        refused = ask(port, "agent.remove", {"agent": "Ada"})
        assert [one["id"] for one in refused["error"]["candidates"]] == ["a1", "a2"]
        assert port.caller.bodies("agent_remove") == []
        assert ask(port, "agent.remove", {"agent": "Ada", "workspace": "Shop"})["ok"]["agentId"] == "a2"
        assert port.caller.bodies("agent_remove") == [{"agentId": "a2"}]


def test_agents_are_listed_with_what_their_owners_know() -> None:
    def facts(sent: Sent) -> Record | Refusal:
        return {"mode": "auto"} if sent.to.id != "a2" else Refusal(Code.NOT_FOUND, "gone")

    with running_port({**LISTS, ("agent", "agent_facts"): facts}) as port:
        listed = ask(port, "agent.list", {"workspace": "w2"})["ok"]["agents"]
        assert [(one["agentId"], one.get("mode")) for one in listed] == [("a2", None), ("b1", "auto")]


def test_a_role_is_granted_to_the_agent_of_that_name_in_the_canvass_workspace() -> None:
    with running_port({**LISTS, ("canvas/w2/c2", "canvas_grant"): {}}) as port:
        ok = ask(port, "canvas.grant", {"canvas": "c2", "agent": "Ada", "role": "editor"})["ok"]
        assert (ok["canvasId"], ok["agentId"], ok["role"]) == ("c2", "a2", "editor")
        assert port.caller.bodies("canvas_grant") == [{"agentId": "a2", "role": "editor"}]


@pytest.mark.parametrize("agent", ["Bo", "b1"])
def test_a_role_for_an_agent_of_another_workspace_is_refused(agent: str) -> None:
    with running_port(LISTS) as port:
        answer = ask(port, "canvas.grant", {"canvas": "c1", "agent": agent, "role": "viewer"})
        assert refused_code(answer) == "scope_mismatch"
        assert port.caller.bodies("canvas_grant") == []


def test_canvases_are_listed_over_all_workspaces_and_pages() -> None:
    first: list[Value] = [{"canvasId": f"c{n:04}", "title": "T"} for n in range(page_items_max)]

    def index(sent: Sent) -> Record:
        if sent.to.id == "w2":
            return {"canvases": []}
        return {"canvases": first if "after" not in sent.body else [{"canvasId": "last", "title": "T"}]}

    script: Script = {
        ("app/-/directory", "directory_list"): DIRECTORY,
        ("workspace", "readable_canvases"): index,
        ("canvas", "canvas_summary"): {"revision": 3},
    }
    with running_port(script) as port:
        listed = ask(port, "canvas.list")["ok"]["canvases"]
        assert len(listed) == page_items_max + 1
        assert listed[-1] == {
            "canvasId": "last",
            "title": "T",
            "workspaceId": "w1",
            "workspace": "Site",
            "revision": 3,
        }
        assert {"limit": page_items_max, "after": f"c{page_items_max - 1:04}"} in port.caller.bodies(
            "readable_canvases"
        )


def test_a_peer_that_leaves_early_disturbs_nobody() -> None:
    with running_port(LISTS) as port:
        for piece in (b"", b'{"verb": "workspace.list"', b'{"verb": "workspace.list"}\n'):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.connect(str(port.socket_path))
                connection.sendall(piece)
        assert "ok" in ask(port, "workspace.list")


def test_every_verb_of_the_table_refuses_unknown_arguments() -> None:
    with running_port(LISTS) as port:
        for verb in (*VERBS, *CONVERSATIONS):
            assert refused_code(ask(port, verb, {"surprise": 1})) == "invalid_arguments"


def test_status_says_version_and_shards() -> None:
    with running_port({("host", "statistics"): {"sequence": 1}}, shards=2) as port:
        ok = ask(port, "status")["ok"]
        assert [one["shard"] for one in ok["shards"]] == [0, 1]
        assert ok["version"]
