"""Goes through a run step by step, and says again what was said.

Decides the next step of a run, issues it, and takes what is reported of it.
A call is (1) looked at without writing: is its report good, and how does the tree differ; then, in one transaction, (2) looked
at again, for another may have been faster, (3) its task is completed by the rules of every task, (4) the gate of its phase
is judged, (5) the report is taken and what comes next is decided and issued, in one entry, and (6) the task of that is taken
up. So a refusal changes nothing, and burns no proof.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from counterpoint.core.model.evidence import Snapshot
from counterpoint.core.model.rows import Prose, load_object
from counterpoint.core.model.trust.checking import Lacking
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.operations.recording.unit import pending_rows, recording, transaction
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.models.runs import (
    LIVE,
    ContextSource,
    GateStatus,
    SessionStep,
    SpecSession,
)
from counterpoint.dialects.foundry.nodes.rules.shape import text_of
from counterpoint.dialects.foundry.nodes.writing import lacking_of_node
from counterpoint.dialects.foundry.runs import rows
from counterpoint.dialects.foundry.runs.files import AutonomyFiles
from counterpoint.dialects.foundry.runs.gates import EvidenceKeys
from counterpoint.dialects.foundry.runs.rows import (
    STEP_TYPE,
    RunSelector,
    context_in,
    get_run,
    keep,
    note_event,
    phase_gates,
    shape_of,
    shown_terms,
    step_in,
)
from counterpoint.dialects.foundry.runs.rules.commands import (
    PhaseGate,
    Result,
    Sidecar,
    current_use,
    is_completed,
)
from counterpoint.dialects.foundry.runs.rules.deciding import (
    Complete,
    Decision,
    Fail,
    Issue,
    RunState,
    Situation,
    answer,
    decide,
    refused,
    warns_of_silence,
)
from counterpoint.dialects.foundry.runs.rules.results import (
    Judged,
    StepResult,
    is_stale,
    judge,
    proof_digest,
    proof_of,
)
from counterpoint.dialects.foundry.runs.steps import (
    AppliedDecision,
    Heartbeat,
    LoadedRun,
    apply_decision,
    apply_heartbeat,
    apply_report,
    judge_gate,
    load_run,
    report_context,
    situation_of,
)
from counterpoint.dialects.foundry.tasks.moving import Moving, PreparedCompletion, type_in
from counterpoint.kernel.canonical import Json, dump_any, object_of
from counterpoint.kernel.errors import Conflict, CounterpointError, NotFound

_NOTE: Final = "Completed in an unattended run."
_SILENT: Final = (
    "Nothing was heard of this run for a while: send heartbeats while a step takes long."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepAnswer:
    """The answer to a call. data: without proofs, as it is stored; warnings: beside it.

    lacking: commands of the task at the step that would not be run.
    """

    data: Json
    warnings: tuple[str, ...] = ()
    lacking: Lacking | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _PreparedCall:
    """A call with what was read before its transaction. key: of the project; stop: whether somebody asks the run to stop.

    ending: of the task reported as done. snapshot: of the tree in which the next one begins. sidecar: content of the file
    beside its agent's sandbox.
    """

    session: str
    result: StepResult | None
    heartbeat: Heartbeat | None
    key: bytes
    stop: bool
    ending: PreparedCompletion | None
    snapshot: Snapshot | None
    sidecar: Sidecar | None


class Stepping(Verbs):
    """Verbs for whoever works in a run."""

    def next(
        self, selector: RunSelector, result: StepResult | None, heartbeat: Heartbeat | None = None
    ) -> StepAnswer:
        """Take a report, and issue the next step; the same report within its grace period gets the same answer.

        A failed run is part of the answer, since it has to be written: `answers.refusal_in` finds it. Raises the faults
        of the report, AlreadyClaimed or Forbidden while another agent is at the run, and what completing a task raises.
        """
        key = self._context.ports.get(EvidenceKeys).of(self._context)
        run, judged, repeated = self._judge_report(selector, result, key)
        if repeated is not None:
            return self._with_lacking(repeated)
        call = self._prepare_call(run, result, judged, heartbeat, key)
        try:
            with transaction(self._context):
                return self._perform_step(call)
        except CounterpointError:
            # Another call with the same report may have been faster.
            repeated = self._judge_report(RunSelector(session=call.session), result, key)[2]
            if repeated is None:
                raise
            return self._with_lacking(repeated)

    def _with_lacking(self, repeated: StepAnswer) -> StepAnswer:
        """Return a repeated answer with the commands that are refused now: some may have been allowed since."""
        with self._context.reading() as view:
            row = view.find(SpecSession, text_of(object_of(repeated.data).get("session_id")))
            if row is None:
                return repeated
            lacking = find_lacking_commands(self._context, view, load_run(view, row).outstanding)
            return replace(repeated, lacking=lacking)

    def obey(self, spec: str, session: str) -> None:
        """Remove a stop request that was obeyed, once the pause is committed.

        A later request stays, as when the answer that tells of the pause is repeated to a run that goes on.
        """
        with self._context.reading() as view:
            row = view.find(SpecSession, session)
        if row is not None and (row.status, row.pause_reason) == ("paused", "user"):
            self._context.ports.get(AutonomyFiles).clear_stop(spec)

    def _judge_report(
        self, selector: RunSelector, result: StepResult | None, key: bytes
    ) -> tuple[LoadedRun, Judged | None, StepAnswer | None]:
        """Return the selected run, the judged report, and its earlier answer if it was taken before; raises its refusals."""
        with self._context.reading() as view:
            run = load_run(view, get_run(view, selector))
            now = self._context.ports.clock.now()
            judged = judge(result, report_context(run, result, now, key))
            is_again = judged is not None and judged.again is not None
            return run, judged, _repeat_answer(run, judged) if judged and is_again else None

    def _prepare_call(
        self,
        run: LoadedRun,
        result: StepResult | None,
        judged: Judged | None,
        heartbeat: Heartbeat | None,
        key: bytes,
    ) -> _PreparedCall:
        """Read what is outside of the store before the transaction, so that nobody waits to write meanwhile."""
        ports, root = self._context.ports, self._context.caller.root
        files = ports.get(AutonomyFiles)
        with self._context.reading() as view:
            is_done = judged is not None and _ends_task(view.find, run, judged)
        ending = None
        if is_done and run.outstanding is not None:
            task = run.nodes.id(run.outstanding.task)
            ending = Moving(self._run_context(run.row)).prepare_completion(run.nodes.spec, task)
        return _PreparedCall(
            session=run.row.session,
            result=result,
            heartbeat=heartbeat,
            key=key,
            stop=files.is_stop_asked(run.nodes.spec),
            ending=ending,
            snapshot=ports.evidence.snapshot(root) if run.row.status == "running" else None,
            sidecar=files.sidecar(),
        )

    def _run_context(self, row: SpecSession) -> Context:
        """Return the context in the session of a run while that is live."""
        is_live = row.status in LIVE
        return self._context.in_session(row.session, item=row.spec) if is_live else self._context

    def _perform_step(self, call: _PreparedCall) -> StepAnswer:
        # This entry writes nothing: it begins the transaction that the run is read in.
        with recording(self._context, "run.looked") as change:
            row = change.get(SpecSession, call.session)
            run = load_run(change.writing, row)
            context = report_context(run, call.result, change.clock, call.key)
            judged = judge(call.result, context)
        if judged is not None and judged.again:
            return _repeat_answer(run, judged)
        inside = self._run_context(row)
        if row.status in LIVE:
            with recording(inside, "run.entered", row.spec) as change:
                rows.take_up(change, row.session)
        gate = self._apply_effects(inside, call, run, judged) if judged is not None else "pending"
        with recording(inside, "run.stepped", row.spec) as change:
            decision, response = _decide_and_store(change, call, run, judged, gate)
        if isinstance(decision, Issue) and decision.task is not None:
            moving, spec = Moving(inside), run.nodes.spec
            started = moving.start(spec, decision.task.id, snapshot=call.snapshot)
            return replace(response, lacking=started.lacking)
        return response

    def _apply_effects(
        self, inside: Context, call: _PreparedCall, run: LoadedRun, judged: Judged
    ) -> GateStatus:
        """Apply a report to the work itself; return the status of its phase's gate after it."""
        with inside.reading() as view:
            is_to_end = _ends_task(view.find, run, judged)
        if is_to_end and call.ending is not None:
            Moving(inside).complete_prepared(call.ending, judged.result.note or _NOTE)
        return judge_gate(inside, run, judged)


