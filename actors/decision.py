"""What an owner is given and what it answers (ARCHITECTURE, Owners: decide and apply).

`decide(state, message, context) -> Decision` is pure: it reads only its own state and changes nothing. The effects
that it returns are made durable in one commit with its answer, and only they change the state, by `apply`. State is
nothing but rows: loading an owner applies its stored rows one by one, so what `apply` builds after a commit and what
a restart builds are the same by construction. Rows that are cold (`Rules.cold`) are never applied, neither way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, Protocol, TypeAlias, TypeVar

from bus.address import Address
from bus.identifier import derived_id, derived_number
from bus.limits import cold_rows_bytes_max
from bus.message_record import message_record
from bus.value import Record, Value
from tools.errors import Refusal
from tools.setting_catalogue import DEFAULTS, Snapshot

State = TypeVar("State")


class PrincipalKind(StrEnum):
    """Who may send. The receiving host stamps it from the link; a message never says who sent it."""

    AGENT = "agent"
    PERSON = "person"
    OWNER = "owner"
    TIMER = "timer"
    GATEWAY = "gateway"


@message_record
class Principal:
    """Who sent a message, and as what."""

    kind: PrincipalKind
    agent_id: str = ""
    """For AGENT: who calls."""
    workspace_id: str = ""
    """For AGENT: the scope that admission resolved."""
    credential: str = ""
    """For AGENT: which of its credentials."""
    version: int = 0
    """For AGENT: of the authority under which the call was admitted."""
    chain: tuple[str, ...] = ()
    """For AGENT: the agents whose tasks it was at when the call was admitted, by id (security 2.24)."""
    chain_more: int = 0
    """For AGENT: how many more there were."""
    owner: Address | None = None
    """For OWNER: which owner sent the message."""
    gateway: str = ""
    """For GATEWAY: the incarnation that its link proved. What it lends counts only through itself (0012)."""

    def label(self) -> str:
        """How the event log and histories name who did it: an agent's id, `person`, an owner's address."""
        match self.kind:
            case PrincipalKind.AGENT:
                return self.agent_id
            case PrincipalKind.OWNER:
                return str(self.owner)
            case PrincipalKind.PERSON | PrincipalKind.GATEWAY | PrincipalKind.TIMER:
                return self.kind.value


@message_record
class Message:
    """One message to one owner: a tool's name with its arguments, or an internal verb with its facts."""

    verb: str
    body: Record


@message_record
class ColdRow:
    """A row that loading leaves out, read for one decision."""

    row: str
    value: Value


@message_record
class Context:
    """Everything a decision may know besides the state and the message."""

    now_ms: int
    principal: Principal
    call_id: str
    """The call's or message's id: stable when it is decided again after a crash."""
    address: Address
    """The owner's own address."""
    source: tuple[int, int] | None = None
    """For a parcel: the shard that sent it and the sequence of its commit there - a projection's cursor."""
    settings: Snapshot = DEFAULTS
    """The person's settings as they were last published to this host."""
    cold: tuple[ColdRow, ...] = ()
    """What the verb's `cold_rows` asked for, highest name first."""

    def new_id(self, label: str = "") -> str:
        """A time-ordered id, the same whenever this call is decided with the same label in this millisecond."""
        return derived_id(self.now_ms, self.call_id, label)

    def number(self, label: str) -> int:
        """A number in 0..2**31-1 derived from the call (Excalidraw's seed, versionNonce)."""
        return derived_number(self.call_id, label)


@message_record
class Put:
    """Write one row of this owner's state. `row` is at most 300 bytes in UTF-8; `value` is plain data."""

    row: str
    value: Value


@message_record
class Delete:
    row: str


@message_record
class Event:
    """Something that happened, for the event log: attributed and dated by the host (common 8.4)."""

    type: str
    """From the catalogue in bus/events.py."""
    data: Record


@message_record
class Send:
    """A message to another owner, delivered once in effect, in the order of commits (ARCHITECTURE, Outbox)."""

    to: Address
    verb: str
    body: Record
    before_reply: bool = False
    """The reply of this decision waits, bounded, until the receiver has committed the message's effect."""


@message_record
class Answer:
    """Close a call that an earlier decision left open (by `reply=None`)."""

    call_id: str
    reply: Record | Refusal


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Send oneself `verb` with `body` at `due_ms`, once in effect; a timer of the same name is replaced.

    It may come late (a host that was down), never early. The handler is sent by principal TIMER.
    """

    name: str
    """At most 200 bytes in UTF-8."""
    due_ms: int
    verb: str
    body: Record


@dataclass(frozen=True, slots=True)
class CancelTimer:
    """No effect if there is no such timer."""

    name: str


@message_record
class Dispatch:
    """Send an admitted call of this agent on, in the commit that charges, records or consumes for it (0009).

    Its owner decides it as the agent's own call, and tells this owner by `settled {callId, ok | error}` in the same
    commit; a look decides nothing and tells `looked {callId, would, fingerprint}`.
    """

    to: Address
    tool: str
    arguments: Record
    call_id: str
    stamp: Record
    """As admission gives it: agentId, workspaceId, credential, version, issuedMs."""
    deadline_ms: int | None = None
    """Host time after which it is refused instead of decided; None: it is never too late."""
    fingerprint: Record | None = None
    """What the target must still be; otherwise nothing is decided and it is settled as `approval_lapsed`."""
    as_of_now: bool = False
    """The target's current revision is put in for the one that the arguments name."""
    is_look: bool = False


@message_record
class TellHosts:
    """A message to every shard host; the reply of this decision waits for all of them."""

    verb: str
    body: Record


