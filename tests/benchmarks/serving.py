"""Servers of a benchmark: started here, waited for with a bound, ended afterwards by their own process id."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.loop import until

_START_SECONDS_MAX = 15.0


@contextmanager
def ended_afterwards(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        process.kill()
        process.wait()


async def await_socket(path: Path) -> None:
    """Until somebody listens there."""

    def listens() -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(str(path)) == 0

    await until(listens, _START_SECONDS_MAX)


async def await_file(folder: Path, pattern: str) -> str:
    """The text of the first file of that name that is not empty."""
    found: list[str] = []

    def is_there() -> bool:
        found[:] = [text for file in folder.glob(pattern) if (text := file.read_text())]
        return bool(found)

    await until(is_there, _START_SECONDS_MAX)
    return found[0]


async def first_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return await asyncio.to_thread(process.stdout.readline)