def _ends_task(find: Callable[..., Item | None], run: LoadedRun, judged: Judged) -> bool:
    """Whether a task ends with a report: the report says so, and the task is neither completed, handed in nor removed."""
    step = run.outstanding
    if step is None or not is_completed(Result(type=step.type, outcome=judged.result.outcome)):
        return False
    item = find(Item, step.task)
    return item is not None and item.category in {"open", "active"}


def _decide_and_store(
    change: Change,
    call: _PreparedCall,
    run: LoadedRun,
    judged: Judged | None,
    gate: GateStatus,
) -> tuple[Decision, StepAnswer]:
    """Take a report, decide on the next step and store both; return decision and answer."""
    row, done = change.get(SpecSession, call.session), None
    if judged is not None and run.last is not None:
        out = change.get(SessionStep, row.session, run.last.number)
        row, done = apply_report(change, row, run, out, judged, gate)
    row = apply_heartbeat(row, call.heartbeat, change.clock, run.terms.limits, call.sidecar)
    current = replace(run, row=row, last=done or run.last)
    shape = shape_of(change.writing, run.nodes.root)
    situation = situation_of(
        current,
        shape,
        Holders(change.writing, change.context, session=row.session),
        had_step=judged is not None,
        stop_requested=call.stop,
        unlanded=pending_rows(change.context),
    )
    decision = decide(situation)
    if isinstance(decision, Complete) and decision.is_over and done is None:
        return decision, StepAnswer(data=_answer_of(AppliedDecision(row=row), run, situation))
    # Before a run that is complete ends its session.
    change.open_session()
    issued = apply_decision(change, current, decision, call.key)
    after = replace(issued.row, version=row.version + 1, updated_at=change.now)
    data = _answer_of(replace(issued, row=after), run, situation)
    if isinstance(decision, Fail):
        data = refused(decision, row.session)
    keep(change, after, must=situation.is_sound)
    if done is not None:
        change.put(replace(done, answer=Prose(dump_any(data))))
    if issued.step is not None:
        change.put(issued.step)
    change.add_facts(status=after.status)
    # The heartbeat before this call, which counts as one itself.
    before = replace(situation, heartbeat_at=run.row.heartbeat_at)
    warnings = (_SILENT,) if warns_of_silence(before) else ()
    return decision, StepAnswer(data=data, warnings=warnings)


