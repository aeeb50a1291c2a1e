"""How much one write may do, counted while its rule goes on (security 2.23).

A call names at most 500 elements, and what it pulls in is without such a bound: the members of a frame, the arrows of
a hub, the points of what it touches. An owner decides in one turn, which other owners of its shard wait for. So
whatever a rule comes upon is charged here before it is worked on, at about what it costs, and too much is refused
early. What is charged follows from the scene and the call alone, so a call that is refused is refused everywhere.
"""

from __future__ import annotations

from actors.canvas.outcome import Rejected
from bus.limits import (
    arrow_cost_us,
    element_cost_us,
    given_bytes_a_us,
    listed_cost_us,
    measured_bytes_max,
    measured_line_bytes,
    point_cost_us,
    point_kept_cost_us,
    text_byte_cost_us,
    write_cost_us_max,
)

_TOO_MUCH = (
    f"This call would change too much at once. One call may change some {write_cost_us_max // element_cost_us} "
    f"elements, lead {write_cost_us_max // (element_cost_us + arrow_cost_us)} arrows anew, move lines and drawings of "
    f"{write_cost_us_max // point_kept_cost_us} points or shape ones of "
    f"{write_cost_us_max // (point_cost_us + point_kept_cost_us)}, or fewer of each together. "
    "Members of groups and frames and tied arrows count. Name fewer elements in one call; take members out of a "
    "frame (frameId null), or delete arrows, some hundred in each call."
)


class Work:
    """Of one draft. Every method raises Rejected when it becomes too much."""

    def __init__(self) -> None:
        self._cost_us = 0
        self._texts_bytes = 0
        self._is_bounded = True

    def lift(self) -> None:
        """From here on whoever writes has bounds of its own."""
        self._is_bounded = False

    def element(self, points: int) -> None:
        """An element that is changed, with so many points."""
        self._charge(element_cost_us + points * point_kept_cost_us)

    def arrow(self, points: int) -> None:
        """An arrow that is led, with so many points."""
        self._charge(arrow_cost_us + points * point_cost_us)

    def points(self, count: int) -> None:
        """Points that are computed with."""
        self._charge(count * point_cost_us)

    def listed(self, count: int) -> None:
        """Members or ties that are only looked at."""
        self._charge(count * listed_cost_us)

    def given(self, size: int) -> None:
        """Bytes of what the call says of an element, all of which is looked through."""
        self._charge(size // given_bytes_a_us)

    def text(self, size: int) -> None:
        """Bytes of a text that is laid out."""
        self._texts_bytes += size
        if self._is_bounded and self._texts_bytes > measured_bytes_max:
            raise Rejected(
                "limits",
                f"The texts that this call lays out have more than {measured_bytes_max} bytes in all, each line end "
                f"counted as {measured_line_bytes}. "
                "Shorten them, or change fewer in one call.",
            )
        self._charge(size * text_byte_cost_us)

    def _charge(self, cost_us: int) -> None:
        self._cost_us += cost_us
        if self._is_bounded and self._cost_us > write_cost_us_max:
            raise Rejected("limits", _TOO_MUCH)
