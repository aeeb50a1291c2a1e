"""Sizes of what agents send each other, in bytes of UTF-8 (mesh 3.1), and how it is shown to the other side."""

from __future__ import annotations

from bus.limits import reply_bytes_max, task_envelope_bytes_max, task_instructions_bytes_max
from bus.value import Record
from tools.agent import AgentReplyInput, TaskEnvelope
from tools.errors import Code, Refusal
from tools.fence import fenced, fenced_data
from tools.plain_json import encoded_bytes

AUTHOR = "another agent"
"""What fences say about where their text came from."""


def task_size_refusal(task: TaskEnvelope) -> Refusal | None:
    if len(task.instructions.encode()) > task_instructions_bytes_max:
        return _too_large("The instructions of this task are too long.", task_instructions_bytes_max)
    if task_bytes(task) > task_envelope_bytes_max:
        return _too_large("This task is too large in all.", task_envelope_bytes_max)
    return None


def task_bytes(task: TaskEnvelope) -> int:
    return encoded_bytes(task.model_dump(exclude_defaults=True))


def reply_size_refusal(reply: AgentReplyInput) -> Refusal | None:
    if encoded_bytes(reply.model_dump(include={"body", "artifacts", "usage"})) > reply_bytes_max:
        return _too_large("This reply is too large in all.", reply_bytes_max)
    return None


def shown_task(task: TaskEnvelope) -> Record:
    """The task as its recipient sees it: the title plain, every longer text and all data marked untrusted."""
    return {
        "title": task.title,
        "instructions": fenced(AUTHOR, task.instructions),
        "inputs": None if task.inputs is None else fenced_data(AUTHOR, task.model_dump()["inputs"]),
        "expectedOutput": None if task.expectedOutput is None else fenced(AUTHOR, task.expectedOutput),
        "priority": task.priority,
    }


def _too_large(what: str, limit: int) -> Refusal:
    message = f"{what} Shorten it, or hand over the address of the material instead of the material."
    return Refusal(Code.TOO_LARGE, message, details={"limit": limit})
