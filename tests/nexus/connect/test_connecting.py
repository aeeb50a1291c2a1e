"""Connecting and disconnecting each client in folders of the test's own (common 2.1, 2.2)."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from nexus.connect import config_file
from nexus.connect.clients import CLIENTS, Client
from nexus.connect.config_file import ConfigRefused
from nexus.connect.connecting import ConnectRefused, Wish
from nexus.connect.document import entry_at, without_entry
from nexus.connect.token_files import InWorkTree
from nexus.person_client import Refused
from tests.support.connecting import BEFORE, COMMAND, URL, Desk

WITH_FILE = [client for client in CLIENTS.values() if client.name in BEFORE]
OVER_HTTP = [client for client in WITH_FILE if client.http is not None]
each_client = pytest.mark.parametrize("client", WITH_FILE, ids=lambda client: client.name)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def words(entry: dict[str, Any]) -> list[str]:
    command = entry["command"]
    return [*(command if isinstance(command, list) else [command]), *entry.get("args", [])]


@each_client
def test_a_client_that_was_never_configured_gets_an_entry_that_runs_nexus_mcp(desk: Desk, client: Client) -> None:
    """common 2.1, 2.2"""
    done = desk.connect(client.name)
    token_file = desk.home.path / "credentials" / f"a1.connect-{client.name}.token"
    socket = desk.home.path / "run" / "mcp.sock"
    assert words(desk.entry(client)) == [*COMMAND, "mcp", "--token-file", str(token_file), "--socket", str(socket)]
    assert (done.entry_changed, done.backup) == (True, None)
    token = desk.person.tokens["a1", f"connect-{client.name}"]
    assert token_file.read_text() == f"{token}\n"
    assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(token_file.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(desk.file(client).stat().st_mode) == 0o600


@each_client
def test_what_stood_in_the_configuration_stays_and_comes_back_whole(desk: Desk, client: Client) -> None:
    before = BEFORE[client.name]
    file = desk.write(client, before)
    file.chmod(0o640)
    done = desk.connect(client.name)
    after = file.read_text()
    kept = client.syntax.data(without_entry(client.syntax, after, (*client.container({}), "nexus")))
    assert kept == client.syntax.data(before)
    assert all(mark in after for mark in ("mine", "keep") if mark in before), "comments stay"
    assert done.backup is not None and done.backup.read_text() == before
    assert done.backup.parent == file.parent
    for path in (file, done.backup):
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    gone = desk.disconnect(client.name)
    assert client.syntax.data(file.read_text()) == client.syntax.data(before)
    if client.name != "codex":
        assert file.read_text() == before
    assert gone.backup is not None and gone.backup.read_text() == after
    assert len(desk.backups()) == 2


@each_client
def test_doing_it_again_changes_nothing_and_makes_no_second_credential(desk: Desk, client: Client) -> None:
    """common 2.1"""
    desk.write(client, BEFORE[client.name])
    desk.connect(client.name)
    before, changes = desk.everything(), desk.person.changes()
    done = desk.connect(client.name)
    assert (desk.everything(), desk.person.changes()) == (before, changes)
    assert not done.entry_changed and not done.credential_changed


@each_client
def test_disconnecting_stops_the_credential_and_takes_entry_and_token_away_once(desk: Desk, client: Client) -> None:
    """common 2.1"""
    desk.connect(client.name)
    assert desk.disconnect(client.name).credential_changed
    assert desk.person.tokens == {}
    assert desk.entry(client) is None
    assert list((desk.home.path / "credentials").iterdir()) == []
    before = desk.everything()
    again = desk.disconnect(client.name)
    assert not again.credential_changed and not again.entry_changed
    assert desk.everything() == before


@each_client
def test_no_token_stands_in_any_file_but_its_own(desk: Desk, client: Client) -> None:
    """common 2.2, security 2.9"""
    desk.write(client, BEFORE[client.name])
    desk.connect(client.name)
    (token,) = desk.person.tokens.values()
    holding = [path for path, content in desk.everything().items() if token.encode() in content]
    assert [path.parent for path in holding] == [desk.home.path / "credentials"]


@each_client
@pytest.mark.parametrize("broken", ["{ no", '"text"', "= = ="])
def test_a_configuration_that_does_not_parse_is_refused_and_left_alone(desk: Desk, client: Client, broken: str) -> None:
    file = desk.write(client, broken)
    with pytest.raises(ConfigRefused, match=r"cannot be edited: .*Correct the file"):
        desk.connect(client.name)
    assert file.read_text() == broken
    assert desk.person.changes() == [] and desk.backups() == []


@each_client
def test_a_read_only_configuration_is_refused_and_the_credential_taken_back(desk: Desk, client: Client) -> None:
    file = desk.write(client, BEFORE[client.name])
    file.chmod(0o400)
    with pytest.raises(ConfigRefused, match="read-only"):
        desk.connect(client.name)
    assert file.read_text() == BEFORE[client.name]
    assert desk.person.tokens == {} and not list((desk.home.path / "credentials").iterdir())


@each_client
def test_an_entry_of_ours_name_that_was_not_made_here_is_left_alone(desk: Desk, client: Client) -> None:
    foreign = client.syntax.with_value("", (*client.container({}), "nexus"), client.stdio("nexus", ["mcp"]))
    file = desk.write(client, foreign)
    with pytest.raises(ConnectRefused, match="not made for this home"):
        desk.connect(client.name)
    done = desk.disconnect(client.name)
    assert not done.entry_changed
    assert file.read_text() == foreign


@each_client
def test_a_client_acts_as_one_agent_at_a_time(desk: Desk, client: Client) -> None:
    """common 2.1"""
    desk.connect(client.name, "Ada")
    with pytest.raises(ConnectRefused, match=f"nexus disconnect {client.name} --agent a1"):
        desk.connect(client.name, "Bo")
    assert not desk.disconnect(client.name, "Bo").entry_changed, "it is Ada's"
    desk.disconnect(client.name, "Ada")
    desk.connect(client.name, "Bo")
    assert [one.agent_id for one in desk.listed(client.name).connections] == ["b1"]


@pytest.mark.parametrize("client", OVER_HTTP, ids=lambda client: client.name)
def test_over_http_the_entry_names_a_variable_instead_of_the_token(desk: Desk, client: Client) -> None:
    """common 2.2"""
    desk.write(client, BEFORE[client.name])
    desk.connect(client.name, over_http=True)
    text = desk.file(client).read_text()
    assert URL in text and "NEXUS_TOKEN" in text
    assert next(iter(desk.person.tokens.values())) not in text
    with pytest.raises(ConnectRefused, match="another agent"):
        desk.connect(client.name, "Bo", over_http=True)
    before = desk.everything()
    desk.connect(client.name, over_http=True)
    assert desk.everything() == before
    desk.connect(client.name)  # from then on by a program
    assert "NEXUS_TOKEN" not in desk.file(client).read_text()
    desk.connect(client.name, over_http=True)
    desk.disconnect(client.name)
    assert desk.entry(client) is None


@pytest.mark.parametrize("name", ["claude-desktop", "vscode", "zed"])
def test_http_is_refused_where_the_token_would_have_to_stand_in_the_configuration(desk: Desk, name: str) -> None:
    """common 2.2"""
    with pytest.raises(ConnectRefused, match="Leave --http out"):
        desk.connect(name, over_http=True)
    assert desk.person.asked == [] and desk.everything() == {}


def test_a_home_in_a_git_work_tree_keeps_no_token(desk: Desk) -> None:
    """common 2.2"""
    (desk.home.path.parent / ".git").mkdir()
    with pytest.raises(InWorkTree, match="outside of it"):
        desk.connect("codex")
    assert desk.person.asked == [] and desk.everything() == {}


def test_families_are_given_changed_and_otherwise_kept(desk: Desk) -> None:
    """common 1.3"""
    key = ("a1", "connect-cursor")
    desk.connect("cursor", families={"families": ["canvas"]})
    assert desk.person.families[key] == ["canvas"]
    assert not desk.connect("cursor").credential_changed
    assert desk.person.families[key] == ["canvas"]
    assert desk.connect("cursor", families={"families": ["canvas", "agent"]}).credential_changed
    assert desk.connect("cursor", families={"everyFamily": True}).credential_changed
    assert desk.person.families[key] is None
    assert not desk.connect("cursor", families={"everyFamily": True}).credential_changed


def test_a_lost_token_is_replaced_and_the_lost_one_stops(desk: Desk) -> None:
    """common 2.1"""
    desk.connect("codex")
    former = desk.person.tokens["a1", "connect-codex"]
    token_file = desk.home.path / "credentials" / "a1.connect-codex.token"
    token_file.unlink()
    assert desk.connect("codex").credential_changed
    assert desk.person.tokens["a1", "connect-codex"] != former
    assert token_file.read_text().strip() == desk.person.tokens["a1", "connect-codex"]


@pytest.mark.parametrize(
    "found",
    ["nx_a1_", "nx_a1_se cret", "nx_a1_secret\nnx_a1_other", "nx_a2_secret", "nx_a1_" + "x" * 10_000, "x nx_a1_secret"],
)
def test_what_is_no_whole_token_of_the_agent_is_replaced_like_a_lost_one(desk: Desk, found: str) -> None:
    """common 2.1: `nexus mcp` would refuse such a file, so the client would never connect."""
    desk.connect("codex")
    token_file = desk.home.path / "credentials" / "a1.connect-codex.token"
    token_file.write_text(f"{found}\n")
    assert desk.connect("codex").credential_changed
    assert token_file.read_text() == f"{desk.person.tokens['a1', 'connect-codex']}\n"


def test_a_projects_configuration_has_a_credential_of_its_own(desk: Desk, tmp_path: Path) -> None:
    """common 2.1"""
    project = tmp_path / "project"
    project.mkdir()
    desk.connect("claude-code")
    desk.connect("claude-code", project=project)
    assert len(desk.person.tokens) == 2
    client = CLIENTS["claude-code"]
    assert words(desk.entry(client, project / ".mcp.json")) != words(desk.entry(client))
    desk.disconnect("claude-code", project=project)
    assert [*desk.person.tokens] == [("a1", "connect-claude-code")]
    with pytest.raises(ConnectRefused, match="--project"):
        desk.connect("claude-desktop", project=project)


def test_a_link_is_followed_to_its_file_and_stays_a_link(desk: Desk, tmp_path: Path) -> None:
    client = CLIENTS["zed"]
    real = tmp_path / "dotfiles" / "zed.json"
    real.parent.mkdir()
    real.write_text(BEFORE["zed"])
    desk.file(client).parent.mkdir(parents=True)
    desk.file(client).symlink_to(real)
    done = desk.connect("zed")
    assert desk.file(client).is_symlink() and "--token-file" in real.read_text()
    assert done.backup is not None and done.backup.parent == real.parent


def test_a_link_that_leads_nowhere_and_what_is_no_file_are_refused(desk: Desk) -> None:
    file = desk.file(CLIENTS["zed"])
    file.parent.mkdir(parents=True)
    file.symlink_to(file.parent / "gone")
    with pytest.raises(ConfigRefused, match="link"):
        desk.connect("zed")
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(ConfigRefused, match="not a file"):
        desk.connect("zed")
    assert desk.person.changes() == []


def test_what_the_client_writes_meanwhile_is_not_lost(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude Code writes its file at any time."""
    client = CLIENTS["claude-code"]
    file = desk.write(client, BEFORE["claude-code"])
    plan = desk.connecting.plan(Wish(client, "Ada"))
    file.write_text('{"numStartups": 4}')
    desk.connecting.carry_out(plan)
    assert client.syntax.data(file.read_text())["numStartups"] == 4
    assert "other" not in file.read_text() and desk.entry(client) is not None
    monkeypatch.setattr(config_file, "_content", lambda _: b"always another")
    file.write_text(BEFORE["claude-code"])
    with pytest.raises(ConfigRefused, match="being written all the time"):
        desk.connect("claude-code")


