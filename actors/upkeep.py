"""What a host does for the person beside its work: backups, dead letters, checks, traces, and how busy it is.

A table of verbs of the host's own address; only the person's link reaches it (actors/host.py). What reads much runs on
the thread beside the loop, and its answer comes back through the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import structlog

from actors.activity import Activity
from actors.backup import BackupPart, Tell
from actors.decision import Rules
from actors.examine import Examiner
from actors.letters import Letters
from actors.owner import Executor
from actors.waiting import Waiting
from bus.clock import Clock
from bus.envelope import Call
from bus.journal import Journal
from bus.store import Store
from bus.value import Record
from bus.wire import Scheduler
from tools.errors import Code, Refusal, invalid_arguments

_log = structlog.get_logger("upkeep")
_DEFECT: Final = Refusal(Code.INTERNAL, "NEXUS made a mistake while it looked; the host's log has the details.")


class Upkeep:
    """The verbs, by name; `attach` gives the journal."""

    def __init__(
        self,
        place: tuple[int, int],
        roster: Mapping[str, Rules[Any]],
        *,
        store: Store,
        clock: Clock,
        scheduler: Scheduler,
        beside: Executor,
        from_thread: Callable[[Callable[[], None]], None],
        next_incarnation: Callable[[], int],
        counts: Callable[[], Mapping[str, int]],
        backups: Path | None,
    ) -> None:
        """`place` is which shard this is, and of how many; `backups` the folder that copies go to."""
        shard, shards = place
        self._beside_executor = beside
        self._from_thread = from_thread
        self._counts = counts
        self.activity = Activity(clock)
        self._backup = BackupPart(shard, store, scheduler, beside, from_thread, backups)
        self._letters = Letters(shard, shards, store, clock, roster, next_incarnation, from_thread)
        waiting = Waiting(shard, store)
        examiner = Examiner(shard, shards, store, roster, beside)
        self._verbs: Final[Mapping[str, Callable[[Call, Tell], None]]] = {
            **self._backup.verbs,
            **self._letters.verbs,
            "dead_list": self._beside(self._letters.listing),
            "activity": self._sample,
            "pending": self._beside(waiting.pending),
            "call_states": self._beside(waiting.call_states),
            "trace_records": self._beside(waiting.trace_records),
            "trace_thread": self._beside(waiting.trace_thread),
            "trace_rest": self._beside(waiting.trace_rest),
            "owners_holding": self._beside(waiting.owners_holding),
            "first_since": self._beside(waiting.first_since),
            "check_store": self._beside(examiner.store_step),
            "check_owners": self._beside(examiner.owners_step),
        }

    def attach(self, journal: Journal) -> None:
        self._journal = journal
        self._backup.attach(journal)
        self._letters.attach(journal)

    def takes(self, verb: str) -> bool:
        return verb in self._verbs

    def ask(self, call: Call, tell: Tell) -> None:
        """Answer now or later; a bad argument is answered as one."""
        try:
            self._verbs[call.verb](call, tell)
        except KeyError:
            tell(invalid_arguments({"arguments": "lack one, or hold one of another form"}))

    def _sample(self, call: Call, tell: Tell) -> None:
        counts = dict(self._counts())
        counts["waitingCalls"] -= 1  # this one
        tell({**self.activity.sample(), **counts, "waitingCommits": self._journal.waiting})

    def _beside(self, work: Callable[[Record], Record]) -> Callable[[Call, Tell], None]:
        def start(call: Call, tell: Tell) -> None:
            def run() -> None:
                answer: Record | Refusal
                try:
                    answer = work(call.body)
                except (KeyError, ValueError, AssertionError):
                    answer = invalid_arguments({"arguments": "lack one, or hold one of another form"})
                except Exception:  # noqa: BLE001 - the thread serves the next question; this one is answered
                    _log.exception("look_failed", verb=call.verb)
                    answer = _DEFECT
                self._from_thread(lambda: tell(answer))

            self._beside_executor.submit(run)

        return start
