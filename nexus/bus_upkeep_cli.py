"""`nexus-bus doctor | pending | dead | trace | export | top`: is it sound, what waits, what failed, what happened."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Annotated, Final

import typer
from rich.live import Live
from rich.text import Text

from bus.limits import mesh_needs_every_seconds
from bus.value import Record, Value, records
from nexus import exit_codes
from nexus.asking import HomeOption, JsonOption, ask, examples, refuse_in_home, stream
from nexus.bus_mesh_cli import print_idle
from nexus.mesh_needs import needs_lines
from nexus.output import escape, fail, json_text, print_json, print_line, print_lines, shown, table, time_text

_SPAN: Final = re.compile(r"(\d{1,6})([smhd])\Z")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_LETTER_HELP: Final = "The letter, as `nexus-bus dead ls` names it: SHARD:SOURCE:SEQUENCE:INDEX."
_QUEUE_COLUMNS: Final = ("liveOwners", "waitingCalls", "undeliveredMessages", "waitingCommits", "reserveHeld")

dead = typer.Typer(help="Messages that no owner could handle, put aside.", rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the commands to `nexus-bus`."""
    app.command("doctor", epilog=examples("nexus-bus doctor", "nexus-bus doctor --json"))(doctor)
    app.command(
        "pending",
        epilog=examples("nexus-bus pending", "nexus-bus pending --count 5 --json", "nexus-bus pending --idle 30000"),
    )(pending)
    app.add_typer(dead, name="dead", no_args_is_help=True)
    app.command("trace", epilog=examples("nexus-bus trace 01k5... ", "nexus-bus trace 01k5... --json"))(trace)
    app.command(
        "export", epilog=examples("nexus-bus export events.jsonl", "nexus-bus export - --since 24h | gzip > day.gz")
    )(export)
    app.command("top", epilog=examples("nexus-bus top", "nexus-bus top --interval 5", "nexus-bus top --json"))(top)


