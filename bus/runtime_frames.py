"""What an agent's runtime and the gateway say to each other over `run/runtimes.sock` (mesh 5.1; decision 0014).

    Hello -> | <- Welcome, or Refused
    Credit -> | <- Deliver ... at most so many deliveries outstanding
    Request -> | <- Answered, under the request's number
             | <- Lost, for a delivery that is not this runtime's any more
    Ping ->  | <- Pong; or Unknown, which asks for a Hello
    Bye ->   | <- Bye

Invariants:
- A frame is an array whose first item is the number of its kind; numbers are never reused. One frame, one wire message.
- `decode_runtime_frame` never trusts its input: size, nesting and every field are bounded; what does not fit raises
  Undecodable. `encode_runtime_frame` makes nothing that the other end would not take.
- A token is in the Hello alone, and in no representation of it.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, cast, get_args

from bus.codec import Undecodable, Unencodable, pack, unpack
from bus.limits import identifier_characters_max
from bus.message_record import message_record
from bus.runtime_limits import (
    runtime_credit_bytes_max,
    runtime_credit_bytes_min,
    runtime_credit_deliveries_max,
    runtime_frame_bytes_max,
    runtime_holding_max,
    runtime_text_characters_max,
    runtime_token_characters_max,
)
from bus.value import Record, Value

PROTOCOL: Final = 1
VERBS: Final = frozenset({"start", "progress", "finish", "release", "renew"})
"""What a runtime can ask about deliveries: the mailbox's verbs `mail_<verb>`, but for `renew` with its `deliveryId`."""

_RUNTIME_ID: Final = re.compile(r"[0-9A-Za-z_-]{1,64}\Z", re.ASCII)
_COUNT_MAX: Final = 2**53


@dataclass(frozen=True, slots=True)
class Hello:
    """The first word of a runtime on each connection, and its answer to Unknown."""

    protocol: int
    token: str = field(repr=False)
    runtime_id: str
    """Its own choice, kept over connections: who says it again with the same token takes the former one's place."""
    holding: tuple[str, ...]
    """The deliveries that it has and has not ended."""


@message_record
class Welcome:
    protocol: int
    agent_id: str


@message_record
class Refused:
    """The connection is over. `retryable`: it is worth another try, later."""

    code: str
    message: str
    retryable: bool


@message_record
class Credit:
    """How much may be outstanding from now on: delivered and neither ended nor lost. None at first."""

    deliveries: int
    bytes: int


@message_record
class Deliver:
    """`delivery`: {threadId, deliveryId, attempt, from, workspaceId, queuedAt, chainDepth, task}."""

    lease_ms: int
    """How long from now it is this runtime's unless renewed: a span, since two clocks may differ."""
    delivery: Record


@message_record
class Request:
    """`number` is the runtime's own; a request that was not answered is sent again under it."""

    number: int
    verb: str
    body: Record


@message_record
class Answered:
    """One of `ok` and `error` stands."""

    number: int
    ok: Record | None
    error: Record | None


@message_record
class Lost:
    """The delivery is this runtime's no more: its thread has ended (`state`), or its lease has."""

    delivery_id: str
    thread_id: str
    reason: str
    state: str


@message_record
class Ping:
    pass


@message_record
class Pong:
    pass


@message_record
class Bye:
    """A runtime ends the connection and gives back what it has; the gateway answers with the same, once it has answered
    what the runtime finished before. A gateway that is restarted says nothing."""


@message_record
class Unknown:
    """The gateway does not know who sent the last frame: introduce yourself."""


RuntimeFrame: TypeAlias = (
    Hello | Welcome | Refused | Credit | Deliver | Request | Answered | Lost | Ping | Pong | Bye | Unknown
)


def encode_runtime_frame(frame: RuntimeFrame) -> bytes:
    """Raises Unencodable, also for a frame that is too large for the other end."""
    encoded = pack(_to_array(frame))
    if len(encoded) > runtime_frame_bytes_max:
        raise Unencodable("the frame is over the limit")
    return encoded


