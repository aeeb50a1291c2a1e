"""How messages between owners and the marks of their streams rest on disk."""

from __future__ import annotations

from bus.address import Address
from bus.envelope import Mark, Parcel
from bus.value import Value


def parcel_row(parcel: Parcel, before_reply: bool = False) -> Value:
    """An outbox row; its key holds destination and mark."""
    who: list[Value] = [str(parcel.sender), str(parcel.to)]
    return [*who, parcel.verb, parcel.body, parcel.message_id, parcel.origin_call, before_reply]


def parcel_of(source: int, mark: Mark, row: Value) -> Parcel:
    """Read back an outbox row. Raises ValueError for anything that `parcel_row` did not write."""
    if not isinstance(row, list) or len(row) != 7 or not isinstance(row[3], dict):
        raise ValueError("not an outbox row")
    sender, to = Address.parse(str(row[0])), Address.parse(str(row[1]))
    return Parcel(source, mark, sender, to, str(row[2]), row[3], str(row[4]), str(row[5]))


def waited_for_by(row: Value) -> str | None:
    """The call whose reply waits for the message in an outbox row, if one does."""
    return str(row[5]) if isinstance(row, list) and len(row) == 7 and row[6] is True else None


def mark_from(row: Value) -> Mark:
    """Read back a mark row. Raises ValueError for anything else."""
    if not isinstance(row, list) or len(row) != 2:
        raise ValueError("not a mark")
    sequence, index = row
    if not isinstance(sequence, int) or not isinstance(index, int):
        raise ValueError("not a mark")
    return Mark(sequence, index)
