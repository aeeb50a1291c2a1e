"""`nexus team`: named groups of agents, local ones and those that a file brings from the cloud."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from bus.limits import teams_file_bytes_max
from bus.value import Record, Value, records
from nexus import exit_codes
from nexus.asking import HomeOption, JsonOption, WorkspaceOption, ask, examples, home_folder, typed_path
from nexus.output import escape, fail, fields, print_json, print_line, print_lines, print_list, shown, table

FILE_NAME: Final = "teams.json"
"""Where `nexus team provision` looks in the home when no file is named."""

TeamArgument: TypeAlias = Annotated[str, typer.Argument(help="The team: an id or a name.", metavar="TEAM")]
MemberArgument: TypeAlias = Annotated[str, typer.Argument(help="The agent: an id or a name.", metavar="AGENT")]

teams = typer.Typer(help="Teams: named groups of agents. A team gives no rights.", rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add `nexus team`."""
    app.add_typer(teams, name="team", no_args_is_help=True)


@teams.command("list", epilog=examples("nexus team list", "nexus team list --json"))
def team_list(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show every team with the number of its members and where it is managed."""
    answer = ask(home, "team.list", {}, "Reading the teams")
    rows = [
        (one.get("teamId"), one.get("name"), one.get("memberCount"), one.get("origin"))
        for one in records(answer, "teams")
    ]
    print_list(answer, as_json, ("id", "name", "members", "origin"), rows, "No team yet: nexus team create NAME")


@teams.command("show", epilog=examples("nexus team show Reviewers"))
def team_show(team: TeamArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show one team: its description and its members, each with its workspace."""
    answer = ask(home, "team.show", {"team": team}, "Reading the team")
    if as_json:
        print_json(answer)
        return
    told: dict[str, Value] = {
        "id": answer.get("teamId"),
        "name": answer.get("name"),
        "origin": answer.get("origin"),
        "description": answer.get("description"),
        "created": answer.get("createdAt"),
        "members": answer.get("memberCount"),
    }
    print_lines(fields(told))
    rows = [(one.get("agentId"), one.get("name"), one.get("workspace")) for one in records(answer, "members")]
    if rows:
        print_lines(f"  {line}" for line in table(("id", "name", "workspace"), rows))


@teams.command("create", epilog=examples("nexus team create Reviewers --description 'Read before we merge'"))
def team_create(
    name: Annotated[str, typer.Argument(help="Its name; it must differ clearly from every other team's.")],
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a local team, without members yet."""
    answer = ask(home, "team.create", {"name": name, "description": description}, "Making the team")
    if as_json:
        print_json(answer)
    else:
        print_line(f"Team {shown(answer.get('name'))} made: {shown(answer.get('teamId'))}")


@teams.command("add", epilog=examples("nexus team add Reviewers Ada", "nexus team add Reviewers Ada -w Website"))
def team_add(
    team: TeamArgument,
    agent: MemberArgument,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add an agent to a local team. It gains no right by that."""
    answer = ask(home, "team.add", {"team": team, "agent": agent, "workspace": workspace}, "Adding the member")
    _print_membership(answer, as_json, ("belongs to", "belonged already to"))


@teams.command("remove", epilog=examples("nexus team remove Reviewers Ada"))
def team_remove(
    team: TeamArgument,
    agent: MemberArgument,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take an agent out of a local team. The agent stays."""
    answer = ask(home, "team.remove", {"team": team, "agent": agent, "workspace": workspace}, "Removing the member")
    _print_membership(answer, as_json, ("belongs no more to", "belongs no more to"))


@teams.command("delete", epilog=examples("nexus team delete Reviewers --yes"))
def team_delete(
    team: TeamArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Yes: delete it.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a local team. Its members stay."""
    if not yes:
        raise fail("The team will be gone; its members stay. Add --yes to delete it.", exit_codes.USAGE)
    answer = ask(home, "team.delete", {"team": team}, "Deleting the team")
    if as_json:
        print_json(answer)
    else:
        print_line(f"Team {shown(answer.get('name'))} ({shown(answer.get('teamId'))}) is deleted.")


@teams.command("provision", epilog=examples("nexus team provision", "nexus team provision cloud-teams.json"))
def team_provision(
    file: Annotated[
        Path | None,
        typer.Argument(
            help=f'JSON as {{"teams": [{{id, name, description, members}}]}}. Default: {FILE_NAME} in the home.',
            parser=typed_path,
            metavar="FILE",
        ),
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the cloud teams those of a file, all at once. Local teams stay. With anything wrong nothing changes."""
    asked = _read(home_folder(home) / FILE_NAME if file is None else file)
    answer = ask(home, "team.provision", asked, "Provisioning the teams")
    if as_json:
        print_json(answer)
    else:
        print_line(f"Cloud teams: {shown(answer.get('teams'))}. Removed: {shown(answer.get('removed'))}.")


def _read(file: Path) -> Record:
    """What the file says. Ends the command for one that cannot be read as JSON."""
    shown_name = escape(str(file))
    try:
        with file.open("rb") as opened:
            text = opened.read(teams_file_bytes_max)
            is_whole = not opened.read(1)
        content = json.loads(text, parse_constant=_no_constant) if is_whole else None
    except OSError as problem:
        raise fail(f"{shown_name} cannot be read: {problem.strerror}.", exit_codes.REFUSED) from None
    except ValueError:  # not JSON, or not UTF-8
        raise fail(f"{shown_name} is no JSON.", exit_codes.REFUSED) from None
    except RecursionError:
        raise fail(f"{shown_name} is nested too deeply.", exit_codes.REFUSED) from None
    if not is_whole:
        size = teams_file_bytes_max // (1024 * 1024)
        raise fail(f"{shown_name} is larger than {size} MiB.", exit_codes.REFUSED)
    if not isinstance(content, dict):
        raise fail(f"{shown_name} must hold one JSON object.", exit_codes.REFUSED)
    return content


def _no_constant(name: str) -> None:
    raise ValueError(name)  # NaN and the like, which JSON does not have


def _print_membership(answer: Record, as_json: bool, words: tuple[str, str]) -> None:
    if as_json:
        print_json(answer)
        return
    said = words[0] if answer.get("changed") is True else words[1]
    members = shown(answer.get("memberCount"))
    print_line(f"Agent {shown(answer.get('name'))} {said} {shown(answer.get('team'))}, which has {members} now.")
