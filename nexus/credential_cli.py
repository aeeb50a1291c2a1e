"""`nexus agent credential`: the tokens of one agent, each by its name, and what each is served."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import typer

from bus.value import Record, Value, records
from nexus.agent_place_cli import AgentArgument, change, who
from nexus.asking import HomeOption, JsonOption, WorkspaceOption, ask, examples
from nexus.output import fail, print_json, print_line, print_lines, shown, table, time_text

EVERY_FAMILY: Final = "all"

CredentialArgument: TypeAlias = Annotated[
    str, typer.Argument(help="The credential's name, such as `laptop`.", metavar="NAME")
]
FamiliesOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--families", help="Serve it these families of tools alone, such as `canvas,agent`; `all`: every one."
    ),
]

credentials = typer.Typer(help="Credentials: the tokens of one agent, each by its name.", rich_markup_mode=None)


def register(agents: typer.Typer) -> None:
    """Add the commands to `nexus agent`."""
    agents.add_typer(credentials, name="credential", no_args_is_help=True)


def families_asked(typed: str) -> Record:
    """What was typed as arguments of `agent.credential_families`, which says which families there are."""
    if typed.strip() == EVERY_FAMILY:
        return {"everyFamily": True}
    return {"families": [name.strip() for name in typed.split(",") if name.strip()]}


@credentials.command(
    "add",
    epilog=examples(
        "nexus agent credential add Ada laptop", "nexus agent credential add Ada drawing --families canvas,workspace"
    ),
)
def credential_add(
    agent: AgentArgument,
    name: CredentialArgument,
    families: FamiliesOption = None,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give an agent one more token and print it, once. Each can be revoked without the others."""
    asked: Record = {"agent": agent, "name": name, "workspace": workspace}
    if families is not None:
        asked["families"] = families_asked(families).get("families")
    answer = ask(home, "agent.credential_add", asked, "Adding the credential")
    print_token(answer, as_json, f"Agent {who(answer)} has a credential {shown(answer.get('credential'))} now.")


@credentials.command("list", epilog=examples("nexus agent credential list Ada"))
def credential_list(
    agent: AgentArgument, workspace: WorkspaceOption = None, home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Show an agent's credentials: since when, and when each was used last."""
    asked: Record = {"agent": agent, "workspace": workspace}
    answer = ask(home, "agent.credential_list", asked, "Reading the credentials")
    if as_json:
        print_json(answer)
    else:
        print_lines(credential_lines(answer))


@credentials.command(
    "families",
    epilog=examples(
        "nexus agent credential families Ada laptop",
        "nexus agent credential families Ada laptop canvas,agent",
        "nexus agent credential families Ada laptop all",
    ),
)
def credential_families(
    agent: AgentArgument,
    name: CredentialArgument,
    families: Annotated[
        str | None, typer.Argument(help="Such as `canvas,agent`; `all`: every family.", metavar="[LIST|all]")
    ] = None,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show or say which families of tools a credential is served. To it the others do not exist, at once."""
    named: Record = {"agent": agent, "workspace": workspace}
    if families is None:
        answer = _one_credential(ask(home, "agent.credential_list", named, "Reading the credentials"), name)
    else:
        asked: Record = {**named, "name": name, **families_asked(families)}
        answer = ask(home, "agent.credential_families", asked, "Changing it")
    if as_json:
        print_json(answer)
    else:
        named_so = f"The credential {shown(answer.get('credential'))} of agent {who(answer)}"
        print_line(f"{named_so} is served: {_families_text(answer.get('families'))}")


@credentials.command("revoke", epilog=examples("nexus agent credential revoke Ada laptop"))
def credential_revoke(
    agent: AgentArgument,
    name: CredentialArgument,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop a credential at once, and what was approved for calls that it made."""
    asked: Record = {"agent": agent, "name": name, "workspace": workspace}
    change(
        home,
        as_json,
        "agent.credential_revoke",
        asked,
        lambda answer: f"The credential {shown(answer.get('credential'))} of agent {who(answer)} has stopped.",
    )


def print_token(answer: Record, as_json: bool, sentence: str) -> None:
    if as_json:
        print_json({name: answer[name] for name in ("agentId", "credential", "token") if name in answer})
        return
    print_line(sentence)
    print_line("Its token, shown only now:")
    print_line(f"  {shown(answer.get('token'))}")
    print_line("Put it into an environment variable, NEXUS_TOKEN, not into a file under version control.")
    print_line('Your client sends it with each request: --header "Authorization: Bearer $NEXUS_TOKEN"')


def credential_lines(agent: Record) -> list[str]:
    rows = [
        (
            f"{one['name']!s} (borrowed by a running client)" if one.get("isLent") is True else one.get("name"),
            time_text(one.get("createdAt")),
            time_text(one.get("lastUsedAt")),
            _families_text(one.get("families")),
        )
        for one in records(agent, "credentials")
    ]
    return table(("name", "made", "last used", "families"), rows) if rows else ["none: it cannot call"]


def _families_text(families: Value) -> str:
    return EVERY_FAMILY if families is None else shown(families)


def _one_credential(answer: Record, name: str) -> Record:
    for one in records(answer, "credentials"):
        if one.get("name") == name:
            told: Record = {field: answer.get(field) for field in ("agentId", "name")}
            return {**told, "credential": name, "families": one.get("families")}
    raise fail("This agent has no credential of that name. `nexus agent credential list` shows those it has.")
