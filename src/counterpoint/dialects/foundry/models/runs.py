"""Unattended runs of specs: their words, their limits and their rows.

A run is a session of the core (purpose `work`, its item the spec) with one `SpecSession` beside it, one `SessionStep`
for each step that was issued in it, and one `GateEvidence` for each attempt at a gate that a reviewer judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar, Final, Literal, NamedTuple, get_args

from counterpoint.core.model.lifecycles import Lifecycle
from counterpoint.core.model.rows import (
    Agent,
    Digest,
    Id,
    JsonText,
    Name,
    Names,
    Noun,
    Partial,
    PlainHash,
    Prose,
    Time,
    Touched,
    Version,
    Word,
)
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import frozen

SessionStatus = Literal["running", "paused", "completed", "failed", "ended"]
STATUSES: Final[tuple[SessionStatus, ...]] = get_args(SessionStatus)
PauseReason = Literal[
    "user",
    "context_limit",
    "error_threshold",
    "blocked",
    "gate_failed",
    "gate_review_required",
    "task_limit",
    "heartbeat_stale",
    "step_stale",
    "phase_complete",
    "fidelity_cycle_limit",
]
PAUSE_REASONS: Final[tuple[PauseReason, ...]] = get_args(PauseReason)
FailureReason = Literal[
    "spec_not_found", "spec_structure_changed", "state_corrupt", "migration_failed"
]
"""`migration_failed` is a word of the contract that nothing here gives: rows are migrated before a run is met."""
StepType = Literal[
    "implement_task",
    "execute_verification",
    "run_fidelity_gate",
    "address_fidelity_feedback",
    "pause",
    "complete_spec",
]
STEP_TYPES: Final[tuple[StepType, ...]] = get_args(StepType)
TASK_STEPS: Final[frozenset[StepType]] = frozenset({"implement_task", "execute_verification"})
"""Steps that are about a task."""
CLOSING_STEPS: Final[frozenset[StepType]] = frozenset({"pause", "complete_spec"})
"""Steps in which nothing is to be done: they are only reported back, and never grow stale."""
Outcome = Literal["success", "failure", "skipped"]
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
GatePolicy = Literal["strict", "lenient", "manual"]
GATE_POLICIES: Final[tuple[GatePolicy, ...]] = get_args(GatePolicy)
GateKind = Literal["fidelity", "manual_review"]
GateStatus = Literal["pending", "passed", "failed", "waived"]
GATE_STATUSES: Final[tuple[GateStatus, ...]] = get_args(GateStatus)
Verdict = Literal["pass", "warn", "fail"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
Posture = Literal["unattended", "supervised", "debug"]
POSTURES: Final[tuple[Posture, ...]] = get_args(Posture)
Role = Literal["maintainer", "autonomy_runner", "observer"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
ReasonCode = Literal[
    "stuck_agent", "corrupt_state", "operator_override", "incident_response", "testing"
]
REASON_CODES: Final[tuple[ReasonCode, ...]] = get_args(ReasonCode)
"""Why a run was ended or reset, or a gate waived."""
Command = Literal["start", "pause", "resume", "rebase", "end", "reset"]
COMMANDS: Final[tuple[Command, ...]] = get_args(Command)
LoopSignal = Literal[
    "phase_complete", "spec_complete", "failed", "blocked_runtime", "paused_needs_attention"
]
LOOP_SIGNALS: Final[tuple[LoopSignal, ...]] = get_args(LoopSignal)
ContextSource = Literal["sidecar", "caller", "estimate"]

AUTONOMY: Final = Lifecycle(
    name="autonomy",
    first="running",
    categories={
        "running": "active",
        "paused": "open",
        "completed": "done",
        "failed": "dropped",
        "ended": "dropped",
    },
    moves={
        "running": ("paused", "completed", "failed", "ended"),
        "paused": ("running", "failed", "ended"),
        "failed": ("running", "ended"),
        "completed": (),
        "ended": (),
    },
    parked=frozenset({"paused"}),
)
"""An unattended run of the foundry dialect; a failed one can be resumed."""

LIVE: Final[tuple[SessionStatus, ...]] = ("running", "paused")
"""A spec has one run in these states."""


class Move(NamedTuple):
    """What a command makes of a run: the state after it, or the code it is refused with.

    asks: what the caller must give or what must hold, or else the code of the refusal is `code`.
    """

    to: SessionStatus | None = None
    code: str = ""
    asks: tuple[str, ...] = ()


_REFUSED: Final = Move(code="INVALID_STATE_TRANSITION")
_NONE: Final = Move(code="NO_ACTIVE_SESSION")
_AFRESH: Final = Move("running")
_EXISTS: Final = Move("running", "SPEC_SESSION_EXISTS", ("force",))
"""With the same idempotency key the run that there is is answered; with force it ends, and another begins."""

COMMAND_MOVES: Final[Mapping[Command, Mapping[SessionStatus | None, Move]]] = {
    "start": {
        None: _AFRESH,
        "running": _EXISTS,
        "paused": _EXISTS,
        "failed": _AFRESH,
        "completed": _AFRESH,
        "ended": _AFRESH,
    },
    "pause": {None: _NONE, "running": Move("paused")},
    "resume": {
        None: _NONE,
        "paused": Move("running"),
        "failed": Move("running", "INVALID_STATE_TRANSITION", ("force", "same_structure")),
    },
    "rebase": {None: _NONE, "paused": Move("running"), "failed": Move("running")},
    "end": {
        None: _NONE,
        "running": Move("ended"),
        "paused": Move("ended"),
        "failed": Move("ended"),
    },
    "reset": {None: _NONE, "failed": Move("ended")},
}
"""Which command makes which move, by the state before it (None: there is no run). What is not named is refused.

