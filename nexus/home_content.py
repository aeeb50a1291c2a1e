"""What the shard folders of a home say about its config.toml: pure looking, no exception, nothing is changed.

The number of shards decides which shard an owner is in. Under another number most of what is stored would be looked
for where it is not, and would seem never to have existed; so folders and config must agree.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

STORE_FILE: Final = "data.mdb"


def has_stores(shards: Path) -> bool:
    """Whether anything was ever stored beneath a home's folder `shards`."""
    return any(shards.rglob(STORE_FILE))


def shards_problem(config: Path, folder: Path, shards: int) -> str | None:
    """Why the shards in `folder` are not the `shards` of `config`, for the person; None if they are.

    Folders without a store do not count: a home that is being made has them one after the other.
    """
    found = {entry.name for entry in folder.iterdir() if _names_a_shard(entry)} if folder.is_dir() else set()
    if not any((folder / name / STORE_FILE).exists() for name in found):
        return None
    wanted = {str(number) for number in range(shards)}
    if found == wanted:
        return None
    if found == {str(number) for number in range(len(found))}:
        return (
            f"{config} says shards = {shards}, but what is stored lies in {len(found)}. "
            f"Set it back to {len(found)}: with another number NEXUS would not find what it has stored."
        )
    missing = ", ".join(sorted(wanted - found)) or "none"
    return f"The shards in {folder} are not those of {config} (missing: {missing}). Restore the home from a backup."


def _names_a_shard(entry: Path) -> bool:
    return len(entry.name) == 1 and entry.name.isdigit() and entry.is_dir()
