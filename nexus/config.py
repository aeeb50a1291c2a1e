"""The home folder: where it is, what is in it, and whether it is safe to use.

Invariants
- Everything NEXUS keeps lies in one folder owned by this user, mode 0700, no symbolic link (contract/security.md 2.23).
- What is fixed at creation (home id, shard count, home key) appears whole or not at all: a file is written aside and
  linked into place, so of two first starts at once one wins and both read the same.
- The key that signs internal links is read from its file when needed and is in no dataclass, so no log prints it.
- Socket paths are short: when `run/` lies too deep, sockets live in a private folder under the temporary folder and
  `run/elsewhere` names it. A pointer is believed only if the folder it names is ours and private.
"""

from __future__ import annotations

import os
import secrets
import stat
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import platformdirs

from bus.limits import shards_max, socket_path_bytes_max
from nexus.home_content import has_stores, shards_problem

HOME_VARIABLE: Final = "NEXUS_HOME"
PORT_DEFAULT: Final = 4470

_key_bytes: Final = 32
_socket_name_bytes_max: Final = 24
_socket_path_bytes_max: Final = socket_path_bytes_max if sys.platform == "linux" else min(103, socket_path_bytes_max)
_cores_for_two_shards: Final = 8
_temporary: Final = Path("/tmp")
_FOLDERS: Final = ("shards", "artifacts", "profiles", "logs", "run")


class HomeRefused(Exception):
    """The home cannot be used. The text is for the person: what, why, what next."""


class HomeMissing(HomeRefused):
    """There is no home there yet; `nexus up` makes one."""


@dataclass(frozen=True)
class Settings:
    """What config.toml says. `port` is the default of `nexus up`; NEXUS alone changes the others."""

    home_id: str
    port: int
    shards: int
    incarnation: int = 1
    """One more after each restore: what was learnt of the home before may not be true of it any more."""
    generation: int = 1
    """Which set of shards is in use; a restore, a reshard and a change of layout make the next one."""


@dataclass(frozen=True)
class Home:
    """A home that was found safe. Paths only: opening it reads no secret."""

    path: Path
    settings: Settings
    run: Path
    """Where the sockets are: `run/` in the home, or a short folder elsewhere. Locks are always in the home's."""

    @property
    def home_id(self) -> str:
        return self.settings.home_id

    @property
    def artifacts(self) -> Path:
        return self.path / "artifacts"

    @property
    def profiles(self) -> Path:
        return self.path / "profiles"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def lock_file(self) -> Path:
        """Locked as long as the supervisor lives."""
        return self.path / "run" / "lock"

    @property
    def family_lock_file(self) -> Path:
        """Locked as long as the supervisor or any of its children lives."""
        return self.path / "run" / "family.lock"

    @property
    def port_file(self) -> Path:
        """The port of the running gateway, as text; absent while nothing runs."""
        return self.path / "run" / "port"

    @property
    def mcp_socket(self) -> Path:
        return self.run / "mcp.sock"

    @property
    def person_socket(self) -> Path:
        return self.run / "person.sock"

    @property
    def runtimes_socket(self) -> Path:
        """Where agents' runtimes connect (bus/mailbox_client.py)."""
        return self.run / "runtimes.sock"

    @property
    def supervisor_socket(self) -> Path:
        return self.run / "supervisor.sock"

    @property
    def pointer_file(self) -> Path:
        """Names the folder of the sockets when it lies elsewhere."""
        return self.path / "run" / "elsewhere"

    @property
    def backups(self) -> Path:
        """Backups that NEXUS makes by itself, and copies of shards while a backup is being made."""
        return self.path / "backups"

    @property
    def kept(self) -> Path:
        """Shards that are not in use any more, by generation: the person may delete them."""
        return self.path / "kept"

    @property
    def backup_lock_file(self) -> Path:
        """Locked as long as a backup of the running home is being made."""
        return self.path / "run" / "backup.lock"

    def generation_folder(self, generation: int) -> Path:
        """Where that generation's shards are, or would be."""
        shards = self.path / "shards"
        return shards if generation == 1 else shards / f"generation-{generation}"

    def shard_folder(self, shard: int) -> Path:
        return self.generation_folder(self.settings.generation) / str(shard)

    def shard_socket(self, shard: int) -> Path:
        return self.run / f"shard-{shard}.sock"

    def key(self) -> bytes:
        """The 32 bytes that sign internal links. Raises HomeRefused if the file is not as it was made."""
        file = self.path / "home.key"
        refuse_unless_private(file, stat.S_ISREG, "file")
        key = file.read_bytes()
        if len(key) != _key_bytes:
            raise HomeRefused(
                f"{file} is damaged ({len(key)} bytes instead of {_key_bytes}). Restore it from a backup."
            )
        return key


