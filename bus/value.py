"""The values that cross process borders and rest on disk: what both JSON and msgpack can carry."""

from __future__ import annotations

from typing import TypeAlias, Union

Value: TypeAlias = Union[None, bool, int, float, str, bytes, "list[Value]", "dict[str, Value]"]
"""A plain value. `bytes` never reaches a tool's result; everything else is also JSON."""

Record: TypeAlias = dict[str, Value]


def records(record: Record, field: str) -> list[Record]:
    """The list of records under `field`; anything that is not a record is left out, and an absent list is empty."""
    listed = record.get(field)
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
