"""`nexus doctor`: what could keep NEXUS from running well on this machine and home, without changing anything."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Final

from bus.limits import doctor_entries_max, doctor_free_bytes_wanted, reserve_bytes
from bus.reserve_file import ReserveFile
from bus.store_lmdb import RESERVE_FILE
from nexus import control
from nexus.config import Home, HomeMissing, HomeRefused, open_home, socket_path_is_short
from nexus.console.bundle import BundleMissing, bundle_folder
from nexus.home_content import STORE_FILE, shards_problem
from nexus.home_lock import is_held
from nexus.mesh_needs import needs_lines
from nexus.person_client import NotRunning, PersonClient, Refused
from nexus.picture_engine import PictureFailed, found_browser
from nexus.provider_file import FILE_NAME, known_providers
from nexus.sockets import PortTaken, listen_on_port
from nexus.store_check import store_problem
from tools.provider_table import PROVIDERS

PROMISE: Final = (
    "Protects against: an agent confined to MCP (even a misled one), other users of this machine, web pages in your "
    "browser, development servers on other loopback ports, pages inside a Window, hostile files. An agent is who its "
    "token says; no MCP call approves, grants or widens anything or reaches another workspace; what runs is what was "
    "approved; untrusted text is never markup, escape sequence or instruction of NEXUS.",
    "Does not protect against: a program with a shell as your own operating-system user. It can read and write the "
    "home folder, other agents' tokens and browser profiles, and act as you; approvals, scopes and roles then "
    "guard against mistakes, not malice, and so does refusing your commands to what descends from a session, run or "
    "launch. The real border is another user, a container or a sandbox that sees only one socket and one token file.",
)
"""contract/security.md section 1, in its terms."""

_python_least: Final = (3, 11)
_network_file_systems: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "9p", "fuse.sshfs"})
_parts: Final = ("pykka", "pyzmq", "lmdb", "msgpack", "pydantic", "mcp", "uvloop", "playwright")


class Outcome(StrEnum):
    """How bad it is. Only a problem makes the command fail."""

    GOOD = "good"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Check:
    """One thing looked at, and what was found, in words."""

    name: str
    outcome: Outcome
    text: str

    def record(self) -> dict[str, str]:
        return {"name": self.name, "outcome": str(self.outcome), "text": self.text}


def examine(path: Path) -> list[Check]:
    """Every check of the machine and of the home at `path`."""
    checks = [check_python(), check_parts(), check_pictures()]
    try:
        home = open_home(path)
    except HomeMissing as missing:
        return [*checks, Check("home", Outcome.WARNING, str(missing)), check_disk(_nearest_folder(path))]
    except HomeRefused as refused:
        return [*checks, Check("home", Outcome.PROBLEM, str(refused))]
    return [
        *checks,
        check_modes(home),
        *check_processes(home),
        *check_mesh(home),
        *check_stores(home),
        *check_reserve(home),
        check_providers(home),
        check_sockets(home),
        check_file_system(home.path),
        check_disk(home.path),
    ]


def check_python() -> Check:
    """Whether this Python can run NEXUS."""
    version = ".".join(map(str, sys.version_info[:3]))
    outcome = Outcome.GOOD if sys.version_info[:2] >= _python_least else Outcome.PROBLEM
    return Check("python", outcome, f"Python {version} on {sys.platform}; 3.11 or later is needed")


def check_parts() -> Check:
    """The versions of what NEXUS is built on."""
    found: list[str] = []
    missing: list[str] = []
    for name in ("nexus-runtime", *_parts):
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return Check("versions", Outcome.PROBLEM, f"not installed: {', '.join(missing)}")
    return Check("versions", Outcome.GOOD, ", ".join(found))


def check_pictures() -> Check:
    """Whether a canvas can be exported as svg and png, and which browser draws it."""
    try:
        bundle_folder()
        program, found_in = found_browser()
    except (BundleMissing, PictureFailed) as missing:
        return Check("pictures", Outcome.WARNING, f"a canvas cannot be exported as svg or png. {missing}")
    return Check("pictures", Outcome.GOOD, f"svg and png of a canvas are drawn by {program} (found by {found_in})")


def check_modes(home: Home) -> Check:
    """Whether anything in the home can be reached by other users, and whether the home's key is whole."""
    try:
        home.key()
    except HomeRefused as refused:
        return Check("home", Outcome.PROBLEM, str(refused))
    for looked_at, entry in enumerate(_entries(home.path)):
        if looked_at >= doctor_entries_max:
            break
        try:
            found = entry.lstat()
        except FileNotFoundError:  # NEXUS runs on, and removes what it no longer needs
            continue
        if not stat.S_ISLNK(found.st_mode) and found.st_mode & 0o077:
            return Check("home", Outcome.PROBLEM, f"{entry} is open to other users. Close it with: chmod go= {entry}")
    shards, incarnation = home.settings.shards, home.settings.incarnation
    text = f"{home.path}, for this user only; {shards} shard{'s' * (shards > 1)}, incarnation {incarnation}"
    return Check("home", Outcome.GOOD, text)


def check_stores(home: Home) -> Iterator[Check]:
    """Whether the stores are those of the config and can be read. Those of a running NEXUS are its own affair."""
    if problem := shards_problem(home.path / "config.toml", home.shard_folder(0).parent, home.settings.shards):
        yield Check("store", Outcome.PROBLEM, problem)
        return
    if is_held(home.family_lock_file) or is_held(home.lock_file):
        return
    problems = [store_problem(home.shard_folder(shard)) for shard in range(home.settings.shards)]
    found = [problem for problem in problems if problem is not None]
    for problem in found:
        yield Check("store", Outcome.PROBLEM, problem)
    if not found:
        yield Check("store", Outcome.GOOD, "can be opened and read")


