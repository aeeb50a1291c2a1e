"""`nexus connect` and `nexus disconnect`: the entry in an MCP client's configuration, and its credential."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from bus.value import Record, Value
from nexus import exit_codes, installation
from nexus.asking import HomeOption, JsonOption, WorkspaceOption, ended, examples, home_folder, typed_path
from nexus.config import Home, HomeMissing, HomeRefused, open_home
from nexus.connect.clients import CLIENTS, TOKEN_VARIABLE, Client, Places
from nexus.connect.connecting import REFUSALS, Connecting, Done, Plan, Wish
from nexus.connect.listing import Connection, State, listed
from nexus.credential_cli import EVERY_FAMILY, FamiliesOption, families_asked
from nexus.output import escape, fail, print_json, print_line, print_lines, print_list
from nexus.person_client import NOT_RUNNING_TEXT, NotRunning, PersonClient, Refused

_NAMES: Final = ", ".join(CLIENTS)

ClientArgument: TypeAlias = Annotated[str, typer.Argument(help=f"One of {_NAMES}.", metavar="CLIENT")]
AgentOption: TypeAlias = Annotated[str, typer.Option("--agent", help="The agent it acts as: an id or a name.")]
ProjectOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--project",
        help="The folder of one project, whose configuration is meant instead of yours.",
        parser=typed_path,
        metavar="FOLDER",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to `nexus`."""
    app.command(
        "connect",
        epilog=examples(
            "nexus connect claude-code --agent Ada",
            "nexus connect vscode --agent Ada --families canvas,agent",
            "nexus connect codex --agent Ada --print",
            "nexus connect --list",
        ),
    )(connect)
    app.command("disconnect", epilog=examples("nexus disconnect claude-code --agent Ada"))(disconnect)


def connect(
    client: Annotated[str | None, typer.Argument(help=f"One of {_NAMES}.", metavar="CLIENT")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="The agent it acts as: an id or a name.")] = None,
    families: FamiliesOption = None,
    only_print: Annotated[
        bool, typer.Option("--print", help="Show what would be written and where; change nothing.")
    ] = False,
    over_http: Annotated[
        bool, typer.Option("--http/--stdio", help="Over HTTP, or by a program that the client starts (the default).")
    ] = False,
    project: ProjectOption = None,
    list_clients: Annotated[bool, typer.Option("--list", help="Show the clients: found, connected.")] = False,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let an MCP client act as an agent: a credential of its own, and the entry in the client's configuration."""
    folder = None if project is None else _folder(project)
    with _refusals():
        opened = open_home(home_folder(home))
        if list_clients:
            _list(opened, folder, as_json)
            return
        if client is None or agent is None:
            raise fail(f"Name a client and --agent. The clients: {_NAMES}.", exit_codes.USAGE)
        narrowed = None if families is None else families_asked(families)
        wish = Wish(_client(client), agent, workspace, narrowed, over_http, folder)
        connecting = _connecting(opened, over_http=over_http)
        if only_print:
            _print_plan(connecting.plan(wish), as_json)
        else:
            plan, done = connecting.connect(wish)
            _print_connected(plan, done, as_json)