def test_planning_changes_nothing(desk: Desk) -> None:
    desk.write(CLIENTS["codex"], BEFORE["codex"])
    before = desk.everything()
    plan = desk.connecting.plan(Wish(CLIENTS["codex"], "Ada"))
    assert plan.changes_file and "[mcp_servers.nexus]" in plan.shown and "nx_" not in plan.shown
    assert desk.everything() == before and desk.person.changes() == []


def test_a_client_without_a_known_file_gets_the_entry_to_put_in_by_hand(desk: Desk) -> None:
    plan = desk.connecting.plan(Wish(CLIENTS["generic"], "Ada"))
    assert (plan.file, plan.changes_file) == (None, False)
    desk.connecting.carry_out(plan)
    assert [*desk.person.tokens] == [("a1", "connect-generic")]
    assert desk.disconnect("generic").credential_changed


def test_an_agent_that_was_removed_is_disconnected_by_its_id(desk: Desk) -> None:
    desk.connect("codex")
    desk.person.removed.add("a1")
    with pytest.raises(Refused):
        desk.disconnect("codex", "Ada")
    assert desk.disconnect("codex", "a1").entry_changed
    assert desk.entry(CLIENTS["codex"]) is None


def test_a_configuration_that_broke_later_does_not_keep_the_credential_alive(desk: Desk) -> None:
    """common 2.1: revoking comes first"""
    desk.connect("gemini")
    file = desk.write(CLIENTS["gemini"], "{ broken")
    with pytest.raises(ConfigRefused):
        desk.disconnect("gemini")
    assert desk.person.tokens == {} and file.read_text() == "{ broken"


