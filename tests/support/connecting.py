"""A home, a user's folder and a person's socket in memory, for connecting clients without processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bus.value import Record, Value
from nexus.connect.clients import CLIENTS, ENTRY, Client, Places
from nexus.connect.connecting import Connecting, Wish
from nexus.connect.document import entry_at
from nexus.connect.listing import Listed, listed
from nexus.person_client import Refused
from tests.support.homes import made_home
from tools.errors import NOT_FOUND, Code

COMMAND = ("/opt/nexus/bin/nexus",)
URL = "http://127.0.0.1:4470/mcp"
AGENTS = {"Ada": "a1", "Bo": "b1"}
BEFORE: Mapping[str, str] = {
    "claude-code": '{"numStartups": 3, "mcpServers": {"other": {"command": "x"}}, "projects": {}}',
    "claude-desktop": '{\n  "mcpServers": {\n    "other": {\n      "command": "x"\n    }\n  }\n}\n',
    "codex": '# mine\nmodel = "m"\n\n[mcp_servers.other]\ncommand = "x"  # keep\n',
    "gemini": '{\n  // mine\n  "theme": "dark",\n  "mcpServers": {"other": {"command": "x"}}\n}\n',
    "cursor": '{\n  "mcpServers": {\n    // mine\n    "other": {"command": "x"}\n  }\n}\n',
    "vscode": '{\n\t// mine\n\t"inputs": [],\n\t"servers": {\n\t\t"other": {"command": "x"},\n\t},\n}\n',
    "zed": '// mine\n{\n  "vim_mode": true,\n  "context_servers": {"other": {"command": "x"}},\n}\n',
    "opencode": '{\n  // mine\n  "mcp": {"other": {"type": "local", "command": ["x"]}}\n}\n',
}
"""A configuration of each client as a person may have it."""


@dataclass
class FakePerson:
    """The person's verbs about credentials, answered from memory. `tokens` are those that count."""

    tokens: dict[tuple[str, str], str] = field(default_factory=dict)
    families: dict[tuple[str, str], Value] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    before: Callable[[str], None] = lambda verb: None
    """What happens just before a verb is answered."""

    def ask(self, verb: str, arguments: Mapping[str, Value]) -> Record:
        self.asked.append(verb)
        self.before(verb)
        typed, name = str(arguments["agent"]), str(arguments.get("name"))
        agent_id = AGENTS.get(typed, typed)
        if agent_id not in AGENTS.values() or agent_id in self.removed:
            raise Refused(NOT_FOUND.to_record())
        key = (agent_id, name)
        told: Record = {"agentId": agent_id, "name": next(one for one, id_ in AGENTS.items() if id_ == agent_id)}
        match verb:
            case "agent.show":
                held: list[Value] = [
                    {"name": one, "families": self.families[owner, one]}
                    for owner, one in self.tokens
                    if owner == agent_id
                ]
                return {**told, "credentials": held}
            case "agent.credential_add":
                if key in self.tokens:
                    raise Refused.because(Code.INVALID_ARGUMENTS, "There is one.")
                self.tokens[key] = f"nx_{agent_id}_secret{len(self.asked)}"
                self.families[key] = arguments.get("families")
                return {**told, "credential": name, "token": self.tokens[key]}
            case "agent.credential_revoke":
                if self.tokens.pop(key, None) is None:
                    raise Refused(NOT_FOUND.to_record())
                return told
            case "agent.credential_families":
                self.families[key] = arguments.get("families")
                return told
        raise AssertionError(verb)

    def changes(self) -> list[str]:
        return [verb for verb in self.asked if verb != "agent.show"]


class Desk:
    """One user at one machine, with one home of NEXUS."""

    def __init__(self, folder: Path, *, is_mac: bool = False) -> None:
        self.folder = folder / "user"
        self.folder.mkdir()
        self.home = made_home(folder / "home")
        self.person = FakePerson()
        self.places = Places(self.folder, {}, is_mac)
        self.connecting = Connecting(self.home, self.person, self.places, COMMAND, URL)

    def file(self, client: Client) -> Path:
        return Path(client.files(self.places)[0])

    def write(self, client: Client, text: str) -> Path:
        file = self.file(client)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def entry(self, client: Client, file: Path | None = None) -> Any:
        place = file or self.file(client)
        if not place.exists():
            return None
        data = client.syntax.data(place.read_text())
        return entry_at(data, (*client.container(data), ENTRY))

    def connect(self, client: str, agent: str = "Ada", **more: Any) -> Any:
        return self.connecting.connect(Wish(CLIENTS[client], agent, **more))[1]

    def disconnect(self, client: str, agent: str = "Ada", **more: Any) -> Any:
        return self.connecting.disconnect(Wish(CLIENTS[client], agent, **more))

    def listed(self, client: str, project: Path | None = None) -> Listed:
        return listed(self.home, self.person, self.places, CLIENTS[client], project)

    def everything(self) -> dict[Path, bytes]:
        """What lies in the user's folder and the home's credentials."""
        places = (self.folder, self.home.path / "credentials")
        return {path: path.read_bytes() for place in places for path in place.rglob("*") if path.is_file()}

    def backups(self) -> list[Path]:
        return sorted(path for path in self.folder.rglob("*.nexus-backup-*"))