def _answer_of(issued: AppliedDecision, run: LoadedRun, situation: Situation) -> Json:
    """Build the answer about a run and the step that it was given."""
    gates = tuple(phase.gate for phase in situation.phases if phase.gate is not None)
    return step_answer(issued.row, run, gates, issued.step, issued.title)


def find_lacking_commands(
    context: Context, view: Reading, step: SessionStep | None
) -> Lacking | None:
    """Return which commands of a step's task would not be run; None if all would, or there is no task."""
    item = view.find(Item, step.task) if step is not None and step.task else None
    return lacking_of_node(context, view, item.id, type_in(view, item)) if item else None


def step_answer(
    row: SpecSession,
    run: LoadedRun,
    gates: tuple[PhaseGate, ...],
    step: SessionStep | None,
    title: str = "",
) -> Json:
    """Build the answer about a run. step: the outstanding one; title: of its task."""
    state = RunState(
        session=row.session,
        spec=run.nodes.spec,
        status=row.status,
        version=row.version,
        pause_reason=row.pause_reason,
        failure_reason=row.failure_reason,
        gates=gates,
    )
    out = step_in(step, run.nodes) if step else None
    return answer(state, out, title, step.reason if step else "")


def _repeat_answer(run: LoadedRun, judged: Judged) -> StepAnswer:
    """Return the answer that a report got when it was taken.

    The present state of the run, if the ledger has that answer no more, or if the report is about the pause in which the run is.
    """
    view, row, step_id = run.nodes.view, run.row, judged.again.id if judged.again else ""
    steps = view.select(SessionStep, session=row.session, id=step_id, limit=1)
    stored_answer = load_object(steps[0].answer) if steps else {}
    if stored_answer:
        return StepAnswer(data=stored_answer)
    gates = tuple(phase_gates(view, shape_of(view, run.nodes.root), row, run.terms))
    return StepAnswer(data=step_answer(row, run, gates, run.outstanding))


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatAnswer:
    """The answer to a heartbeat."""

    session: str
    at: str
    pct: int
    source: ContextSource


