"""The fast path and the SDK's answer alike: each request is sent to both, and status, headers and body are compared.

The switch between them is this bench's, not an option of the product. Requests that the fast path takes are named, so
that no case compares the SDK with itself unnoticed (docs/decisions/0012-protocol.md, common 1.9).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from unittest.mock import patch

import httpx2
import orjson
import pytest

from bus.client import DeadlinePassed
from bus.limits import result_bytes_max
from bus.value import Record
from tests.support.gateway_bench import MODERN, TOKEN, GatewayBench, in_loop
from tests.support.scripted_caller import Error, Scripted
from tools.errors import Code, Refusal

VERSION = "io.modelcontextprotocol/protocolVersion"
INFO = "io.modelcontextprotocol/clientInfo"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
KEY = "nexus/idempotencyKey"
META: Final[Mapping[str, Any]] = {VERSION: MODERN, INFO: {"name": "test", "version": "1"}, CAPABILITIES: {}}
ARGUMENTS: Final[Mapping[str, Any]] = {"canvasId": "c1"}
REMOVED: Final = object()
"""Stands for a key or header that is left out."""


def changed(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in {**base, **changes}.items() if value is not REMOVED}


@dataclass(frozen=True)
class Case:
    """A tools/call of canvas_read, or a tools/list, with something changed."""

    name: str
    is_fast: bool = False
    """Whether the fast path takes it."""
    method: str = "tools/call"
    envelope: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, Any] = field(default_factory=dict)
    doubled: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    """In place of everything above but headers."""

    def content(self) -> bytes:
        if self.body is not None:
            return self.body
        base: dict[str, Any] = {"_meta": changed(META, self.meta)}
        if self.method == "tools/call":
            base |= {"name": "canvas_read", "arguments": dict(ARGUMENTS)}
        message = {"jsonrpc": "2.0", "id": 1, "method": self.method, "params": changed(base, self.params)}
        return orjson.dumps(changed(message, self.envelope))

    def lines(self) -> list[tuple[str, str]]:
        base = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "authorization": f"Bearer {TOKEN}",
            "mcp-protocol-version": MODERN,
            "mcp-method": self.method,
        }
        if self.method == "tools/call":
            base["mcp-name"] = str({"name": "canvas_read", **self.params}["name"])
        return [*changed(base, self.headers).items(), *self.doubled]


def raw(arguments: bytes) -> bytes:
    """A call whose arguments are these bytes."""
    head = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"canvas_read","_meta":'
    return head + orjson.dumps(META) + b',"arguments":' + arguments + b"}}"


SENTINEL = "=?base64?" + base64.b64encode(b"canvas_read").decode() + "?="
INFO_IN_FULL = {"name": "test", "version": "1", "title": "A test", "websiteUrl": "https://example.com"}

FAST: Final = [
    Case("a read"),
    Case("a write", params={"name": "canvas_write"}),
    Case("a call without arguments", params={"arguments": REMOVED}),
    Case("a call with no arguments in its object", params={"arguments": {}}),
    Case("arguments that do not fit", params={"arguments": {"canvasId": "c1", "limit": 11}}),
    Case("arguments with text beyond ASCII", params={"arguments": {"canvasId": "c1", "workspaceId": "Über 😀"}}),
    Case("arguments with null and fractions", body=raw(b'{"canvasId":"c","elements":[{"x":1.5,"note":null}]}')),
    Case("arguments with a key twice", body=raw(b'{"canvasId":"a","canvasId":"b"}')),
    Case("an unknown tool", params={"name": "canvas_nothing"}),
    Case("a tool without a name", params={"name": ""}),
    Case("an idempotency key", params={"name": "canvas_write"}, meta={KEY: "k1"}),
    Case("an empty idempotency key", meta={KEY: ""}),
    Case("an idempotency key that is too long", meta={KEY: "k" * 201}),
    Case("an idempotency key that is a number", meta={KEY: 7}),
    Case("id zero", envelope={"id": 0}),
    Case("a negative id", envelope={"id": -(2**53)}),
    Case("an id of text", envelope={"id": 'q"ü\n'}),
    Case("an empty id", envelope={"id": ""}),
    Case("a client that does not say who it is", meta={INFO: REMOVED}),
    Case("a client that tells all of itself", meta={INFO: INFO_IN_FULL, CAPABILITIES: {"sampling": {}, "roots": {}}}),
    Case("a client that is asked by address, reading", meta={CAPABILITIES: {"elicitation": {"url": {}}}}),
    Case("a name in base64", headers={"mcp-name": SENTINEL}),
    Case("Accept in another order", headers={"accept": "text/event-stream,application/json"}),
    Case("Accept of more", headers={"accept": "text/event-stream, application/json, */*"}),
    Case("a content type with a character set", headers={"content-type": "application/json; charset=utf-8"}),
    Case("spaces around header values", headers={"mcp-method": " tools/call\t", "mcp-name": "canvas_read  "}),
    Case("the list", method="tools/list"),
    Case("the list, under an id of text", method="tools/list", envelope={"id": "l"}),
]
SLOW: Final = [
    Case("the least id of all", envelope={"id": -(2**63)}),
    Case("no _meta", params={"_meta": REMOVED}),
    Case("_meta that is no object", params={"_meta": []}),
    Case("_meta that is null", params={"_meta": None}),
    Case("_meta without a version", meta={VERSION: REMOVED}),
    Case("_meta without capabilities", meta={CAPABILITIES: REMOVED}),
    Case("_meta of an older version", meta={VERSION: "2025-11-25"}),
    Case("_meta whose version is a number", meta={VERSION: 2026}),
    Case("a client without a name", meta={INFO: {"version": "1"}}),
    Case("a client that is text", meta={INFO: "me"}),
    Case("capabilities that are a list", meta={CAPABILITIES: []}),
    Case("capabilities of the wrong form", meta={CAPABILITIES: {"roots": 1}}),
    Case("a progress token", meta={"progressToken": 1}),
    Case("a progress token of no kind", meta={"progressToken": [1]}),
    Case("something else in _meta", meta={"traceparent": "00-0-0-00"}),
    Case("a client that tells very much", meta={INFO: {"name": "n" * 3_000, "version": "1"}}),
    Case(
        "a client that is asked by address, writing",
        params={"name": "canvas_write"},
        meta={CAPABILITIES: {"elicitation": {"url": {}}}},
    ),
    Case("a version header of another version", headers={"mcp-protocol-version": "2099-01-01"}),
    Case(
        "a version that is not served",
        headers={"mcp-protocol-version": "2099-01-01"},
        meta={VERSION: "2099-01-01"},
    ),
    Case("no method header", headers={"mcp-method": REMOVED}),
    Case("another method header", headers={"mcp-method": "tools/list"}),
    Case("a method header in capitals", headers={"mcp-method": "TOOLS/CALL"}),
    Case("no name header", headers={"mcp-name": REMOVED}),
    Case("another name header", headers={"mcp-name": "canvas_write"}),
    Case("a name header of bad base64", headers={"mcp-name": "=?base64?***?="}),
    Case("the version header twice", doubled=(("mcp-protocol-version", MODERN),)),
    Case("the method header twice", doubled=(("mcp-method", "tools/call"),)),
    Case("the name header twice", doubled=(("mcp-name", "canvas_read"),)),
    Case("an unrelated header twice", doubled=(("x-thing", "1"), ("x-thing", "2"))),
    Case("a header of a parameter", headers={"mcp-param-limit": "3"}),
    Case("a session", headers={"mcp-session-id": "abc"}),
    Case("no Accept", headers={"accept": ""}),
    Case("Accept of JSON alone", headers={"accept": "application/json"}),
    Case("Accept of a stream alone", headers={"accept": "text/event-stream"}),
    Case("Accept of anything", headers={"accept": "*/*"}),
    Case("Accept with weights", headers={"accept": "application/json;q=0.9, text/event-stream;q=0.1"}),
    Case("no content type", headers={"content-type": ""}),
    Case("a content type of text", headers={"content-type": "text/plain"}),
    Case("a content type in capitals", headers={"content-type": "Application/JSON"}),
    Case("a compressed body", headers={"content-encoding": "gzip"}),
    Case("arguments that are null", params={"arguments": None}),
    Case("arguments that are a list", params={"arguments": []}),
    Case("no name", params={"name": REMOVED}, headers={"mcp-name": REMOVED}),
    Case("a name that is a number", params={"name": 7}),
    Case("a name that is null", params={"name": None}, headers={"mcp-name": REMOVED}),
    Case("more params", params={"extra": 1}),
    Case("a request state", params={"requestState": "x"}),
    Case("params that are a list", envelope={"params": []}),
    Case("no params", envelope={"params": REMOVED}),
    Case("more in the envelope", envelope={"extra": 1}),
    Case("an older JSON-RPC", envelope={"jsonrpc": "1.0"}),
    Case("no JSON-RPC", envelope={"jsonrpc": REMOVED}),
    Case("an id that is null", envelope={"id": None}),
    Case("an id that is true", envelope={"id": True}),
    Case("an id with a fraction", envelope={"id": 1.5}),
    Case("an id that is a list", envelope={"id": []}),
    Case("a notification", envelope={"id": REMOVED}),
    Case("no method", envelope={"method": REMOVED}),
    Case("another method", envelope={"method": "ping"}, headers={"mcp-method": "ping"}),
    Case("arguments with NaN", body=raw(b'{"canvasId":NaN}')),
    Case("arguments with half a surrogate", body=raw(b'{"canvasId":"\\ud800"}')),
    Case("arguments with an integer beyond 64 bits", body=raw(b'{"canvasId":"c","limit":99999999999999999999}')),
    Case("arguments with a long integer that fits", body=raw(b'{"canvasId":"c","limit":1234567890123456789}')),
    Case("arguments with a number beyond all", body=raw(b'{"canvasId":"c","elements":[{"x":1e999}]}')),
    Case("arguments nested too deeply", body=raw(b'{"canvasId":' + b"[" * 70 + b"]" * 70 + b"}")),
    Case("an empty body", body=b""),
    Case("half a body", body=raw(b"{}")[:-3]),
    Case("a list of requests", body=b"[" + raw(b"{}") + b"]"),
    Case("a body that is not UTF-8", body=raw(b'{"canvasId":"\xff"}')),
    Case("a list with a cursor", method="tools/list", params={"cursor": "x"}),
    Case("a list with a null cursor", method="tools/list", params={"cursor": None}),
    Case("a list with arguments", method="tools/list", params={"arguments": {}}),
    Case("a list under another method header", method="tools/list", headers={"mcp-method": "tools/call"}),
]


async def answered(case: Case, owners: Mapping[str, Scripted], by_sdk: bool) -> dict[str, Any]:
    """What can be seen of one exchange, after one that made the token known: the answer and what owners were asked."""
    async with GatewayBench() as bench:
        await bench.call("canvas_read", ARGUMENTS)
        for verb, answer in owners.items():
            bench.caller.on(verb, answer)
        bench.caller.sent.clear()
        fast_path, taken = bench.gateway.fast_path, []
        plain_request = fast_path.plain_request

        def spied(*given: Any) -> Any:
            taken.append(None if by_sdk else plain_request(*given))
            return taken[-1]

        with patch.object(fast_path, "plain_request", spied):
            response = await bench.http.post("/mcp", content=case.content(), headers=case.lines())
        admitted = [sent for sent in bench.caller.sent if sent.verb != "authenticate"]
        return {
            "is_fast": any(taken),
            "status": response.status_code,
            "headers": {name: response.headers.get(name) for name in ("content-type", "allow", "retry-after")},
            "body": without_incident(response),
            "asked": [(str(sent.to.kind), sent.verb, without_call_id(sent.body)) for sent in admitted],
        }


def without_incident(response: httpx2.Response) -> object:
    """The incident id is made anew for each; everything else must be the same."""
    if "json" not in response.headers.get("content-type", ""):
        return response.content
    message = response.json()
    error = message.get("result", {}).get("structuredContent", {}).get("error", {})
    if "incidentId" in error:
        error["incidentId"] = ""
        message["result"]["content"] = []
    elif "result" in message and "content" in message["result"]:
        [text] = message["result"]["content"]
        text["text"] = orjson.loads(text["text"])
    return message


def without_call_id(body: Record) -> Record:
    key = body.get("idempotency")
    return {**body, "idempotency": {**key, "callId": ""}} if isinstance(key, dict) else body


def assert_alike(case: Case, is_fast: bool, owners: Mapping[str, Scripted]) -> dict[str, Any]:
    @in_loop
    async def scenario() -> None:
        ours, sdk = await answered(case, owners, by_sdk=False), await answered(case, owners, by_sdk=True)
        assert ours.pop("is_fast") is is_fast
        assert sdk.pop("is_fast") is False
        assert ours == sdk
        seen.update(ours)

    seen: dict[str, Any] = {}
    scenario()
    return seen


@pytest.mark.parametrize("case", FAST, ids=lambda case: case.name)
def test_plain_requests_are_answered_alike(case: Case) -> None:
    assert_alike(case, True, {})


@pytest.mark.parametrize("case", SLOW, ids=lambda case: case.name)
def test_what_is_unusual_or_wrong_goes_to_the_sdk_and_is_answered_alike(case: Case) -> None:
    """common 1.9, 6.1"""
    assert_alike(case, False, {})


STAMP: Final[Record] = {"agentId": "agent7", "workspaceId": "workspace7", "credential": "default", "version": 1}
OUTCOMES: Final[Mapping[str, Mapping[str, Scripted]]] = {
    "the owner refuses": {"canvas_read": Refusal(Code.NOT_FOUND, "Nothing is here.", details={"limit": 3})},
    "the owner refuses in no form": {"canvas_read": Error({"code": "nonsense"})},
    "the owner fails": {"canvas_read": RuntimeError("the secret of the house")},
    "the owner is silent": {"canvas_read": DeadlinePassed(was_sent=True)},
    "the result does not fit": {"canvas_read": {"title": 7}},
    "the result is too large": {"canvas_read": {"title": "x" * result_bytes_max}},
    "the result is beyond ASCII": {"canvas_read": {"title": 'Über "😀"\u2028'}},
    "admission refuses": {
        "admit": {
            "authenticated": True,
            "waiting": 4,
            "refusal": Refusal(Code.CAPABILITY_MISSING, "You lack the mesh capability.").to_record(),
        }
    },
    "admission answers itself": {
        "admit": {"authenticated": True, "waiting": 0, "answer": {"executed": False, "status": "collected"}}
    },
    "admission has a trouble of its own": {"admit": Refusal(Code.STORAGE_FULL, "The disk is full.")},
    "admission is silent": {"admit": DeadlinePassed(was_sent=False)},
    "the stamp is always stale": {"canvas_read": Error({"code": "stale_stamp", "message": "", "retryable": True})},
    "the waiting count is none": {"admit": {"authenticated": True, "waiting": True, "stamp": STAMP}},
}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_each_outcome_of_a_call_is_told_alike(outcome: str) -> None:
    """common 1.11, 6.1, 7.4"""
    seen = assert_alike(Case("a read"), True, OUTCOMES[outcome])
    assert b"secret" not in orjson.dumps(seen["body"])


@pytest.mark.parametrize(
    "case",
    [
        Case("the list", method="tools/list"),
        Case("no JSON", body=b"{"),
        Case("no Accept", headers={"accept": ""}),
        Case("a body that is too large", headers={"content-length": "9999999999"}),
        Case("a compressed body", headers={"content-encoding": "gzip"}),
    ],
    ids=lambda case: case.name,
)
def test_a_token_that_is_good_no_more_is_401_on_both_paths_whatever_else_is_wrong(case: Case) -> None:
    """common 2.3. For a call, where only one path still can, see test_call.py."""
    gone: dict[str, Scripted] = {"authenticate": {"authenticated": False}, "admit": {"authenticated": False}}
    assert assert_alike(case, case.method == "tools/list", gone)["status"] == 401


def test_while_the_agent_owner_is_silent_both_paths_say_so_of_the_list() -> None:
    """common 1.2, 2.3"""
    silent: dict[str, Scripted] = {"authenticate": DeadlinePassed(was_sent=False)}
    seen = assert_alike(Case("the list", method="tools/list"), True, silent)
    assert seen["body"]["error"]["data"]["error"]["code"] == "unavailable"


@in_loop
async def test_while_the_agent_owner_is_silent_a_call_is_unavailable_on_both_paths() -> None:
    """common 2.3. What waits for the caller is told as it last was where that is known, so the bodies may differ."""
    silent: dict[str, Scripted] = {name: DeadlinePassed(was_sent=False) for name in ("authenticate", "admit")}
    for by_sdk in (False, True):
        seen = await answered(Case("a read"), silent, by_sdk)
        assert seen["status"] == 200
        assert seen["body"]["result"]["structuredContent"]["error"]["code"] == "unavailable"
