"""Fields of a call that no Excalidraw element has: kept (canvas 4.4), and told, since most of them are slips.

An agent that writes `lable` gets an empty box and would not notice. Of a type's fields the nearest is named.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from typing import Final

from actors.canvas.element import fields_of
from bus.value import Record

_MORE: Final = frozenset({"customData", "label", "start", "end"})
"""What may be given as well: a field that need not be there, and the short forms."""
_SIMILAR: Final = 0.7
_NAME_CHARACTERS_MAX: Final = 60
"""Of a name that is told; a longer one is cut."""


def slips(element: Record, given: Collection[str], place: str) -> Iterator[str]:
    """For each name in `given` that `element`'s type does not have: where it stands, and what may have been meant."""
    known = fields_of(element).keys() | _MORE
    for name in given:
        if name in known:
            continue
        near = difflib.get_close_matches(name, known, 1, _SIMILAR) if len(name) <= _NAME_CHARACTERS_MAX else []
        meant = f" (not {near[0]}?)" if near else ""
        yield f"{place}.{name[:_NAME_CHARACTERS_MAX]}{meant}"
