"""The MCP clients that NEXUS can connect: where each is configured and what an entry looks like there.

A literal table, read from each client's own documentation (`source`, docs/decisions/0013-connect.md). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bus.value import Record
from nexus.connect.jsonc import Json
from nexus.connect.syntax import Keys, Syntax
from nexus.connect.toml_text import Toml
from tools.provider_table import PROVIDERS

ENTRY: Final = "nexus"
"""The name of our entry among a client's servers."""
TOKEN_VARIABLE: Final = "NEXUS_TOKEN"
"""The environment variable that an entry over HTTP names instead of a token."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where things are for this user on this machine."""

    home: Path
    environment: Mapping[str, str]
    is_mac: bool

    def chosen(self, variable: str, default: Path) -> Path:
        """The folder that an environment variable names, else `default`."""
        return Path(named) if (named := self.environment.get(variable)) else default

    @property
    def config(self) -> Path:
        return self.chosen("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def applications(self) -> Path:
        """Where desktop programs keep their configuration."""
        return self.home / "Library" / "Application Support" if self.is_mac else self.config


@dataclass(frozen=True, slots=True)
class Client:
    """One program that speaks MCP. `files` and `project_files`: of several the first that is there counts, else the
    first of all; `container` is where its servers stand in them."""

    name: str
    title: str
    source: str
    syntax: Syntax
    files: Callable[[Places], Sequence[Path]]
    project_files: tuple[str, ...]
    container: Callable[[Record], Keys]
    programs: tuple[str, ...]
    stdio: Callable[[str, Sequence[str]], Record]
    http: Callable[[str], Record] | None
    why_no_http: str = ""
    then: str = ""
    """What the person does next."""


def _within(*keys: str) -> Callable[[Record], Keys]:
    return lambda _: keys


def _opencode_container(data: Record) -> Keys:
    """OpenCode 2 has `mcp.servers` and still reads the entries right below `mcp` of its first version."""
    mcp = data.get("mcp")
    servers = mcp.get("servers") if isinstance(mcp, dict) else None
    return ("mcp", "servers") if isinstance(servers, dict) and "type" not in servers else ("mcp",)


def _command(command: str, arguments: Sequence[str]) -> Record:
    return {"command": command, "args": [*arguments]}


def _typed_command(command: str, arguments: Sequence[str]) -> Record:
    return {"type": "stdio", **_command(command, arguments)}


def _headers(reference: str) -> Record:
    return {"Authorization": f"Bearer {reference}"}


_NO_REFERENCE: Final = (
    "{title} would need the token itself in its configuration: what its headers may name instead is not documented. "
    "Leave --http out: over stdio the token stays in a file of its own."
)

CLIENTS: Final[Mapping[str, Client]] = {
    client.name: client
    for client in (
        Client(
            name="claude-code",
            title="Claude Code",
            source="code.claude.com/docs/en/mcp",
            syntax=Json(comments=False),
            files=lambda places: [places.chosen("CLAUDE_CONFIG_DIR", places.home) / ".claude.json"],
            project_files=(".mcp.json",),
            container=_within("mcpServers"),
            programs=PROVIDERS["claude"].programs,
            stdio=_typed_command,
            http=lambda url: {"type": "http", "url": url, "headers": _headers(f"${{{TOKEN_VARIABLE}}}")},
            then="Start a new session of claude; /mcp shows it.",
        ),
        Client(
            name="claude-desktop",
            title="Claude Desktop",
            source="modelcontextprotocol.io/docs/develop/connect-local-servers",
            syntax=Json(comments=False),
            files=lambda places: [places.applications / "Claude" / "claude_desktop_config.json"],
            project_files=(),
            container=_within("mcpServers"),
            programs=("claude-desktop",),
            stdio=_command,
            http=None,
            why_no_http="Claude Desktop starts the servers of this file as programs only. Leave --http out.",
            then="Quit Claude Desktop whole and start it again: it may write its file anew when it ends.",
        ),
        Client(
            name="codex",
            title="Codex",
            source="developers.openai.com/codex/mcp",
            syntax=Toml(),
            files=lambda places: [places.chosen("CODEX_HOME", places.home / ".codex") / "config.toml"],
            project_files=(".codex/config.toml",),
            container=_within("mcp_servers"),
            programs=PROVIDERS["codex"].programs,
            stdio=_command,
            http=lambda url: {"url": url, "bearer_token_env_var": TOKEN_VARIABLE},
            then="Start codex anew; /mcp shows it.",
        ),
        Client(
            name="gemini",
            title="Gemini CLI",
            source="geminicli.com/docs/tools/mcp-server",
            syntax=Json(comments=True),
            files=lambda places: [places.home / ".gemini" / "settings.json"],
            project_files=(".gemini/settings.json",),
            container=_within("mcpServers"),
            programs=PROVIDERS["gemini"].programs,
            stdio=_command,
            http=lambda url: {"httpUrl": url, "headers": _headers(f"${TOKEN_VARIABLE}")},
            then="Start gemini anew; /mcp shows it.",
        ),
        Client(
            name="cursor",
            title="Cursor",
            source="cursor.com/docs/mcp",
            syntax=Json(comments=True),
            files=lambda places: [places.home / ".cursor" / "mcp.json"],
            project_files=(".cursor/mcp.json",),
            container=_within("mcpServers"),
            programs=("cursor",),
            stdio=_typed_command,
            http=lambda url: {"url": url, "headers": _headers(f"${{env:{TOKEN_VARIABLE}}}")},
            then="Restart Cursor, and see that the server is switched on under MCP.",
        ),
        Client(
            name="vscode",
            title="VS Code",
            source="code.visualstudio.com/docs/agents/reference/mcp-configuration",
            syntax=Json(comments=True),
            files=lambda places: [places.applications / "Code" / "User" / "mcp.json"],
            project_files=(".vscode/mcp.json",),
            container=_within("servers"),
            programs=("code",),
            stdio=_typed_command,
            http=None,
            why_no_http=_NO_REFERENCE.format(title="VS Code"),
            then="VS Code asks once whether you trust the server; `MCP: List Servers` shows it.",
        ),
        Client(
            name="zed",
            title="Zed",
            source="zed.dev/docs/ai/mcp",
            syntax=Json(comments=True),
            files=lambda places: [(places.home / ".config" if places.is_mac else places.config) / "zed/settings.json"],
            project_files=(".zed/settings.json",),
            container=_within("context_servers"),
            programs=("zed", "zeditor"),
            stdio=lambda command, arguments: {"source": "custom", **_command(command, arguments), "env": {}},
            http=None,
            why_no_http=_NO_REFERENCE.format(title="Zed"),
            then="Zed starts it at once; the Agent Panel's settings show it.",
        ),
        Client(
            name="opencode",
            title="opencode",
            source="opencode.ai/docs/mcp-servers",
            syntax=Json(comments=True),
            files=lambda places: [
                places.config / "opencode" / name for name in ("opencode.json", "opencode.jsonc", "config.json")
            ],
            project_files=("opencode.json", "opencode.jsonc"),
            container=_opencode_container,
            programs=PROVIDERS["opencode"].programs,
            stdio=lambda command, arguments: {"type": "local", "command": [command, *arguments]},
            http=lambda url: {
                "type": "remote",
                "url": url,
                "headers": _headers(f"{{env:{TOKEN_VARIABLE}}}"),
                "oauth": False,
            },
            then="Start opencode anew; `opencode mcp list` shows it.",
        ),
        Client(
            name="generic",
            title="any other client",
            source="modelcontextprotocol.io/docs/develop/connect-local-servers",
            syntax=Json(comments=False),
            files=lambda _: [],
            project_files=(),
            container=_within("mcpServers"),
            programs=(),
            stdio=_command,
            http=lambda url: {"type": "http", "url": url, "headers": _headers(f"${{{TOKEN_VARIABLE}}}")},
            then="Put the entry into your client's configuration by hand.",
        ),
    )
}


def file_of(client: Client, places: Places, project: Path | None) -> Path | None:
    """Where the client is configured, for the user or for one project; None where it cannot be."""
    files = client.files(places) if project is None else [project / name for name in client.project_files]
    return next((file for file in files if file.exists()), files[0] if files else None)


def is_our_http(client: Client, entry: Record) -> bool:
    """Whether the entry is what we write for HTTP, whatever the port."""
    url = entry.get("httpUrl", entry.get("url"))
    is_ours = isinstance(url, str) and url.startswith("http://127.0.0.1:") and url.endswith("/mcp")
    return is_ours and client.http is not None and entry == client.http(str(url))


def token_file_in(entry: Record) -> Path | None:
    """The token file that an entry's command names, if it runs `nexus mcp`."""
    command, arguments = entry.get("command"), entry.get("args", [])
    words = [
        *(command if isinstance(command, list) else [command]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    for number, word in enumerate(words[:-1]):
        if word == "--token-file" and "mcp" in words and isinstance(words[number + 1], str):
            return Path(str(words[number + 1]))
    return None
