"""Desktop notifications: one constant sentence, seldom, and never in the way."""

from __future__ import annotations

import asyncio
import json
import stat
import sys
import threading
from collections.abc import Coroutine
from pathlib import Path

import pytest

from bus.client import DeadlinePassed
from bus.clock import ManualClock
from nexus.notices import SENTENCE, TITLE, DesktopNotices, are_wanted, notifier_command
from nexus.spawn import child_environment
from tests.support.loop import until
from tests.support.scripted_caller import Scripted, ScriptedCaller
from tools.errors import unavailable
from tools.setting_catalogue import DESKTOP_NOTIFICATIONS

DESKTOP = {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"}


class FakeDesktop:
    """A folder for PATH with a notifier that writes down how it was called."""

    def __init__(self, folder: Path, program: str, ends_with: int = 0) -> None:
        self.folder = folder
        self._file = folder / "said"
        script = folder / program
        script.write_text(
            f"#!{sys.executable} -I\nimport json, sys\n"
            f"with open({str(self._file)!r}, 'a') as said: said.write(json.dumps(sys.argv[1:]) + '\\n')\n"
            f"sys.exit({ends_with})\n"
        )
        script.chmod(stat.S_IRWXU)

    @property
    def said(self) -> list[list[str]]:
        return [json.loads(line) for line in self._file.read_text().splitlines()] if self._file.exists() else []

    def environment(self, **more: str) -> dict[str, str]:
        return {"PATH": str(self.folder), **more}


async def on() -> bool:
    return True


async def off() -> bool:
    return False


def run(test: Coroutine[None, None, None]) -> None:
    asyncio.run(test)


def test_a_card_is_told_of_by_the_desktops_own_program_in_a_constant_sentence(tmp_path: Path) -> None:
    desktop = FakeDesktop(tmp_path, "notify-send")
    notices = DesktopNotices(notifier_command(desktop.environment(**DESKTOP), "linux"), on)

    async def test() -> None:
        notices.card_appeared()
        await until(lambda: len(desktop.said) == 1)
        await notices.close()

    run(test())
    (said,) = desktop.said
    assert said[-2:] == [TITLE, SENTENCE]


def test_on_macos_osascript_says_it_with_nothing_to_press(tmp_path: Path) -> None:
    desktop = FakeDesktop(tmp_path, "osascript")
    command = notifier_command(desktop.environment(), "darwin")
    assert command is not None
    assert command[1:] == ("-e", f'display notification "{SENTENCE}" with title "{TITLE}"')
    assert '"' not in SENTENCE and "\\" not in SENTENCE, "it stands within quotes of AppleScript"


def test_many_cards_within_the_quiet_time_are_told_of_once_more_after_it(tmp_path: Path) -> None:
    desktop = FakeDesktop(tmp_path, "notify-send")
    command = notifier_command(desktop.environment(**DESKTOP), "linux")

    async def test() -> None:
        patient = DesktopNotices(command, on, quiet=3_600)
        for _ in range(20):
            patient.card_appeared()
        await until(lambda: len(desktop.said) == 1)
        for _ in range(20):
            patient.card_appeared()
        await patient.close()
        hasty = DesktopNotices(command, on, quiet=0.001)
        hasty.card_appeared()
        await until(lambda: len(desktop.said) == 2)
        for _ in range(20):
            hasty.card_appeared()
        await until(lambda: hasty._showing is None)
        await hasty.close()

    run(test())
    assert len(desktop.said) == 3


def test_the_setting_switches_them_off_and_on_again(tmp_path: Path) -> None:
    desktop = FakeDesktop(tmp_path, "notify-send")
    wanted = False

    async def is_on() -> bool:
        return wanted

    notices = DesktopNotices(notifier_command(desktop.environment(**DESKTOP), "linux"), is_on, quiet=0.001)

    async def test() -> None:
        nonlocal wanted
        notices.card_appeared()
        await until(lambda: notices._showing is None)
        assert desktop.said == []
        wanted = True
        notices.card_appeared()
        await until(lambda: len(desktop.said) == 1)
        await notices.close()

    run(test())


@pytest.mark.parametrize(
    ("environment", "platform"),
    [({"DISPLAY": ":0"}, "linux"), ({}, "linux"), ({}, "darwin"), ({"PATH": "/nowhere"}, "darwin")],
)
def test_a_machine_without_desktop_or_program_has_no_notifier(
    environment: dict[str, str], platform: str, tmp_path: Path
) -> None:
    assert notifier_command({"PATH": str(tmp_path), **environment}, platform) is None


def test_a_notifier_beside_no_desktop_is_not_run(tmp_path: Path) -> None:
    desktop = FakeDesktop(tmp_path, "notify-send")
    assert notifier_command(desktop.environment(), "linux") is None


async def _broken() -> bool:
    raise RuntimeError("secret")


@pytest.mark.parametrize("fault", ["absent", "gone", "fails", "setting"])
def test_what_fails_is_logged_once_and_raises_nothing(
    fault: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    desktop = FakeDesktop(tmp_path, "notify-send", ends_with=1)
    command = {"absent": None, "gone": (str(tmp_path / "gone"),)}.get(fault, (str(tmp_path / "notify-send"),))
    notices = DesktopNotices(command, _broken if fault == "setting" else on, quiet=0.001)

    async def test() -> None:
        for _ in range(3):
            notices.card_appeared()
            await until(lambda: notices._showing is None)
        await notices.close()

    run(test())
    logged = capfd.readouterr()
    assert (logged.out + logged.err).count("no desktop notification was shown") == 1
    assert "secret" not in logged.out + logged.err
    assert len(desktop.said) == (3 if fault == "fails" else 0)


def test_a_notifier_that_hangs_holds_nothing_up() -> None:
    released = threading.Event()
    seen: list[str] = []

    class Hanging(DesktopNotices):
        def _run(self) -> str | None:
            seen.append("shown")
            released.wait(30)
            return None

    async def test() -> None:
        notices = Hanging(("x",), on)
        notices.card_appeared()
        await until(lambda: seen == ["shown"])
        notices.card_appeared()  # the loop goes on: this line is reached while the notifier still runs
        await notices.close()
        released.set()

    run(test())


def test_only_who_notifies_learns_where_the_desktop_is() -> None:
    """security 2.16"""
    given = {**DESKTOP, "DISPLAY": ":0", "XDG_RUNTIME_DIR": "/r", "XAUTHORITY": "/cookie", "SECRET": "x", "PATH": "/b"}
    assert child_environment(given) == {"PATH": "/b"}
    assert child_environment(given, notifies=True) == {
        **DESKTOP,
        "DISPLAY": ":0",
        "XDG_RUNTIME_DIR": "/r",
        "PATH": "/b",
    }


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ({"setting": {"name": DESKTOP_NOTIFICATIONS.name, "value": False}}, False),
        ({"setting": {"name": DESKTOP_NOTIFICATIONS.name, "value": True}}, True),
        ({"setting": {"name": DESKTOP_NOTIFICATIONS.name, "value": "no"}}, True),
        (unavailable(), True),
        (DeadlinePassed(was_sent=True), True),
    ],
)
def test_the_setting_is_asked_for_each_time_and_its_default_holds_without_an_answer(
    answer: Scripted, wanted: bool
) -> None:
    caller = ScriptedCaller({("settings/-/settings", "settings_get"): answer})
    assert asyncio.run(are_wanted(caller, ManualClock())) is wanted
    assert caller.bodies("settings_get") == [{"name": "approvals.desktopNotifications"}]
