"""What a row of the person's tables of verbs is: a function that takes the raw arguments, and how one is made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeAlias, TypeVar

from pydantic import Field

from bus.limits import name_characters_max
from bus.value import Record
from nexus.gateway.person_owners import Owners, checked_arguments
from nexus.gateway.person_upkeep import Emit
from tools.base import Model

Run: TypeAlias = Callable[[Owners, Record], Awaitable[Record]]
Stream: TypeAlias = Callable[[Owners, Record, Emit], Awaitable[Record | None]]
Arguments = TypeVar("Arguments", bound=Model)

Typed = Annotated[str, Field(min_length=1, max_length=name_characters_max)]
"""An id or a name as the person typed it."""


class Nothing(Model):
    pass


def checked(arguments: type[Arguments], run: Callable[[Owners, Arguments], Awaitable[Record]]) -> Run:
    """`run` on the parsed arguments; bad ones are refused with the path of each bad field."""

    async def checked(owners: Owners, raw: Record) -> Record:
        return await run(owners, checked_arguments(arguments, raw))

    return checked


def streamed(arguments: type[Arguments], run: Callable[[Owners, Arguments, Emit], Awaitable[Record | None]]) -> Stream:
    """The same for a verb that answers events."""

    async def streamed(owners: Owners, raw: Record, emit: Emit) -> Record | None:
        return await run(owners, checked_arguments(arguments, raw), emit)

    return streamed
