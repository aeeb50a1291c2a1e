"""The person's socket: one JSON line in, one JSON line out, a connection each (common 2.4).

Invariants: a peer of another user id, or one that descends from what NEXUS runs for agents (nexus/lineage.py), is
answered a refusal and nothing is read from it; a request is bounded in bytes, depth and time; no exception text and no
path leaves. The listening socket belongs to the supervisor, so a gateway that
ends leaves the socket file where it is: that is why connections are accepted here and not by `asyncio`'s own server,
which removes the file of a Unix socket when it closes (Python 3.13 and later).

A request is `{"verb": ..., "arguments": {...}}`; the answer `{"ok": {...}}` or `{"error": {"code", "message", ...}}`. A
following verb answers `{"event": {...}}` lines until the peer leaves. Whole scenes go in and out over several lines of
one connection (person_scenes.py).
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import socket
import traceback
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, assert_never

import orjson
import structlog

from bus.client import Caller
from bus.clock import Clock
from bus.limits import (
    json_depth_max,
    lease_grace_ms,
    lease_retry_ms,
    lease_retry_ms_max,
    person_lineage_ms_max,
    person_request_bytes_max,
    person_request_depth_max,
    person_request_ms_max,
)
from bus.value import Record
from nexus.gateway import person_scenes
from nexus.gateway.person_lease import Leases
from nexus.gateway.person_owners import Owners, VerbRefused
from nexus.gateway.person_scenes import Converse, Talk
from nexus.gateway.person_table import Stream
from nexus.gateway.person_verbs import STREAMS, VERBS
from nexus.gateway.provider_answers import ProviderSources
from nexus.lineage import Lineage
from nexus.peer import peer_process_id, peer_user_id
from tools.errors import Code, Refusal

_NOT_A_REQUEST: Final = Refusal(
    Code.INVALID_ARGUMENTS,
    'A request is one line of JSON: {"verb": "workspace.list", "arguments": {}}. This line was something else.',
)
_TOO_DEEP: Final = Refusal(
    Code.INVALID_ARGUMENTS, f"The request is nested deeper than {json_depth_max} levels, which no scene needs."
)
_TOO_LARGE: Final = Refusal(
    Code.TOO_LARGE, f"A request may have at most {person_request_bytes_max // (1024 * 1024)} MiB in one line."
)
_TOO_SLOW: Final = Refusal(Code.INVALID_ARGUMENTS, "No whole line arrived in time. Send the request at once.")
_ANOTHER_USER: Final = Refusal(
    Code.UNIDENTIFIED_CALLER, "This socket serves only the user who runs NEXUS. Use your own home."
)
_FROM_INSIDE: Final = Refusal(
    Code.UNIDENTIFIED_CALLER,
    "The person's commands are refused to what runs inside a session, run or launch of NEXUS. Use a terminal that was "
    "opened outside of NEXUS and has none of its variables (NEXUS_TOKEN_FILE and the like).",
)
_FROM_UNKNOWN: Final = Refusal(
    Code.UNIDENTIFIED_CALLER,
    "The system did not say which process asks, so it may be one that an agent runs. Use a terminal on this machine "
    "that was opened outside of NEXUS.",
)
_UNKNOWN_VERB: Final = Refusal(
    Code.INVALID_ARGUMENTS, "This NEXUS does not know that verb. The command may be newer than what is running."
)

_log: Final = structlog.get_logger()

LineageOf: TypeAlias = Callable[[int], Lineage]
"""Where the process of that id comes from. May block."""


class PersonPort:
    """Serves the person's verbs to processes of this user. Belongs to the gateway's event loop."""

    def __init__(
        self,
        caller: Caller,
        clock: Clock,
        shards: int,
        *,
        gateway: str,
        lineage: LineageOf,
        user_id: int | None = None,
        providers: ProviderSources | None = None,
    ) -> None:
        """`gateway` is the incarnation of the gateway that this port belongs to; `providers` what that knows of agent
        programs."""
        self._owners = Owners(caller, clock, shards, gateway, providers or ProviderSources())
        self._lineage = lineage
        self._user_id = os.getuid() if user_id is None else user_id
        self._leases = Leases()
        self._conversations: Mapping[str, Converse] = {**person_scenes.CONVERSATIONS, **self._leases.conversations}

    async def serve(self, sock: socket.socket) -> PersonServer:
        """Accept on `sock`, which listens already, until the answer's `close`."""
        sock.setblocking(False)
        return PersonServer(self, sock)

    async def end_former_leases(self) -> None:
        """What former gateways lent ends, once whoever still has it has had time to ask again. A defect on the way is
        logged, and then that is tried again."""
        await asyncio.sleep(lease_grace_ms / 1_000)
        pause_ms = lease_retry_ms
        while True:
            try:
                await self._leases.end_former(self._owners)
                return
            except VerbRefused as refused:
                _log.error("former leases were not ended", code=refused.error.get("code"))
            except Exception as defect:  # noqa: BLE001 - nobody else would do it, and the log has what it was
                self._incident(defect, "former leases were not ended")
            await asyncio.sleep(pause_ms / 1_000)
            pause_ms = min(2 * pause_ms, lease_retry_ms_max)

    async def converse(self, connection: socket.socket) -> None:
        """One connection from its peer check to its end."""
        reader, writer = await asyncio.open_unix_connection(sock=connection, limit=person_request_bytes_max)
        try:
            with contextlib.suppress(ConnectionError):  # the peer may leave at any time; nobody is left to tell
                await self._answer(reader, writer, await self._objection(connection))
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _objection(self, connection: socket.socket) -> Refusal | None:
        """Why this peer is not served at all; None for the person."""
        try:
            if peer_user_id(connection) != self._user_id:
                return _ANOTHER_USER
        except OSError:
            return _ANOTHER_USER
        match await self._lineage_of(connection):
            case Lineage.OUTSIDE:
                return None
            case Lineage.INSIDE:
                return _FROM_INSIDE
            case Lineage.UNKNOWN:
                return _FROM_UNKNOWN
            case other:
                assert_never(other)

    async def _lineage_of(self, connection: socket.socket) -> Lineage:
        try:
            process_id = peer_process_id(connection)
            # In a thread: the kernel may keep whoever reads the environment of a process that is stuck.
            looking = asyncio.to_thread(self._lineage, process_id)
            return await asyncio.wait_for(looking, person_lineage_ms_max / 1000)
        except (OSError, TimeoutError):
            return Lineage.UNKNOWN

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, objection: Refusal | None
    ) -> None:
        try:
            if objection is not None:
                raise VerbRefused.by(objection)
            verb, arguments = _request(await _line(reader))
            if verb in STREAMS and not (verb in VERBS and arguments.get("follow") is not True):
                ended = await self._stream(reader, writer, STREAMS[verb], arguments)
                if ended is None:
                    return
                answer: Record = {"ok": ended}
            else:
                answer = {"ok": await self._run(verb, arguments, _talk(reader, writer))}
        except VerbRefused as refused:
            answer = {"error": refused.error}
        except ConnectionError:
            raise
        except Exception as defect:  # noqa: BLE001 - the border of the process: the log gets it, the peer an incident
            answer = {"error": self._incident(defect)}
        await _send(writer, answer)

    async def _run(self, verb: str, arguments: Record, talk: Talk) -> Record:
        if verb in self._conversations:
            return await self._conversations[verb](self._owners, arguments, talk)
        if verb in VERBS:
            return await VERBS[verb](self._owners, arguments)
        raise VerbRefused.by(_UNKNOWN_VERB)

    def _incident(self, defect: Exception, what: str = "a person's request failed") -> Record:
        incident = self._owners.clock.new_id()
        # Formatted here: a logger's own traceback may show local variables, and one of them may be a new token.
        trace = "".join(traceback.format_exception(defect))
        _log.error(what, incident=incident, trace=trace)
        text = "Something went wrong inside NEXUS; its log has the details."
        return Refusal(Code.INTERNAL, text, details={"incidentId": incident}).to_record()

    async def _stream(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, run: Stream, arguments: Record
    ) -> Record | None:
        """Emit until the verb ends, which is answered, or the peer leaves: None."""

        async def emit(event: Record) -> None:
            await _send(writer, {"event": event})

        running = asyncio.ensure_future(run(self._owners, arguments, emit))
        leaving = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait((running, leaving), return_when=asyncio.FIRST_COMPLETED)
            return running.result() if running.done() else None
        finally:
            for one in (running, leaving):
                one.cancel()
            await asyncio.gather(running, leaving, return_exceptions=True)


