"""Frozen records for what is made anew with every message.

To the type checker `message_record` is a frozen dataclass. At run time nothing enforces it: a frozen dataclass sets
each field through `object.__setattr__`, which makes it four times dearer to build, and a call builds ten of them
(docs/decisions/0007). Records that are made seldom are plain frozen dataclasses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

Made = TypeVar("Made")


@dataclass_transform(frozen_default=True)
def message_record(made: type[Made]) -> type[Made]:
    return dataclass(slots=True, unsafe_hash=True)(made)
