"""Rows of runs: found, held, committed to, and shown.

The rows of runs as rules see them, and what rules make of them as rows.
Rows name items, rules name nodes: what comes out of here has the ids of nodes.

The core session of a run: who holds it, and how it ends.
Rules: (1) whoever begins a run is not at it: whoever asks for its steps is, as the core's own rules let him. (2) A run that stops hands
its session over, and one that is over ends it. (3) Whoever may not have the session of somebody else stops the run all the same; but the
session, and what is held in it, stays with him who is at it.

Stores the rows of runs, and detects a row that was written by somebody else.
The entry of each change to a run says the digest of its row. A row of another digest gives no step and takes no command but its end.
`audit verify` compares every row with all of its entries; this looks at the last of them, so it can be asked in every call.

The gates of phases as runs see them: gates of the core, of the kind review.
A gate that a run asks for holds the end of its phase, in whatever dialect that is worked on, and stays when the run is over. Its row
says whether it is open; what a reviewer found, and nobody has answered, stands in `gate_evidence`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final, Literal, cast

from counterpoint.core.ledger.entry import load_fields
from counterpoint.core.model.journal import Record, Verdict
from counterpoint.core.model.rows import Prose, Proses, load_object
from counterpoint.core.model.sessions import Session
from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.model.work import Attribute, Gate, Item, Project
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.connection_sessions import live_claims
from counterpoint.core.operations.recording.context import Caller
from counterpoint.core.operations.recording.facets import attributes_of, value_of
from counterpoint.core.operations.recording.handover import close, let_go
from counterpoint.core.operations.recording.moves import follow
from counterpoint.core.operations.sessions import refuse_live, take_up_session, takeover_reason
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.sessions import may_write
from counterpoint.core.rules.trust.succession import OWN
from counterpoint.dialects.foundry.journal.rules import ENTRY_TYPE, SHOWN
from counterpoint.dialects.foundry.models.runs import (
    LIVE,
    RETRIES,
    ContextSource,
    ContextUse,
    Counters,
    Evidence,
    GateEvidence,
    GateKind,
    GatePolicy,
    IssuedStep,
    SessionStatus,
    SessionStep,
    SpecSession,
    counts_of,
)
from counterpoint.dialects.foundry.models.specs import TYPE, PhaseLine
from counterpoint.dialects.foundry.models.tasks import COMMAND
from counterpoint.dialects.foundry.nodes.queries import Nodes, chunks, get_spec, spec_id
from counterpoint.dialects.foundry.nodes.rules.progress import type_of
from counterpoint.dialects.foundry.nodes.rules.shape import text_of
from counterpoint.dialects.foundry.runs.rules.commands import (
    PhaseGate,
    RunRef,
    after_verdict,
    asked_of,
    only_run,
    policy_for,
    rejected,
    required_gate,
    waiver_of,
)
from counterpoint.dialects.foundry.runs.rules.limits import Terms, terms_of
from counterpoint.dialects.foundry.runs.rules.results import Difference, Structure
from counterpoint.kernel import canonical
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, LedgerBroken, NotFound


def status_in(row: SpecSession) -> SessionStatus:
    """Return the status of a run."""
    return cast("SessionStatus", row.status)


def ref_of(row: SpecSession, spec: str, attempt: str = "") -> RunRef:
    """Return a run as commands see it. spec: its name; attempt: at a gate, which waits for a person."""
    return RunRef(
        session=row.session,
        spec=spec,
        status=status_in(row),
        pause_reason=row.pause_reason,
        idempotency=row.idempotency,
        attempt=attempt,
        is_locking=row.is_locking,
    )


def terms_in(row: SpecSession) -> Terms:
    """Return the terms of a run; InvalidInput if its row does not say them."""
    return terms_of(load_object(row.limits), row.policy, row.posture, is_locking=row.is_locking)


def shown_terms(row: SpecSession) -> Terms:
    """Return the same; the usual terms where a row does not say them."""
    try:
        return terms_in(row)
    except InvalidInput:
        return Terms()


def counters_in(row: SpecSession) -> Counters:
    """Return the counters of a run."""
    retries = load_object(row.retries)
    tasks, phases = (counts_of(retries.get(name)) for name in RETRIES)
    return Counters(
        tasks_completed=row.tasks_completed,
        consecutive_errors=row.consecutive_errors,
        task_retries=tasks,
        phase_retries=phases,
    )


def with_counters(row: SpecSession, counters: Counters) -> SpecSession:
    """Return a run with other counters."""
    counts = (dict(counters.task_retries), dict(counters.phase_retries))
    retries = dict(zip(RETRIES, counts, strict=True))
    return replace(
        row,
        tasks_completed=counters.tasks_completed,
        consecutive_errors=counters.consecutive_errors,
        retries=Prose(canonical.dump_any(retries) if any(counts) else ""),
    )


def context_in(row: SpecSession) -> ContextUse:
    """Return how much of its context the agent of a run has used."""
    return ContextUse(
        pct=row.context_pct,
        source=cast("ContextSource", row.context_source),
        at=row.context_at,
        steps=row.context_steps,
        tokens=row.context_tokens,
    )


def with_context(row: SpecSession, use: ContextUse) -> SpecSession:
    """Return a run with another use of context."""
    return replace(
        row,
        context_pct=use.pct,
        context_source=use.source,
        context_at=use.at,
        context_steps=use.steps,
        context_tokens=use.tokens,
    )


def last_step(view: Reading, session: str) -> SessionStep | None:
    """Return the step of a run that was issued last; it is out unless it was consumed."""
    steps = view.select(SessionStep, session=session, order="number desc", limit=1)
    return steps[0] if steps else None


def step_in(row: SessionStep, nodes: Nodes) -> IssuedStep:
    """Return a step as rules see it."""
    return IssuedStep(
        id=row.id,
        type=row.type,
        proof=row.proof,
        issued_at=row.issued_at,
        task=nodes.id(row.task),
        phase=nodes.id(row.phase),
        attempt=row.attempt,
        command=row.command,
        renewed_at=row.renewed_at,
        consumed_at=row.consumed_at,
        report=row.report,
    )


def evidence_in(row: GateEvidence, nodes: Nodes) -> Evidence:
    """Return evidence as rules see it."""
    return Evidence(
        attempt=row.id,
        session=row.session,
        step=row.step,
        phase=nodes.id(row.phase),
        verdict=row.verdict,
        findings=row.findings,
        reviewer=row.reviewer,
        issued_at=row.issued_at,
        integrity=row.integrity,
    )


def standing_evidence(view: Reading, session: str, phase: str = "") -> list[GateEvidence]:
    """Return the evidence of a run about a phase, or about any, that was reported and not answered, the latest first."""
    # A run has few: one for each attempt at a gate.
    evidence = view.select(GateEvidence, session=session, order="issued_at desc,id desc")
    return [
        row
        for row in evidence
        if row.reported_at and not row.answered_at and phase in {"", row.phase}
    ]


def live_run(view: Reading, spec: str) -> SpecSession | None:
    """Return the run of a spec that runs or is paused; None. spec: its root item."""
    for status in LIVE:
        if runs := view.select(SpecSession, spec=spec, status=status, limit=1):
            return runs[0]
    return None


def latest_run(view: Reading, spec: str) -> SpecSession | None:
    """Return the live run of a spec, else the one that was begun last; None if there was none."""
    last = view.select(SpecSession, spec=spec, order="created_at desc,place desc", limit=1)
    return live_run(view, spec) or (last[0] if last else None)


def spec_of(view: Reading, row: SpecSession) -> str:
    """Return the name of a run's spec; the id of its item if that is gone."""
    root = view.find(Item, row.spec)
    return spec_id(view, root) if root else row.spec


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecShape:
    """The phases of a spec in their order; all fields but `structure` have items.

    tasks: below each phase, and those below none under an empty name. types: of all nodes.
    """

    nodes: Nodes
    structure: Structure
    phases: tuple[Item, ...]
    tasks: Mapping[str, Sequence[Item]]
    types: Mapping[str, str]

    def verifies(self, phase: Item) -> bool:
        """Whether one of the nodes of a phase is a verification."""
        return any(self.types[item.id] == "verify" for item in self.tasks[phase.id])


