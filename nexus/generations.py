"""Sets of shards: the one in use, one that is being made, and those that were. What switches between them.

Invariants
- config.toml alone names the generation in use, and is replaced in one step. Until then a new generation is nothing;
  from then on the old one is.
- `tidy` can tell from the numbers alone what an interrupted change has left: a higher generation was never in use and
  is removed, a lower one was in use and is moved to `kept/`, never deleted.
- Everything here is done with the home's lock held.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bus.store_lmdb import sync
from nexus.config import Home, HomeRefused, Settings, open_home

_GENERATION: Final = re.compile(r"generation-([1-9][0-9]{0,8})\Z")
_SHARD: Final = re.compile(r"[0-9]\Z")
_COMMENT: Final = "# Kept by NEXUS: how often this home was restored, and which set of shards is in use."


def tidy(home: Home) -> list[Path]:
    """Bring in order what an interrupted restore, reshard or change of layout left; what was moved to `kept/`."""
    moved = []
    for entry, generation in _generations(home):
        if generation > home.settings.generation:
            shutil.rmtree(entry)
        elif generation < home.settings.generation and not any(entry.iterdir()):
            entry.rmdir()
        elif generation < home.settings.generation:
            moved.append(_keep(home, entry, generation))
    return moved


def new_generation(home: Home) -> Path:
    """An empty folder for the shards of the next generation."""
    folder = home.generation_folder(home.settings.generation + 1)
    folder.mkdir(mode=0o700)
    return folder


def switch(home: Home, config: str) -> Home:
    """Make `config` the home's config.toml, on disk, in one step; the home as it is then. Raises HomeRefused."""
    for folder in (home.path / "shards", home.path / "kept", home.artifacts):
        if folder.exists():
            _sync_names(folder)
    replace_file(home.path / "config.toml", config.encode())
    return open_home(home.path)


def config_text(settings: Settings) -> str:
    """A config.toml that says these settings and nothing else. The home id has been checked for its characters."""
    return (
        "# Settings of this NEXUS home. Change `port` here; `shards` by `nexus reshard`; nothing else by hand.\n"
        f"{_COMMENT}\n"
        f"incarnation = {settings.incarnation}\n"
        f"generation = {settings.generation}\n"
        f'home_id = "{settings.home_id}"\n'
        f"shards = {settings.shards}\n"
        "# The port of the MCP address on 127.0.0.1; `nexus up --port` overrides it for one run.\n"
        f"port = {settings.port}\n"
    )


def changed_config(text: str, **numbers: int) -> str:
    """A config.toml with other numbers and everything else as it was. Raises HomeRefused if that cannot be done."""
    wanted = {**tomllib.loads(text), **numbers}
    for name, number in numbers.items():
        line = f"{name} = {number}"
        text, count = re.subn(rf"^{name}[ \t]*=.*$", line, text, count=1, flags=re.MULTILINE)
        if not count and _COMMENT in text:
            text = text.replace(_COMMENT, f"{_COMMENT}\n{line}", 1)
        elif not count:
            text = f"{_COMMENT}\n{line}\n{text}"
    if tomllib.loads(text) != wanted:
        raise HomeRefused("config.toml is written in a way that NEXUS cannot change. Write one setting a line.")
    return text


def replace_file(file: Path, content: bytes) -> None:
    """Put `content` in place of the file in one step, on disk."""
    descriptor, aside = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(aside).replace(file)
    finally:
        Path(aside).unlink(missing_ok=True)
    sync(file.parent)


def _sync_names(folder: Path) -> None:
    """Which files are where below a folder, on disk: a new set of shards must not be in use before it is found."""
    for place, _, _ in os.walk(folder):
        sync(Path(place))


def _generations(home: Home) -> Iterator[tuple[Path, int]]:
    for entry in sorted((home.path / "shards").iterdir()):
        if named := _GENERATION.match(entry.name):
            yield entry, int(named[1])
        elif _SHARD.match(entry.name):
            yield entry, 1


def _keep(home: Home, entry: Path, generation: int) -> Path:
    home.kept.mkdir(mode=0o700, exist_ok=True)
    into = home.kept
    if generation == 1:  # its shards lie side by side
        into = home.kept / "generation-1"
        into.mkdir(mode=0o700, exist_ok=True)
    target = into / entry.name
    number = 1
    while target.exists():
        number += 1
        target = into / f"{entry.name}.{number}"
    entry.rename(target)
    sync(into)
    return target
