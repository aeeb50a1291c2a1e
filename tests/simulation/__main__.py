"""`python -m tests.simulation SEED` replays one seed; `--count N` runs N seeds from there and stops at the first break.

Options follow from the seed; `--profile` and `--workload` override theirs, as a printed report says.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.simulation.options import PROFILES, Options
from tests.simulation.runner import Outcome, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description="Run seeds of the simulation.")
    parser.add_argument("seed", type=int)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--profile", choices=list(PROFILES))
    parser.add_argument("--workload", choices=("ledger", "product", "deletion", "mesh"))
    parser.add_argument("--keep-going", action="store_true", help="print every break instead of the first")
    arguments = parser.parse_args()
    began, broken = time.monotonic(), 0
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        outcome = run(seed, Options.of(seed, arguments.profile, arguments.workload))
        if outcome.problem is not None:
            print(outcome.report(), flush=True)
            broken += 1
            if not arguments.keep_going:
                return 1
        elif arguments.count == 1:
            print(_summary(outcome))
        done = seed - arguments.seed + 1
        if done % 100 == 0:
            print(f"{done} seeds, {broken} broken, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return 1 if broken else 0


def _summary(outcome: Outcome) -> str:
    return (
        f"seed {outcome.seed} holds: {outcome.options.profile}, {outcome.options.workload}, {outcome.calls} calls, "
        f"{outcome.events} events, {outcome.crashes} crashes, {outcome.simulated_ms} simulated ms, "
        f"trace {outcome.trace}"
    )


if __name__ == "__main__":
    sys.exit(main())