def shape_of(view: Reading, root: Item) -> SpecShape:
    """Return the phases and tasks of a spec, as its document has them too."""
    nodes = Nodes(view, root)
    items, below = nodes.tree()
    types = _types(view, items)
    phases = tuple(item for item in below.get(root.id, ()) if types[item.id] == "phase")
    tasks: dict[str, list[Item]] = {"": [], **{phase.id: [] for phase in phases}}
    at = ""
    # Each comes after its parent, and all of a phase before the next one.
    for item in items[1:]:
        if item.parent == root.id:
            at = item.id if item.id in tasks else ""
            if at:
                continue
        tasks[at].append(item)
    names = nodes.ids(item.id for item in items)
    phases_by_task = {
        names[item.id]: names[at] if at else "" for at, some in tasks.items() for item in some
    }
    structure = Structure(phases=tuple(names[phase.id] for phase in phases), tasks=phases_by_task)
    return SpecShape(nodes=nodes, structure=structure, phases=phases, tasks=tasks, types=types)


def command_in(view: Reading, item: str) -> str:
    """Return the command line of a verification; empty without one."""
    line = text_of(attributes_of(view, item).get(COMMAND))
    return line if line.strip() else ""


def _types(view: Reading, items: Sequence[Item]) -> dict[str, str]:
    stored_types: dict[str, str] = {}
    for some in chunks([item.id for item in items]):
        for attribute in view.select(Attribute, item=some, name=TYPE):
            stored_types[attribute.item] = str(value_of(attribute))
    workable = {item.id for item in items if item.is_workable and item.parent}
    return {
        item.id: type_of(
            item,
            {TYPE: stored_types[item.id]} if item.id in stored_types else {},
            is_in_task=item.parent in workable,
        )
        for item in items
    }


