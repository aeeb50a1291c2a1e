"""A change of the scene while it is decided: the state, overlaid by what the call has changed so far.

Rules write into a draft; `finish` turns it into effects, or finds that nothing changed. Elements are replaced, never
changed in place, because the state and the draft share them. Version, nonce, time and size are seen to here, once,
for every kind of change (canvas 4.1), and nothing that an editor would choke on gets past it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Set
from dataclasses import dataclass, replace
from itertools import islice

from actors.canvas import outcome
from actors.canvas.element import problem_of, problem_of_changed
from actors.canvas.entry import Entry
from actors.canvas.geometry import points_count
from actors.canvas.indexes import Membership, is_member, memberships
from actors.canvas.outcome import Rejected
from actors.canvas.plain import encoded_bytes, same_record
from actors.canvas.revision import RevisionRows, revision_rows
from actors.canvas.slips import slips
from actors.canvas.state import HEAD, CanvasState, Head, element_row
from actors.canvas.textsize import bytes_measured
from actors.canvas.usage import charged, history_bytes, writing_agent
from actors.canvas.work import Work
from actors.decision import Context, Decision, Event, Put
from bus.limits import canvas_write_bytes_max, elements_per_canvas_max, slips_told_max
from bus.value import Record, Value


@dataclass(frozen=True, slots=True)
class Approval:
    """By whom, when and why a proposal is made a revision."""

    by: str
    at_ms: int
    reason: str
    call_id: str
    proposal_id: str
    frees: int
    """Bytes that the proposal has taken of its proposer's share, given back with the write that it becomes."""