class Replaying(Verbs):
    """Verbs for agents that have lost an answer, or take long over a step."""

    def replay(self, selector: RunSelector) -> StepAnswer:
        """Return the outstanding step again; a stale one is issued anew, with another proof and another start.

        A run that is over, or has failed, is answered without a step. Raises NotFound if no step is out, AlreadyClaimed or
        Forbidden while somebody else is at the run.
        """
        key = self._context.ports.get(EvidenceKeys).of(self._context)
        with transaction(self._context):
            with recording(self._context, "run.looked") as change:
                run = load_run(change.writing, get_run(change.writing, selector))
            row, out = run.row, run.outstanding
            if out is None and row.status in LIVE:
                raise NotFound(
                    f"no step of run {row.session} is out",
                    hint="Ask for the next one.",
                    session_id=row.session,
                )
            inside = self._context
            if row.status in LIVE:
                inside = self._context.in_session(row.session, item=row.spec)
                with recording(inside, "run.entered", row.spec) as change:
                    rows.take_up(change, row.session)
            with recording(inside, "run.replayed", row.spec) as change:
                if out is not None and _needs_new_proof(change, run, out, key):
                    row, out = _reissue_step(change, run, out, key)
                gates, title = _load_gates_and_title(change.writing, run, out)
                lacking = find_lacking_commands(inside, change.writing, out)
                data = step_answer(row, run, gates, out, title)
                return StepAnswer(data=data, lacking=lacking)

    def heartbeat(self, selector: RunSelector, heartbeat: Heartbeat) -> HeartbeatAnswer:
        """Record a heartbeat of a run's agent, and how much of its context it has used.

        Raises NotFound, Conflict for a run that is over, AlreadyClaimed or Forbidden while somebody else is at it.
        """
        sidecar = self._context.ports.get(AutonomyFiles).sidecar()
        with transaction(self._context):
            with recording(self._context, "run.looked") as change:
                row = get_run(change.writing, selector)
            if row.status not in LIVE:
                raise Conflict(
                    f"run {row.session} is {row.status}",
                    hint="Start another.",
                    session_id=row.session,
                    status=row.status,
                    error_code="INVALID_STATE_TRANSITION",
                )
            inside = self._context.in_session(row.session, item=row.spec)
            with recording(inside, "run.heard", row.spec) as change:
                rows.take_up(change, row.session)
                change.open_session()
                row, limits = change.get(SpecSession, row.session), shown_terms(row).limits
                after = apply_heartbeat(row, heartbeat, change.clock, limits, sidecar)
                keep(change, replace(after, version=after.version + 1, updated_at=change.now))
                use = current_use(context_in(after), limits)
            return HeartbeatAnswer(
                session=row.session, at=after.heartbeat_at, pct=use.pct, source=use.source
            )

    def count_fault(self, selector: RunSelector) -> int:
        """Count a report that rested on invalid evidence; return how many came in a row. NotFound."""
        with recording(self._context, "run.evidence_refused") as change:
            change.open_session()
            row = change.get(SpecSession, get_run(change.writing, selector).session)
            count = row.evidence_faults + 1
            keep(change, replace(row, evidence_faults=count, updated_at=change.now))
            change.add_facts(faults=count)
            return count

    def proof(self, step: str) -> str:
        """Return the proof of a step; empty if it was issued with another key, so that nobody can derive it."""
        key = self._context.ports.get(EvidenceKeys).of(self._context)
        with self._context.reading() as view:
            steps = view.select(SessionStep, id=step, limit=1)
        if not steps:
            return ""
        proof = proof_of(key, steps[0].session, step, steps[0].renewed_at)
        return proof if proof_digest(proof) == steps[0].proof else ""


def _needs_new_proof(change: Change, run: LoadedRun, step: SessionStep, key: bytes) -> bool:
    """Whether a step has grown stale, or the project has another key than when it was issued."""
    out = run.out
    if out is not None and is_stale(out, change.clock, run.terms.limits):
        return True
    return proof_digest(proof_of(key, step.session, step.id, step.renewed_at)) != step.proof


def _reissue_step(
    change: Change, run: LoadedRun, step: SessionStep, key: bytes
) -> tuple[SpecSession, SessionStep]:
    """Issue a step anew; return run and step. The previous proof is no longer valid."""
    change.open_session()
    row = change.get(SpecSession, step.session)
    stored = change.get(SessionStep, step.session, step.number)
    digest = proof_digest(proof_of(key, step.session, step.id, change.clock))
    after = replace(stored, renewed_at=change.clock, proof=digest)
    change.put(after)
    row = replace(row, version=row.version + 1, updated_at=change.now, heartbeat_at=change.clock)
    keep(change, row)
    change.add_facts(step=step.id)
    about = run.nodes.id(step.task) or run.nodes.id(step.phase)
    note_event(
        change,
        row,
        f"Step issued again: {step.type} {about}".rstrip(),
        "It has a fresh proof; the one of before is no more.",
        type_=STEP_TYPE,
        action="step_reissued",
        step_id=step.id,
        step_type=step.type,
    )
    return row, after


def _load_gates_and_title(
    view: Reading, run: LoadedRun, step: SessionStep | None
) -> tuple[tuple[PhaseGate, ...], str]:
    """Return the gates of a spec, and the title of the task of a step."""
    shape = shape_of(view, run.nodes.root)
    task = view.find(Item, step.task) if step and step.task else None
    gates = tuple(phase_gates(view, shape, run.row, run.terms))
    return gates, task.title if task else ""
