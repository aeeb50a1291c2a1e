"""`nexus thread`: the tasks that agents send each other, open and ended, and the person's hand on them (mesh 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Final, TypeAlias

import typer

from bus.limits import lease_attempts_max, threads_listed_default, threads_listed_max
from bus.value import Record, Value, records
from nexus.asking import HomeOption, JsonOption, WorkspaceOption, ask, examples
from nexus.output import escape, json_text, print_json, print_line, print_lines, shown, table, terminal_cells, time_text

ThreadArgument: TypeAlias = Annotated[
    str, typer.Argument(help="The thread's id, as `nexus thread list` shows it.", metavar="ID")
]
_COLUMNS: Final = ("id", "state", "from", "to", "workspace", "priority", "attempt", "queued", "changed", "title")


class State(StrEnum):
    """What `--state` takes: one state of a thread, or all open or all ended ones."""

    OPEN = "open"
    ENDED = "ended"
    QUEUED = "queued"
    DELIVERED = "delivered"
    WORKING = "working"
    COMPLETED = "completed"
    FAILED = "failed"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


_LABELS: Final = {
    "expectedOutput": "expected",
    "parentThreadId": "parent thread",
    "requeuedFrom": "requeued from",
    "requeuedAs": "requeued as",
}
_OPEN: Final = (State.QUEUED, State.DELIVERED, State.WORKING)
_MEANT: Final = {State.OPEN: _OPEN, State.ENDED: tuple(one for one in State if one not in (*_OPEN, "open", "ended"))}

threads = typer.Typer(
    help="Threads: tasks that agents send each other. Each ends exactly once, with a reason.", rich_markup_mode=None
)


def register(app: typer.Typer) -> None:
    """Add the commands to `nexus`."""
    app.add_typer(threads, name="thread", no_args_is_help=True)


@threads.command(
    "list",
    epilog=examples(
        "nexus thread list",
        "nexus thread list --state open --agent Ada",
        "nexus thread list --state failed --limit 1000 --json",
    ),
)
def thread_list(
    state: Annotated[
        list[State] | None, typer.Option("--state", help="Only those in this state; repeat for several.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=threads_listed_max, help="How many at most.")
    ] = threads_listed_default,
    agent: Annotated[
        str | None, typer.Option("--agent", help="Only those that this agent (an id or a name) sent or was sent.")
    ] = None,
    workspace: WorkspaceOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show threads, open and ended, newest first."""
    states = sorted({each.value for one in state or [] for each in _MEANT.get(one, (one,))})
    asked: Record = {"limit": limit, "agent": agent, "workspace": workspace}
    if states:
        asked["states"] = [*states]
    answer = ask(home, "thread.list", asked, "Reading the mailboxes")
    if as_json:
        print_json(answer)
    else:
        listed = records(answer, "threads")
        if listed:
            print_lines(table(_COLUMNS, [_row(one) for one in listed], terminal_cells()))
        else:
            print_line(
                "No thread: agents open one with agent_trigger." if not states else "No thread is in that state."
            )
        for note in _notes(answer, limit):
            print_line(note, to_stderr=True)