class Draft:
    """`what` is the past participle that conflicts and the history show: created, updated, moved ...

    `context` is that of whoever writes; ids and numbers derive from it. With an `approval` that is the proposer's call,
    which was made long before.
    """

    def __init__(
        self,
        state: CanvasState,
        head: Head,
        context: Context,
        what: str,
        reason: str,
        approval: Approval | None = None,
    ) -> None:
        self.state = state
        self.head = head
        self.context = context
        self.what = what
        self.reason = reason
        self.approval = approval
        self._now_ms = context.now_ms if approval is None else approval.at_ms
        self._named: dict[str, None] = {}
        self._looked_at: set[str] = set()
        self._changed: dict[str, Record] = {}
        self._deletions: dict[str, Record | None] = {}
        self._slips: list[str] = []
        self._joined: dict[Membership, list[str]] = {}
        self._touched: set[str] = set()
        self._checked: dict[str, Record] = {}
        self._places: dict[str, str] = {}
        self._bound: dict[str, tuple[Value, set[str]]] = {}
        self.work = Work()

    def count_measured(self, words: str) -> None:
        """To be told of each text before it is measured, which takes long. Raises Rejected when it becomes too much."""
        self.work.text(bytes_measured(words))

    def touch(self, id_: str, element: Record) -> None:
        """Charge for an element that will be changed, once. Raises Rejected when it becomes too much (work.py)."""
        if id_ not in self._touched:
            self._touched.add(id_)
            self.work.element(points_count(element))

    @property
    def named_ids(self) -> Collection[str]:
        """What the call names as its targets, in order, whether it is there or not."""
        return self._named.keys()

    @property
    def looked_at(self) -> Collection[str]:
        """Every id that was asked for so far, whether it is there or not: what the draft depends on (rebase.py)."""
        return self._looked_at

    def find(self, id_: str) -> Record | None:
        """The element as it now is, deleted or not."""
        self._looked_at.add(id_)
        return self.now(id_)

    def now(self, id_: str) -> Record | None:
        """As `find`, for who only judges the draft and does not add to what it depends on."""
        changed = self._changed.get(id_)
        if changed is not None:
            return changed
        entry = self.state.entries.get(id_)
        return None if entry is None else entry.element

    def find_live(self, id_: str) -> Record | None:
        element = self.find(id_)
        return element if element is not None and element.get("isDeleted") is not True else None

    def get(self, id_: str) -> Record:
        element = self.find(id_)
        assert element is not None
        return element

    def before(self, id_: str) -> Record | None:
        """The element as it was before the call; None for a new one."""
        entry = self.state.entries.get(id_)
        return None if entry is None else entry.element

    def require(self, id_: str, place: str) -> Record:
        """The element of that id. Raises Rejected for an unknown one; `place` says where the call names it."""
        self._named[id_] = None
        element = self.find(id_)
        if element is None:
            raise Rejected("unknown_element", f"{place} names no element of this canvas. Query the canvas for its ids.")
        return element

    def require_live(self, id_: str, place: str) -> Record:
        element = self.require(id_, place)
        if element.get("isDeleted") is True:
            raise Rejected("deleted_element", f"{place} names a deleted element. Restore it first.")
        return element

    def deletion(self, id_: str) -> Record | None:
        """What the deletion of a deleted element took (remove.py)."""
        if id_ in self._deletions:
            return self._deletions[id_]
        entry = self.state.entries.get(id_)
        return None if entry is None else entry.deletion

    def add(self, element: Record, checked: Record | None = None, place: str = "") -> None:
        """Put an element. Raises Rejected when the call changes too much.

        A new one may come with what it was when its fields were checked, which need not be checked again, and with
        where the call gives it, for what is said of it at the end.
        """
        id_ = element["id"]
        assert isinstance(id_, str)
        self.touch(id_, element)
        self._changed[id_] = element
        if checked is not None:
            self._checked[id_] = checked
        if place:
            self._places[id_] = place
        self._note_memberships(element)

    def edit(self, id_: str, fields: Record) -> Record:
        """Set fields of an element; answers it as it then is. Raises Rejected when the call changes too much."""
        element = {**self.get(id_), **fields}
        self.touch(id_, element)
        self._changed[id_] = element
        if "groupIds" in fields or "frameId" in fields:
            self._note_memberships(element)
        return element

    def bound_ids(self, holder_id: str) -> Set[str]:
        """Ids in the element's boundElements, without walking over a long list each time."""
        listed = self.get(holder_id).get("boundElements")
        known = self._bound.get(holder_id)
        if known is None or known[0] is not listed:
            items = listed if isinstance(listed, list) else []
            self.work.listed(len(items))
            ids = {str(item.get("id")) for item in items if isinstance(item, dict)}
            known = self._bound[holder_id] = (listed, ids)
        return known[1]

    def bind(self, holder_id: str, item: Record) -> None:
        """Add what is not listed there yet to the end of the element's boundElements."""
        self.bound_ids(holder_id)
        listed, ids = self._bound[holder_id]
        longer: Value = [*(listed if isinstance(listed, list) else []), item]
        self.edit(holder_id, {"boundElements": longer})
        ids.add(str(item["id"]))  # of this draft alone
        self._bound[holder_id] = (longer, ids)

    def tell_slips(self, element: Record, given: Collection[str], place: str) -> None:
        """Let the answer tell which of the given fields no element of that type has (slips.py)."""
        room = slips_told_max - len(self._slips)
        self._slips += islice(slips(element, given, place), max(room, 0))

    def note_deletion(self, id_: str, deletion: Record | None) -> None:
        self._deletions[id_] = deletion

    def changed_ids(self) -> list[str]:
        """Ids of elements that differ from before the call, in the order in which they were first touched."""
        return [id_ for id_ in self._changed if not self._is_as_before(id_)]

    def members(self, membership: Membership) -> Iterator[Record]:
        """The live elements that belong to that frame or group, as they now are; none is walked over that does not and
        did not. Raises Rejected when the call has looked at too many."""
        kept, joined = self.state.kept.members.get(membership, ()), self._joined.get(membership, ())
        self.work.listed(len(kept) + len(joined))
        for id_ in dict.fromkeys([*kept, *joined]):
            element = self.now(id_)
            if element is not None and element.get("isDeleted") is not True and is_member(element, membership):
                yield element

    def finish(self) -> Decision:
        """Reply and effects. Raises Rejected when an element came out in a way that must not be stored."""
        touched = self.changed_ids()
        noted = [id_ for id_ in self._deletions if id_ not in touched and self._deletion_differs(id_)]
        if not touched and not noted:
            return Decision(outcome.applied(self.head.revision, ()))
        revision = self.head.revision + 1
        sizes = _Sizes()
        entries = [self._entry(id_, revision, position, sizes) for position, id_ in enumerate(touched)]
        # A note on an element that did not change itself must not claim that it did.
        for id_ in noted:
            entries.append(replace(self.state.entries[id_], deletion=self._deletions[id_]))
            sizes.add_present(entries[-1].to_record())
        elements = [Put(element_row(str(entry.element["id"])), entry.to_record()) for entry in entries]
        notes = self._notes_before(entries)
        sizes.add_past([*notes])
        history = self._history(touched, notes, revision)
        head, told = charged(
            self._next_head(entries, revision),
            writing_agent(self.context.principal),
            sizes.present + history_bytes(len(touched)) - (0 if self.approval is None else self.approval.frees),
            self.context,
        )
        effects = (*elements, Put(HEAD, head.to_record()), *history.rows)
        event: Record = {"canvasId": self.context.address.id, "revision": revision, "what": self.what}
        if self.approval is not None:
            event |= {"proposedBy": self.context.principal.label(), "proposalId": self.approval.proposal_id}
        reply = outcome.applied(revision, touched)
        if self._slips and self.approval is None:
            reply["unknownFields"] = [*self._slips]
        return Decision(
            reply,
            (*effects, Event(outcome.CHANGED, {**event, "elements": len(touched)}), *told),
        )

    def _note_memberships(self, element: Record) -> None:
        for membership in memberships(element):
            self._joined.setdefault(membership, []).append(str(element["id"]))

    def _is_as_before(self, id_: str) -> bool:
        before = self.before(id_)
        return before is not None and same_record(before, self._changed[id_])

    def _deletion_differs(self, id_: str) -> bool:
        entry = self.state.entries.get(id_)
        return entry is not None and entry.deletion != self._deletions[id_]

    def _entry(self, id_: str, revision: int, position: int, sizes: _Sizes) -> Entry:
        before, element = self.before(id_), self._changed[id_]
        nonce = self.context.number(f"nonce/{id_}")
        if before is None:
            element = {**element, "version": 1}
        else:
            version, last_nonce = before["version"], before["versionNonce"]
            assert isinstance(version, int)
            element = {**element, "version": version + 1}
            nonce = nonce if nonce != last_nonce else nonce ^ 1
        element = {**element, "versionNonce": nonce, "updated": self._now_ms}
        known = self._checked.get(id_) if before is None else before
        problem = (
            problem_of(element) if known is None else problem_of_changed(known, element, is_whole=before is not None)
        )
        if problem is not None:
            raise Rejected.because(problem, self._places.get(id_, f"The changed element {position} (from 0)"))
        record: Record = {
            "element": element,
            "revision": revision,
            "by": self.context.principal.label(),
            "what": self.what,
        }
        deletion = self.deletion(id_)
        if element["isDeleted"] is True and deletion is not None:
            record["deletion"] = deletion
        sizes.add_present(record)
        sizes.add_past(before)
        return Entry.from_record(record)

    def _next_head(self, entries: Iterable[Entry], revision: int) -> Head:
        live, deleted = self.head.live, self.head.deleted
        for entry in entries:
            before = self.state.entries.get(str(entry.element["id"]))
            if before is not None:
                live, deleted = (live - 1, deleted) if before.is_live else (live, deleted - 1)
            live, deleted = (live + 1, deleted) if entry.is_live else (live, deleted + 1)
        if live + deleted > elements_per_canvas_max:
            raise Rejected(
                "limits", f"A canvas holds at most {elements_per_canvas_max} elements, deleted ones included."
            )
        others = self.head.others or self.context.principal.label() != self.head.created_by
        return replace(self.head, revision=revision, live=live, deleted=deleted, updated_ms=self._now_ms, others=others)

    def _notes_before(self, entries: Iterable[Entry]) -> list[Record]:
        """Of each note on a deletion that this write puts, changes or takes away: what it was."""
        notes: list[Record] = []
        for entry in entries:
            id_ = str(entry.element["id"])
            before = self.state.entries.get(id_)
            if before is not None and before.deletion != entry.deletion:
                notes.append({"id": id_, "before": before.deletion})
        return notes

    def _history(self, touched: list[str], notes: list[Record], revision: int) -> RevisionRows:
        elements: list[Record] = [{"id": id_, "before": self.before(id_)} for id_ in touched]
        record: Record = {
            "revision": revision,
            "atMs": self._now_ms,
            "by": self.context.principal.label(),
            "credential": self.context.principal.credential,
            "callId": self.context.call_id,
            "what": self.what,
            "reason": self.reason,
        }
        if self.approval is not None:
            record["approvedBy"] = self.approval.by
            record["approval"] = {"callId": self.approval.call_id, "reason": self.approval.reason}
        return revision_rows(record, elements, notes)


class _Sizes:
    """Bytes of the rows of a write, added up while they are made. Raises Rejected as soon as they are too many."""

    def __init__(self) -> None:
        self.present = 0
        self._past = 0

    def add_present(self, entry: Record) -> None:
        self.present += encoded_bytes(entry)
        self._check()

    def add_past(self, value: Value) -> None:
        self._past += encoded_bytes(value)
        self._check()

    def _check(self) -> None:
        if self.present + self._past > canvas_write_bytes_max:
            raise Rejected(
                "limits",
                f"This call would write more than {canvas_write_bytes_max} bytes: what it changes, as it is and as it "
                "was. Change fewer elements in one call.",
            )
