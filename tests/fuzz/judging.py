"""What no answer may be, whatever was asked: the rules of the fuzzing. Pure.

An answer has a status that this server gives on purpose, a body in the form of its content type, a JSON-RPC message
with the request's own id, and no word of what happened inside.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from tests.fuzz.request import Request

_STATUSES: Final = frozenset({200, 202, 400, 401, 403, 404, 405, 406, 413, 415, 421, 429, 503})
_INSIDE: Final = re.compile(
    rb"Traceback|site-packages|\.py\b|object at 0x|<class |<function |NoneType|has no attribute|unexpected keyword"
    rb"|positional argument|list index|not subscriptable|pydantic|validation error|Input should|Field required"
    rb"|\b[A-Za-z]*(?:Error|Exception|Refused|Warning)\b(?=[:(])|\b(?:Key|Value|Type|Index|Attribute|Assertion|Runtime"
    rb"|Unicode\w*|Validation|Decode|JSONDecode|OS|Recursion|Overflow)Error\b|anyio|starlette|asyncio|httptools"
    rb"|(?<![\w:/.])/(?:usr|tmp|home|proc|opt|var|root|work)/"
)
"""What would tell of the program: texts of exceptions, names of types, paths."""
_MEANT: Final = frozenset({"unavailable", "rate_limited"})
_TOO_MANY_SESSIONS: Final = "too many open sessions"


@dataclass(frozen=True)
class Answer:
    """What the application sent. `status` None: nothing; `failure`: what left it as an exception."""

    status: int | None
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""
    failure: str = ""
    is_late: bool = False

    @property
    def content_type(self) -> str:
        found = [value.decode("latin-1") for name, value in self.headers if name.lower() == b"content-type"]
        return found[0].partition(";")[0] if found else ""


def problem(request: Request, answer: Answer) -> str | None:
    """A sentence for an answer that breaks a rule; None for a good one."""
    if answer.failure:
        return f"an exception left the application: {answer.failure}"
    if answer.is_late:
        return "no answer came in time"
    if answer.status is None:
        return None if request.is_broken_off else "nothing was answered"
    if answer.status not in _STATUSES:
        return f"status {answer.status}"
    leaked = _INSIDE.search(answer.body) or _INSIDE.search(b"\n".join(value for _, value in answer.headers))
    if leaked is not None:
        return f"the answer tells of the program: {leaked[0]!r}"
    return _problem_of_form(request, answer)


def _problem_of_form(request: Request, answer: Answer) -> str | None:
    match answer.content_type:
        case "application/json":
            texts = [answer.body] if answer.body or (answer.status == 200 and request.method == "POST") else []
        case "text/event-stream":
            lines = answer.body.split(b"\n")
            texts = [line[5:].strip() for line in lines if line.startswith(b"data:") and line[5:].strip()]
        case "text/plain" | "":
            return None
        case other:
            return f"content type {other!r}"
    for text in texts:
        try:
            message = json.loads(text.decode(), parse_constant=_no_such_number)
        except ValueError:
            return "the answer is not strict JSON"
        found = _problem_of_message(request, answer, message)
        if found is not None:
            return found
    return None


def _no_such_number(name: str) -> None:
    raise ValueError(name)


def _problem_of_message(request: Request, answer: Answer, message: Any) -> str | None:
    if answer.status == 401:
        return None if message == {"error": "invalid_token"} else "401 says more than that"
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return "the answer is no JSON-RPC message"
    if "method" in message:
        return "id in a notification" if "id" in message else None
    if ("result" in message) == ("error" in message):
        return "neither or both of result and error"
    identifier = message.get("id")
    if identifier is not None and identifier not in _ids_in(request.body):
        return f"an id that was not asked with: {identifier!r}"
    if "error" in message:
        return _problem_of_error(message["error"])
    return _problem_of_result(message["result"])


def _ids_in(body: bytes) -> list[Any]:
    """Every value of a key `id` of the body's top level: of doubled ones, any."""
    try:
        pairs = json.loads(body.decode(errors="replace"), object_pairs_hook=list, parse_int=_number)
    except (ValueError, RecursionError):
        return []
    return [value for key, value in pairs if key == "id"] if all(map(_is_pair, pairs)) else []


def _number(digits: str) -> int | None:
    return int(digits) if len(digits) < 30 else None


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2


def _problem_of_error(error: Any) -> str | None:
    if (
        not isinstance(error, dict)
        or not isinstance(error.get("code"), int)
        or not isinstance(error.get("message"), str)
    ):
        return "an error without a code and a message"
    if error["code"] == -32603 and _TOO_MANY_SESSIONS not in error["message"]:
        told = (error.get("data") or {}).get("error", {}).get("code") if isinstance(error.get("data"), dict) else None
        if told not in _MEANT:
            return f"an internal error: {error['message']!r}"
    return None


def _problem_of_result(result: Any) -> str | None:
    if not isinstance(result, dict):
        return "a result that is no object"
    content = result.get("structuredContent")
    if isinstance(content, dict) and isinstance(content.get("error"), dict):
        if result.get("isError") is not True:
            return "a refusal that is not marked as one"
        if content["error"].get("code") == "internal":
            return f"a defect: {content['error']}"
    return None