@message_record
class Notify:
    """When the commit is durable, gateways that listen for `topic` are told (docs/decisions/0012).

    A hint and never stored: it comes with the rows that it speaks of, and who hears it reads what is true then.
    """

    topic: str
    """From bus/topics.py."""
    data: Record


Effect: TypeAlias = Put | Delete | Event | Send | Answer | SetTimer | CancelTimer | Dispatch | TellHosts | Notify
RowEffect: TypeAlias = Put | Delete


@message_record
class Decision:
    """`reply` None leaves the call open until an `Answer` names it. Refusals normally carry no effects."""

    reply: Record | Refusal | None
    effects: tuple[Effect, ...] = ()


Decide: TypeAlias = Callable[[State, Message, Context], Decision]
Fingerprint: TypeAlias = Callable[[State, Message, Context], Record]
AsOfNow: TypeAlias = Callable[[State, Record], Record]
Prepare: TypeAlias = Callable[[State], bool]
"""A step of some milliseconds towards what is derived of a large state and `decide` looks at; whether it is there. It
changes nothing that rules can tell."""


@message_record
class ColdRows:
    """Of the rows under one prefix of `Rules.cold`: the `limit` whose names are the highest below `before`.

    Reading ends with the row that makes them `bytes_max` together or more, so one at least is read, if there is one.
    """

    prefix: str
    before: str | None
    """None: from the highest one on."""
    limit: int
    """At most `cold_rows_max` are read."""
    bytes_max: int = cold_rows_bytes_max
    down_to: str | None = None
    """The lowest name that is wanted; None: down to the lowest one."""
    parts: bool = True
    """Whether rows named `PREFIX/NAME/PART` are wanted too, or only `PREFIX/NAME`. What is not wanted is skipped."""
    names_only: bool = False
    """Values are None and never unpacked, so a damaged row is like any other."""

    def wants(self, row: str) -> bool:
        """Whether a row of that name is one of them, as far as its name tells."""
        return (
            row.startswith(self.prefix)
            and (self.before is None or row.encode() < self.before.encode())
            and (self.down_to is None or row.encode() >= self.down_to.encode())
            and (self.parts or "/" not in row.removeprefix(self.prefix))
        )


WantCold: TypeAlias = Callable[[Message], ColdRows | None]


@dataclass(frozen=True, slots=True)
class Verb(Generic[State]):
    """One row of an owner's table: who may send the verb, and the pure function that decides it."""

    decide: Decide[State]
    callers: frozenset[PrincipalKind]
    head_only: bool = False
    """Decides from rows named `head` or `head/...` alone, so a large owner need not be loaded (canvas 5)."""
    writes_on_full_disk: bool = False
    """What a call of it writes is little and rare, whoever calls: it is written from the reserve (common 8.5)."""
    fingerprint: Fingerprint[State] | None = None
    """Of a tool that can need an approval: what of its target a card shows, and what may not change before it runs
    (common 5.3). Flat: names to one-line strings and numbers, in the order in which a card shows them. Pure."""
    as_of_now: AsOfNow[State] | None = None
    """The arguments with the target's current revision put in (work-plan-tool, collected plans). Pure."""
    prepare: Prepare[State] | None = None
    """Asked before `decide`, again and again with turns of other owners in between, until it says that all is there."""
    cold_rows: WantCold | None = None
    """Which cold rows its decision reads (`Context.cold`). Of a message not checked yet; None: of none. Pure."""


Upgrade: TypeAlias = Callable[[str, Value], Value]
"""Brings the value of a row one record version further: (row, value) -> value. Pure."""


class Rules(Protocol[State]):
    """One kind of owner; `actors/roster.py` maps its kind to an instance. Kinds inherit what they leave alone."""

    @property
    def kind(self) -> str: ...

    @property
    def verbs(self) -> Mapping[str, Verb[State]]:
        """A verb that is absent is a defect of the sender."""
        ...

    @property
    def record_version(self) -> int:
        """The version in which rows are written now, from 1; one more whenever a row's meaning changes."""
        return 1

    @property
    def upgrades(self) -> Mapping[int, Upgrade]:
        """For each older version, the step to the next one. Rows are upgraded when they are read."""
        return {}

    @property
    def cold(self) -> tuple[str, ...]:
        """Beginnings of the names of rows that are no part of the state: they are stored with the rest, never applied,
        and however many there are, loading does not meet them. A decision that needs some asks for them."""
        return ()

    def is_cold(self, row: str) -> bool:
        return row.startswith(self.cold)

    @property
    def follows(self) -> frozenset[str]:
        """For a projection: the types of events that it is sent as `events_happened`, by outbox."""
        return frozenset()

    def new_state(self) -> State:
        """The state of an owner that has no rows."""
        ...

    def apply(self, state: State, effect: RowEffect) -> None:
        """Change `state` by one row; called when loading and after each decision, by one thread at a time."""
        ...

    def problems(self, state: State) -> list[str]:
        """What should hold of every stored state and does not, a sentence each; `nexus-bus doctor` asks. Pure."""
        return []

    def shed(self, state: State) -> bool:
        """Let go of a part of a state that is not used any more; whether the rest is small. Large kinds do it in
        steps, since freeing millions of values at once holds the interpreter."""
        return True


@dataclass(frozen=True, slots=True)
class VerbTable(Generic[State]):
    """Builds an owner's table from its parts, refusing doubled verbs at import."""

    verbs: Mapping[str, Verb[State]] = field(default_factory=dict)

    def __or__(self, other: VerbTable[State]) -> VerbTable[State]:
        doubled = self.verbs.keys() & other.verbs.keys()
        if doubled:
            raise ValueError(f"verbs declared twice: {sorted(doubled)}")
        return VerbTable({**self.verbs, **other.verbs})
