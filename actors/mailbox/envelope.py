"""Sizes of what agents send each other, in bytes of UTF-8 (mesh 3.1), and how it is shown to the other side."""

from __future__ import annotations

from typing import Final

from bus.limits import reply_bytes_max, task_envelope_bytes_max, task_instructions_bytes_max
from bus.value import Record
from tools.errors import Code, Refusal
from tools.fence import fenced, fenced_data
from tools.plain_json import encoded_bytes
from tools.task import TaskEnvelope
from tools.times import rfc3339

AUTHOR = "another agent"
"""What fences say about where their text came from."""

_ABSENT: Final[Record] = {
    name: field.get_default(call_default_factory=True)
    for name, field in TaskEnvelope.model_fields.items()
    if not field.is_required()
}


def task_size_refusal(task: TaskEnvelope) -> Refusal | None:
    if len(task.instructions.encode()) > task_instructions_bytes_max:
        return _too_large("The instructions of this task are too long.", task_instructions_bytes_max)
    if task_bytes(task) > task_envelope_bytes_max:
        return _too_large("This task is too large in all.", task_envelope_bytes_max)
    return None


def task_bytes(task: TaskEnvelope) -> int:
    return encoded_bytes(task.model_dump(exclude_defaults=True))


def result_size_refusal(result: Record) -> Refusal | None:
    """`result` has the body, artifacts and usage of an answer."""
    if encoded_bytes(result) > reply_bytes_max:
        return _too_large("This reply is too large in all.", reply_bytes_max)
    return None


def task_as_sent(stored: Record) -> Record:
    """The Task Envelope with all its fields, from the row that leaves out what is not given."""
    return {**_ABSENT, **stored}


def shown_task(stored: Record) -> Record:
    """The task as its recipient sees it: the title plain, every longer text and all data marked untrusted."""
    task = TaskEnvelope.model_validate(stored)
    deadline_ms = task.deadline_ms
    return {
        "title": task.title,
        "instructions": fenced(AUTHOR, task.instructions),
        "inputs": None if task.inputs is None else fenced_data(AUTHOR, task.model_dump()["inputs"]),
        "expectedOutput": None if task.expectedOutput is None else fenced(AUTHOR, task.expectedOutput),
        "contextRefs": [*task.contextRefs],
        "priority": task.priority,
        "deadline": None if deadline_ms is None else rfc3339(deadline_ms),
    }


def _too_large(what: str, limit: int) -> Refusal:
    message = f"{what} Shorten it, or hand over the address of the material instead of the material."
    return Refusal(Code.TOO_LARGE, message, details={"limit": limit})