def test_a_home_whose_sockets_lie_elsewhere_is_connected_over_http_only(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    object.__setattr__(desk.home, "run", tmp_path / "elsewhere")
    with pytest.raises(ConnectRefused, match="shorter path"):
        desk.connect("codex")
    assert desk.connect("codex", over_http=True).entry_changed


def test_opencode_2_has_its_servers_one_place_deeper(desk: Desk) -> None:
    client = CLIENTS["opencode"]
    file = desk.write(client, '{"mcp": {"servers": {"other": {"type": "local", "command": ["x"]}}}}')
    desk.connect("opencode")
    data = client.syntax.data(file.read_text())
    assert entry_at(data, ("mcp", "servers", "nexus")) is not None
    assert entry_at(data, ("mcp", "nexus")) is None


@pytest.mark.parametrize(
    ("name", "linux", "mac"),
    [
        ("claude-code", ".claude.json", ".claude.json"),
        (
            "claude-desktop",
            ".config/Claude/claude_desktop_config.json",
            "Library/Application Support/Claude/claude_desktop_config.json",
        ),
        ("codex", ".codex/config.toml", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json", ".gemini/settings.json"),
        ("cursor", ".cursor/mcp.json", ".cursor/mcp.json"),
        ("vscode", ".config/Code/User/mcp.json", "Library/Application Support/Code/User/mcp.json"),
        ("zed", ".config/zed/settings.json", ".config/zed/settings.json"),
        ("opencode", ".config/opencode/opencode.json", ".config/opencode/opencode.json"),
    ],
)
def test_where_each_client_is_configured(tmp_path: Path, name: str, linux: str, mac: str) -> None:
    for is_mac, wanted in ((False, linux), (True, mac)):
        (tmp_path / str(is_mac)).mkdir()
        desk = Desk(tmp_path / str(is_mac), is_mac=is_mac)
        assert desk.file(CLIENTS[name]) == desk.folder / wanted
