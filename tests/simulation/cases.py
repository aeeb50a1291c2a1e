"""Seeds that once broke an invariant, each with what was wrong. They are run first, every time.

A seed's run changes whenever the simulation or the product does anything in another order, so a case stands for what
it once found; the planted bugs (test_planted_bugs.py) prove that the like would still be found.
"""

from __future__ import annotations

from typing import Final

CASES: Final[tuple[tuple[int, str, str, str], ...]] = (
    (279, "slow disk", "ledger", "a parcel stored in the group that gave back its successor took effect twice"),
    (156, "commits fail", "product", "after one failed deletion no outbox row was ever deleted again"),
    (219, "slow disk", "ledger", "after one failed deletion no outbox row was ever deleted again"),
    (52, "full disk", "ledger", "a read showed what the writer had just given back"),
    (276, "commits fail", "ledger", "a read showed what the writer had just given back"),
    (108, "partitions", "ledger", "a repeat after its deadline was told that nothing had happened"),
    (115, "clock", "ledger", "a repeat after its deadline was told that nothing had happened"),
    (34, "crashes", "ledger", "a repeat after a restart did not wait for before_reply"),
    (224, "everything hard", "product", "a repeat after a restart did not wait for before_reply"),
    (2, "slow disk", "ledger", "a repeat did not wait for what the loop had not heard of yet"),
    (90, "everything hard", "ledger", "a late rejection of an older HELLO kept a link closed for good"),
)
"""(seed, profile, workload, what was wrong)"""
