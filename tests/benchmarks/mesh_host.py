"""A shard host with the product's own owners and nothing around it: `python -m tests.benchmarks.mesh_host FOLDER`."""

from __future__ import annotations

from actors.roster import roster
from tests.benchmarks.queue_host import serve

if __name__ == "__main__":
    serve(roster())
