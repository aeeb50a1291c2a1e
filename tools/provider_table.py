"""The agent programs that NEXUS knows: one declaration each, from the programs' own documentation (`docs`).

Data only: where a program is looked for, how its version is asked, what its files are called. The person can declare
more in `providers.toml` (nexus/provider_file.py). Where nexus/connect writes into a program's configuration, that table
knows the files (`connects_as`), and they are not repeated here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

Transport: TypeAlias = Literal["stdio", "http"]

_ANY_ENDING: Final = "*"
_BOTH: Final[tuple[Transport, ...]] = ("stdio", "http")


@dataclass(frozen=True, slots=True)
class Sign:
    """Where a program's own sign-in shows: variables and files, of which nothing but their presence is ever looked at,
    and what to do without one."""

    variables: tuple[str, ...]
    files: tuple[str, ...]
    """`~` is the person's home."""
    otherwise: str


@dataclass(frozen=True, slots=True)
class Provider:
    """One agent program. Every text is shown to agents."""

    id: str
    name: str
    programs: tuple[str, ...]
    """Names on PATH; of several the first that is there counts."""
    tagline: str
    docs: str | None
    config_files: tuple[str, ...]
    """Beside those of nexus/connect. `~` is the person's home; others lie in a project."""
    instruction_files: tuple[str, ...]
    transport: tuple[Transport, ...]
    """How it reaches an MCP server; empty: it speaks no MCP."""
    sign: Sign
    announces: tuple[str, ...] = ()
    """How its MCP client names itself (`clientInfo.name`). A name that ends in `*` stands for each that so begins."""
    connects_as: str | None = None
    """Its name in nexus/connect, which writes its configuration."""
    version_arguments: tuple[str, ...] = ("--version",)

    def is_announced_by(self, client: str) -> bool:
        """Whether an MCP client that calls itself `client` says that it is this program. Anybody can say so."""
        folded = client.casefold()
        return any(
            folded.startswith(name[:-1]) if name.endswith(_ANY_ENDING) else folded == name
            for name in map(str.casefold, self.announces)
        )


def auth_hint(provider: Provider, variables: Collection[str], files: Collection[str]) -> str:
    """Where the program's sign-in is configured, in a sentence that holds nothing of it (knowledge, provider_*).

    `variables` are those that are set, `files` those that exist, as they are written in the declaration.
    """
    for variable in provider.sign.variables:
        if variable in variables:
            return f"The environment variable {variable} is set."
    for file in provider.sign.files:
        if file in files:
            return f"It has signed in: {file} exists."
    return f"No sign-in can be seen from outside. {provider.sign.otherwise}"


