"""What `nexus connect` and `nexus disconnect` do: a credential of its own for one client, and the entry that uses it.

Invariants: a client has one credential, `connect-<client>`, whose token stands in one private file of the home and in
no configuration (common 2.2); doing the same again changes nothing; what fails half way is taken back; an entry that
was not made here is left alone; on one home one command at a time looks and changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from bus.value import Record, Value, records
from nexus.config import Home
from nexus.connect import config_file, token_files
from nexus.connect.clients import ENTRY, Client, Places, file_of, is_our_http, token_file_in
from nexus.connect.config_file import ChangedMeanwhile, ConfigFile, ConfigRefused
from nexus.connect.document import entry_at, with_entry, without_entry
from nexus.connect.syntax import Broken
from nexus.connect.turn import NotOurTurn, turn
from nexus.person_client import Refused
from tools.errors import Code

_WRITES_MAX: Final = 5
"""How often a file is read anew because its client wrote it meanwhile."""


class Person(Protocol):
    """The person's socket."""

    def ask(self, verb: str, arguments: Mapping[str, Value]) -> Record:
        """Raises NotRunning and Refused."""
        ...


class ConnectRefused(Exception):
    """It cannot be connected so. The text is for the person: what, why, what next."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the person asks for. `project`: the folder whose configuration is meant instead of the user's."""

    client: Client
    agent: str
    workspace: str | None = None
    families: Record | None = None
    """As `agent.credential_families` takes them; None: as they are."""
    over_http: bool = False
    project: Path | None = None

    @property
    def credential(self) -> str:
        return token_files.credential_name(self.client.name, self.project)

    @property
    def named(self) -> Record:
        return {"agent": self.agent} if self.workspace is None else {"agent": self.agent, "workspace": self.workspace}


@dataclass(frozen=True, slots=True)
class Plan:
    """What connecting would do. `file` and `text` are None for a client that is configured by hand."""

    wish: Wish
    agent_id: str
    agent_name: str
    entry: Record
    token_file: Path
    credential: Record | None
    """As its owner lists it, if there is one already."""
    file: ConfigFile | None
    text: str | None

    @property
    def changes_file(self) -> bool:
        return self.file is not None and self.text != self.file.text

    @property
    def shown(self) -> str:
        """The entry alone, as it stands in the client's configuration."""
        client = self.wish.client
        return client.syntax.with_value("", (*client.container({}), ENTRY), self.entry)


@dataclass(frozen=True, slots=True)
class Done:
    """What has changed; `backup` is the copy of the configuration as it was."""

    agent_id: str
    agent_name: str
    file: Path | None
    backup: Path | None = None
    entry_changed: bool = False
    credential_changed: bool = False
    token_file: Path | None = None
    file_removed: bool = False
    """Whether the configuration held nothing but our entry and was taken away with it."""