def doctor(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Check every stored row and every owner's own rules, while NEXUS runs. Exit code 8 if anything is wrong."""
    problems: list[Value] = []

    def each(problem: Record) -> None:
        problems.append(problem)
        if not as_json:
            what = shown(problem.get("owner") or problem.get("row") or "-")
            print_line(f"shard {shown(problem.get('shard'))}  {what}: {shown(problem.get('problem'))}")

    answer = stream(home, "bus.doctor", {}, each, "Looking at every row and owner")
    if as_json:
        print_json({**answer, "found": problems})
    else:
        looked_at = f"{shown(answer.get('rows'))} rows and {shown(answer.get('owners'))} owners"
        found = f"{len(problems) or 'no'} problem{'s' * (len(problems) != 1)}"
        print_line(f"{looked_at} on {shown(answer.get('shards'))} shards looked at; {found}.")
    raise typer.Exit(exit_codes.OK if answer.get("healthy") is True else exit_codes.UNHEALTHY)


def pending(
    count: Annotated[int, typer.Option("--count", "-n", min=0, max=200, help="How many to show.")] = 20,
    idle: Annotated[
        int | None,
        typer.Option(
            "--idle",
            min=0,
            metavar="MS",
            help="Instead: tasks that a runtime has leased and not spoken of for so many milliseconds.",
        ),
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show messages that are not delivered yet, by destination with the oldest one's age, and calls left open.

    With --idle instead the leased tasks that are idle for that long, by mailbox.
    """
    if idle is not None:
        print_idle(home, idle, count, as_json)
        return
    answer = ask(home, "bus.pending", {"count": count}, "Looking at what waits")
    if as_json:
        print_json(answer)
        return
    now_ms = answer.get("time")
    destinations = [
        (one.get("shard"), one.get("destination"), one.get("messages"), _age(one.get("oldestAt"), now_ms))
        for one in records(answer, "destinations")
    ]
    if destinations:
        print_lines(table(("from shard", "to shard", "messages", "oldest"), destinations))
    else:
        print_line("No message waits.")
    columns = ("from", "to", "verb", "call")
    messages = [tuple(one.get(name) for name in columns) for one in records(answer, "messages")]
    if messages:
        print_lines(["", *table(columns, messages)])
    calls = [(one.get("call"), _age(one.get("since"), now_ms)) for one in records(answer, "openCalls")]
    print_lines(["", *table(("open call", "age"), calls)] if calls else ["No call is open."])


@dead.command("ls", epilog=examples("nexus-bus dead ls", "nexus-bus dead ls --json"))
def dead_ls(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List dead letters and why they died."""
    answer = ask(home, "bus.dead.ls", {}, "Reading the dead letters")
    if as_json:
        print_json(answer)
        return
    letters = records(answer, "letters")
    if not letters:
        print_line("No dead letters.")
        return
    columns = ("letter", "from", "to", "verb", "why")
    print_lines(table(columns, [tuple(one.get(name) for name in columns) for one in letters]))
    if answer.get("truncated") is True:
        print_line("There are more.", to_stderr=True)


@dead.command("retry", epilog=examples("nexus-bus dead retry 0:1:5120:0", "nexus-bus dead retry 0:1:5120:0 --json"))
def dead_retry(
    letter: Annotated[str, typer.Argument(help=_LETTER_HELP)], home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Put a dead letter back into the stream, once. It dies again if its receiver still cannot handle it."""
    answer = ask(home, "bus.dead.retry", {"letter": letter}, "Putting the letter back")
    if as_json:
        print_json(answer)
    else:
        print_line(f"Letter {shown(answer.get('letter'))} is on its way again.")


@dead.command("drop", epilog=examples("nexus-bus dead drop 0:1:5120:0 --yes"))
def dead_drop(
    letter: Annotated[str, typer.Argument(help=_LETTER_HELP)],
    yes: Annotated[bool, typer.Option("--yes", help="Yes: what the message should have done will not happen.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Drop a dead letter for good; the event log keeps that you did."""
    if not yes:
        raise fail("What this message should have done will then never happen. Add --yes to drop it.", exit_codes.USAGE)
    answer = ask(home, "bus.dead.drop", {"letter": letter}, "Dropping the letter")
    if as_json:
        print_json(answer)
    else:
        print_line(f"Letter {shown(answer.get('letter'))} is dropped.")


def trace(
    call: Annotated[str, typer.Argument(help="A call's id, as `nexus-bus tail` shows it.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show everything stored of one call, over all shards: its commits in order, messages, answer, dead letters."""
    answer = ask(home, "bus.trace", {"call": call}, "Reading the journals")
    if as_json:
        print_json(answer)
        return
    for one in records(answer, "records"):
        place = f"{shown(one.get('shard'))}:{shown(one.get('sequence'))}"
        print_line(f"{time_text(one.get('at'))}  {place}  {shown(one.get('owner'))}  by {shown(one.get('by'))}")
        for item in _lists(one.get("events")):
            print_line(f"    event {shown(item[0])}  {json_text(item[1])}")
        for item in _lists(one.get("sent")):
            print_line(f"    sent  {shown(item[1])} to {shown(item[0])}")
    for one in records(answer, "underWay"):
        print_line(f"under way: {shown(one.get('verb'))} from {shown(one.get('from'))} to {shown(one.get('to'))}")
    for letter in _list(answer.get("deadLetters")):
        print_line(f"dead letter: {shown(letter)}")
    states = {"answered": "answered", "open": "left open", "none": "not kept (a read, or long ago)"}
    print_line(f"answer: {states.get(str(answer.get('state')), '-')}")


def export(
    file: Annotated[Path, typer.Argument(help="The file to write; it must not be there. `-` is standard output.")],
    since: Annotated[
        str | None, typer.Option("--since", help="Only events since then: 30m, 24h, 7d, or 2027-01-31[T12:00:00Z].")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the event log as JSON, one event a line, oldest first. With --json a summary in the end."""
    refuse_in_home(file, home)
    since_ms = None if since is None else _moment(since)
    with _target(file) as out:
        answer = stream(
            home,
            "bus.export",
            {"sinceMs": since_ms},
            lambda event: print(json_text(event), file=out),
            "Exporting the events",
        )
    if as_json and str(file) != "-":
        print_json({**answer, "file": str(file)})
    else:
        print_line(f"{shown(answer.get('events'))} events written.", to_stderr=True)


@contextmanager
def _target(file: Path) -> Iterator[IO[str]]:
    """Standard output, or a new private file that is removed again if the export is refused."""
    if str(file) == "-":
        yield sys.stdout
        return
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as refused:
        raise fail(f"{escape(str(file))} cannot be made: {refused.strerror}.") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        try:
            yield out
        except BaseException:
            file.unlink()
            raise


def top(
    interval: Annotated[float, typer.Option(help="Seconds between samples.", min=1.0, max=3_600.0)] = 1.0,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show who is busy now: rates by kind of owner, the busiest owners, commits, queues, and what of the mesh needs
    you. Until Ctrl-C on a terminal."""
    sample = {**ask(home, "bus.top", {}, "Counting for a second"), "needs": _needs(home)}
    if as_json:
        print_json(sample)
    elif not sys.stdout.isatty():
        print_lines(top_lines(sample))
    else:
        looked_at, needs = time.monotonic(), sample["needs"]

        def next_sample() -> Record:
            nonlocal looked_at, needs
            if time.monotonic() - looked_at >= mesh_needs_every_seconds:
                looked_at, needs = time.monotonic(), _needs(home)
            return {**ask(home, "bus.top", {"fresh": False}, "Asking"), "needs": needs}

        _refresh(next_sample, sample, interval)


def _needs(home: Path | None) -> Record:
    return ask(home, "bus.needs", {}, "Looking into the mailboxes")


def _refresh(next_sample: Callable[[], Record], sample: Record, interval: float) -> None:
    pause = threading.Event()
    try:
        # Plain text: names are escaped already, and none of it is markup.
        with Live(Text("\n".join(top_lines(sample))), screen=True, auto_refresh=False) as live:
            while True:
                pause.wait(interval)
                live.update(Text("\n".join(top_lines(next_sample()))), refresh=True)
    except KeyboardInterrupt:
        return  # the way the person ends it


def top_lines(sample: Record) -> list[str]:
    """One sample for a person."""
    shard_columns = ("shard", "commitsPerSecond", "groupsPerSecond", "meanGroup", *_QUEUE_COLUMNS)
    kind_columns = ("kind", "messagesPerSecond", "commitsPerSecond")
    owner_columns = ("address", "shard", "messagesPerSecond")
    lines = [time_text(sample.get("time"))]
    for name, columns in (("shards", shard_columns), ("kinds", kind_columns), ("busiest", owner_columns)):
        rows = [tuple(one.get(column) for column in columns) for one in records(sample, name)]
        lines += ["", *(table([_heading(column) for column in columns], rows) if rows else [f"no {name} now"])]
    needs = sample.get("needs")
    needed = needs_lines(needs) if isinstance(needs, dict) else []
    return [*lines, "", *needed] if needed else lines


def _heading(column: str) -> str:
    return re.sub(r"([A-Z])", r" \1", column).replace("Per Second", "/s").lower()


def _age(at_ms: Value, now_ms: Value) -> str:
    if not isinstance(at_ms, int) or not isinstance(now_ms, int):
        return "-"
    seconds = max(0, now_ms - at_ms) // 1000
    for unit in ("d", "h", "m"):
        if seconds >= _SECONDS[unit]:
            return f"{seconds // _SECONDS[unit]} {unit}"
    return f"{seconds} s"


def _moment(typed: str) -> int:
    """Milliseconds since the epoch for a span back from now or a moment in UTC. Ends the command for anything else."""
    if span := _SPAN.match(typed):
        return max(0, time.time_ns() // 1_000_000 - int(span[1]) * _SECONDS[span[2]] * 1_000)
    try:
        moment = datetime.fromisoformat(typed)
    except ValueError:
        raise fail("--since takes 30m, 24h, 7d, or a moment such as 2027-01-31T12:00:00Z.", exit_codes.USAGE) from None
    return max(0, int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000))


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def _lists(value: Value) -> list[list[Value]]:
    return [item for item in _list(value) if isinstance(item, list) and len(item) == 2]