@threads.command(
    "show", epilog=examples("nexus thread show ID", "nexus thread show ID --history", "nexus thread show ID --json")
)
def thread_show(
    thread: ThreadArgument,
    history: Annotated[bool, typer.Option("--history", help="Also what happened to it, from the event log.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one thread whole: the task, its chain, attempts and lease, the deadline, the result."""
    answer = ask(home, "thread.show", {"threadId": thread, "history": history}, "Reading the thread")
    if as_json:
        print_json(answer)
    else:
        print_lines(thread_lines(answer))


@threads.command(
    "cancel", epilog=examples("nexus thread cancel ID", "nexus thread cancel ID --note 'No longer needed'")
)
def thread_cancel(
    thread: ThreadArgument,
    note: Annotated[str | None, typer.Option("--note", help="Why; who sent the task reads it.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """End an open thread. A runtime that works on it is told at once, and the agent that sent it reads your note."""
    answer = ask(home, "thread.cancel", {"threadId": thread, "note": note}, "Cancelling the thread")
    if as_json:
        print_json(answer)
    else:
        print_line(f"Thread {shown(answer.get('threadId'))} is cancelled.")


@threads.command("requeue", epilog=examples("nexus thread requeue ID", "nexus thread requeue ID --json"))
def thread_requeue(thread: ThreadArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Send the task of a thread whose delivery was given up once more, as a new thread."""
    answer = ask(home, "thread.requeue", {"threadId": thread}, "Sending the task once more")
    if as_json:
        print_json(answer)
    else:
        former = shown(answer.get("requeuedFrom"))
        print_line(f"The task of thread {former} is queued again, as thread {shown(answer.get('threadId'))}.")


def thread_lines(thread: Record) -> list[str]:
    """A thread for a person. What agents wrote stands indented under what NEXUS says it is, with escapes shown."""
    return [*_labelled(_known(thread)), *_task_lines(thread), *_result_lines(thread), *_history_lines(thread)]


def _known(thread: Record) -> Iterator[tuple[str, str]]:
    """Label and text of each line of what NEXUS knows."""
    yield "thread", shown(thread.get("threadId"))
    yield "state", state_text(thread)
    if thread.get("reason") is not None:
        yield "reason", shown(thread.get("reason"))
    yield "from", agent_text(thread.get("from"))
    yield "to", agent_text(thread.get("to"))
    yield "workspace", shown(thread.get("workspace") or thread.get("workspaceId"))
    for label, name in (("queued", "queuedAt"), ("changed", "changedAt"), ("deadline", "deadline")):
        yield label, time_text(thread.get(name))
    yield "attempts", attempts_text(thread)
    yield "lease", lease_text(thread.get("lease"))
    chain = records(thread, "chain")
    yield "chain", " > ".join(agent_text(one) for one in chain) or "-"
    if thread.get("chainMore"):
        yield "not in chain", f"{shown(thread.get('chainMore'))} more agents that led to it"
    yield "chain depth", shown(thread.get("chainDepth"))
    for name in ("parentThreadId", "requeuedFrom", "requeuedAs"):
        if thread.get(name) is not None:
            yield _LABELS[name], shown(thread.get(name))
    if thread.get("canRequeue") is True:
        yield "to send again", f"nexus thread requeue {shown(thread.get('threadId'))}"


def state_text(thread: Record) -> str:
    """Its state, and beside it by what it ended and an outcome that says more."""
    outcome, cause = thread.get("outcome"), thread.get("cause")
    more = [shown(one) for one in (None if outcome == thread.get("state") else outcome, cause) if one is not None]
    return shown(thread.get("state")) + (f" ({', '.join(more)})" if more else "")


def attempts_text(thread: Record) -> str:
    """Its attempt, and how often a runtime was given it: taking a lease, or giving it back unbegun, uses no attempt."""
    attempt, deliveries = thread.get("attempt"), thread.get("deliveries")
    if not isinstance(deliveries, int):
        return shown(attempt)
    times = "once" if deliveries == 1 else f"{deliveries} times"
    return f"{shown(attempt)} of {lease_attempts_max}, given to a runtime {times if deliveries else 'never'}"


def agent_text(agent: Value) -> str:
    """An agent's name and id; what it was when it is none of that form."""
    if not isinstance(agent, dict):
        return shown(agent)
    return f"{shown(agent.get('name') or None)} ({shown(agent.get('agentId'))})"


def lease_text(lease: Value) -> str:
    """By which runtime a thread is held, and how long; that it is not, otherwise."""
    if not isinstance(lease, dict):
        return "none"
    over = "" if lease.get("isLive") is not False else ", which is over"
    silent = f"silent for {shown(lease.get('idleMs'))} ms"
    return (
        f"until {time_text(lease.get('until'))}{over}, {silent}, runtime {shown(lease.get('runtimeId'))}, "
        f"delivery {shown(lease.get('deliveryId'))}"
    )


def _task_lines(thread: Record) -> Iterator[str]:
    task = thread.get("task")
    yield ""
    if not isinstance(task, dict):
        yield f"task: {shown(thread.get('title'))} (no more of it is kept)"
        return
    yield f"task: {shown(thread.get('title'))} (priority {shown(thread.get('priority'))})"
    refs = task.get("contextRefs")
    if isinstance(refs, list) and refs:
        yield f"  context: {shown(refs)}"
    yield from _written_by(thread.get("from"), task, ("instructions", "expectedOutput", "inputs"))


def _result_lines(thread: Record) -> Iterator[str]:
    result = thread.get("result")
    if isinstance(result, dict):
        yield ""
        yield "result:"
        yield from _written_by(thread.get("to"), result, ("body", "artifacts", "usage"))


def _history_lines(thread: Record) -> Iterator[str]:
    history = records(thread, "history")
    if "history" in thread:
        yield ""
        yield "history:" if history else "history: the event log has nothing of it any more"
    for event in history:
        head = f"{time_text(event.get('at'))}  {shown(event.get('type'))}  by {shown(event.get('by'))}"
        yield f"  {head}  {json_text(event.get('data'))}"


def _written_by(agent: Value, record: Record, names: Sequence[str]) -> Iterator[str]:
    """What an agent wrote, each line of it behind a bar, so that none can pass for one of ours."""
    for name in names:
        value = record.get(name)
        if value is None or value == []:
            continue
        yield f"  {_LABELS.get(name, name)} (written by {agent_text(agent)}, not checked):"
        for line in value.split("\n") if isinstance(value, str) else [json_text(value)]:
            yield f"    | {escape(line)}"


def _labelled(known: Iterator[tuple[str, str]]) -> list[str]:
    lines = list(known)
    width = max(len(label) for label, _ in lines) + 1
    return [f"{label + ':':<{width}} {text}" for label, text in lines]


def _row(thread: Record) -> tuple[Value, ...]:
    return (
        *(thread.get(name) for name in ("threadId", "state")),
        _name(thread.get("from")),
        _name(thread.get("to")),
        *(thread.get(name) for name in ("workspace", "priority", "attempt")),
        time_text(thread.get("queuedAt")),
        time_text(thread.get("changedAt")),
        thread.get("title"),
    )


def _name(agent: Value) -> Value:
    return agent.get("name") or agent.get("agentId") if isinstance(agent, dict) else agent


def _notes(answer: Record, limit: int) -> Iterator[str]:
    """What the list does not show."""
    if answer.get("truncated") is True:
        yield (
            f"There are more than {limit}, or more than were looked through; "
            "see others with --limit, --state, --agent or --workspace."
        )
    for one in records(answer, "unread"):
        yield f"Not read, so its threads are missing: {shown(one.get('mailbox'))} ({shown(one.get('code'))})."
