"""`nexus agent` and `nexus guest`: who may call, how far each acts alone, and by which credentials."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

import typer

from bus.value import Record, Value, records
from nexus import agent_mesh_cli, agent_place_cli, agent_run_cli, credential_cli, exit_codes, provider_cli
from nexus.agent_mesh_cli import blocked_names, mode_text, removal_lines, works_for
from nexus.agent_place_cli import AgentArgument, change, who
from nexus.asking import HomeOption, JsonOption, WorkspaceOption, ask, examples
from nexus.credential_cli import credential_lines, print_token
from nexus.output import escape, fail, fields, print_json, print_line, print_lines, print_list, shown, time_text


class Mode(StrEnum):
    AUTO = "auto"
    APPROVAL = "approval"
    PLAN = "plan"
    PLAN_COLLECT = "plan_collect"


class CapabilityName(StrEnum):
    MESH = "mesh"


_MODES: Final = (
    "auto: acts alone, but asks before what cannot be undone. approval: asks before every write. "
    "plan: only reads. plan_collect: its writes are collected for you to run."
)

agents = typer.Typer(help="Agents: callers with an identity, a workspace and tokens.", rich_markup_mode=None)
guests = typer.Typer(help="The guest: a caller without an identity, who may only read.", rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the commands to `nexus`."""
    app.add_typer(agents, name="agent", no_args_is_help=True)
    app.add_typer(guests, name="guest", no_args_is_help=True)


