"""Who waits for which call: with its owner once, joined by all others, forgotten only when nothing depends on it."""

from __future__ import annotations

from collections.abc import Callable

from actors.callers import Callers
from bus.envelope import LinkClass
from bus.link import Peer
from bus.session import Session
from bus.wire import Timer


class _Quiet:
    """A scheduler that runs nothing."""

    def call_soon(self, callback: Callable[[], object], /) -> None: ...

    def call_soon_threadsafe(self, callback: Callable[[], object], /) -> None: ...

    def call_later(self, seconds: float, callback: Callable[[], object], /) -> Timer:
        raise AssertionError("nothing is to be scheduled here")


def peer(name: str) -> Peer:
    session = Session(name.encode(), _Quiet(), lambda frame: True, over=lambda: None)
    return Peer(name.encode(), LinkClass.GATEWAY, name, "i1", session, 0, b"", b"")


ONE, TWO = peer("one"), peer("two")


def test_the_first_call_goes_to_its_owner_and_repeats_wait_with_it() -> None:
    callers = Callers()
    assert callers.called(ONE, "c", 10)
    assert not callers.called(ONE, "c", 10)
    assert not callers.called(TWO, "c", 10)
    assert callers.answered("c") == [ONE, TWO]
    assert callers.answered("c") == []


def test_a_join_asks_for_the_kept_answer_unless_the_call_is_with_its_owner() -> None:
    callers = Callers()
    assert callers.joined(ONE, "c", 10)
    assert callers.joined(TWO, "c", 10)
    callers.given("c")
    assert not callers.joined(ONE, "c", 10)
    assert callers.answered("c") == [ONE, TWO]


def test_an_ordinary_call_after_a_join_still_goes_to_its_owner_once() -> None:
    callers = Callers()
    callers.joined(ONE, "c", 10)
    assert callers.called(TWO, "c", 10)
    assert not callers.called(TWO, "c", 10)
    assert callers.answered("c") == [ONE, TWO]


def test_an_ordinary_call_joins_one_that_a_parcel_brought() -> None:
    callers = Callers()
    callers.given("c")
    assert not callers.called(ONE, "c", 10)
    assert callers.answered("c") == [ONE]


def test_what_is_with_an_owner_is_not_forgotten_and_what_waits_is_after_its_last_deadline() -> None:
    callers = Callers()
    callers.called(ONE, "given", 10)
    callers.given("brought")
    callers.joined(ONE, "joined", 10)
    callers.joined(TWO, "joined", 20)
    callers.called(ONE, "open", 10)
    callers.left_open("open")
    callers.forget(20)
    assert len(callers) == 3
    callers.forget(21)
    assert len(callers) == 2
    assert callers.answered("given") == [ONE]