SESSION_TYPE = "session"
STEP_TYPE = "step"


def note_event(
    change: Change, row: SpecSession, title: str, text: str, *, type_: str, **details: Json
) -> None:
    """Write an entry of the journal about a run, in the run's session. type_: of the entry; details: empty ones are left out."""
    number, its_id = change.next_id(Record)
    fields: dict[str, Json] = {ENTRY_TYPE: type_, "session_id": row.session}
    fields |= {name: value for name, value in details.items() if value not in ("", None, [])}
    change.put(
        Record(
            project=row.project,
            id=its_id,
            number=number,
            kind="log",
            item=row.spec,
            session=row.session,
            agent=change.context.caller.actor.name,
            title=Prose(title),
            body=Prose(text),
            tags=(),
            files=(),
            details=Prose(canonical.dump_any(fields)),
            status="",
            resolution=Prose(""),
            resolved_by="",
            created_at=change.now,
            resolved_at="",
        )
    )


def events_of(view: Reading, session: str, before: int, limit: int) -> list[Record]:
    """Return the journal entries of a run, the newest first, before the record of a number; 0: all."""
    beyond = (before,) if before else ()
    return view.select(
        Record, session=session, kind=SHOWN, order="number desc", after=beyond, limit=limit
    )


_TO_END: Final = (*OWN, "handed_over")
"""Why somebody may end the session of a run: nobody is at one that was handed over, and whoever comes may have it."""
Over = Literal["completed", "failed"]


def begin(change: Change, spec: str) -> Session:
    """Open the core session of a run, in a change that is written in it; the first caller that steps takes it over."""
    session = change.get(Session, change.open_session())
    paused = replace(session, purpose="work", item=spec).moved("paused", change.now)
    change.put(paused)
    return paused