class PersonServer:
    """The accepting side of the port: like `asyncio.Server`, without ever touching the socket's file."""

    def __init__(self, port: PersonPort, sock: socket.socket) -> None:
        self._port = port
        self._sock = sock
        self._conversations: set[asyncio.Task[None]] = set()
        self._accepting = asyncio.ensure_future(self._accept())

    def close(self) -> None:
        """Stop accepting and end every conversation. The listening socket stays open; it is the supervisor's."""
        self._accepting.cancel()
        for conversation in self._conversations:
            conversation.cancel()

    async def wait_closed(self) -> None:
        await asyncio.gather(self._accepting, *self._conversations, return_exceptions=True)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._sock)
            except OSError:  # out of descriptors, or the peer left already: others may still come
                await asyncio.sleep(0.05)
                continue
            conversation = asyncio.ensure_future(self._port.converse(connection))
            self._conversations.add(conversation)
            conversation.add_done_callback(self._conversations.discard)


def _talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Talk:
    async def next_line() -> Record:
        return _record(await _line(reader))

    async def emit(event: Record) -> None:
        await _send(writer, {"event": event})

    async def left() -> None:
        with contextlib.suppress(ConnectionError):
            await reader.read(1)

    return Talk(next_line, emit, left)


async def _line(reader: asyncio.StreamReader) -> bytes:
    """One line. Raises VerbRefused."""
    try:
        line = await asyncio.wait_for(reader.readline(), person_request_ms_max / 1000)
    except ValueError:  # what asyncio raises when the limit is passed before the line ends
        raise VerbRefused.by(_TOO_LARGE) from None
    except TimeoutError:
        raise VerbRefused.by(_TOO_SLOW) from None
    return line


