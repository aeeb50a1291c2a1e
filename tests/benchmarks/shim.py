"""`nexus mcp`: from exec to the first answer, its memory, and how long a call takes through it and beside it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from tests.benchmarks.first_slice import nexus, resident_kib, running_nexus
from tests.support.mcp_http import META, McpHttp

STARTS = 20
CALLS = 300
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
FIRST: dict[str, dict[str, Any]] = {"initialize": INITIALIZE, "server/discover": {"_meta": META}}


def main() -> None:
    with running_nexus() as running, tempfile.TemporaryDirectory() as folder:
        nexus(running.home, "workspace", "add", "Bench")
        added = nexus(running.home, "agent", "add", "Ada", "--workspace", "Bench", "--capability", "mesh")
        token_file = Path(folder) / "token"
        token_file.touch(mode=0o600)
        token_file.write_text(added["token"])
        by_file = ("--socket", str(running.home / "run" / "mcp.sock"), "--token-file", str(token_file))
        command = str(Path(sys.executable).parent / "nexus")
        for way, options in (("--token-file", by_file), ("--agent", ("--home", str(running.home), "--agent", "Ada"))):
            for method in FIRST:
                print_starts([command, "mcp", *options], way, method)
        direct = McpHttp(f"http://127.0.0.1:{running.port}/mcp", added["token"])
        print(
            f"workspace_current over HTTP, a connection each: p50 {p50_ms(lambda: direct.ok('workspace_current'))} ms"
        )
        with started([command, "mcp", *by_file]) as shim:
            call = {"name": "workspace_current", "arguments": {}, "_meta": META}
            print(f"workspace_current through the shim: p50 {p50_ms(lambda: ask(shim, 'tools/call', call))} ms")
            print(f"memory after {CALLS} calls: {memory(shim.pid)}")


def print_starts(command: list[str], way: str, method: str) -> None:
    seconds = []
    for _ in range(STARTS):
        began = time.perf_counter()
        with started(command) as shim:
            ask(shim, method, FIRST[method])
            seconds.append(time.perf_counter() - began)
            told = memory(shim.pid)
    fastest, middle = min(seconds) * 1_000, median(seconds) * 1_000
    print(f"{way}, exec to the answer of {method}: fastest {fastest:.0f} ms, median {middle:.0f} ms; {told}")


@contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shim:
        try:
            yield shim
        finally:
            assert shim.stdin is not None
            shim.stdin.close()
            shim.wait(10)


def ask(shim: subprocess.Popen[bytes], method: str, params: dict[str, Any]) -> None:
    assert shim.stdin is not None and shim.stdout is not None
    shim.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
    shim.stdin.flush()
    answer = json.loads(shim.stdout.readline())
    assert "result" in answer, answer


def p50_ms(call: Any) -> float:
    taken = []
    for _ in range(CALLS):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return round(median(taken) * 1_000, 2)


def memory(pid: int) -> str:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return "its memory is told on Linux alone"
    resident = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmRSS:"))
    return f"resident {resident / 1024:.1f} MiB, its own share {resident_kib(pid) / 1024:.1f} MiB"