class Connecting:
    """Connects clients of one user to one home. `command` runs `nexus`; `url` is the MCP address."""

    def __init__(self, home: Home, person: Person, places: Places, command: Sequence[str], url: str) -> None:
        self._home = home
        self._person = person
        self._places = places
        self._command = command
        self._url = url

    def plan(self, wish: Wish) -> Plan:
        """Changes nothing. Raises ConnectRefused, ConfigRefused, InWorkTree, NotRunning, Refused."""
        client = wish.client
        if wish.over_http and client.http is None:
            raise ConnectRefused(client.why_no_http)
        if wish.project is not None and not client.project_files:
            raise ConnectRefused(f"{client.title} has no configuration of one project. Leave --project out.")
        token_files.refuse_work_tree(self._home)
        path = file_of(client, self._places, wish.project)
        file = None if path is None else config_file.read(path)
        found = None if file is None else self._entry_in(client, file)
        shown = self._person.ask("agent.show", wish.named)
        agent_id, name = str(shown.get("agentId")), str(shown.get("name"))
        self._refuse_others_entry(wish, agent_id, file, found)
        token_file = token_files.token_file(self._home, agent_id, wish.credential)
        entry = self._entry(wish, token_file)
        known = next((one for one in records(shown, "credentials") if one.get("name") == wish.credential), None)
        text = None if file is None else self._edited(client, file, entry)
        return Plan(wish, agent_id, name, entry, token_file, known, file, text)

    def connect(self, wish: Wish) -> tuple[Plan, Done]:
        """Raises what `plan` and `carry_out` raise, and NotOurTurn."""
        with turn(self._home):
            plan = self.plan(wish)
            return plan, self.carry_out(plan)

    def carry_out(self, plan: Plan) -> Done:
        """Raises ConfigRefused, ConnectRefused, HomeRefused, InWorkTree, NotRunning, Refused, OSError; nothing is half
        done then. Only in our turn."""
        made, changed = self._credential_ensured(plan)
        try:
            backup = self._entry_written(plan) if plan.changes_file else None
        except BaseException:
            if made:
                self._credential_dropped(plan.agent_id, plan.wish.credential)
            elif changed and plan.credential is not None:
                former = plan.credential.get("families")
                asked: Record = {"everyFamily": True} if former is None else {"families": former}
                named: Record = {"agent": plan.agent_id, "name": plan.wish.credential}
                self._person.ask("agent.credential_families", {**named, **asked})
            raise
        path = None if plan.file is None else plan.file.path
        return Done(plan.agent_id, plan.agent_name, path, backup, plan.changes_file, changed, plan.token_file)

    def disconnect(self, wish: Wish) -> Done:
        """The credential stops first. Raises as `connect`; may be repeated whatever it came to."""
        with turn(self._home):
            agent_id, name, has_credential = self._found_agent(wish)
            path = file_of(wish.client, self._places, wish.project)
            file = None if path is None else config_file.read(path)
            if has_credential:
                self._revoked(agent_id, wish.credential)
            had_token = token_files.drop_token(self._home, agent_id, wish.credential)
            done = Done(agent_id, name, path, credential_changed=has_credential or had_token)
            if file is None:
                return done
            try:
                return self._entry_removed(wish, done, file)
            except ConfigRefused as refused:
                raise ConfigRefused(f"The credential has stopped, but an entry may still be there. {refused}") from None

    def _entry(self, wish: Wish, token_file: Path) -> Record:
        if wish.over_http:
            assert wish.client.http is not None, "plan has refused it"
            return wish.client.http(self._url)
        if self._home.run != self._home.path / "run":
            raise ConnectRefused(
                f"The path of the home {self._home.path} is so long that its sockets lie elsewhere, each time anew. "
                "Use a home with a shorter path, or a client that takes --http."
            )
        words = [*self._command, "mcp", "--token-file", str(token_file), "--socket", str(self._home.mcp_socket)]
        if any(mark in word for word in words for mark in "${"):
            raise ConnectRefused(
                "The path of the home or of nexus holds a `$` or `{`, which clients replace. Use another home."
            )
        return wish.client.stdio(words[0], words[1:])

    def _entry_in(self, client: Client, file: ConfigFile) -> Value:
        try:
            data = client.syntax.data(file.text)
            return entry_at(data, (*client.container(data), ENTRY))
        except Broken as broken:
            raise _broken(file, broken) from None

    def _edited(self, client: Client, file: ConfigFile, entry: Record | None) -> str:
        try:
            text = file.text
            keys = (*client.container(client.syntax.data(text)), ENTRY)
            if entry is None:
                return without_entry(client.syntax, text, keys)
            return with_entry(client.syntax, text, keys, entry)
        except Broken as broken:
            raise _broken(file, broken) from None

    def _entry_written(self, plan: Plan) -> Path | None:
        """Where the copy of before lies. Whoever writes the configuration meanwhile, what they wrote stays."""
        wish, file = plan.wish, plan.file
        assert file is not None, "only a client with a file has changes to it"
        for _ in range(_WRITES_MAX):
            text = self._edited(wish.client, file, plan.entry)
            try:
                return config_file.write(file, text, keeps_copy=not self._is_all_ours(wish, plan.agent_id, file))
            except ChangedMeanwhile:
                file = config_file.read(file.path)
                self._refuse_others_entry(wish, plan.agent_id, file, self._entry_in(wish.client, file))
        raise _written_all_the_time(file)

    def _entry_removed(self, wish: Wish, done: Done, file: ConfigFile) -> Done:
        """`done`, and what became of the entry: one that is not, or no longer, of this agent stays."""
        for _ in range(_WRITES_MAX):
            if not self._is_entry_of(wish, done.agent_id, self._entry_in(wish.client, file)):
                return done
            try:
                is_all_ours = self._is_all_ours(wish, done.agent_id, file)
                if is_all_ours and not file.path.is_symlink() and not config_file.has_copies(file):
                    config_file.remove(file)  # connecting made it
                    return replace(done, entry_changed=True, file_removed=True)
                text = self._edited(wish.client, file, None)
                backup = config_file.write(file, text, keeps_copy=not is_all_ours)
                return replace(done, entry_changed=True, backup=backup)
            except ChangedMeanwhile:
                file = config_file.read(file.path)
        raise _written_all_the_time(file)

    def _is_all_ours(self, wish: Wish, agent_id: str, file: ConfigFile) -> bool:
        """Whether the file holds the entry of this agent as it is written into a new file, and nothing else."""
        found = self._entry_in(wish.client, file)
        if not isinstance(found, dict) or not self._is_entry_of(wish, agent_id, found):
            return False
        return file.text == wish.client.syntax.with_value("", (*wish.client.container({}), ENTRY), found)

    def _refuse_others_entry(self, wish: Wish, agent_id: str, file: ConfigFile | None, found: Value) -> None:
        if file is None or found is None or self._is_entry_of(wish, agent_id, found):
            return
        token_file = token_file_in(found) if isinstance(found, dict) else None
        owner = None if token_file is None else token_files.owner_of(self._home, token_file)
        if isinstance(found, dict) and is_our_http(wish.client, found):
            owner = self._owner_over_http(wish, agent_id)
        if owner is None:
            raise ConnectRefused(
                f"{file.path} has an entry `{ENTRY}` that was not made for this home. Rename or remove it first."
            )
        raise ConnectRefused(
            f"{wish.client.title} is connected as another agent. Disconnect it first: "
            f"nexus disconnect {wish.client.name} --agent {owner[0]}"
        )

    def _is_entry_of(self, wish: Wish, agent_id: str, found: Value) -> bool:
        """Whether the entry was made for this agent and client."""
        if not isinstance(found, dict):
            return False
        token_file = token_file_in(found)
        if token_file is not None:
            return token_files.owner_of(self._home, token_file) == (agent_id, wish.credential)
        return is_our_http(wish.client, found) and self._owner_over_http(wish, agent_id) is None

    def _owner_over_http(self, wish: Wish, agent_id: str) -> tuple[str, str] | None:
        """Another agent that has a token for this client; an entry over HTTP does not tell whose it is."""
        owners = token_files.owners_with(self._home, wish.credential)
        return next(((owner, wish.credential) for owner in owners if owner != agent_id), None)

    def _credential_ensured(self, plan: Plan) -> tuple[bool, bool]:
        """Whether a credential was made, and whether anything about it was changed."""
        wish, named = plan.wish, {"agent": plan.agent_id, "name": plan.wish.credential}
        asked = wish.families
        if plan.credential is not None:
            if token_files.holds_token(self._home, plan.agent_id, wish.credential):
                if asked is None or asked.get("families") == plan.credential.get("families"):
                    return False, False
                self._person.ask("agent.credential_families", {**named, **asked})
                return False, True
            self._revoked(plan.agent_id, wish.credential)  # its token is lost
        # Whoever says nothing of families widens nothing: a credential whose token is lost comes back as it was.
        former = None if plan.credential is None else plan.credential.get("families")
        families = former if asked is None else asked.get("families")
        answer = self._person.ask(
            "agent.credential_add", named if families is None else {**named, "families": families}
        )
        try:
            token_files.keep_token(self._home, plan.agent_id, wish.credential, str(answer["token"]))
        except BaseException:
            self._credential_dropped(plan.agent_id, wish.credential)
            raise
        return True, True

    def _credential_dropped(self, agent_id: str, credential: str) -> None:
        token_files.drop_token(self._home, agent_id, credential)
        self._revoked(agent_id, credential)

    def _revoked(self, agent_id: str, credential: str) -> None:
        try:
            self._person.ask("agent.credential_revoke", {"agent": agent_id, "name": credential})
        except Refused as refused:
            if refused.error.get("code") != Code.NOT_FOUND.value:
                raise

    def _found_agent(self, wish: Wish) -> tuple[str, str, bool]:
        """Its id, its name, and whether it has this client's credential. An agent that was removed is known by the id
        in the name of its token file."""
        try:
            shown = self._person.ask("agent.show", wish.named)
        except Refused as refused:
            is_gone = refused.error.get("code") == Code.NOT_FOUND.value
            if is_gone and token_files.token_file(self._home, wish.agent, wish.credential).is_file():
                return wish.agent, wish.agent, False
            raise
        has_credential = any(one.get("name") == wish.credential for one in records(shown, "credentials"))
        return str(shown.get("agentId")), str(shown.get("name")), has_credential


def _broken(file: ConfigFile, broken: Broken) -> ConfigRefused:
    return ConfigRefused(f"{file.path} cannot be edited: {broken}. Correct the file, or add the entry by hand.")


def _written_all_the_time(file: ConfigFile) -> ConfigRefused:
    return ConfigRefused(f"{file.path} is being written all the time. Stop the client and try again.")


REFUSALS: Final = (ConnectRefused, ConfigRefused, NotOurTurn, token_files.InWorkTree)
"""What can go wrong without being a defect, beside a NEXUS that does not run or refuses."""
