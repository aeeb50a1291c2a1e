"""Other people's clients, in each era that they speak, over HTTP and through the shim (common 1.9)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.interop.clients import Way, fastmcp, python_sdk, typescript
from tests.interop.conftest import Judged
from tests.interop.fixture_tools import FIXTURES
from tools.catalogue import TOOLS, ordered

pytestmark = pytest.mark.processes

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
PYTHON = {"mcp": python_sdk, "fastmcp": fastmcp}
CLIENTS = [
    ("mcp", "auto", MODERN),
    ("mcp", "legacy", LEGACY),
    ("mcp", MODERN, MODERN),
    ("fastmcp", "auto", MODERN),
    ("fastmcp", "legacy", LEGACY),
    ("fastmcp", MODERN, MODERN),
    ("client_v1.mjs", "legacy", LEGACY),
    ("client_v2.mjs", "auto", MODERN),
    ("client_v2.mjs", "legacy", LEGACY),
    ("client_v2.mjs", MODERN, MODERN),
]
"""Whose client, in which mode, and the version that it must end up with."""


@pytest.fixture(params=("http", "shim"))
def way_of(request: pytest.FixtureRequest, judged: Judged, tmp_path: Path) -> Any:
    """Makes the way by which an agent of a name reaches NEXUS."""

    def make(name: str) -> Way:
        token = judged.agent(f"{name} by {request.param}").token
        return Way.http(judged.url, token) if request.param == "http" else Way.shim(judged.home, token, tmp_path)

    return make


@pytest.mark.parametrize(("whose", "mode", "version"), CLIENTS)
def test_every_client_sees_the_same(
    whose: str, mode: str, version: str, way_of: Any, request: pytest.FixtureRequest
) -> None:
    """common 1.9, 6.1"""
    title = f"Made by {whose} in mode {mode}"
    if whose in PYTHON:
        seen = asyncio.run(PYTHON[whose](mode, way_of(f"{whose} {mode}"), title))
    else:
        request.getfixturevalue("node")
        seen = typescript(whose, mode, way_of(f"{whose} {mode}"), title)
    assert seen["protocol"] in (version, None)  # the older TypeScript client does not tell over stdio
    assert seen["tools"] == [tool.name for tool in ordered(TOOLS, FIXTURES)]
    canvas_id = seen["created"]["canvasId"]
    assert [(canvas["canvasId"], canvas["title"]) for canvas in seen["listed"]["canvases"]] == [(canvas_id, title)]
    assert seen["refused"]["isError"] is True
    assert seen["refused"]["structuredContent"]["error"]["code"] == "invalid_arguments"
    assert json.loads(seen["refused"]["content"][0]["text"]) == seen["refused"]["structuredContent"]
    assert (seen["unknownTool"], seen["unknownResource"]) == (-32602, -32602)
    assert seen["resources"] == ["nexus://capabilities", "nexus://planes", "nexus://mailbox"]
    (mailbox,) = seen["mailbox"]
    assert json.loads(mailbox["text"]) == seen["inbox"]