@agents.command(
    "add",
    epilog=examples(
        "nexus agent add Ada --workspace Website", "nexus agent add Ada -w Website --mode approval --capability mesh"
    ),
)
def agent_add(
    name: Annotated[str, typer.Argument(help="Its name, as other agents and you will see it.")],
    workspace: Annotated[str, typer.Option("--workspace", "-w", help="The workspace: an id or a name.")],
    mode: Annotated[Mode, typer.Option(help=f"How far it acts alone. {_MODES}")] = Mode.AUTO,
    capability: Annotated[
        list[CapabilityName] | None, typer.Option(help="What it may use beside canvases; repeat for several.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add an agent to a workspace and print its token, once."""
    granted: list[Value] = [one.value for one in capability or []]
    asked: Record = {"name": name, "workspace": workspace, "mode": mode.value, "capabilities": granted}
    answer = ask(home, "agent.add", asked, "Adding the agent")
    print_token(answer, as_json, f"Agent {escape(name)} added: {shown(answer.get('agentId'))}")


@agents.command("list", epilog=examples("nexus agent list", "nexus agent list --workspace Website --json"))
def agent_list(workspace: WorkspaceOption = None, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show agents with workspace, mode, capabilities, withheld tools, and who is paused or blocked. Never tokens."""
    answer = ask(home, "agent.list", {"workspace": workspace}, "Reading the agents")
    columns = ("id", "name", "workspace", "mode", "capabilities", "withheld", "blocked senders")
    rows = [
        (
            *(one.get("agentId"), one.get("name"), _place(one), mode_text(one)),
            *(one.get("capabilities"), _withheld(one), blocked_names(one)),
        )
        for one in records(answer, "agents")
    ]
    print_list(answer, as_json, columns, rows, "No agent yet: nexus agent add NAME --workspace W")


@agents.command("show", epilog=examples("nexus agent show Ada", "nexus agent show Ada --json"))
def agent_show(
    agent: AgentArgument, workspace: WorkspaceOption = None, home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Show all of one agent: mode, capabilities, withheld tools, blocked senders, for whom it works, credentials."""
    answer = ask(home, "agent.show", {"agent": agent, "workspace": workspace}, "Reading the agent")
    if as_json:
        print_json(answer)
        return
    told: dict[str, Value] = {
        "id": answer.get("agentId"),
        "name": answer.get("name"),
        "workspace": _place(answer),
        "mode": mode_text(answer),
        "capabilities": answer.get("capabilities"),
        "withheld": _withheld(answer),
        "blocked senders": blocked_names(answer),
        **works_for(answer),
        "created": _budget_text(answer),
        "provider": answer.get("provider"),
        "persona": answer.get("persona"),
        "added": answer.get("createdAt"),
    }
    if answer.get("askedForBy") is not None:
        told["asked for by"] = answer.get("askedForBy")
    print_lines([*fields(told), "credentials:", *(f"  {line}" for line in credential_lines(answer))])


@agents.command("token", epilog=examples("nexus agent token Ada --replace", "nexus agent token Ada --replace --json"))
def agent_token(
    agent: AgentArgument,
    replace: Annotated[bool, typer.Option("--replace", help="Make a new token; the old one stops at once.")] = False,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace the token that an agent was added with and print the new one, once. Other credentials stay."""
    if not replace:
        raise fail(
            "A token is shown only when it is made and cannot be shown again. "
            "Add --replace to make a new one; the old one then stops at once.",
            exit_codes.USAGE,
        )
    answer = ask(home, "agent.token", {"agent": agent, "workspace": workspace}, "Replacing the token")
    print_token(answer, as_json, f"Agent {who(answer)} has a new token; the old one has stopped.")


@agents.command("remove", epilog=examples("nexus agent remove Ada", "nexus agent remove Ada --yes"))
def agent_remove(
    agent: AgentArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Yes: remove it, and end its open tasks.")] = False,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove an agent: its tokens stop at once, its open tasks end cancelled, channels, teams and canvases lose it.
    What it drew stays. Without --yes it only shows what would end."""
    asked: Record = {"agent": agent, "workspace": workspace}
    if not yes:
        removal = ask(home, "bus.removal", asked, "Reading what would end")
        closing = "Nothing brings it back but a backup. Add --yes to remove it."
        error: Record = {"message": closing, "removal": removal}
        raise fail("\n".join((*removal_lines(removal), closing)), exit_codes.USAGE, error)
    change(home, as_json, "agent.remove", asked, lambda answer: f"Agent {who(answer)} is removed.")


@agents.command("mode", epilog=examples("nexus agent mode Ada approval", "nexus agent mode Ada plan_collect --json"))
def agent_mode(
    agent: AgentArgument,
    mode: Annotated[Mode, typer.Argument(help=_MODES, metavar="MODE")],
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say how far an agent acts alone. It holds from its next call on, open ones too."""
    asked: Record = {"agent": agent, "mode": mode.value, "workspace": workspace}
    change(home, as_json, "agent.mode", asked, lambda answer: f"Agent {who(answer)} is in mode {mode.value} now.")


@agents.command(
    "capability", epilog=examples("nexus agent capability Ada mesh --on", "nexus agent capability Ada mesh --off")
)
def agent_capability(
    agent: AgentArgument,
    capability: Annotated[CapabilityName, typer.Argument(help="What it may use.", metavar="CAPABILITY")],
    on: Annotated[bool, typer.Option("--on/--off", help="Give it, or take it away at once.")],
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give an agent a capability, or take it away."""
    asked: Record = {"agent": agent, "capability": capability.value, "held": on, "workspace": workspace}
    holds = "has" if on else "no longer has"
    change(
        home,
        as_json,
        "agent.capability",
        asked,
        lambda answer: f"Agent {who(answer)} {holds} the capability {capability.value}.",
    )


@agents.command(
    "withhold",
    epilog=examples("nexus agent withhold Ada canvas_delete", "nexus agent withhold Ada canvas_delete --restore"),
)
def agent_withhold(
    agent: AgentArgument,
    tool: Annotated[str, typer.Argument(help="The tool's name, as tools/list has it.", metavar="TOOL")],
    restore: Annotated[bool, typer.Option("--restore", help="Give it back, whoever took it away.")] = False,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take one tool away from an agent, or give it back. The agent may give tools up, but never take them back."""
    asked: Record = {"agent": agent, "tool": tool, "withheld": not restore, "workspace": workspace}
    verb = "may use" if restore else "may no longer use"
    change(
        home,
        as_json,
        "agent.withhold",
        asked,
        lambda answer: f"Agent {who(answer)} {verb} {shown(answer.get('tool'))}.",
    )


@agents.command(
    "budget",
    epilog=examples(
        "nexus agent budget Ada", "nexus agent budget Ada --lifetime 500", "nexus agent budget Ada --reset"
    ),
)
def agent_budget(
    agent: AgentArgument,
    lifetime: Annotated[
        int | None, typer.Option("--lifetime", help="How many surfaces it may create in all.", min=0, max=1_000_000)
    ] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Count what it has created from nought again.")] = False,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show or change how many surfaces (such as canvases) an agent may create. Without options it is shown."""
    named: Record = {"agent": agent, "workspace": workspace}
    if lifetime is None and not reset:
        found = ask(home, "agent.show", named, "Reading the budget")
        answer: Record = {name: found.get(name) for name in ("agentId", "name", "budget")}
    else:
        answer = ask(home, "agent.budget", {**named, "lifetime": lifetime, "reset": reset}, "Changing the budget")
    if as_json:
        print_json(answer)
    else:
        print_line(f"Agent {who(answer)} has created {_budget_text(answer)}.")


@guests.command("on", epilog=examples("nexus guest on"))
def guest_on(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Let a guest read, and print the guest's token, once. Again: a new token; the one before stops."""
    answer = ask(home, "guest.on", {}, "Making the guest's token")
    print_token(answer, as_json, "A guest may read now, and nothing else. A guest token from before has stopped.")


@guests.command("off", epilog=examples("nexus guest off"))
def guest_off(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Stop the guest's token at once."""
    change(home, as_json, "guest.off", {}, lambda _: "No guest is served.")


@guests.command("status", epilog=examples("nexus guest status"))
def guest_status(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Say whether a guest is served."""
    answer = ask(home, "guest.status", {}, "Asking for the guest")
    if as_json:
        print_json(answer)
    elif answer.get("isOn") is True:
        used = f"last used {time_text(answer.get('lastUsedAt'))}" if answer.get("lastUsedAt") else "never used"
        print_line(f"A guest is served since {time_text(answer.get('createdAt'))}; its token was {used}.")
    else:
        print_line("No guest is served. Let one read with: nexus guest on")


def _place(agent: Record) -> Value:
    """Its workspace, or that it goes along with the person."""
    return f"{shown(agent.get('workspace'))} (inherits)" if agent.get("inherits") is True else agent.get("workspace")


def _withheld(agent: Record) -> list[Value]:
    """Names of tools; an owner may say of each who took it away."""
    listed = agent.get("withheld")
    return [
        f"{shown(one.get('tool'))} (by the {shown(one.get('by'))})" if isinstance(one, dict) else one
        for one in (listed if isinstance(listed, list) else [])
    ]


def _budget_text(agent: Record) -> str:
    budget = agent.get("budget")
    if not isinstance(budget, dict):
        return "-"
    per_hour = f"{shown(budget.get('usedThisHour'))} of {shown(budget.get('perHour'))} within the hour"
    return f"{shown(budget.get('usedLifetime'))} of {shown(budget.get('lifetime'))} surfaces in all, {per_hour}"


# Once, and not with each `nexus` that is built: they would be there once more each time.
agent_place_cli.register(agents)
agent_mesh_cli.register(agents)
credential_cli.register(agents)
provider_cli.register_for_agents(agents)
agent_run_cli.register(agents)
