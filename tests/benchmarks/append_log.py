"""A trial, not the product: an append log whose one flush is the commit point, with LMDB applied behind it.

LMDB's commit flushes twice, data and then the meta page. Here a group is appended to a file that was filled with zeros
beforehand (so its size and blocks do not change), flushed once by fdatasync, and put into LMDB without a flush of its
own; LMDB is synced every `CHECKPOINT_BYTES` of log, after which the log begins anew. docs/decisions/0008 has the
verdict. Recovery is tried here too: what `recover` gives back after a torn tail is what was acknowledged.
"""

from __future__ import annotations

import os
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import lmdb
import msgpack

from bus.clock import SystemClock
from bus.codec import pack_row
from bus.store import Write, answer_key, journal_key
from bus.store_lmdb import LmdbStore

CHECKPOINT_BYTES = 32 * 1024 * 1024
FILLED_BYTES = 64 * 1024 * 1024
GROUPS = {1: 1_500, 16: 500, 64: 200}
ROUNDS = 5
_HEAD_BYTES = 16  # length, checksum, number of the group
_CHECKSUM_FROM = 8


class AppendLog:
    """A file of fixed size. A group: length (4), CRC-32 of what follows (4), its number (8), then its writes.

    The number grows over checkpoints, so what an earlier turn left behind in the file is told apart from this turn's.
    """

    def __init__(self, path: Path, size: int, next_number: int = 1) -> None:
        is_new = not path.exists()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if is_new:
            for _ in range(size >> 20):
                os.write(self._file, bytes(1 << 20))
            os.fsync(self._file)
        self._size = size
        self._at = 0
        self.number = next_number

    def append(self, payload: bytes) -> bool:
        """Durable when it returns True; False when there is no room until `begin_anew`."""
        if self._at + _HEAD_BYTES + len(payload) > self._size:
            return False
        rest = self.number.to_bytes(8, "big") + payload
        head = len(payload).to_bytes(4, "big") + zlib.crc32(rest).to_bytes(4, "big")
        os.pwrite(self._file, head + rest, self._at)
        os.fdatasync(self._file)
        self._at += _HEAD_BYTES + len(payload)
        self.number += 1
        return True

    def begin_anew(self) -> None:
        """Everything appended so far is durable elsewhere."""
        self._at = 0

    def close(self) -> None:
        os.close(self._file)


def recover(path: Path, first_number: int) -> list[bytes]:
    """The payloads from `first_number` on, up to the first that is torn or of an earlier turn."""
    data = path.read_bytes()
    found: list[bytes] = []
    at = 0
    while at + _HEAD_BYTES <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        rest = data[at + _CHECKSUM_FROM : at + _HEAD_BYTES + length]
        number = int.from_bytes(rest[:8], "big")
        if zlib.crc32(rest) != int.from_bytes(data[at + 4 : at + 8], "big") or number != first_number + len(found):
            break
        found.append(rest[8:])
        at += _HEAD_BYTES + length
    return found