def take_up(change: Change, session: str) -> Session:
    """Take over the session of a run for the caller, in a change that is written in it.

    Raises AlreadyClaimed or Forbidden while another agent holds it.
    """
    core_session = change.get(Session, session)
    caller = change.context.caller
    if core_session.status == "active" and may_write(core_session, caller.actor, caller.capability):
        return change.enter(core_session)
    reason = (
        "handed_over" if core_session.status == "paused" else takeover_reason(change, core_session)
    )
    if reason is None:
        refuse_live(change, core_session)
    return take_up_session(change, core_session, reason)


def is_own_session(view: Reading, session: str, caller: Caller) -> bool:
    """Whether the session of a run is the caller's, or nobody's yet; one that the caller may only take over is not."""
    core_session = view.find(Session, session)
    is_taken = core_session is not None and core_session.status == "active"
    return (
        core_session is None
        or not is_taken
        or may_write(core_session, caller.actor, caller.capability)
    )


def other_at(change: Change, session: str) -> str:
    """Return the agent that holds a run's session and cannot be replaced by the caller; empty for none."""
    core_session = change.get(Session, session)
    if is_own_session(change.writing, session, change.context.caller):
        return ""
    return core_session.agent if takeover_reason(change, core_session) is None else ""


def hand_over(change: Change, session: str) -> None:
    """Hand over the session of a run that stopped to whoever comes first, if it is the caller's to hand over."""
    core_session = change.find(Session, session)
    if core_session is None or core_session.status != "active":
        return
    caller = change.context.caller
    is_mine = may_write(core_session, caller.actor, caller.capability)
    if is_mine or takeover_reason(change, core_session) is not None:
        change.put(core_session.moved("paused", change.now))


def end(change: Change, session: str, how: Over) -> None:
    """End the session of a run that is over, if it is the caller's to end; its claims are released with it."""
    core_session = change.find(Session, session)
    if core_session is None or core_session.has_ended:
        return
    caller = change.context.caller
    is_mine = may_write(core_session, caller.actor, caller.capability)
    reason = None if is_mine else takeover_reason(change, core_session)
    if is_mine or reason in _TO_END:
        close(change, core_session, how)
    elif reason is not None and not live_claims(change.writing, session):
        change.put(core_session.moved(how, change.now))


def give_way(change: Change, session: str) -> None:
    """Release the claims of a failed run that another one follows, if its session is the caller's to end.

    The session stays: once no other run of its spec goes on, the failed one can still be rebased.
    """
    core_session = change.find(Session, session)
    if core_session is None or core_session.has_ended:
        return
    caller = change.context.caller
    is_mine = may_write(core_session, caller.actor, caller.capability)
    if is_mine or takeover_reason(change, core_session) in _TO_END:
        let_go(change, session)


_FACT: Final = "row"
_AT_ONCE: Final = 20
_UNSAID: Final = frozenset({"updated_at", "reason_detail"})
"""Columns that are left out: that every change touches, and that may be redacted."""


def keep(change: Change, row: SpecSession, *, must: bool = True) -> None:
    """Store a run as a change about it leaves it; LedgerBroken (SESSION_UNRECOVERABLE) if its row was written by somebody else.

    must: whether that is refused; else the row never counts as the product's own again.
    """
    before = change.find(SpecSession, row.session)
    is_sound = before is None or is_committed(change.writing, before)
    if must and not is_sound:
        hint = f"{Act.AUDIT}, then end it and start another."
        raise LedgerBroken(
            f"what is kept of run {row.session} is not as it was written",
            hint=hint,
            remediation=hint,
            session_id=row.session,
            error_code="SESSION_UNRECOVERABLE",
        )
    masked = change.masked(row)
    change.subject = row.spec
    change.put(masked)
    change.add_facts(run=row.session, **{_FACT: _digest(masked) if is_sound else ""})


def is_committed(view: Reading, row: SpecSession) -> bool:
    """Whether the row of a run is what the last entry about it says."""
    before: int | None = None
    while sequences := view.sequences(subject=row.spec, before=before, limit=_AT_ONCE):
        for sequence in sequences:
            facts = load_fields(next(view.entries(sequence, sequence + 1))).get("f", {})
            if facts.get("run") == row.session and _FACT in facts:
                return facts[_FACT] == _digest(row)
        before = sequences[-1]
    # Entries of older versions do not say it.
    return True


