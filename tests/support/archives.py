"""Backups taken apart and put together again with something changed."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

Members: TypeAlias = list[tuple[tarfile.TarInfo, bytes]]


def members_of(file: Path) -> Members:
    with tarfile.open(file) as tar:
        found: Members = []
        for entry in tar:
            content = tar.extractfile(entry)
            assert content is not None
            found.append((entry, content.read()))
        return found


def write_tar(file: Path, members: Members) -> None:
    file.unlink()
    with tarfile.open(file, "w") as tar:
        for entry, content in members:
            if entry.isreg():
                entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))


def with_manifest(members: Members, change: Callable[[dict[str, Any]], None]) -> Members:
    manifest = json.loads(members[0][1])
    change(manifest)
    return [(members[0][0], json.dumps(manifest).encode()), *members[1:]]


def with_content(members: Members, number: int, content: bytes) -> Members:
    """Another content of a member, with the size and checksum that it has."""

    def change(manifest: dict[str, Any]) -> None:
        digest = hashlib.sha256(content).hexdigest()
        manifest["members"][number - 1].update(bytes=len(content), sha256=digest)

    changed = with_manifest(members, change)
    changed[number] = (members[number][0], content)
    return changed


def flip(content: bytes) -> bytes:
    return content[:-1] + bytes((content[-1] ^ 1,))
