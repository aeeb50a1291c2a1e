"""The NEXUS of the demo: started and stopped in a temporary home, and spoken to by the same commands a person uses."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, cast

from bus.value import Record
from nexus import exit_codes
from nexus.demo_agent import TOKEN_VARIABLE
from nexus.output import escape, shown

command_seconds_max: Final = 120.0
agent_step_seconds_max: Final = 60.0
agent_end_seconds_max: Final = 10.0


class StepFailed(Exception):
    """Something did not happen as it must; the text says what."""


class DemoRuntime:
    """A temporary folder with a home in it. `stop` must be called, whatever happened."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="nexus-demo-"))
        self.home = self.folder / "home"
        self.url = ""

    async def start(self) -> None:
        starting = asyncio.ensure_future(self.command("up", "--detach", "--port", "0"))
        try:
            ready = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # A NEXUS that is half started would not hear `down`: let it come up first.
            await asyncio.wait((starting,), timeout=command_seconds_max)
            raise
        self.url = str(ready.get("url", ""))
        if not self.url:
            raise StepFailed("`nexus up --json` did not say where it listens.")

    async def command(self, *arguments: str) -> Record:
        """What `nexus ARGUMENTS --json` prints. Raises StepFailed when it exits with another code than 0."""
        printed = await self._run("nexus", [*arguments, "--home", str(self.home), "--json"])
        try:
            return cast(Record, json.loads(printed))
        except ValueError:
            raise StepFailed(f"`nexus {arguments[0]}` did not print JSON.") from None

    async def bus(self, *arguments: str) -> list[str]:
        """The lines that `nexus-bus ARGUMENTS` prints."""
        return (await self._run("nexus.bus_cli", [*arguments, "--home", str(self.home)])).splitlines()

    async def shard_pids(self) -> dict[str, int]:
        """The process ids of the shard hosts by name."""
        processes = (await self.command("status")).get("processes")
        hosts = [one for one in processes if isinstance(one, dict)] if isinstance(processes, list) else []
        return {
            str(one.get("name")): pid
            for one in hosts
            if one.get("role") == "shard" and isinstance(pid := one.get("pid"), int)
        }

    def write_private(self, name: str, text: str) -> Path:
        """A new file of mode 0600 beside the home."""
        file = self.folder / name
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(text)
        return file

    def stop(self, *, keep: bool) -> None:
        """`nexus down`, then remove the folder unless it is to be kept. Safe when nothing was started."""
        try:
            subprocess.run(
                _python("nexus", ["down", "--home", str(self.home)]),
                env=_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=command_seconds_max,
            )
        finally:
            if not keep:
                shutil.rmtree(self.folder, ignore_errors=True)

    async def _run(self, module: str, arguments: list[str]) -> str:
        process = await asyncio.create_subprocess_exec(
            *_python(module, arguments),
            env=_environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the terminal is for the demo, which ends them itself
        )
        try:
            printed, said = await asyncio.wait_for(process.communicate(), command_seconds_max)
        except TimeoutError:
            raise StepFailed(f"`{module} {arguments[0]}` did not end within {command_seconds_max:.0f} s.") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != exit_codes.OK:
            reason = escape(said.decode(errors="replace").strip())
            raise StepFailed(f"`{module} {arguments[0]}` ended with {process.returncode}: {reason}")
        return printed.decode()


class DemoAgentProcess:
    """Program B while it runs: its JSON lines are awaited step by step."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @classmethod
    async def started(cls, url: str, token_file: Path) -> DemoAgentProcess:
        process = await asyncio.create_subprocess_exec(
            *_python("nexus.demo_agent", [url]),
            env=_environment() | {TOKEN_VARIABLE: str(token_file)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the terminal is for the demo, which ends them itself
        )
        return cls(process)

    async def step(self, name: str) -> Record:
        """The facts of B's next step, which must be `name`. Raises StepFailed."""
        assert self.process.stdout is not None
        try:
            line = await asyncio.wait_for(self.process.stdout.readline(), agent_step_seconds_max)
        except TimeoutError:
            raise StepFailed(f"B did not come to `{name}` within {agent_step_seconds_max:.0f} s.") from None
        if not line:
            assert self.process.stderr is not None
            said = escape((await self.process.stderr.read()).decode(errors="replace").strip())
            raise StepFailed(f"B ended before `{name}`: {said}")
        facts = cast(Record, json.loads(line))
        if facts.get("step") != name:
            raise StepFailed(f"B did `{shown(facts.get('step'))}` instead of `{name}`.")
        return facts

    async def end(self) -> None:
        """Make sure that it has ended: by itself within a bound, else killed."""
        try:
            await asyncio.wait_for(self.process.wait(), agent_end_seconds_max)
        except TimeoutError:
            await self.kill()

    async def kill(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()


def _python(module: str, arguments: list[str]) -> list[str]:
    """Isolated, so that no folder of the person's shadows a module (security 2.16)."""
    return [sys.executable, "-I", "-m", module, *arguments]


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("NEXUS_")}
