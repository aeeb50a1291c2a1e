"""So many calls in flight at once, each followed by the next: calls a second and latencies, and a table of them."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MakeCall = Callable[[], Awaitable[object]]
"""Begins one call at once; awaited for its acknowledgement."""

_SECONDS_MORE_MAX = 30.0


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured: how to call it, and the process that serves it."""

    make_call: MakeCall
    server_pid: int


@dataclass(frozen=True, slots=True)
class Rate:
    """Calls a second over the measured time, latencies in milliseconds, and what the server's processor spent a call.

    The last one hardly depends on the disk and on who else uses the machine.
    """

    per_second: float
    p50_ms: float
    p99_ms: float
    server_us: float


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def closed_loop(subject: Subject, in_flight: int, seconds: float, warm_seconds: float = 0.3) -> Rate:
    latencies: list[float] = []
    made = 0
    cpu_before = cpu_seconds(subject.server_pid)
    started = time.perf_counter()
    warm, end = started + warm_seconds, started + warm_seconds + seconds

    async def worker() -> None:
        nonlocal made
        while (before := time.perf_counter()) < end:
            await subject.make_call()
            made += 1
            if before >= warm:
                latencies.append(time.perf_counter() - before)

    async with asyncio.timeout(seconds + _SECONDS_MORE_MAX):
        await asyncio.gather(*(worker() for _ in range(in_flight)))
    measured = time.perf_counter() - warm
    server_us = (cpu_seconds(subject.server_pid) - cpu_before) / made * 1e6
    latencies.sort()
    count = len(latencies)
    return Rate(count / measured, latencies[count // 2] * 1e3, latencies[int(count * 0.99)] * 1e3, server_us)


async def interleaved(
    subjects: Mapping[str, Subject], levels: Sequence[int], rounds: int, seconds: float
) -> dict[str, dict[int, list[Rate]]]:
    """Every subject in turn, `rounds` times a level: a noisy moment of the machine hits all alike."""
    found: dict[str, dict[int, list[Rate]]] = {name: {level: [] for level in levels} for name in subjects}
    for level in levels:
        for _ in range(rounds):
            for name, subject in subjects.items():
                found[name][level].append(await closed_loop(subject, level, seconds))
    return found


def median(rates: Sequence[Rate]) -> Rate:
    return sorted(rates, key=lambda rate: rate.per_second)[len(rates) // 2]


def print_table(found: Mapping[str, Mapping[int, Sequence[Rate]]], ours: Sequence[str]) -> None:
    """Medians with their range; then each of `ours` beside every peer, as the median of the rounds' ratios."""
    levels = list(next(iter(found.values())))
    print(f"{'calls/s [range] (p50, p99 ms) server CPU':42}" + "".join(f"{level:>32} at once" for level in levels))
    for name, by_level in found.items():
        cells = []
        for rates in by_level.values():
            middle, every = median(rates), sorted(rate.per_second for rate in rates)
            cpu = sorted(rate.server_us for rate in rates)[len(rates) // 2]
            latency = f"({middle.p50_ms:.2f}, {middle.p99_ms:.2f}) {cpu:.0f} us"
            cells.append(f"{middle.per_second:.0f} [{every[0]:.0f}-{every[-1]:.0f}] {latency}")
        print(f"{name:42}" + "".join(f"{cell:>40}" for cell in cells))
    for mine in ours:
        for peer in [name for name in found if name not in ours]:
            cells = []
            for level in levels:
                pairs = zip(found[mine][level], found[peer][level], strict=True)
                ratios = sorted(one.per_second / other.per_second for one, other in pairs)
                cells.append(f"{ratios[len(ratios) // 2]:.2f} [{ratios[0]:.2f}-{ratios[-1]:.2f}]")
            print(f"{mine + ' / ' + peer:42}" + "".join(f"{cell:>40}" for cell in cells))
