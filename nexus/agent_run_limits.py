"""The bounds of `nexus agent run` (mesh 5.2), as bus/limits.py has all others."""

from __future__ import annotations

from typing import Final

from bus.limits import leases_per_agent_max, reply_bytes_max
from bus.runtime_limits import runtime_credit_deliveries_max

run_concurrency_max: Final = 16
run_seconds_default: Final = 3_600  # of one task
run_seconds_max: Final = 7 * 24 * 3_600
run_grace_ms: Final = 5_000  # between asking a program to end and killing it
run_orphaned_grace_ms: Final = 2_000  # the same, once nobody takes what it would still say
run_kill_ms_max: Final = 5_000  # then what cannot be killed, such as a process in a system call that hangs, is left
run_output_bytes_max: Final = 1024 * 1024  # that is read as JSON; of text reply_bytes_max counts
run_errors_bytes_kept: Final = 4 * 1024  # the end of standard error
run_progress_ms: Final = 1_000  # one line of standard error in so long
run_line_bytes_max: Final = 4 * 1024  # of such a line; the rest of it is left out
run_drain_ms: Final = 2_000  # for what is still in the pipes of a program that has ended
run_lend_ms_max: Final = 30_000  # to be lent a token
run_again_ms: Final = 500  # before a runtime whose token is not known yet connects anew

assert run_concurrency_max < leases_per_agent_max, "each task has a token, and so has the runtime"
assert run_concurrency_max <= runtime_credit_deliveries_max
assert run_errors_bytes_kept < reply_bytes_max // 8, "JSON may take six times as much"
assert run_orphaned_grace_ms <= run_grace_ms