_DECLARED: Final = (
    Provider(
        id="claude",
        name="Claude Code",
        programs=("claude",),
        tagline="Anthropic's coding agent for the terminal.",
        docs="https://code.claude.com/docs",
        config_files=("~/.claude/settings.json", ".claude/settings.json"),
        instruction_files=("CLAUDE.md", "~/.claude/CLAUDE.md"),
        transport=_BOTH,
        sign=Sign(
            ("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"),
            ("~/.claude/.credentials.json",),
            "Start claude once and sign in, or set ANTHROPIC_API_KEY; on macOS the sign-in lies in the keychain.",
        ),
        announces=("claude-code",),
        connects_as="claude-code",
    ),
    Provider(
        id="codex",
        name="Codex",
        programs=("codex",),
        tagline="OpenAI's coding agent for the terminal.",
        docs="https://developers.openai.com/codex",
        config_files=(),
        instruction_files=("AGENTS.md", "~/.codex/AGENTS.md"),
        transport=_BOTH,
        sign=Sign(
            ("OPENAI_API_KEY", "CODEX_API_KEY"),
            ("~/.codex/auth.json",),
            "Run `codex login`, or set OPENAI_API_KEY.",
        ),
        announces=("codex-mcp-client", "codex"),
        connects_as="codex",
    ),
    Provider(
        id="gemini",
        name="Gemini CLI",
        programs=("gemini",),
        tagline="Google's coding agent for the terminal.",
        docs="https://geminicli.com/docs",
        config_files=(),
        instruction_files=("GEMINI.md", "~/.gemini/GEMINI.md"),
        transport=_BOTH,
        sign=Sign(
            ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            ("~/.gemini/oauth_creds.json",),
            "Start gemini once and sign in, or set GEMINI_API_KEY.",
        ),
        announces=("gemini-cli-mcp-client*", "gemini-cli"),
        connects_as="gemini",
    ),
    Provider(
        id="opencode",
        name="opencode",
        programs=("opencode",),
        tagline="An open-source coding agent for the terminal that works with many models.",
        docs="https://opencode.ai/docs",
        config_files=(),
        instruction_files=("AGENTS.md", "~/.config/opencode/AGENTS.md"),
        transport=_BOTH,
        sign=Sign(
            ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"),
            ("~/.local/share/opencode/auth.json",),
            "Run `opencode auth login`.",
        ),
        announces=("opencode",),
        connects_as="opencode",
    ),
    Provider(
        id="aider",
        name="Aider",
        programs=("aider",),
        tagline="An open-source pair programmer for the terminal that edits a git repository.",
        docs="https://aider.chat/docs",
        config_files=("~/.aider.conf.yml", ".aider.conf.yml"),
        instruction_files=("CONVENTIONS.md",),
        transport=(),
        sign=Sign(
            ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY"),
            ("~/.aider/oauth-keys.env",),
            "Set the key of the model that it shall use, for instance OPENAI_API_KEY.",
        ),
    ),
    Provider(
        id="goose",
        name="goose",
        programs=("goose",),
        tagline="An open-source agent whose abilities are MCP servers.",
        docs="https://block.github.io/goose/docs",
        config_files=("~/.config/goose/config.yaml",),
        instruction_files=(".goosehints", "AGENTS.md", "~/.config/goose/.goosehints"),
        transport=_BOTH,
        sign=Sign(
            ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY"),
            ("~/.config/goose/secrets.yaml",),
            "Run `goose configure`; its keys lie in the system's keyring.",
        ),
        announces=("goose", "goose-cli", "goose-desktop"),
    ),
    Provider(
        id="amp",
        name="Amp",
        programs=("amp",),
        tagline="A coding agent for terminal and editor that keeps its threads on a server of its maker.",
        docs="https://ampcode.com/manual",
        config_files=("~/.config/amp/settings.json", ".amp/settings.json"),
        instruction_files=("AGENTS.md", "~/.config/amp/AGENTS.md"),
        transport=_BOTH,
        sign=Sign(
            ("AMP_API_KEY",),
            ("~/.local/share/amp/secrets.json",),
            "Run `amp login`, or set AMP_API_KEY.",
        ),
        announces=("amp-mcp-client",),
    ),
    Provider(
        id="qwen",
        name="Qwen Code",
        programs=("qwen",),
        tagline="A coding agent for the terminal, made for Qwen's models.",
        docs="https://qwenlm.github.io/qwen-code-docs",
        config_files=("~/.qwen/settings.json", ".qwen/settings.json"),
        instruction_files=("QWEN.md", "~/.qwen/QWEN.md"),
        transport=_BOTH,
        sign=Sign(
            ("OPENAI_API_KEY", "DASHSCOPE_API_KEY"),
            ("~/.qwen/oauth_creds.json",),
            "Run `qwen auth`, or set OPENAI_API_KEY.",
        ),
        announces=("qwen-cli-mcp-client*", "qwen-code"),
    ),
    Provider(
        id="copilot",
        name="GitHub Copilot CLI",
        programs=("copilot",),
        tagline="GitHub's coding agent for the terminal.",
        docs="https://docs.github.com/copilot/concepts/agents/about-copilot-cli",
        config_files=("~/.copilot/config.json", "~/.copilot/mcp-config.json"),
        instruction_files=(".github/copilot-instructions.md", "AGENTS.md", "~/.copilot/copilot-instructions.md"),
        transport=_BOTH,
        sign=Sign(
            ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"),
            (),
            "Run `copilot login`; its sign-in lies in the system's keyring.",
        ),
        announces=("github-copilot-developer",),
    ),
    Provider(
        id="cursor-agent",
        name="Cursor CLI",
        programs=("cursor-agent",),
        tagline="Cursor's coding agent for the terminal.",
        docs="https://cursor.com/docs/cli",
        config_files=("~/.cursor/cli-config.json", ".cursor/cli.json"),
        instruction_files=("AGENTS.md", "CLAUDE.md", ".cursor/rules"),
        transport=_BOTH,
        sign=Sign(("CURSOR_API_KEY",), (), "Run `cursor-agent login`, or set CURSOR_API_KEY."),
        announces=("cursor", "cursor-agent"),
        connects_as="cursor",
    ),
)

PROVIDERS: Final[Mapping[str, Provider]] = MappingProxyType({one.id: one for one in _DECLARED})
"""By id, in the order in which they are listed."""