def decode_runtime_frame(data: bytes) -> RuntimeFrame:
    """Raises Undecodable."""
    if len(data) > runtime_frame_bytes_max:
        raise Undecodable("the frame is over the limit")
    array = unpack(data)
    try:
        kind, *fields = cast("list[Value]", array)
        expected, read = _READERS[cast("int", kind)]
        if len(fields) != expected:
            raise Undecodable("a frame has not as many fields as its kind")
        return read(fields)
    except (KeyError, ValueError, TypeError) as problem:
        raise Undecodable("a frame has not the shape of its kind") from problem


def is_runtime_id(text: str) -> bool:
    return _RUNTIME_ID.match(text) is not None


def _to_array(frame: RuntimeFrame) -> list[Value]:
    match frame:
        case Hello(protocol, token, runtime_id, holding):
            return [1, protocol, token, runtime_id, [*holding]]
        case Welcome(protocol, agent_id):
            return [2, protocol, agent_id]
        case Refused(code, message, retryable):
            return [3, code, message, retryable]
        case Credit(deliveries, size):
            return [4, deliveries, size]
        case Deliver(lease_ms, delivery):
            return [5, lease_ms, delivery]
        case Request(number, verb, body):
            return [6, number, verb, body]
        case Answered(number, ok, error):
            return [7, number, ok, error]
        case Lost(delivery_id, thread_id, reason, state):
            return [8, delivery_id, thread_id, reason, state]
        case Ping():
            return [9]
        case Pong():
            return [10]
        case Bye():
            return [11]
        case Unknown():
            return [12]


def _text(value: Value, characters_max: int = runtime_text_characters_max) -> str:
    if not isinstance(value, str) or len(value) > characters_max:
        raise TypeError("not text of that length")
    return value


def _identifier(value: Value) -> str:
    return _text(value, identifier_characters_max)


def _number(value: Value, least: int = 0, most: int = _COUNT_MAX) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise TypeError("not a number in its bounds")
    return value


def _record(value: Value) -> Record:
    if not isinstance(value, dict):
        raise TypeError("not a record")
    return value


def _record_or_none(value: Value) -> Record | None:
    return None if value is None else _record(value)


def _boolean(value: Value) -> bool:
    if not isinstance(value, bool):
        raise TypeError("not a boolean")
    return value


def _hello(fields: list[Value]) -> Hello:
    protocol, token, runtime_id, holding = fields
    if not isinstance(holding, list) or len(holding) > runtime_holding_max:
        raise TypeError("not a list of that length")
    if not is_runtime_id(_text(runtime_id)):
        raise TypeError("not a runtime's id")
    return Hello(
        _number(protocol),
        _text(token, runtime_token_characters_max),
        _text(runtime_id),
        tuple(_identifier(one) for one in holding),
    )


def _credit(fields: list[Value]) -> Credit:
    return Credit(
        _number(fields[0], 0, runtime_credit_deliveries_max),
        _number(fields[1], runtime_credit_bytes_min, runtime_credit_bytes_max),
    )


def _request(fields: list[Value]) -> Request:
    verb = _text(fields[1])
    if verb not in VERBS:
        raise TypeError("no such verb")
    return Request(_number(fields[0]), verb, _record(fields[2]))


_READERS: Final[Mapping[int, tuple[int, Callable[[list[Value]], RuntimeFrame]]]] = {
    1: (4, _hello),
    2: (2, lambda f: Welcome(_number(f[0]), _identifier(f[1]))),
    3: (3, lambda f: Refused(_text(f[0]), _text(f[1]), _boolean(f[2]))),
    4: (2, _credit),
    5: (2, lambda f: Deliver(_number(f[0]), _record(f[1]))),
    6: (3, _request),
    7: (3, lambda f: Answered(_number(f[0]), _record_or_none(f[1]), _record_or_none(f[2]))),
    8: (4, lambda f: Lost(_identifier(f[0]), _identifier(f[1]), _text(f[2]), _text(f[3]))),
    9: (0, lambda f: Ping()),
    10: (0, lambda f: Pong()),
    11: (0, lambda f: Bye()),
    12: (0, lambda f: Unknown()),
}
"""How many fields, and how they are read."""

assert len(_READERS) == len(get_args(RuntimeFrame)), "each kind of frame is read"
