"""The agent programs of this machine: where they are, and what they say of their version. Everything here blocks.

Invariants (security 2.16):
- A program is run for one thing: to ask its version, with the arguments of its declaration, no standard input, no
  terminal, an environment of ours, the root folder as the working one, for a bounded time and with a bounded answer.
  Whatever it leaves running in its group ends with that.
- A relative folder on PATH, and what lies inside a root of a workspace, is never looked into: an agent may write there.
- The login shell is asked for PATH and for which of certain variables are set; their values stay in it.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import secrets
import selectors
import shlex
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from bus.limits import (
    login_shell_bytes_max,
    login_shell_ms_max,
    provider_nice,
    provider_path_folders_max,
    provider_version_bytes_max,
    provider_version_characters_max,
    provider_version_ms_max,
)
from tools.provider_table import Provider

_FIRST_PATH: Final = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
"""What a login shell begins with, before its own files have said more."""

# Run by the login shell: so whatever shell it is, how it quotes and prints does not matter.
_ASK: Final = (
    "import json,os,sys;"
    "print(sys.argv[1]+json.dumps([os.environ.get('PATH',''),[n for n in sys.argv[2:] if os.environ.get(n)]])"
    "+sys.argv[1])"
)
_VERSION: Final = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)+(?:[-+.][0-9A-Za-z]+)*)")


@dataclass(frozen=True, slots=True)
class Program:
    """One program that is there: `found` is how PATH names it, `real` the file itself."""

    found: str
    real: str


@dataclass(frozen=True, slots=True)
class Shell:
    """What the person's login shell says. `path` as it stands in PATH."""

    path: str
    variables: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Person:
    """Who the programs belong to."""

    shell: str
    home: str
    name: str


def this_person() -> Person:
    """Of the user of this process, from the user database and not from what the environment says."""
    entry = pwd.getpwuid(os.getuid())
    return Person(entry.pw_shell or "/bin/sh", entry.pw_dir, entry.pw_name)


def ask_login_shell(
    person: Person, variables: Collection[str], otherwise: str, within_ms: int = login_shell_ms_max
) -> Shell:
    """PATH, and which of `variables` are set, in the person's login shell; `otherwise` is the PATH when it does not say
    so in time. Interactive as well, since that is where most installers of programs write to."""
    mark = secrets.token_hex(16)
    asking = shlex.join([sys.executable, "-I", "-S", "-c", _ASK, mark, *sorted(variables)])
    answer = output_of(
        [person.shell, "-l", "-i", "-c", asking],
        environment_for(person, _FIRST_PATH),
        within_ms=within_ms,
        bytes_max=login_shell_bytes_max,
    )
    _, _, rest = answer.partition(mark.encode())
    said, _, _ = rest.partition(mark.encode())
    try:
        path, present = orjson.loads(said)
    except ValueError:
        return Shell(otherwise)
    return Shell(str(path), frozenset(map(str, present)))


def programs_on(path: str, providers: Mapping[str, Provider], closed: Iterable[str]) -> dict[str, Program]:
    """By provider id, the program that a shell would run. `closed` are folders that nothing is taken from."""
    roots = [os.path.realpath(folder) for folder in closed]
    folders = _folders(path, roots)
    found = ((id_, _first(provider.programs, folders, roots)) for id_, provider in providers.items())
    return {id_: program for id_, program in found if program is not None}


def version_of(program: Program, provider: Provider, person: Person, path: str) -> str | None:
    """What the program says when it is asked; None when it says nothing like a version in time."""
    answer = output_of(
        [program.found, *provider.version_arguments],
        environment_for(person, path),
        executable=program.real,  # what was looked at, whatever a link on the way leads to by now
        within_ms=provider_version_ms_max,
        bytes_max=provider_version_bytes_max,
    )
    return version_in(answer.decode("utf-8", errors="replace"))


def version_in(text: str) -> str | None:
    """The first thing in a program's words that looks like a version. Nothing else that it says is shown."""
    matched = _VERSION.search(text)
    return None if matched is None else matched[1][:provider_version_characters_max]


def files_there(provider: Provider, person: Person) -> frozenset[str]:
    """Which of the provider's sign-in files exist. They are not opened."""
    return frozenset(file for file in provider.sign.files if Path(file.replace("~", person.home, 1)).exists())


def environment_for(person: Person, path: str) -> dict[str, str]:
    """All that a program is told: nothing that could hold a secret or change what it does."""
    return {
        "PATH": path,
        "HOME": person.home,
        "USER": person.name,
        "LOGNAME": person.name,
        "SHELL": person.shell,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "NO_UPDATE_NOTIFIER": "1",
    }


def output_of(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    within_ms: int,
    bytes_max: int,
    executable: str | None = None,
) -> bytes:
    """What a program prints on either of its outputs until it ends, the time is over or it has said enough; nothing
    when it cannot be started. It and all of its group are ended."""
    try:
        process = subprocess.Popen(
            command,
            executable=executable,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=dict(environment),
            start_new_session=True,
            close_fds=True,
        )
    except (OSError, ValueError):
        return b""
    with contextlib.suppress(OSError):  # it has ended already
        os.setpriority(os.PRIO_PROCESS, process.pid, provider_nice)
    try:
        return _read(process, time.monotonic() + within_ms / 1000, bytes_max)
    finally:
        with contextlib.suppress(OSError):  # nobody is left in the group
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _read(process: subprocess.Popen[bytes], until: float, bytes_max: int) -> bytes:
    assert process.stdout is not None
    descriptor, said = process.stdout.fileno(), b""
    os.set_blocking(descriptor, False)
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while len(said) < bytes_max:
            left = until - time.monotonic()
            if left <= 0 or not selector.select(left):
                break
            piece = os.read(descriptor, bytes_max - len(said))
            if not piece:
                break
            said += piece
    return said


def _folders(path: str, closed: Sequence[str]) -> list[str]:
    """Those of PATH that programs are taken from, in their order."""
    absolute = (folder for folder in path.split(os.pathsep)[:provider_path_folders_max] if folder.startswith("/"))
    return [folder for folder in absolute if not _is_in(os.path.realpath(folder), closed)]


def _first(names: Iterable[str], folders: Sequence[str], closed: Sequence[str]) -> Program | None:
    for name in names:
        for folder in folders:
            found = os.path.join(folder, name)  # noqa: PTH118 - thousands of these, and Path costs ten times as much
            if not _is_program(found):
                continue
            real = os.path.realpath(found)
            if not _is_in(real, closed):
                return Program(found, real)
    return None


def _is_program(file: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(file).st_mode) and os.access(file, os.X_OK)  # noqa: PTH116 - as above
    except (OSError, ValueError):
        return False


def _is_in(folder: str, closed: Sequence[str]) -> bool:
    return any(folder == root or folder.startswith(root.rstrip("/") + "/") for root in closed)
