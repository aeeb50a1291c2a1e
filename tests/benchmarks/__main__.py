"""`make bench`: every benchmark, or those named: `make bench ONLY=bus`. Figures are for comparing within one run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping

from tests.benchmarks import (
    append_log,
    bus_calls,
    canvas,
    first_slice,
    mcp_calls,
    mesh,
    passive_owners,
    shim,
)

BENCHMARKS: Mapping[str, Callable[[], None]] = {
    "slice": first_slice.main,
    "mcp": mcp_calls.main,
    "bus": bus_calls.main,
    "mesh": mesh.main,
    "owners": passive_owners.main,
    "canvas": canvas.main,
    "log": append_log.main,
    "shim": shim.main,
}


def main() -> None:
    wanted = sys.argv[1:] or list(BENCHMARKS)
    for name in wanted:
        if name not in BENCHMARKS:
            raise SystemExit(f"there is no benchmark {name!r}; there are {', '.join(BENCHMARKS)}")
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}")
    for name in wanted:
        print(f"\n== {name} ==", flush=True)
        BENCHMARKS[name]()


if __name__ == "__main__":
    main()