def _digest(row: SpecSession) -> str:
    columns = {name: value for name, value in asdict(row).items() if name not in _UNSAID}
    return canonical.text_digest(canonical.dump_any(columns))


NAMES: Final[tuple[GateKind, ...]] = ("fidelity", "manual_review")
"""Names of the gate of a phase; the first request decides."""


def gate_of(view: Reading, phase: str) -> Gate | None:
    """Return the gate that a run requires of a phase; None if none does. phase: its item."""
    return next((gate for name in NAMES if (gate := view.find(Gate, phase, name))), None)


def phase_gates(view: Reading, shape: SpecShape, row: SpecSession, terms: Terms) -> list[PhaseGate]:
    """Return the gates of a spec in a run, in the order of its phases; a phase that was done before any run has none."""
    last: dict[str, GateEvidence] = {}
    for evidence in standing_evidence(view, row.session):
        last.setdefault(evidence.phase, evidence)
    policy = policy_in(view, terms.policy)
    return [
        _phase_gate(view, gate, shape, phase, last.get(phase.id), policy)
        for phase in shape.phases
        if (gate := gate_of(view, phase.id)) is not None
    ]


def policy_in(view: Reading, policy: GatePolicy) -> GatePolicy:
    """Return the gate policy of a project's runs, given the one that a run was begun with."""
    project = view.find(Project)
    return policy_for(policy, project.reviews) if project else policy


def ask_gates(change: Change, shape: SpecShape) -> None:
    """Give each unfinished phase a gate, unless it has one."""
    for phase in shape.phases:
        if phase.is_closed or gate_of(change.writing, phase.id) is not None:
            continue
        change.put(
            Gate(
                project=phase.project,
                item=phase.id,
                name=required_gate(has_verify=shape.verifies(phase)),
                kind="review",
                holds="finish",
                argv=Proses(()),
                status="closed",
                proof="",
                reason=Prose(""),
                updated_at=change.now,
            )
        )


def judge_afresh(
    change: Change, session: str, shape: SpecShape, kept_phases: Collection[str]
) -> None:
    """Close the satisfied gates of all phases but some, and open those phases again. kept_phases: ids of nodes."""
    for phase in shape.phases:
        gate = gate_of(change.writing, phase.id)
        if gate is None or gate.status == "closed" or shape.nodes.id(phase.id) in kept_phases:
            continue
        mark_answered(change, session, phase.id)
        item = change.get(Item, phase.id)
        if item.category == "done":
            follow(change, item, "active")
        gate = change.get(Gate, gate.item, gate.name)
        if gate.status != "closed":
            change.put(gate.moved("closed", change.now, reason="the phase has changed"))


def mark_answered(change: Change, session: str, phase: str = "") -> None:
    """Mark the evidence about a phase, or about any, as answered, so that the gate is judged anew."""
    for row in standing_evidence(change.writing, session, phase):
        evidence = change.get(GateEvidence, row.id)
        change.put(replace(evidence, answered_at=change.now))


def _phase_gate(
    view: Reading,
    gate: Gate,
    shape: SpecShape,
    phase: Item,
    evidence: GateEvidence | None,
    policy: GatePolicy,
) -> PhaseGate:
    required = asked_of(gate, has_verify=shape.verifies(phase))
    initial = PhaseGate(phase=shape.nodes.id(phase.id), required=required)
    if gate.status == "met":
        return replace(initial, status="passed", attempt=gate.proof)
    if gate.status == "waived":
        return replace(initial, status="waived", waiver=waiver_of(gate))
    # Evidence from before the gate was closed again judges an earlier state of the work.
    if evidence is None or evidence.reported_at < gate.updated_at:
        return initial
    if _is_rejected(view, phase, evidence):
        return rejected(initial, evidence.id)
    after = after_verdict(initial, policy, evidence.verdict, evidence.id)
    # Only its own row says that it is open.
    return initial if after.is_satisfied else after


