"""Arguments that are kept for the record only: the small ones whole, of the large ones their size. Pure."""

from __future__ import annotations

import json

from bus.value import Record, Value


def shortened(arguments: Record, bytes_max: int) -> tuple[Record, dict[str, int]]:
    """As many whole arguments as fit, the small ones first, and the bytes of each that does not."""
    sizes = {name: json_bytes(value) for name, value in arguments.items()}
    kept: set[str] = set()
    used = 0
    for name in sorted(sizes, key=lambda one: (sizes[one], one)):
        used += sizes[name] + len(name)
        if used > bytes_max:
            break
        kept.add(name)
    left_out = {name: size for name, size in sizes.items() if name not in kept}
    return {name: value for name, value in arguments.items() if name in kept}, left_out


def json_bytes(value: Value) -> int:
    """Of `value` as compact JSON in ASCII, infinite numbers included."""
    return len(json.dumps(value, separators=(",", ":")))