def disconnect(
    client: ClientArgument,
    agent: AgentOption,
    project: ProjectOption = None,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop a client's credential at once, and take its entry and its token away. Entries of others stay."""
    folder = None if project is None else _folder(project)
    with _refusals():
        wish = Wish(_client(client), agent, workspace, project=folder)
        done = _connecting(open_home(home_folder(home)), over_http=False).disconnect(wish)
    if as_json:
        print_json(_record(wish, done))
        return
    who = f"{escape(done.agent_name)} ({escape(done.agent_id)})"
    if not (done.credential_changed or done.entry_changed):
        print_line(f"{wish.client.title} is not connected as agent {who}; nothing was changed.")
        return
    print_line(f"{wish.client.title} is no longer connected as agent {who}; its credential has stopped.")
    _print_file(done)


def _list(home: Home, project: Path | None, as_json: bool) -> None:
    person = PersonClient(home.run)
    clients: list[Value] = []
    rows: list[list[Value]] = []
    for client in CLIENTS.values():
        found = listed(home, person, _places(), client, project)
        is_found = None if client.name == "generic" else _is_found(client)
        file = None if found.file is None else str(found.file)
        clients.append(
            {
                "client": client.name,
                "title": client.title,
                "found": is_found,
                "file": file,
                "problem": found.problem,
                "connections": [_connection_record(one) for one in found.connections],
            }
        )
        if not found.connections:
            rows.append([client.name, is_found, None, found.problem, None, file])
        for one in found.connections:
            rows.append([client.name, is_found, _who(one), found.problem or one.state.value, _families(one), file])
    columns = ("client", "found", "connected as", "state", "families", "configuration")
    print_list({"clients": clients}, as_json, columns, rows, "No client.")


def _connection_record(connection: Connection) -> Record:
    return {
        "agentId": connection.agent_id,
        "name": connection.agent_name,
        "credential": connection.credential,
        "state": connection.state.value,
        "families": connection.families,
    }


def _who(connection: Connection) -> str:
    return connection.agent_name or connection.agent_id or "an agent whose token is gone"


def _families(connection: Connection) -> Value:
    """As `nexus agent credential list` says it; nothing of a credential that does not count."""
    is_served = connection.state in (State.CONNECTED, State.ENTRY_MISSING, State.TOKEN_MISSING)
    if not is_served or connection.agent_id is None:
        return None
    return EVERY_FAMILY if connection.families is None else connection.families


def _is_found(client: Client) -> bool:
    """Whether there are signs of it on this machine: a program on PATH, or its folder."""
    places = _places()
    folders = [path.parent for path in client.files(places) if path.parent != places.home]
    files = client.files(places)
    return any(map(shutil.which, client.programs)) or any(path.exists() for path in (*folders, *files))


def _print_plan(plan: Plan, as_json: bool) -> None:
    path = None if plan.file is None else plan.file.path
    if as_json:
        print_json(
            {
                "client": plan.wish.client.name,
                "agentId": plan.agent_id,
                "name": plan.agent_name,
                "credential": plan.wish.credential,
                "file": None if path is None else str(path),
                "changesFile": plan.changes_file,
                "tokenFile": str(plan.token_file),
                "entry": plan.entry,
            }
        )
        return
    if path is None:
        print_line("This entry is for your client's configuration:")
    elif plan.changes_file:
        print_line(f"This entry would be put into {escape(str(path))}:")
    else:
        print_line(f"This entry stands in {escape(str(path))} already:")
    print_lines(("", *(f"  {escape(line)}" for line in plan.shown.rstrip().splitlines()), ""))
    print_line(f"The token (nx_...) of the credential {plan.wish.credential} lies in {escape(str(plan.token_file))}.")
    print_line("Nothing was changed.")


def _print_connected(plan: Plan, done: Done, as_json: bool) -> None:
    wish = plan.wish
    if as_json:
        print_json({**_record(wish, done), "entry": plan.entry})
        return
    who = f"{escape(done.agent_name)} ({escape(done.agent_id)})"
    if not (done.credential_changed or done.entry_changed) and done.file is not None:
        print_line(f"{wish.client.title} is connected as agent {who} already; nothing was changed.")
        return
    print_line(f"{wish.client.title} is connected as agent {who}, with the credential {wish.credential}.")
    _print_file(done)
    print_line(f"  token: {escape(str(plan.token_file))}, which only you may read")
    if done.file is None:
        print_lines(("", *(f"  {escape(line)}" for line in plan.shown.rstrip().splitlines()), ""))
    if wish.over_http:
        print_line("Before the client starts, set in its environment:")
        print_line(f'  export {TOKEN_VARIABLE}="$(cat {escape(shlex.quote(str(plan.token_file)))})"')
    print_line(wish.client.then)


def _print_file(done: Done) -> None:
    if done.file is not None and done.entry_changed:
        gone = ", which held nothing else and is gone" if done.file_removed else ""
        print_line(f"  configuration: {escape(str(done.file))}{gone}")
    if done.backup is not None:
        print_line(f"  as it was: {escape(str(done.backup))}")


def _record(wish: Wish, done: Done) -> Record:
    return {
        "client": wish.client.name,
        "agentId": done.agent_id,
        "name": done.agent_name,
        "credential": wish.credential,
        "changed": done.credential_changed or done.entry_changed,
        "file": None if done.file is None else str(done.file),
        "fileRemoved": done.file_removed,
        "backup": None if done.backup is None else str(done.backup),
        "tokenFile": None if done.token_file is None else str(done.token_file),
    }


def _client(typed: str) -> Client:
    client = CLIENTS.get(typed)
    if client is None:
        raise fail(f"NEXUS does not know this client. It knows: {_NAMES}.", exit_codes.USAGE)
    return client


def _folder(project: Path) -> Path:
    folder = project.expanduser().resolve()
    if not folder.is_dir():
        raise fail(f"{escape(str(project))} is not a folder.", exit_codes.USAGE)
    return folder


def _places() -> Places:
    return Places(Path.home(), os.environ, sys.platform == "darwin")


def _connecting(home: Home, *, over_http: bool) -> Connecting:
    person = PersonClient(home.run)
    return Connecting(home, person, _places(), installation.command(), _url(home) if over_http else "")


def _url(home: Home) -> str:
    """The address as it is while NEXUS runs, and else as it will be."""
    try:
        port = int(home.port_file.read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        port = home.settings.port
    return f"http://127.0.0.1:{port}/mcp"


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except HomeMissing:
        raise ended(NotRunning(NOT_RUNNING_TEXT)) from None
    except HomeRefused as unsafe:
        raise fail(escape(str(unsafe)), exit_codes.HOME_REFUSED) from None
    except REFUSALS as refused:
        raise fail(escape(str(refused))) from None
    except (NotRunning, Refused) as reason:
        raise ended(reason) from None
    except BrokenPipeError:
        raise  # whoever read the output has gone
    except OSError as error:
        raise fail(f"A file cannot be written: {escape(error.strerror or 'unknown reason')}.") from None