def home_path(given: Path | None, environment: Mapping[str, str]) -> Path:
    """Where the home is: `--home`, else NEXUS_HOME, else the platform's data folder. Absolute; links are kept.

    Raises HomeRefused.
    """
    chosen = given if given is not None else environment.get(HOME_VARIABLE) or None
    if chosen is None:
        chosen = platformdirs.user_data_path("nexus", appauthor=False)
    try:
        expanded = Path(chosen).expanduser()
    except RuntimeError:
        raise HomeRefused(f"{chosen} names a user that is not known here. Choose another with --home.") from None
    return Path(os.path.abspath(expanded))  # noqa: PTH100 - resolve() would hide a symbolic link


def resolve_home(given: Path | None) -> Home:
    """The home a command works on. Raises HomeMissing or HomeRefused."""
    return open_home(home_path(given, os.environ))


def shards_for(cores: int) -> int:
    """How many shards a new home gets on a machine with `cores` cores (ARCHITECTURE, Processes)."""
    return 1 if cores < _cores_for_two_shards else min(shards_max, cores // 4)


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def create_home(path: Path, *, cores: int) -> Home:
    """Make what is missing of the home at `path` and open it. Sets the umask to 077. Raises HomeRefused."""
    os.umask(0o077)
    try:
        return _create_home(path, cores)
    except OSError as error:
        raise HomeRefused(f"The home {path} cannot be made: {error.strerror}. Choose another with --home.") from None


def _create_home(path: Path, cores: int) -> Home:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    refuse_unless_private(path, stat.S_ISDIR, "folder")
    _refuse_foreign_content(path)
    _refuse_lost_config(path)
    for name in _FOLDERS:
        (path / name).mkdir(mode=0o700, exist_ok=True)
    _write_once(path / "home.key", secrets.token_bytes(_key_bytes))
    _write_once(path / "config.toml", _first_config(shards_for(cores)).encode())
    home = open_home(path)
    if problem := shards_problem(path / "config.toml", home.shard_folder(0).parent, home.settings.shards):
        raise HomeRefused(problem)
    for shard in range(home.settings.shards):
        home.shard_folder(shard).mkdir(mode=0o700, parents=True, exist_ok=True)
    return home


def open_home(path: Path) -> Home:
    """The home at `path`, which must have been made. Raises HomeMissing or HomeRefused; changes nothing."""
    if not os.path.lexists(path / "config.toml"):
        if os.path.lexists(path):
            refuse_unless_private(path, stat.S_ISDIR, "folder")
        _refuse_lost_config(path)
        raise HomeMissing(f"There is no NEXUS home at {path}. Make and start it with: nexus up")
    refuse_unless_private(path, stat.S_ISDIR, "folder")
    for name in _FOLDERS:
        refuse_unless_private(path / name, stat.S_ISDIR, "folder")
    refuse_unless_private(path / "config.toml", stat.S_ISREG, "file")
    home = Home(path, _read_settings(path / "config.toml"), path / "run")
    return replace(home, run=_pointed_to(home) or home.run)


def prepare_sockets(home: Home) -> Home:
    """The home with a folder for sockets that is short enough, made if need be.

    Call only while holding the home's lock: then nobody else makes one, and sockets found in it are left over.
    """
    in_home = home.path / "run"
    if socket_path_is_short(in_home):
        home.pointer_file.unlink(missing_ok=True)
        return replace(home, run=in_home)
    folder = _pointed_to(home)
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix=f"nexus-{os.getuid()}-", dir=_temporary))
        home.pointer_file.unlink(missing_ok=True)
        _write_once(home.pointer_file, os.fsencode(folder))
    return replace(home, run=folder)


def remove_sockets(home: Home) -> None:
    """Remove left-over sockets, and the folder elsewhere if there was one. Only with the lock, with no child alive."""
    for entry in home.run.iterdir():
        if entry.is_socket():
            entry.unlink(missing_ok=True)
    if home.run != home.path / "run" and not any(home.run.iterdir()):
        home.run.rmdir()
        home.pointer_file.unlink(missing_ok=True)


