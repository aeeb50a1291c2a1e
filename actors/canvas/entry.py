"""The row of one element, `element/KEY` (state.py)."""

from __future__ import annotations

from actors.canvas.stored import stored_record, stored_text, stored_whole
from bus.message_record import message_record
from bus.value import Record


@message_record
class Entry:
    """One stored element. `deletion` is there only while it is deleted through a call (see remove.py)."""

    element: Record
    revision: int
    by: str
    what: str
    deletion: Record | None

    @property
    def is_live(self) -> bool:
        return self.element.get("isDeleted") is not True

    def to_record(self) -> Record:
        record: Record = {"element": self.element, "revision": self.revision, "by": self.by, "what": self.what}
        if self.deletion is not None:
            record["deletion"] = self.deletion
        return record

    @classmethod
    def from_record(cls, record: Record) -> Entry:
        deletion = record.get("deletion")
        return cls(
            element=stored_record(record["element"]),
            revision=stored_whole(record["revision"]),
            by=stored_text(record["by"]),
            what=stored_text(record["what"]),
            deletion=None if deletion is None else stored_record(deletion),
        )