def check_reserve(home: Home) -> Iterator[Check]:
    """Whether each shard keeps room for the person on a full disk (common 8.5). A host makes it when there is room."""
    made = [home.shard_folder(shard) for shard in range(home.settings.shards)]
    made = [folder for folder in made if (folder / STORE_FILE).exists()]
    without = [folder.name for folder in made if ReserveFile(folder / RESERVE_FILE).size() < reserve_bytes]
    size = f"{reserve_bytes // (1 << 20)} MiB"
    if without:
        text = f"not held by shard {', '.join(without)}: {size} for you on a full disk. Free twice as much there"
        yield Check("reserve", Outcome.WARNING, f"{text}; a running NEXUS then makes it again")
    elif made:
        yield Check("reserve", Outcome.GOOD, f"{size} a shard are kept for you on a full disk")


def check_providers(home: Home) -> Check:
    """Whether the person's own declarations of agent programs can be used."""
    known = known_providers(home.path)
    if known.complaint is not None:
        return Check("providers", Outcome.PROBLEM, known.complaint)
    declared = len(known.providers) - len(PROVIDERS)
    return Check("providers", Outcome.GOOD, f"{len(PROVIDERS)} known, and {declared} of {FILE_NAME}")


def check_processes(home: Home) -> Iterator[Check]:
    """What runs on the home now: locks, processes and the port."""
    try:
        status = control.ask(home, "status")
    except control.NotRunning:
        status = None
    if status is not None:
        yield from _check_running(status)
        return
    if is_held(home.lock_file):
        yield Check("lock", Outcome.PROBLEM, "a supervisor holds the lock but does not answer; is it still starting?")
    elif is_held(home.family_lock_file):
        yield Check("lock", Outcome.PROBLEM, "processes of a killed NEXUS still run; they should end within seconds")
    else:
        yield Check("lock", Outcome.GOOD, "free: NEXUS does not run on this home")
    yield check_port(home.settings.port)


def _check_running(status: dict[str, object]) -> Iterator[Check]:
    processes = status["processes"]
    assert isinstance(processes, list)
    names = ", ".join(f"{process['name']} {process['pid']}" for process in processes)
    yield Check("lock", Outcome.GOOD, f"held by the running supervisor, process {status['pid']}")
    outcome = Outcome.GOOD if status["isReady"] else Outcome.WARNING
    yield Check("processes", outcome, names + ("" if status["isReady"] else " (some are being restarted)"))
    yield Check("port", Outcome.GOOD, f"served at {status['url']}")


def check_mesh(home: Home) -> Iterator[Check]:
    """What of the tasks that agents send each other needs the person; only of a NEXUS that runs and answers."""
    try:
        needs = PersonClient(home.run).ask("bus.needs", {})
    except NotRunning:
        return
    except Refused as refused:
        yield Check("mesh", Outcome.WARNING, f"the mailboxes could not be looked at: {refused}")
        return
    lines = needs_lines(needs)
    for line in lines:
        yield Check("mesh", Outcome.WARNING, line)
    if not lines:
        yield Check("mesh", Outcome.GOOD, "no agent is paused, no task was given up or has waited for long")


def check_port(port: int) -> Check:
    """Whether the next `nexus up` can listen on its port."""
    try:
        listen_on_port(port).close()
    except (PortTaken, OSError) as error:
        return Check("port", Outcome.WARNING, str(error))
    return Check("port", Outcome.GOOD, f"{port} is free")


def check_sockets(home: Home) -> Check:
    """Whether the paths of sockets are short enough for the operating system."""
    if not hasattr(socket, "AF_UNIX"):
        return Check("sockets", Outcome.PROBLEM, "this system has no Unix sockets")
    if socket_path_is_short(home.path / "run"):
        return Check("sockets", Outcome.GOOD, f"in {home.run}")
    return Check(
        "sockets", Outcome.GOOD, "the home's path is too long for sockets, so they are kept in a folder elsewhere"
    )


def check_file_system(path: Path, mounts: Path = Path("/proc/self/mountinfo")) -> Check:
    """Whether the home lies on a file system that keeps the store's promises (facts: not on network file systems)."""
    kind = file_system_of(path, mounts)
    if kind is None:
        return Check("file system", Outcome.GOOD, "its kind is not known on this system; it must not be a network one")
    if kind in _network_file_systems:
        return Check("file system", Outcome.WARNING, f"{kind} is a network file system: acknowledged data may be lost")
    return Check("file system", Outcome.GOOD, kind)


def file_system_of(path: Path, mounts: Path) -> str | None:
    """The kind of the file system that holds `path`, from a mount table in Linux' form; None without one."""
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return None
    best: tuple[int, str] | None = None
    for line in lines:
        place, _, rest = line.partition(" - ")
        point = Path(place.split()[4].replace("\\040", " "))
        # The last of equal mounts lies on top.
        if path.is_relative_to(point) and (best is None or len(point.parts) >= best[0]):
            best = (len(point.parts), rest.split()[0])
    return best[1] if best else None


def check_disk(path: Path) -> Check:
    """Whether there is room to work."""
    free = shutil.disk_usage(path).free
    text = f"{free / (1 << 30):.1f} GiB free"
    return Check("disk", Outcome.GOOD if free >= doctor_free_bytes_wanted else Outcome.WARNING, text)


def _nearest_folder(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.is_dir())


def _entries(folder: Path) -> Iterator[Path]:
    yield folder
    for root, folders, files in os.walk(folder):
        # A browser's profile is its own business; its folder is closed.
        if Path(root) == folder and "profiles" in folders:
            folders.remove("profiles")
        yield from (Path(root, name) for name in (*folders, *files))