def _request(line: bytes) -> tuple[str, Record]:
    """The first line as verb and arguments. Raises VerbRefused."""
    request = _record(line)
    verb, arguments = request.get("verb"), request.get("arguments", {})
    if not isinstance(verb, str) or not isinstance(arguments, dict):
        raise VerbRefused.by(_NOT_A_REQUEST)
    return verb, arguments


def _record(line: bytes) -> Record:
    """Parsed on the loop's thread: a line is short, and a parser holds the interpreter wherever it runs."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise VerbRefused.by(_NOT_A_REQUEST) from None
    if not isinstance(record, dict):
        raise VerbRefused.by(_NOT_A_REQUEST)
    if _is_deeper_than(record, person_request_depth_max):
        raise VerbRefused.by(_TOO_DEEP)
    return record


def _is_deeper_than(value: object, levels: int) -> bool:
    """Level by level rather than by recursion, which a hostile file would exhaust."""
    level: list[object] = [value]
    for _ in range(levels):
        below: list[object] = []
        for node in level:
            if isinstance(node, dict):
                below += node.values()
            elif isinstance(node, list):
                below += node
        if not below:
            return False
        level = below
    return any(isinstance(node, dict | list) for node in level)


async def _send(writer: asyncio.StreamWriter, answer: Record) -> None:
    writer.write(orjson.dumps(answer, default=_bytes_as_text) + b"\n")
    await writer.drain()


def _bytes_as_text(value: object) -> object:
    """Rows of owners may hold bytes, which JSON has no form for."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    raise TypeError