A run that is reset is kept as one that ended: what happened in it can still be read.
"""


def move_of(command: Command, status: SessionStatus | None) -> Move:
    """Return what a command makes of a run in a state."""
    return COMMAND_MOVES[command].get(status, _REFUSED)


@frozen
class Limits:
    """When a run stops by itself, and how its context is estimated. Percentages are whole numbers."""

    max_tasks_per_session: int = 100
    max_consecutive_errors: int = 3
    context_threshold_pct: int = 85
    heartbeat_stale_minutes: int = 10
    heartbeat_grace_minutes: int = 5
    step_stale_minutes: int = 60
    max_fidelity_review_cycles_per_phase: int = 3
    avg_pct_per_step: int = 3
    context_staleness_threshold: int = 5
    context_staleness_penalty_pct: int = 5
    context_reset_threshold_pct: int = 10
    sidecar_max_age_seconds: int = 120


@frozen
class StopConditions:
    """Whether a run pauses at the end of each phase, and whether it tries a failed gate again by itself."""

    stop_on_phase_completion: bool = False
    auto_retry_fidelity_gate: bool = True


@frozen
class Counters:
    """What a run counts.

    task_retries: how often each task was reported and not done. phase_retries: review cycles of each phase that ended
    without a pass, since somebody last resumed from their limit.
    """

    tasks_completed: int = 0
    consecutive_errors: int = 0
    task_retries: Mapping[str, int] = field(default_factory=dict[str, int])
    phase_retries: Mapping[str, int] = field(default_factory=dict[str, int])

    def cycles_of(self, phase: str) -> int:
        """Return how many review cycles of a phase ended without a pass."""
        return self.phase_retries.get(phase, 0)


@frozen
class ContextUse:
    """How much of its context an agent has used, as it was last told.

    pct: 0 if nobody ever told. source, at: who told it, and when; empty if nobody did. steps: how many were reported
    back since. tokens: as the caller estimated them; 0 without.
    """

    pct: int = 0
    source: ContextSource | Literal[""] = ""
    at: str = ""
    steps: int = 0
    tokens: int = 0


@frozen
class IssuedStep:
    """A step as rules see it; task and phase are ids of nodes.

    attempt: of the gate; empty for other steps. proof: the SHA-256 of its proof. command: that of the command which is
    to be run, empty if there is none. renewed_at: when it was last issued again, with another proof; empty if it was not.
    consumed_at: when it was reported back. report: the digest of that report.
    """

    id: str
    type: StepType
    proof: str
    issued_at: Timestamp
    task: str = ""
    phase: str = ""
    attempt: str = ""
    command: str = ""
    renewed_at: str = ""
    consumed_at: str = ""
    report: str = ""


@frozen
class Evidence:
    """What a reviewer found about a phase in one attempt; step and phase as rules see them.

    integrity: what `rules.autonomy.gating` makes of all the rest with the key of the project.
    """

    attempt: str
    session: str
    step: str
    phase: str
    verdict: str
    findings: str
    reviewer: str
    issued_at: str
    integrity: str = ""


@frozen
class SpecSession(Noun):
    """An unattended run of a spec, beside the session of the core that it is.

    session: of the core. spec: the root item. phase: the item at work, empty before the first and after the last.
    idempotency: the key that it was started with. limits: every limit and stop condition, a JSON object. is_locking: whether
    what changes the spec through these tools needs its id. retries: those of tasks and phases, a JSON object.
    structure, place: the digest of the structure that it works on, and the place in the ledger at which that was so.
    last_pause: why it paused last, also after it was resumed.
    context_*: see ContextUse. heartbeat_at: the last sign of life; its start and resumption count as such.
    acknowledged: the attempt at a gate that somebody has reviewed. evidence_faults: reports in a row with invalid evidence.
    """

    table: ClassVar[str] = "spec_sessions"
    key: ClassVar[tuple[str, ...]] = ("project", "session")
    indexes: ClassVar[tuple[str, ...]] = ("created_at", "spec,created_at")
    partial: ClassVar[Partial | None] = Partial(
        column="status",
        words=("running", "paused", "failed"),
        indexes=("spec", "status,created_at"),
    )

    session: Id
    spec: Id
    agent: Agent
    status: Word
    pause_reason: Word
    last_pause: Word
    failure_reason: Word
    phase: Id
    posture: Word
    policy: Word
    idempotency: Name
    limits: JsonText
    is_locking: bool
    tasks_completed: int
    consecutive_errors: int
    retries: JsonText
    evidence_faults: int
    acknowledged: Id
    context_pct: int
    context_source: Word
    context_at: Time
    context_steps: int
    context_tokens: int
    structure: Digest
    place: int
    heartbeat_at: Timestamp
    paused_at: Time
    reason_code: Word
    reason_detail: Prose
    version: Version
    created_at: Timestamp
    updated_at: Touched


@frozen
class SessionStep(Noun):
    """A step that was issued in a run, and what was reported of it. Its key lists the steps of a run in their order.

    task, phase: items; empty without one. attempt: at a gate. reason: of a pause. proof: the SHA-256 of the proof, which
    is told once. command: the SHA-256 of the command of a verification. renewed_at: when it was last issued again, with
    another proof; empty if it was not. receipt: of the core, which a success of a verification rests on. report: the digest of
    what was reported. answer: what the report was answered with, a JSON object without proofs.
    """

    table: ClassVar[str] = "session_steps"
    key: ClassVar[tuple[str, ...]] = ("project", "session", "number")
    indexes: ClassVar[tuple[str, ...]] = ("session,proof",)
    unique: ClassVar[tuple[str, ...]] = ("id",)

    session: Id
    number: int
    id: Id
    type: StepType
    task: Id
    phase: Id
    attempt: Id
    reason: Word
    proof: Digest
    command: PlainHash
    issued_at: Timestamp
    renewed_at: Time
    consumed_at: Time
    outcome: Word
    note: Prose
    files: Names
    receipt: Id
    report: PlainHash
    answer: JsonText


@frozen
class GateEvidence(Noun):
    """What a reviewer found about a phase of a run. id: the attempt at the gate, made with its step.

    findings: a JSON array. reviewer: who judged. integrity: over all of these. reported_at: when a report rested on it; empty before.
    answered_at: when it was answered, by feedback or by resuming, so that the gate is to be judged afresh; empty while it stands.
    """

    table: ClassVar[str] = "gate_evidence"
    key: ClassVar[tuple[str, ...]] = ("project", "id")
    indexes: ClassVar[tuple[str, ...]] = ("session,phase,issued_at", "step")

    id: Id
    session: Id
    step: Id
    phase: Id
    verdict: Verdict
    findings: JsonText
    reviewer: Name
    issued_at: Timestamp
    integrity: Digest
    reported_at: Time
    answered_at: Time


RETRIES: Final = ("task_retries", "phase_retries")
"""What `SpecSession.retries` holds, each an object of counts by id of node."""


def counts_of(value: Json) -> dict[str, int]:
    """Return those values of an object that are counts."""
    return {
        name: count
        for name, count in object_of(value).items()
        if isinstance(count, int) and not isinstance(count, bool) and count > 0
    }