class LoggedStore:
    """LMDB behind an append log."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.log = AppendLog(folder / "log", CHECKPOINT_BYTES)
        self._environment = lmdb.open(str(folder), map_size=1 << 34, sync=False, max_dbs=0, readahead=False)
        self.checkpoint_ms: list[float] = []

    def commit(self, writes: Sequence[Write]) -> None:
        payload = msgpack.packb(writes)
        if not self.log.append(payload):
            before = time.perf_counter()
            self._environment.sync(True)
            self.checkpoint_ms.append((time.perf_counter() - before) * 1e3)
            self.log.begin_anew()
            assert self.log.append(payload)
        with self._environment.begin(write=True) as transaction:
            transaction.put(b"!applied", (self.log.number - 1).to_bytes(8, "big"))
            for key, value in writes:
                if value is None:
                    transaction.delete(key)
                else:
                    transaction.put(key, value)

    def close(self) -> None:
        self._environment.close()
        self.log.close()


def groups(size: int, count: int) -> list[list[Write]]:
    """What a group of `size` calls of 1 KiB writes: a record, an answer and a state row a call."""
    clock, body = SystemClock(), os.urandom(1024)
    record, answer, state = pack_row({"item": body}), pack_row({"ok": {"number": 1}}), pack_row(7)
    made: list[list[Write]] = []
    for group in range(count):
        writes: list[Write] = []
        for call in range(size):
            writes.append((journal_key(group * size + call), record))
            writes.append((answer_key(clock.new_id()), answer))
            writes.append((b"squeue/-/q%d\x00head" % (call % 64), state))
        made.append(writes)
    return made


def filled_ahead(folder: Path) -> LmdbStore:
    """A store whose file was lengthened with zeros beforehand, so that a flush need not write its new size."""
    LmdbStore(folder).close()
    with (folder / "data.mdb").open("r+b") as file:
        file.seek(0, os.SEEK_END)
        for _ in range(FILLED_BYTES >> 20):
            file.write(bytes(1 << 20))
        os.fsync(file.fileno())
    return LmdbStore(folder)


def commits_per_second(commit: Callable[[Sequence[Write]], None], made: Sequence[Sequence[Write]]) -> float:
    started = time.perf_counter()
    for writes in made:
        commit(writes)
    return len(made) / (time.perf_counter() - started)


def _compare(folder: Path) -> None:
    for size, count in GROUPS.items():
        found: dict[str, list[float]] = {name: [] for name in ("LMDB", "LMDB, filled", "log and LMDB", "log alone")}
        stalls: list[float] = []
        made = groups(size, count)
        for turn in range(ROUNDS):  # interleaved
            plain = LmdbStore(folder / f"plain-{size}-{turn}")
            found["LMDB"].append(commits_per_second(plain.commit, made))
            plain.close()
            filled = filled_ahead(folder / f"filled-{size}-{turn}")
            found["LMDB, filled"].append(commits_per_second(filled.commit, made))
            filled.close()
            logged = LoggedStore(folder / f"logged-{size}-{turn}")
            found["log and LMDB"].append(commits_per_second(logged.commit, made))
            stalls += logged.checkpoint_ms
            logged.close()
            alone = AppendLog(folder / f"log-{size}-{turn}", CHECKPOINT_BYTES * 4)

            def append(writes: Sequence[Write], log: AppendLog = alone) -> None:
                assert log.append(msgpack.packb(writes))

            found["log alone"].append(commits_per_second(append, made))
            alone.close()
        base = found["LMDB"]
        for name, rates in found.items():
            ratios = sorted(one / other for one, other in zip(rates, base, strict=True))
            middle = sorted(rates)[ROUNDS // 2]
            print(
                f"{size:4} a group  {name:14} {middle:8.0f} commits/s [{min(rates):.0f}-{max(rates):.0f}]"
                f"  {middle * size:9.0f} calls/s  {ratios[ROUNDS // 2]:5.2f} x LMDB [{ratios[0]:.2f}-{ratios[-1]:.2f}]"
            )
        if stalls:
            print(f"            checkpoints: {len(stalls)}, longest {max(stalls):.0f} ms")


def _try_recovery(folder: Path) -> None:
    """A torn tail and an earlier turn's remains are not believed."""
    path = folder / "torn"
    log = AppendLog(path, 1 << 20)
    for number in range(5):
        assert log.append(b"%d" % number * 100)
    log.begin_anew()
    for number in range(5, 8):
        assert log.append(b"%d" % number * 100)
    log.close()
    with path.open("r+b") as file:
        file.seek(2 * (_HEAD_BYTES + 100) + 50)
        file.write(b"torn")
    assert recover(path, first_number=6) == [b"5" * 100, b"6" * 100]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="nexus-bench-") as folder:
        _try_recovery(Path(folder))
        _compare(Path(folder))
