"""What `nexus agent run` starts in tests: `python -I FILE NAME ...`, one small program for each way to behave.

They tell the test what they see through files in the folder that the last argument names, since their output is the
answer.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

WAITS = "import signal, threading; signal.signal(signal.SIGTERM, signal.SIG_IGN); threading.Event().wait()"


def note(folder: str, name: str, record: object) -> None:
    """Whole at once, so that who waits for the file reads all of it."""
    written = Path(folder) / f".{name}"
    written.write_text(json.dumps(record))
    written.rename(Path(folder) / name)


def report(folder: str) -> None:
    """Everything that it was given."""
    given = sys.stdin.read()
    task_file, token_file = Path(os.environ["NEXUS_TASK_FILE"]), Path(os.environ["NEXUS_TOKEN_FILE"])
    descriptors = [[found.st_dev, found.st_ino] for found in map(_opened, range(3, 200)) if found is not None]
    record = {
        "given": given,
        "file": task_file.read_text(),
        "modes": [stat.S_IMODE(one.stat().st_mode) for one in (task_file, token_file, task_file.parent)],
        "arguments": sys.argv,
        "environment": dict(os.environ),
        "token": token_file.read_text(),
        "descriptors": descriptors,
        "cwd": str(Path.cwd()),
        "leads": os.getpid() == os.getsid(0) == os.getpgid(0),
    }
    note(folder, "report", record)
    print("seen")


def _opened(number: int) -> os.stat_result | None:
    try:
        return os.fstat(number)
    except OSError:
        return None


def wait(folder: str) -> None:
    """For ever, with one child in its group and one that left it; both ignore being asked to end."""
    below = [_below(is_away=False), _below(is_away=True)]
    note(folder, f"waiting-{os.environ['NEXUS_THREAD_ID']}", {"pids": [os.getpid(), *below]})
    print("begun", file=sys.stderr, flush=True)
    threading.Event().wait()


def _below(*, is_away: bool) -> int:
    started = subprocess.Popen(
        [sys.executable, "-I", "-c", f"{WAITS}"], stdin=subprocess.DEVNULL, start_new_session=is_away
    )
    return started.pid


def leave(folder: str) -> None:
    """Ends well and leaves a process behind that ignores being asked to end."""
    note(folder, "left", {"pids": [_below(is_away=True)]})
    print("left")


def hold(folder: str) -> None:
    """Works until the test says so."""
    note(folder, "held", {"token": Path(os.environ["NEXUS_TOKEN_FILE"]).read_text()})
    pause = threading.Event()
    while not (Path(folder) / "go").exists():
        pause.wait(0.01)
    print("held")


def stubborn(folder: str) -> None:
    """Ignores being asked to end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    wait(folder)


def fails(folder: str) -> None:
    """Says a credential on standard error, then why, and ends with 3."""
    print("my token is " + Path(os.environ["NEXUS_TOKEN_FILE"]).read_text(), file=sys.stderr)
    print("no beans", file=sys.stderr)
    sys.exit(3)


def prints(folder: str) -> None:
    """What the task's inputs say, by the exit status that they say."""
    inputs: dict[str, Any] = json.load(sys.stdin)["task"]["inputs"]
    for line in inputs.get("lines", []):
        print(line, file=sys.stderr, flush=True)
    sys.stdout.write(inputs["text"] * inputs.get("times", 1))
    sys.stdout.flush()
    sys.exit(inputs.get("status", 0))


def person(folder: str) -> None:
    """Tries to be the person: a command of theirs, with an environment that hides where it comes from."""
    home = os.environ["NEXUS_HOME"]
    plain = {"PATH": os.defpath, "HOME": os.environ["HOME"]}
    tried = [
        subprocess.run(
            [sys.executable, "-I", "-m", "nexus", *words[:2], "--home", home, *words[2:]],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        for environment in (dict(os.environ), plain)
        for words in (("approvals", "list"), ("agent", "run", "anybody", "--once", "--", "true"))
    ]
    note(folder, "tried", [[one.returncode, one.stdout, one.stderr] for one in tried])


PROGRAMS = {one.__name__: one for one in (report, wait, hold, stubborn, leave, fails, prints, person)}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](sys.argv[-1])