def socket_path_is_short(folder: Path) -> bool:
    """Whether every socket in `folder` has a path the operating system takes."""
    return len(os.fsencode(folder)) + 1 + _socket_name_bytes_max <= _socket_path_bytes_max


def _first_config(shards: int) -> str:
    return (
        "# Settings of this NEXUS home. Change `port` here; `shards` by `nexus reshard`; nothing else by hand.\n"
        f'home_id = "{secrets.token_hex(8)}"\n'
        f"shards = {shards}\n"
        "# The port of the MCP address on 127.0.0.1; `nexus up --port` overrides it for one run.\n"
        f"port = {PORT_DEFAULT}\n"
    )


def _read_settings(file: Path) -> Settings:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise HomeRefused(f"{file} cannot be read: {error}. Correct it and try again.") from None
    home_id, port, shards = table.get("home_id"), table.get("port", PORT_DEFAULT), table.get("shards")
    if not isinstance(home_id, str) or not home_id:
        raise HomeRefused(f"{file}: home_id must be a text. Restore the line from a backup.")
    if not isinstance(port, int) or not 0 <= port <= 65535:
        raise HomeRefused(f"{file}: port must be a number from 0 to 65535.")
    if not isinstance(shards, int) or not 1 <= shards <= shards_max:
        raise HomeRefused(f"{file}: shards must be a number from 1 to {shards_max}, as it was when the home was made.")
    counters = table.get("incarnation", 1), table.get("generation", 1)
    if not all(isinstance(number, int) and number >= 1 for number in counters):
        raise HomeRefused(
            f"{file}: incarnation and generation must be numbers from 1. Restore the lines from a backup."
        )
    return Settings(home_id, port, shards, *counters)


def settings_in(file: Path) -> Settings:
    """What a config.toml says, wherever it lies. Raises HomeRefused."""
    return _read_settings(file)


def _write_once(file: Path, content: bytes) -> None:
    """Write `file` whole and on disk, unless it exists. Of two writers at once the first wins."""
    if os.path.lexists(file):
        return
    descriptor, aside = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        try:
            os.link(aside, file)
        except FileExistsError:
            return
    finally:
        Path(aside).unlink()
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _refuse_foreign_content(path: Path) -> None:
    """A folder that holds other things is not made a home: `--home ~` by mistake would fill it and judge its modes."""
    if not (path / "config.toml").exists() and not (path / "home.key").exists():
        known = {*_FOLDERS, "config.toml", "home.key"}
        if any(entry.name not in known and not entry.name.startswith(".") for entry in path.iterdir()):
            raise HomeRefused(f"{path} holds other files and is not a NEXUS home. Choose an empty or new folder.")


def _refuse_lost_config(path: Path) -> None:
    """A new config.toml would name another home over what is stored, with a number of shards that may be another."""
    # In this order: of two first starts at once, the other may just be writing its config and then its stores.
    if has_stores(path / "shards") and not os.path.lexists(path / "config.toml"):
        raise HomeRefused(
            f"{path} holds stored data but its config.toml is gone. Put that file back from a backup; "
            "it says into how many shards the data is divided."
        )


def refuse_unless_private(path: Path, is_kind: Callable[[int], bool], kind: str) -> None:
    """Raises HomeRefused for a link, another kind, another owner, or a mode that lets others in."""
    try:
        found = path.lstat()
    except OSError as error:
        raise HomeRefused(f"{path} cannot be used: {error.strerror}.") from None
    if stat.S_ISLNK(found.st_mode):
        raise HomeRefused(f"{path} is a symbolic link. NEXUS uses only real folders and files; name the target itself.")
    if not is_kind(found.st_mode):
        raise HomeRefused(f"{path} is not a {kind}.")
    if found.st_uid != os.getuid():
        raise HomeRefused(f"{path} belongs to another user (id {found.st_uid}). Use a {kind} of your own.")
    if stat.S_IMODE(found.st_mode) & 0o077:
        wanted = "700" if kind == "folder" else "600"
        raise HomeRefused(f"{path} is open to other users. Close it with: chmod {wanted} {path}")


def _pointed_to(home: Home) -> Path | None:
    """The folder that `run/elsewhere` names, if it is there, ours, private and short."""
    try:
        folder = Path(os.fsdecode(home.pointer_file.read_bytes()))
        refuse_unless_private(folder, stat.S_ISDIR, "folder")
    except (OSError, ValueError, HomeRefused):
        return None
    return folder if folder.is_absolute() and socket_path_is_short(folder) else None
