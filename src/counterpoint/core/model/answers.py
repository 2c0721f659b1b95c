"""What verbs answer: nouns put together, frozen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Literal, TypeVar

from counterpoint.core.model.evidence import Apart, FileChange
from counterpoint.core.model.journal import (
    Outcome,
    Receipt,
    Record,
    StartPoint,
    Submission,
    Verdict,
)
from counterpoint.core.model.presence import Departure
from counterpoint.core.model.rows import Noun
from counterpoint.core.model.sessions import Claim, Handoff, Session
from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.model.trust.heads import Epoch, QuorumReport, Witnessed
from counterpoint.core.model.work import Criterion, Gate, Item, Project
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import CounterpointError
from counterpoint.kernel.frozen import frozen

Word = TypeVar("Word", bound=str)
ObstacleKind = Literal["parked", "need", "gate", "blocker"]
Standing = Literal["open", "active", "done", "blocked", "skipped"]
"""How a part of a whole stands; blocked is one that has an open blocker and is not closed."""
StateKey = tuple[str, str]
"""A state and its category, both as they are kept with an item: its table need not be installed."""


@frozen
class Measured:
    """The evidence an outcome keeps: what changed, by whom it is not said."""

    method: str
    start_commit: str
    end_commit: str
    files: tuple[FileChange, ...]
    file_count: int
    insertions: int
    deletions: int
    commits: tuple[str, ...]
    warnings: tuple[str, ...]
    marks: str = ""
    apart: tuple[Apart, ...] = ()


@frozen
class Obstacle:
    """One open thing in the way of an item.

    kind: `parked` a state in which nothing is offered, `need` an item that is not done, `gate` a closed gate
        that holds the start, `blocker` an open record. thing: that item, gate or record.
    item: what it is in the way of: the item that was asked for, or one above it.
    """

    kind: ObstacleKind
    item: Item
    thing: Item | Gate | Record


@frozen
class Readiness:
    """The judgment and its reasons, in words.

    may_go_on: whether a word may move the item on: it is ready, or was begun and nobody holds it.
    is_blocked: an open blocker is among the reasons. is_mine: who asks is at it now.
    """

    is_ready: bool
    may_go_on: bool
    reasons: tuple[str, ...]
    held_by: str = ""
    is_blocked: bool = False
    is_mine: bool = False

    @property
    def is_offered(self) -> bool:
        """Whether it waits for somebody to take it up: what is held does not, whoever asks."""
        return self.is_ready and not self.is_mine


@frozen
class MovedPart:
    """A part of a whole after a move. skipped: the titles of what was still open below it and is skipped now."""

    item: Item
    standing: Standing
    skipped: tuple[str, ...]


@frozen
class Finished:
    """What became of an item; `measured` is None if an earlier call finished it already.

    changes: every file that changed; what is kept may name fewer.
    """

    item: Item
    outcome: Outcome
    measured: Measured | None
    released: tuple[str, ...]
    parent: Item | None
    changes: tuple[FileChange, ...] = ()


@frozen
class Submitted:
    """A submission, the item after it, and the gates that are still closed."""

    submission: Submission
    item: Item
    closed: tuple[Gate, ...]


@frozen
class Reviewed:
    """A verdict, what it is on, the item after it, and the gates that are still closed."""

    verdict: Verdict
    submission: Submission | None
    item: Item
    closed: tuple[Gate, ...]


@frozen
class Checked:
    """The receipts in the order of running; whether all passed."""

    receipts: tuple[Receipt, ...]
    passed: bool


@frozen
class HandedOver:
    """The session after it, the handoff that is there to read, and the claims that moved."""

    session: Session
    handoff: Handoff | None
    claims: tuple[Claim, ...]


@frozen
class ReadyItem:
    """A ready item, with why, and how many others wait for it."""

    item: Item
    why: tuple[str, ...]
    unblocks: int


@frozen
class CreatedPlan:
    """What a plan became: its root, every item in the order of the draft, what is ready.

    deadlocks: what keeps a part of it from ever being taken up, in words.
    """

    root: Item
    items: tuple[Item, ...]
    ready: tuple[str, ...]
    deadlocks: tuple[str, ...] = ()


@frozen
class PlanChange:
    """An item that a plan has changed, and which of its fields."""

    item: Item
    fields: tuple[str, ...]


@frozen
class PlanUpdate:
    """What an open plan became by what its file says now.

    created, ready: new items, and which of them could start. gone: items whose lines went, which stay. beside: open items that
    were added without the file, which stay. pruned: those that were cancelled because their lines went. remarks: lines that changed nothing, and why.
    """

    root: Item
    created: tuple[Item, ...] = ()
    ready: tuple[str, ...] = ()
    changed: tuple[PlanChange, ...] = ()
    gone: tuple[Item, ...] = ()
    beside: tuple[Item, ...] = ()
    pruned: tuple[Item, ...] = ()
    remarks: tuple[str, ...] = ()
    deadlocks: tuple[str, ...] = ()


@frozen
class Started:
    """An item that the caller now holds; `renewed` if it held it before."""

    item: Item
    claim: Claim
    snapshot: StartPoint
    warnings: tuple[str, ...]
    renewed: bool
    taken_over_from: str


Extent = Literal["whole", "entries", "soon"]
"""How far a verification looks: at everything; only at the entries, with what stands beside them and the tree; or as far as
somebody waits: at everything unless there are too many entries, and without asking witnesses elsewhere."""


@frozen
class Audit:
    """What a verification found; sound if and only if there are no faults.

    anchored: how many entries the checkpoint kept outside vouches for.
    redacted: how many texts are gone on purpose; the chain holds without them. confirmed: how many acts people signed.
    self_judged: how many entries say that people judged their own work.
    rows: how many rows of each table were compared; none if only the entries were looked at.
    signed, unsigned: how many entries of connections and credentials carry a signature of theirs, and how many none;
    unsigned_places: where the first of these are.
    remarks: what could not be compared with, in words; no fault of the ledger.
    unseen: what was not looked at, as it was asked.
    key: the verifier key that signs; empty if nothing was signed yet. epochs: those that a person has opened.
    witnesses: what others than the signer have of the ledger. quorum: who of those that must sign has signed.
    signers: how many people must sign acts on policies, keys and epochs. fewer_signers: the entries that made it fewer.
    """

    project: str
    size: int
    root: str
    last: str
    anchored: int
    redacted: int
    rows: Mapping[str, int]
    faults: tuple[CounterpointError, ...]
    remarks: tuple[str, ...] = ()
    witnesses: tuple[Witnessed, ...] = ()
    confirmed: int = 0
    self_judged: int = 0
    signed: int = 0
    unsigned: int = 0
    unsigned_places: tuple[int, ...] = ()
    unseen: tuple[str, ...] = ()
    key: str = ""
    epochs: tuple[Epoch, ...] = ()
    quorum: QuorumReport = field(default_factory=QuorumReport)
    signers: int = 1
    fewer_signers: tuple[int, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


@frozen
class Proof:
    """A proof about the ledger's tree; hashes as hex, in the order of RFC 6962.

    asked: the size that was asked for, if no head of it was signed.
    """

    size: int
    root: str
    path: tuple[str, ...]
    checkpoint: str
    sequence: int = -1
    leaf: str = ""
    entry: str = ""
    first_size: int = -1
    first_root: str = ""
    asked: int = -1


@frozen
class Rebuilt:
    """What a replay found: rows compared in each table, and what differs."""

    size: int
    rows: dict[str, int]
    differences: tuple[CounterpointError, ...]


@frozen
class Progress:
    """How the parts of a whole stand.

    states: how many parts are in each state, with the category that is kept beside it.
    blocked: how many of these have an open blocker.
    """

    states: Mapping[StateKey, int] = field(default_factory=dict[StateKey, int])
    blocked: Mapping[StateKey, int] = field(default_factory=dict[StateKey, int])

    @property
    def total(self) -> int:
        """How many parts there are."""
        return sum(self.states.values())

    def counted(self, word: Callable[[str, str, bool], Word]) -> Counter[Word]:
        """Return how many parts there are for each word.

        word: answers what a state of a category is called, and what it is called with an open blocker.
        """
        counts: Counter[Word] = Counter()
        for (status, category), count in self.states.items():
            blocked = self.blocked.get((status, category), 0)
            if count > blocked:
                counts[word(status, category, False)] += count - blocked
            if blocked:
                counts[word(status, category, True)] += blocked
        return counts

    def by_category(self) -> dict[str, int]:
        """Return how many parts there are of each category."""
        return dict(self.counted(lambda _status, category, _blocked: category))


_NO_PARTS = Progress()


@frozen
class ItemView:
    """An item with what hangs on it; what was not asked for is empty.

    names: its other names by scope. attributes: the values that are kept with it, by name.
    needs: the items that it comes after. blockers: its open blockers, the oldest first.
    outcome: how its last claim ended. attempt: which try this is, where moves are written down.
    progress: how the items directly below it stand.
    """

    item: Item
    labels: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    attributes: Mapping[str, Json] = field(default_factory=dict[str, Json])
    needs: tuple[Item, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    blockers: tuple[Record, ...] = ()
    outcome: Outcome | None = None
    attempt: int = 1
    progress: Progress = _NO_PARTS


@frozen
class Facets(ItemView):
    """An item with everything small that hangs on it; claim: the last one; rejection: the verdict that sent it back.

    departure: that the holder of a claim in force is gone.
    """

    needed_by: tuple[str, ...]
    areas: tuple[str, ...]
    gates: tuple[Gate, ...]
    claim: Claim | None
    readiness: Readiness
    rejection: Verdict | None
    departure: Departure | None = None


@frozen
class Live:
    """A claim that is held now, with its item; departure: that its holder is gone, None while nobody can tell."""

    claim: Claim
    item: Item
    departure: Departure | None = None

    def is_abandoned(self, now: Timestamp) -> bool:
        """Return whether others may take the item over: its lease has run out, or its holder is gone for long enough."""
        is_gone = self.departure is not None and now >= self.departure.free_at
        return is_gone or not self.claim.is_live(now)


@frozen
class Continuation:
    """What somebody has begun or left, and can go on with.

    session: in which that is: his own, or one of before that he has to take up. held: what it holds; nothing is
    where a session was opened for work or an audit, or paused. left: the last that was written down in it; None if
    nothing was.
    """

    session: Session
    held: tuple[Live, ...]
    left: Record | Handoff | None


@frozen
class Release:
    """A claim that somebody has freed, as its holder is told.

    by: who did it. at: when.
    """

    item: str
    token: int
    by: str
    at: Timestamp


@frozen
class News:
    """What others did with work that a session holds or held, as its holder is told.

    text: who did what and when. hint: what comes next, with acts that a dialect says in its words.
    """

    item: str
    kind: Literal["given_up", "taken_over", "released", "changed"]
    text: str
    hint: str


@frozen
class Ahead:
    """How far the time of a ledger is ahead of the clock: time stands still in it until the clock has caught up.

    since: the first entry that is ahead. after: the time of the one before that; empty if it is the first.
    """

    seconds: int
    since: int
    after: str


@frozen
class State:
    """The state of a project in numbers and names.

    counts: how many items there are of each category, for each kind. ahead: of this clock, by more than clocks may
    differ; None while it is not.
    """

    project: Project
    counts: dict[str, dict[str, int]]
    live: tuple[Live, ...]
    blockers: tuple[Record, ...]
    in_review: tuple[Item, ...]
    roots: tuple[Item, ...]
    ledger_size: int
    last_entry_at: str
    now: Timestamp
    ahead: Ahead | None


Step = Literal["submit", "review", "mend"]
"""What an item waits for: that somebody hands it in, that somebody judges it, that what sent it back is mended."""


@frozen
class Awaiting:
    """An item whose end waits for somebody.

    rejection: the verdict that sent it back. is_whole: nothing below it is open. is_mine: the caller has a part in it.
    """

    item: Item
    step: Step
    rejection: Verdict | None
    is_whole: bool
    is_mine: bool


@frozen
class Found:
    """A row that a search found; a higher score is a better match."""

    kind: str
    score: float
    item: str
    row: Noun


@frozen
class Earlier:
    """What a value was after an entry: its JSON as text; None if only its words changed."""

    sequence: int
    version: int
    value: str | None
    agent: str
    at: Timestamp


@frozen
class ItemChange:
    """What one entry did to one item, or to a record about one.

    item: with the title and the state that the entry gave it; all else is as it is now, as are the
        `attributes`. above: the items that hold it, from the root down.
    record: the record that was written, as it is now; None if the item itself was.
    changed: the columns that were written of the item or the record. made: whether it is new.
    outcome: how the last claim of the item had ended by then, if one had.
    """

    sequence: int
    time: Timestamp
    item: Item
    above: tuple[Item, ...]
    record: Record | None
    changed: frozenset[str]
    made: bool
    attributes: Mapping[str, Json]
    outcome: Outcome | None


@frozen
class Brief:
    """What a brief is made of.

    facets: of the item that it is about, if it is about one. lacking: commands of the offers that nobody let be run, by item.
    """

    state: State
    facets: Facets | None
    held: tuple[Live, ...]
    handoff: Handoff | None
    offers: Sequence[ReadyItem]
    lacking: Mapping[str, Lacking]
    awaiting: Sequence[Awaiting]
    begun: Sequence[Continuation]
    released: Sequence[Release]
    news: Sequence[News]
    decisions: Sequence[Record]
    learnings: Sequence[Record]
