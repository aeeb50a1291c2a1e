"""`nexus-bus thread | redeliver | pause | resume | purge`, and leased deliveries of which nothing is heard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from bus.value import Record, Value, records
from nexus import exit_codes
from nexus.agent_mesh_cli import agent_pause, agent_resume
from nexus.agent_place_cli import AgentArgument, who
from nexus.asking import HomeOption, JsonOption, WorkspaceOption, ask, examples
from nexus.mesh_needs import needs_lines
from nexus.output import fail, json_text, print_json, print_line, print_lines, shown, table, time_text
from nexus.thread_cli import ThreadArgument, agent_text, attempts_text, lease_text, state_text

_IDLE_COLUMNS: Final = (
    *("mailbox", "agent", "thread", "state"),
    *("delivery", "runtime", "attempt", "idle", "lease until"),
)


def register(app: typer.Typer) -> None:
    """Add the commands to `nexus-bus`."""
    app.command("thread", epilog=examples("nexus-bus thread ID", "nexus-bus thread ID --json"))(thread)
    app.command("redeliver", epilog=examples("nexus-bus redeliver ID", "nexus-bus redeliver ID --json"))(redeliver)
    app.command("pause", epilog=examples("nexus-bus pause Ada"))(agent_pause)
    app.command("resume", epilog=examples("nexus-bus resume Ada"))(agent_resume)
    app.command("purge", epilog=examples("nexus-bus purge Ada", "nexus-bus purge Ada --yes --json"))(purge)


def thread(thread: ThreadArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show all there is of one thread: owner, shard, lease, attempts, stored rows, and its events in order."""
    answer = ask(home, "bus.thread", {"threadId": thread}, "Looking for the thread")
    if as_json:
        print_json(answer)
    else:
        print_lines(operator_lines(answer))


def redeliver(thread: ThreadArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Take the lease of a thread from the runtime that has it and offer its task again, in its old place. No attempt is
    used up, so it is given out under the same attempt number again; how often it was given out is counted beside it."""
    answer = ask(home, "bus.redeliver", {"threadId": thread}, "Taking the lease")
    if as_json:
        print_json(answer)
    elif answer.get("wasLeased") is not True:
        print_line(f"No runtime has thread {shown(answer.get('threadId'))} leased: it is {shown(answer.get('state'))}.")
    else:
        print_line(f"Thread {shown(answer.get('threadId'))} is offered again.")


def purge(
    agent: AgentArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Yes: end every thread that waits there.")] = False,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """End every thread that waits in an agent's mailbox as cancelled; who sent them is told. Without --yes only say how
    many. What a runtime holds or works on goes on."""
    asked: Record = {"agent": agent, "workspace": workspace, "confirmed": yes}
    answer = ask(home, "bus.purge", asked, "Emptying the mailbox" if yes else "Counting what waits")
    if not yes:
        would = f"{_threads(answer.get('wouldCancel'))} that wait for agent {who(answer)} would end cancelled"
        sentence = f"Nothing was done: {would}.{_going_on(answer)} Add --yes to do it."
        raise fail(sentence, exit_codes.USAGE, {"message": sentence, **answer})
    if as_json:
        print_json(answer)
    else:
        done = f"{_threads(answer.get('cancelled'))} that waited for agent {who(answer)} ended cancelled."
        print_line(done + _going_on(answer))


def print_idle(home: Path | None, idle_ms: int, count: int, as_json: bool) -> None:
    """What `nexus-bus pending --idle` prints: by mailbox, the leased deliveries of which nothing was heard for long."""
    answer = ask(home, "bus.pending_idle", {"idleMs": idle_ms, "count": max(1, count)}, "Looking into the mailboxes")
    if as_json:
        print_json(answer)
        return
    rows = [_idle_row(one) for one in records(answer, "deliveries")]
    print_lines(table(_IDLE_COLUMNS, rows) if rows else [f"No leased delivery has been idle for {idle_ms} ms."])
    if answer.get("truncated") is True:
        print_line("There are more; see them with --count.", to_stderr=True)
    print_lines_of_unread(answer)


def _idle_row(one: Record) -> tuple[Value, ...]:
    held = one.get("lease")
    lease = held if isinstance(held, dict) else {}
    return (
        *(one.get("mailbox"), agent_text(one.get("to")), one.get("threadId"), one.get("state")),
        *(lease.get(name) for name in ("deliveryId", "runtimeId", "attempt")),
        f"{shown(lease.get('idleMs'))} ms",
        time_text(lease.get("until")),
    )


def print_lines_of_unread(answer: Record) -> None:
    """Which mailboxes an answer leaves out, on standard error."""
    for line in needs_lines({"unread": answer.get("unread")}):
        print_line(line, to_stderr=True)


def operator_lines(answer: Record) -> list[str]:
    """A thread as an operator sees it: where it lives, what its mailbox says of it now, its rows, its events."""
    owner = answer.get("owner")
    lines = [f"thread {shown(answer.get('threadId'))}"]
    lines.append(
        f"owner: {shown(owner)}, shard {shown(answer.get('shard'))}" if owner else "owner: no mailbox keeps it"
    )
    now = answer.get("now")
    if isinstance(now, dict) and "unread" in now:
        lines.append(f"its mailbox does not answer: {shown(now.get('unread'))}")
    elif isinstance(now, dict):
        lines += [
            f"state: {state_text(now)}",
            f"from {agent_text(now.get('from'))} to {agent_text(now.get('to'))}",
            f"attempts: {attempts_text(now)}",
            f"lease: {lease_text(now.get('lease'))}",
        ]
    lines += ["", "rows:"]
    for row in records(answer, "rows"):
        lines.append(f"  {shown(row.get('owner'))}  {shown(row.get('row'))}  {json_text(row.get('value'))}")
    events = records(answer, "events")
    lines += ["", "events:" if events else "events: the log has none any more"]
    for event in events:
        head = f"{time_text(event.get('at'))}  {shown(event.get('owner'))}  {shown(event.get('type'))}"
        lines.append(
            f"  {head}  by {shown(event.get('by'))}  call {shown(event.get('callId'))}  {json_text(event.get('data'))}"
        )
    return lines


def _going_on(answer: Record) -> str:
    leased = answer.get("leased")
    return f" Not touched: {_threads(leased)} that a runtime has leased." if leased else ""


def _threads(count: Value) -> str:
    return f"{shown(count)} thread{'s' * (count != 1)}"
