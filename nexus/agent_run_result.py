"""What a program's end says of its task (mesh 5.2). Pure.

| exit status | standard output | then |
| --- | --- | --- |
| 0 | an object with `body` | its outcome (completed when it names none), body, artifacts and usage |
| 0 | such an object that is no result | failed, which says what is wrong with it |
| 0 | anything else | completed; all of it is the body, without spaces around |
| other | an object with `body` and the outcome failed or partial | that |
| other | anything else | failed; the body is the end of standard error |

A body that is too long is cut at a character, says so in its last line, and makes a completed outcome partial.
"""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass
from typing import Final, cast

from pydantic import Field, TypeAdapter, ValidationError

from bus.limits import reply_artifacts_max, reply_bytes_max
from bus.value import Record, Value
from nexus.agent_run_program import Ended
from tools.base import Model
from tools.fence import cut
from tools.plain_json import JsonList, JsonObject, encoded_bytes
from tools.redact import redacted, redacted_beginning
from tools.task import Outcome

_OBJECT: Final[TypeAdapter[object]] = TypeAdapter(JsonObject)
_CUT: Final = "\n[cut here by nexus agent run: the program wrote {bytes} bytes]"


class ProgramResult(Model):
    """What a program may print. `outcome` is partial when it has done what it could and more is missing."""

    outcome: Outcome = "completed"
    body: str
    artifacts: JsonList = Field(default=[], max_length=reply_artifacts_max)
    usage: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said of the task."""

    outcome: Outcome
    body: str
    artifacts: tuple[Value, ...] = ()
    usage: Record | None = None


def answer_to(ended: Ended) -> Answer:
    """By the table above; it fits into a reply."""
    printed = ended.output.decode(errors="replace").strip()
    object_printed = _object_with_body(printed) if ended.output_bytes == len(ended.output) else None
    wrong, result = "", None
    if object_printed is not None:
        try:
            result = ProgramResult.model_validate(_OBJECT.validate_python(object_printed))
        except ValidationError as problem:
            first = problem.errors()[0]
            wrong = f"{'.'.join(str(step) for step in first['loc'])}: {first['msg']}"
    if ended.status != 0:
        if result is not None and result.outcome != "completed" and ended.status is not None:
            return _fitting(result, ended.output_bytes)
        return failed(f"The program {how_it_ended(ended)}.", ended)
    if wrong:
        return failed(f"The program ended well, but what it printed is no result: {wrong}.", ended)
    if result is not None:
        return _fitting(result, ended.output_bytes)
    return _fitting(ProgramResult(body=_carried(printed)), ended.output_bytes)


def failed(reason: str, ended: Ended) -> Answer:
    """A failure: the reason, and the end of standard error, without credentials."""
    said = redacted(_carried(ended.errors.decode(errors="replace")).strip())
    body = f"{reason}\n\nStandard error ended with:\n{said}" if said else reason
    return Answer("failed", _cut_body(body, reply_bytes_max // 2, len(ended.errors)))


def how_it_ended(ended: Ended) -> str:
    """Goes on from `The program`."""
    if ended.status is None:
        return f"did not come to an end of its own ({ended.problem})"
    if ended.status >= 0:
        return f"ended with exit status {ended.status}"
    try:
        name = signal.Signals(-ended.status).name
    except ValueError:
        name = f"signal {-ended.status}"
    return f"was ended by {name}"


def _object_with_body(printed: str) -> Record | None:
    """The object, if it is all that was printed and has a `body`: then a result is meant."""
    if not printed.startswith("{"):
        return None
    try:
        found = json.loads(printed)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and "body" in found else None


def _fitting(result: ProgramResult, printed_bytes: int) -> Answer:
    # JSON is Value; the two recursive types only do not know of each other.
    artifacts = tuple(cast(list[Value], result.artifacts))
    usage = cast(Record | None, result.usage)
    room = reply_bytes_max - encoded_bytes({"body": "", "artifacts": [*artifacts], "usage": usage})
    if room <= len(_CUT):
        return Answer("failed", f"The program's artifacts and usage are over {reply_bytes_max} bytes.")
    if encoded_bytes(result.body) - 2 <= room:
        return Answer(result.outcome, result.body, artifacts, usage)
    outcome: Outcome = "partial" if result.outcome == "completed" else result.outcome
    return Answer(outcome, _cut_body(result.body, room, printed_bytes), artifacts, usage)


def _cut_body(body: str, room: int, printed_bytes: int) -> str:
    """As much of `body` as fits into `room` bytes of JSON, with a last line that says so if it is not all."""
    if encoded_bytes(body) - 2 <= room:
        return body
    note = _CUT.format(bytes=printed_bytes)
    room -= encoded_bytes(note) - 2
    least, most = 0, min(len(body), room)
    while least < most:  # the longest that fits
        middle = (least + most + 1) // 2
        least, most = (middle, most) if encoded_bytes(body[:middle]) - 2 <= room else (least, middle - 1)
    return cut(redacted_beginning(body, least), least) + note  # or half a key would pass (common 7.2)


def _carried(text: str) -> str:
    """Without what no message can hold: decoding with replacement leaves no half of a pair."""
    return text.replace("\x00", "\ufffd")
