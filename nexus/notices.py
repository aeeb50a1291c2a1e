"""Desktop notifications: one constant sentence when a call waits for the person's approval, where there is a desktop.

Invariants: nothing that an agent wrote, no id and no name is in a notification, and nothing in it decides anything;
`card_appeared` neither waits nor raises, so no call is ever slower for it; however many cards come, at most one
notification is shown each `quiet_seconds`. A desktop that is not there or does not answer is logged once and is no
failure of anything else. The desktop's own program is run: notify-send, or osascript on macOS.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeAlias

import structlog

from bus.address import SETTINGS
from bus.client import Caller, DeadlinePassed
from bus.clock import Clock
from bus.value import Record
from tools.setting_catalogue import DESKTOP_NOTIFICATIONS

TITLE: Final = "NEXUS"
SENTENCE: Final = "An agent waits for your approval. See it with: nexus approvals list"

quiet_seconds: Final = 5.0
notifier_seconds_max: Final = 2.0
setting_ms_max: Final = 2_000

IsOn: TypeAlias = Callable[[], Awaitable[bool]]
"""Whether the person wants notifications now: the setting approvals.desktopNotifications."""


def notifier_command(environment: Mapping[str, str], platform: str = sys.platform) -> tuple[str, ...] | None:
    """What shows the notification on this machine; None when it has no desktop, or no program for it."""
    path = environment.get("PATH", os.defpath)
    if platform == "darwin":
        program = shutil.which("osascript", path=path)
        said = f'display notification "{SENTENCE}" with title "{TITLE}"'
        return None if program is None else (program, "-e", said)
    if not any(environment.get(name) for name in ("DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY")):
        return None
    program = shutil.which("notify-send", path=path)
    return None if program is None else (program, "--app-name", TITLE, TITLE, SENTENCE)


async def are_wanted(caller: Caller, clock: Clock) -> bool:
    """The setting as it stands; its default when its owner does not answer. `caller` is the person's link."""
    body: Record = {"name": DESKTOP_NOTIFICATIONS.name}
    try:
        reply = await caller.call(SETTINGS, "settings_get", body, call_id=clock.new_id(), within_ms=setting_ms_max)
    except DeadlinePassed:
        return DESKTOP_NOTIFICATIONS.default
    setting = (reply.ok or {}).get("setting")
    value = setting.get("value") if isinstance(setting, dict) else None
    return value if isinstance(value, bool) else DESKTOP_NOTIFICATIONS.default


class DesktopNotices:
    """Belongs to the gateway's event loop. `close` when that ends."""

    def __init__(self, command: Sequence[str] | None, is_on: IsOn, *, quiet: float = quiet_seconds) -> None:
        self._command = command
        self._is_on = is_on
        self._quiet_seconds = quiet
        self._is_due = False
        self._showing: asyncio.Task[None] | None = None
        self._has_told = False

    def card_appeared(self) -> None:
        """A call waits for the person. Those that come within the quiet time are told of together, after it."""
        self._is_due = True
        if self._showing is None:
            self._showing = asyncio.ensure_future(self._show_while_due())

    async def close(self) -> None:
        if self._showing is not None:
            self._showing.cancel()
            await asyncio.gather(self._showing, return_exceptions=True)

    async def _show_while_due(self) -> None:
        try:
            while self._is_due:
                self._is_due = False
                await self._show()
                await asyncio.sleep(self._quiet_seconds)
        finally:
            self._showing = None

    async def _show(self) -> None:
        """Whatever goes wrong here is no more than a notification that nobody sees."""
        try:
            if not await self._is_on():
                return
            problem = await asyncio.to_thread(self._run)
        except Exception as defect:  # noqa: BLE001 - the log gets it; a task of its own has nobody else to tell
            problem = type(defect).__name__
        if problem is not None and not self._has_told:
            self._has_told = True
            structlog.get_logger().warning("no desktop notification was shown", why=problem)

    def _run(self) -> str | None:
        """Show it, in a thread: starting a program holds up whoever does it. Answers what went wrong."""
        if self._command is None:
            return "there is no desktop here, or neither notify-send nor osascript"
        try:
            done = subprocess.run(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=notifier_seconds_max,
                start_new_session=True,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as failed:
            return type(failed).__name__
        return None if done.returncode == 0 else f"the notifier ended with {done.returncode}"
