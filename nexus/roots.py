"""Which folders may be a workspace's root (workspace.md, session_*: NEXUS's home is outside every root).

Folders are compared as the file system knows them, not by their names: links, bind mounts and names that differ in
case lead to the same folder.
"""

from __future__ import annotations

from pathlib import Path


def root_problem(root: Path, nexus_home: Path, user_home: Path) -> str | None:
    """Why the folder `root` cannot be a root, as a sentence's end; None if it can."""
    if not root.is_dir():
        return "is not a folder; make it first or name another one."
    if _is_within(user_home, root):
        return "holds your whole home folder; name the folder of one project inside it."
    if _is_within(nexus_home, root):
        return "holds the home folder of NEXUS, with its keys and data; name the folder of one project."
    if _is_within(root, nexus_home):
        return "lies in the home folder of NEXUS, with its keys and data; name a folder outside."
    return None


def _is_within(inner: Path, outer: Path) -> bool:
    """Whether `inner` is `outer` or lies in it. Of a missing `inner` the nearest folder that is there counts."""
    inner = inner.resolve()
    return any(_is_same(folder, outer) for folder in (inner, *inner.parents))


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def lies_in_home(file: Path, nexus_home: Path) -> bool:
    """Whether writing `file` would write into NEXUS's home, where only NEXUS itself writes."""
    return _is_within(file, nexus_home)
