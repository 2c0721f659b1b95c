"""What was written down, measured and judged."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from counterpoint.core.model.rows import (
    Agent,
    Digest,
    Id,
    InSession,
    JsonText,
    Name,
    Names,
    Noun,
    Number,
    PlainHash,
    Prose,
    Proses,
    Searched,
    Time,
    Touched,
    Version,
    Word,
)
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import frozen

NoteKind = Literal["decision", "finding", "learning", "blocker", "milestone", "comment", "thought"]
"""What somebody writes down for others to read."""
RecordKind = Literal[
    NoteKind,
    "log",
    "checkpoint",
    "artifact",
    "coverage",
    "test_health",
]
"""The notes, and what a session reports of its work as it goes: a line of its log, a place to go on
from, a file it made, a file it looked through, how the tests stand."""
Outcomes = Literal["done", "partial", "failed", "skipped"]


NEEDS_PERSON: Final = "needs-person"
"""The tag of a blocker that was written for a person: work may end with it, and what needs that work waits."""


@frozen
class Record(Noun):
    """One appended line: a decision, a finding, a learning or a blocker.

    status: `open` or `resolved` for a blocker, empty for the others.
    details: a JSON object as text; what a dialect keeps beside the text.
    """

    table: ClassVar[str] = "records"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    letter: ClassVar[str] = "r"
    indexes: ClassVar[tuple[str, ...]] = (
        "number",
        "item,kind,number",
        "kind,status,number",
        "session,kind,number",
    )
    searched: ClassVar[Searched | None] = Searched(
        title=("title", "tags"), body="body", about="item", kind="kind"
    )

    id: Id
    number: Number
    kind: RecordKind
    item: Id
    session: InSession
    agent: Agent
    title: Prose
    body: Prose
    tags: Names
    files: Names
    details: JsonText
    status: Word
    resolution: Prose
    resolved_by: Name
    created_at: Timestamp
    resolved_at: Time


@frozen
class StartPoint(Noun):
    """The tree as it was when a claim began; `files` is a JSON object path → SHA-256.

    tree: which working tree it is, by its path from the project's own.
    """

    table: ClassVar[str] = "start_points"
    key: ClassVar[tuple[str, ...]] = ("project", "item", "token")

    item: Id
    token: int
    method: Word
    commit: Digest
    branch: Name
    files: JsonText
    taken_at: Timestamp
    tree: Name = "."


@frozen
class Outcome(Noun):
    """How one claim of an item ended; `evidence` is the measured comparison as JSON text."""

    table: ClassVar[str] = "outcomes"
    key: ClassVar[tuple[str, ...]] = ("project", "item", "token")
    searched: ClassVar[Searched | None] = Searched(body="summary", about="item")

    item: Id
    token: int
    session: InSession
    agent: Agent
    outcome: Outcomes
    summary: Prose
    achievements: Proses
    limitations: Proses
    next_steps: Proses
    evidence: JsonText
    remarks: Proses
    ended_at: Timestamp


_LIMITS: Final = {
    "time": ("it ran too long", "seconds", " seconds"),
    "memory": ("it took too much memory", "memory_bytes", " bytes"),
    "processes": ("it had too many processes at once", "processes", ""),
    "output": ("it wrote too much output", "output_bytes", " bytes"),
    "cancelled": ("its call was cancelled", "", ""),
}
"""What is said of a command that was ended for a quota, which of its terms that was, and of what."""
_HIDDEN: Final = (
    '`{0}` of the home is hidden from checks. If this one needs it, add `home = ["{0}"]` below `[checks]` in '
    "counterpoint.toml; it counts once a person has run `counterpoint trust`"
)
_NOT_REACHED: Final = (
    'what {0} leads to is hidden from checks. If this one needs it, add `sockets = ["{0}"]` below `[checks]` in '
    "counterpoint.toml; it counts once a person has run `counterpoint trust`"
)
_READ_ONLY: Final = "`{0}` is read-only for checks, since git starts programs by it. What has to write there is done outside of a check"
ASIDE: Final = ".left-by-a-check"
"""What the name under which something is put aside after a check ends with, before its number."""
_PUT_ASIDE: Final = (
    "`{0}` was not there before this check, or was a link: what was there after it is now `{1}`. If you made it while the check ran,"
    " move it back"
)
_LEFTOVER: Final = "left by this check or made while it ran, and not put aside: {0}"


@frozen
class Receipt(Noun):
    """A command that this server ran, signed.

    signature: Ed25519 (hex) over the canonical bytes of every field but `signature`, with each
        prose named by its commitment, as in the ledger.
    files: the tree after the command, as in a StartPoint, so that later edits are seen.
    program, program_sha256: the file that was run. sandbox: what confined it. terms: what it was run under, in words
        such as `seconds=600`, with the quota that it was ended for and why it was no better confined.
    """

    table: ClassVar[str] = "receipts"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    letter: ClassVar[str] = "c"
    indexes: ClassVar[tuple[str, ...]] = ("number", "item,number")

    id: Id
    number: Number
    item: Id
    gate: Name
    session: InSession
    agent: Agent
    argv: Proses
    folder: Name
    command_sha256: PlainHash
    exit_code: int
    timed_out: bool
    output: Prose
    output_sha256: PlainHash
    output_bytes: int
    method: Word
    commit: Digest
    files: JsonText
    started_at: Timestamp
    ended_at: Timestamp
    program: Prose
    program_sha256: Digest
    sandbox: Word
    terms: Names
    signature: Digest

    @property
    def ended_for(self) -> str:
        """Return in words which of its limits the command was ended for; empty if it ended by itself."""
        parts = (term.partition("=") for term in self.terms)
        values = {name: text for name, _, text in parts}
        quota = values.get("ended_for", "time" if self.timed_out else "")
        words, limit, unit = _LIMITS.get(quota, (quota, "", ""))
        return f"{words} ({values[limit]}{unit} at most)" if limit in values else words

    @property
    def remarks(self) -> list[str]:
        """Return what the sandbox kept from the command, each with the next step."""
        parts = [term.partition("=") for term in self.terms]
        logins = [value for name, _, value in parts if name == "hidden"]
        asides = {
            value.rpartition(ASIDE)[0]: value for name, _, value in parts if name == "put_aside"
        }
        paths = [value for name, _, value in parts if name == "read_only" and value not in asides]
        return [
            # Variables are written in capitals, logins are paths in the home.
            *((_NOT_REACHED if name.isupper() else _HIDDEN).format(name) for name in logins),
            *(_READ_ONLY.format(path) for path in paths),
            *(_PUT_ASIDE.format(path, aside) for path, aside in asides.items()),
            *(_LEFTOVER.format(value) for name, _, value in parts if name == "leftover"),
        ]


SubmissionKind = Literal["artifact", "phase", "branch"]
SubmissionStatus = Literal["open", "accepted", "rejected", "superseded", "stale"]
"""`accepted` also where no verdict was needed; `stale` if the item went on before anybody looked."""
Decision = Literal["approve", "reject"]


@frozen
class Submission(Noun):
    """A session's word that work is finished: an item with its artifact, a phase of it, or a branch.

    of: what was handed in. phase: which phase of the item, if it is one.
    path, sha256, size: the file that shows it, measured in `tree`; empty without one.
    commit: the head that was measured; a branch that goes on is measured anew.
    base: the branch that the commits go back to. run: the run of an agent that it came from.
    details: a JSON object as text; what a dialect keeps beside. reasons: why it has its status.
    """

    table: ClassVar[str] = "submissions"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    letter: ClassVar[str] = "s"
    indexes: ClassVar[tuple[str, ...]] = ("number", "item,number", "of,status,number")
    searched: ClassVar[Searched | None] = Searched(body="summary", about="item")

    id: Id
    number: Number
    item: Id
    of: SubmissionKind
    phase: Name
    session: InSession
    agent: Agent
    run: Name
    path: Name
    sha256: Digest
    size: int
    commit: Digest
    tree: Name
    branch: Name
    base: Name
    summary: Prose
    details: JsonText
    status: SubmissionStatus
    reasons: Proses
    created_at: Timestamp
    updated_at: Touched

    @property
    def is_live(self) -> bool:
        """Whether a verdict on it counts: it is open, or an accepted branch that is not merged."""
        return self.status == "open" or (self.of == "branch" and self.status == "accepted")


@frozen
class Changeset(Noun):
    """What a branch that was handed in differs in from its base, and what was found out about it.

    source: `git` if the server measured the difference itself, `sent` if somebody gave it.
    gates: a JSON array of results, each with `verified`. risk: a JSON object with the parts and the
    reasons. remarks: in words.
    """

    table: ClassVar[str] = "changesets"
    key: ClassVar[tuple[str, ...]] = ("project", "submission")

    submission: Id
    base_commit: Digest
    source: Literal["git", "sent"]
    diff: Prose
    files: int
    additions: int
    deletions: int
    paths: Names
    gates: JsonText
    risk_level: Word
    risk_score: int
    risk: JsonText
    remarks: Prose


@frozen
class Verdict(Noun):
    """A reviewer's approval or rejection of what has the hash or commit `subject`.

    submission: what was handed in; empty for the start of an item, or work that was only finished.
    independence: how surely the judge is somebody else, an `Independence`.
    """

    table: ClassVar[str] = "verdicts"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    letter: ClassVar[str] = "v"
    indexes: ClassVar[tuple[str, ...]] = ("number", "item,number", "submission,number")
    searched: ClassVar[Searched | None] = Searched(body="reason", about="item")

    id: Id
    number: Number
    item: Id
    submission: Id
    session: InSession
    agent: Agent
    run: Name
    decision: Decision
    subject: Name
    reason: Prose
    fixes: Proses
    independence: Word
    created_at: Timestamp


@frozen
class StateEntry(Noun):
    """A remembered value: any JSON, as text, under a scope (`project`, `profile:<name>`, an item).

    category: a word to find the values of one sort by; empty without one.
    """

    table: ClassVar[str] = "state"
    key: ClassVar[tuple[str, ...]] = ("project", "scope", "name")

    scope: Name
    name: Name
    value: JsonText
    version: Version
    agent: Agent
    updated_at: Touched
    category: Name
    description: Prose


@frozen
class Profile(Noun):
    """A role an agent works in: what it is told and which tools it may call."""

    table: ClassVar[str] = "profiles"
    key: ClassVar[tuple[str, ...]] = ("project", "name")

    name: Name
    title: Prose
    instructions: Prose
    allowed_tools: Names
    denied_tools: Names
    updated_at: Touched


@frozen
class Reply(Noun):
    """What was answered to a write under an idempotency key, so that a retry gets it again.

    holder: whose key it is: the session with which the connection came, by which who was started again finds it;
        of who has none, whom `rules.claims.principal_id_of` names.
    request: SHA-256 of what was asked. It goes when any text is taken away, for nobody knows which
        texts it was made of; from then on no request can be told to be the same.
    """

    table: ClassVar[str] = "replies"
    key: ClassVar[tuple[str, ...]] = ("project", "holder", "name")

    holder: Name
    name: Name
    request: PlainHash
    answer: JsonText
    created_at: Timestamp


@frozen
class Transition(Noun):
    """One move of an item whose table wants its moves written down.

    number: its place among the moves of the item, from 1. origin, goal: the states before and after.
    reason, agent, session: why and by whom.
    attempt: the how-manieth try this belongs to, from 1; it rises when a check sends the work back.
    mark: the number of the last record of the project before the move: what was written since then
        has a higher one, whatever any clock said.
    """

    table: ClassVar[str] = "transitions"
    key: ClassVar[tuple[str, ...]] = ("project", "item", "number")

    item: Id
    number: int
    origin: Word
    goal: Word
    reason: Prose
    agent: Agent
    session: InSession
    attempt: int
    mark: int
    at: Timestamp
