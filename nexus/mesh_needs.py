"""What of the mesh needs the person, in sentences: the same in `nexus doctor`, `nexus-bus ls` and `nexus-bus top`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from bus.value import Record, Value, records
from nexus.output import shown, time_text

named_max: Final = 10
"""Of one kind; the others are only counted."""


def needs_lines(needs: Record) -> list[str]:
    """The answer to `bus.needs`: a sentence for each agent that needs something, and what to do. None: all is well."""
    lines = [line for kind, sentence in _SENTENCES.items() for line in _some(records(needs, kind), sentence)]
    if needs.get("truncated") is True:
        lines.append(f"Only {shown(needs.get('lookedAt'))} mailboxes were looked at; there are more.")
    return lines


def _some(found: list[Record], sentence: Callable[[Record], str]) -> Iterator[str]:
    yield from map(sentence, found[:named_max])
    if len(found) > named_max:
        yield f"... and {len(found) - named_max} more of these"


def _paused(one: Record) -> str:
    go_on = f"go on with: nexus agent resume {shown(one.get('agentId'))}"
    return f"{_who(one)} is paused and {_tasks(one.get('waiting'))}; {go_on}"


def _exhausted(one: Record) -> str:
    return (
        f"{_who(one)} did not take {_counted(one.get('threads'), 'task')} in five attempts; see them with: "
        f"nexus thread list --state failed --agent {shown(one.get('agentId'))}, "
        "and send one again with: nexus thread requeue ID"
    )


def _waiting_long(one: Record) -> str:
    return (
        f"{_who(one)} {_tasks(one.get('waiting'))}, the oldest since {time_text(one.get('oldestQueuedAt'))}; "
        f"see them with: nexus thread list --state open --agent {shown(one.get('agentId'))}"
    )


def _unread(one: Record) -> str:
    return f"{shown(one.get('mailbox'))} could not be read ({shown(one.get('code'))}); look with: nexus-bus doctor"


_SENTENCES: Final[Mapping[str, Callable[[Record], str]]] = {
    "paused": _paused,
    "exhausted": _exhausted,
    "waitingLong": _waiting_long,
    "unread": _unread,
}


def _who(one: Record) -> str:
    return f"Agent {shown(one.get('name') or None)} ({shown(one.get('agentId'))})"


def _tasks(count: Value) -> str:
    return f"has {_counted(count, 'task')} waiting"


def _counted(count: Value, what: str) -> str:
    number = count if isinstance(count, int) else 0
    return f"{number} {what}{'s' * (number != 1)}"