def _is_rejected(view: Reading, phase: Item, evidence: GateEvidence) -> bool:
    """Return whether a phase was rejected since a reviewer saw it, and not approved after that."""
    last = view.select(Verdict, item=phase.id, order="number desc", limit=1)
    return any(
        verdict.decision == "reject" and verdict.created_at >= evidence.issued_at
        for verdict in last
    )


OVER_DAYS: Final = 7
FAILED_DAYS: Final = 30
"""How long the rows of a run are kept that was completed or ended, and of one that failed."""
RECENT: Final = 10
"""How many tasks are named of those that were completed last, and of those that wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSelector:
    """Select a run: by its session, else by its spec, else the only live one."""

    session: str = ""
    spec: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Why a run is ended or reset."""

    code: Json = None
    detail: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """How a run is resumed.

    attempt: the one at a gate that somebody has reviewed. pct: how much of its context the agent has used that goes on; None if nobody says.
    """

    force: bool = False
    is_acknowledged: bool = False
    attempt: str = ""
    pct: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLine:
    """A task as a run names it."""

    id: str
    title: str
    phase: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedRun:
    """A run that waits for a person. spec: the id of its spec. why: in words.

    item: what is to be looked at, with its title: the spec, or its phase if that is to be judged (`is_gate`).
    """

    spec: str
    item: str
    title: str
    why: str
    is_gate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run as it is listed. spec: the id of its spec. effective: the status that it will have with its next call."""

    session: str
    spec: str
    status: SessionStatus
    effective: SessionStatus
    pause_reason: str
    failure_reason: str
    phase: str
    tasks_completed: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run with all that is told of it; every name of a node is its id.

    last: the step that was issued last; is_out: whether it was not reported yet. phase: the one at work, else the first that is not
    completed. attempt: at a gate, which a person has to review. warnings: what whoever called should know. lacking: commands of
    verifications that are refused, for a run that just began or stopped for errors.
    """

    run: Run
    title: str
    posture: str
    terms: Terms
    counters: Counters
    version: int
    heartbeat_at: str
    paused_at: str
    last_pause: str
    reason_code: str
    context_pct: int
    context_source: ContextSource
    phase: PhaseLine | None
    last: IssuedStep | None = None
    is_out: bool = False
    attempt: str = ""
    recent: tuple[TaskLine, ...] = ()
    pending: tuple[TaskLine, ...] = ()
    completed_phases: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    lacking: Lacking = field(default_factory=Lacking)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebased:
    """A run after it was rebased, and what had changed."""

    view: RunView
    difference: Difference


_MAX_LIVE_RUNS: Final = 21
"""One more live run is read than a refusal names."""


def get_run(view: Reading, selector: RunSelector) -> SpecSession:
    """Get the selected run: by its session, else the live or latest one of its spec, else the only live one.

    Raises NotFound (NO_ACTIVE_SESSION, SPEC_NOT_FOUND), Conflict (AMBIGUOUS_ACTIVE_SESSION).
    """
    candidates = _list_candidates(view, selector)
    rows = {row.session: row for row in candidates}
    refs = [ref_of(row, spec_of(view, row)) for row in candidates]
    return rows[only_run(refs, selector.session or selector.spec).session]


def _list_candidates(view: Reading, selector: RunSelector) -> list[SpecSession]:
    root = get_spec(view, selector.spec) if selector.spec else None
    if selector.session:
        row = view.find(SpecSession, selector.session)
        if row is not None and root is not None and row.spec != root.id:
            raise NotFound(
                f"the run {selector.session} is not of {selector.spec}",
                hint="Leave one of the two out.",
                error_code="NO_ACTIVE_SESSION",
            )
        return [row] if row else []
    if root is not None:
        latest = latest_run(view, root.id)
        return [latest] if latest else []
    return [
        row
        for status in LIVE
        for row in view.select(
            SpecSession, status=status, order="created_at,session", limit=_MAX_LIVE_RUNS
        )
    ]
