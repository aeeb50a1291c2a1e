"""`python -m tests.fuzz SEED` sends one seed's requests; `--count N` about N, over as many seeds as that takes.

Stops at the first answer that breaks a rule of judging.py, and prints the request and how to see it again.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time

from nexus.logs import configure_logs
from tests.fuzz.driving import ROUND, run_round


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Send mutated requests to a gateway.")
    parser.add_argument("seed", type=int)
    parser.add_argument("--count", type=int, default=ROUND, help="requests; one seed has %(default)s")
    arguments = parser.parse_args()
    configure_logs()
    logging.disable()  # the SDK's, of every request that it did not like
    began = time.monotonic()
    rounds = -(-arguments.count // ROUND)
    for done, seed in enumerate(range(arguments.seed, arguments.seed + rounds), 1):
        failure = asyncio.run(run_round(seed))
        if failure is not None:
            print(failure.report(), flush=True)
            return 1
        if done % 20 == 0 or done == rounds:
            took = time.monotonic() - began
            print(f"{done * ROUND} requests, none broke a rule, {took:.0f} s", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
