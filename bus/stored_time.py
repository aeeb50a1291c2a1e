"""Up to when a shard has stored something: a host begins no earlier, whatever the clock says (bus/clock.py)."""

from __future__ import annotations

from bus.codec import CorruptRow, unpack_row
from bus.reshard import RESHARDED_FACT
from bus.store import Store, fact_key


def newest_record_ms(store: Store) -> int:
    """When the newest journal record was made, in milliseconds since the epoch; 0 for an empty journal.

    The last one is the newest, but behind a reshard may stand older ones of a shard that is no more (bus/reshard.py).
    """
    last, resharded = store.last(b"j"), store.get(fact_key(RESHARDED_FACT))
    return max(_made_ms(None if last is None else last[1], "at"), _made_ms(resharded, None))


def _made_ms(stored: bytes | None, field_name: str | None) -> int:
    """The time in a row, or in a field of it; 0 when there is none or it cannot be read."""
    try:
        value = None if stored is None else unpack_row(stored)
    except CorruptRow:
        return 0
    if field_name is not None:
        value = value.get(field_name) if isinstance(value, dict) else None
    return value if isinstance(value, int) else 0
