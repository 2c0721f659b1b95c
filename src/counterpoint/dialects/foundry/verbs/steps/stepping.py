"""Decides the next step of a run, issues it, and takes what is reported of it.

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
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.operations.recording.unit import joined, recording, unlanded
from counterpoint.core.ports.store import Reading
from counterpoint.dialects.foundry.autonomy_files import AutonomyFiles
from counterpoint.dialects.foundry.nouns.autonomy import LIVE, GateStatus, SessionStep, SpecSession
from counterpoint.dialects.foundry.rules.autonomy.answers import RunState, answer, refused
from counterpoint.dialects.foundry.rules.autonomy.contexts import Sidecar
from counterpoint.dialects.foundry.rules.autonomy.counting import Result, is_completed
from counterpoint.dialects.foundry.rules.autonomy.deciding import (
    Complete,
    Decision,
    Fail,
    Issue,
    Situation,
    decide,
    warns_of_silence,
)
from counterpoint.dialects.foundry.rules.autonomy.gating import PhaseGate
from counterpoint.dialects.foundry.rules.autonomy.results import Judged, StepResult, judge
from counterpoint.dialects.foundry.rules.shape import text_of
from counterpoint.dialects.foundry.verbs.gates.keys import EvidenceKeys
from counterpoint.dialects.foundry.verbs.sessions import holding
from counterpoint.dialects.foundry.verbs.sessions.finding import run_named
from counterpoint.dialects.foundry.verbs.sessions.gates import phase_gates
from counterpoint.dialects.foundry.verbs.sessions.keeping import keep
from counterpoint.dialects.foundry.verbs.sessions.rows import step_in
from counterpoint.dialects.foundry.verbs.sessions.shape import shape_of
from counterpoint.dialects.foundry.verbs.sessions.views import RunOf
from counterpoint.dialects.foundry.verbs.steps.issuing import Issued, settled
from counterpoint.dialects.foundry.verbs.steps.living import Sign, signed
from counterpoint.dialects.foundry.verbs.steps.reporting import judge_gate, reported
from counterpoint.dialects.foundry.verbs.steps.scene import (
    Scene,
    known_of,
    scene_of,
    situation_of,
)
from counterpoint.dialects.foundry.verbs.tasks.moving import MeasuredNode, Moving, type_in
from counterpoint.dialects.foundry.verbs.unallowed import lacking_of_node
from counterpoint.kernel.canonical import Json, dump_any, object_of
from counterpoint.kernel.errors import CounterpointError

_NOTE: Final = "Completed in an unattended run."
_SILENT: Final = (
    "Nothing was heard of this run for a while: send heartbeats while a step takes long."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What is answered. data: without proofs, as it is kept; warnings: beside it.

    lacking: commands of the task at the step that would not be run.
    """

    data: Json
    warnings: tuple[str, ...] = ()
    lacking: Lacking | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A call with what was asked before its transaction. key: of the project; stop: whether somebody asks the run to stop.

    ending: of the task that it reports as done. snapshot: of the tree in which the next one begins. sidecar: what is said
    beside the sandbox of its agent.
    """

    session: str
    result: StepResult | None
    sign: Sign | None
    key: bytes
    stop: bool
    ending: MeasuredNode | None
    snapshot: Snapshot | None
    sidecar: Sidecar | None


class Stepping:
    """Verbs for whoever works in a run."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def next(self, wanted: RunOf, result: StepResult | None, sign: Sign | None = None) -> Answered:
        """Take a report, and issue what comes next; the same report within its grace hears the same.

        That the run has failed is answered, since it has to be written: `answers.refusal_in` finds it. Raises what is wrong
        with the report, AlreadyClaimed or Forbidden while somebody else is at the run, and what completing a task raises.
        """
        key = self._context.ports.get(EvidenceKeys).of(self._context)
        scene, judged, again = self._judged(wanted, result, key)
        if again is not None:
            return self._with_lacking(again)
        asked = self._asked(scene, result, judged, sign, key)
        try:
            with joined(self._context):
                return self._step(asked)
        except CounterpointError:
            # Another call with the same report may have been faster.
            again = self._judged(RunOf(session=asked.session), result, key)[2]
            if again is None:
                raise
            return self._with_lacking(again)

    def _with_lacking(self, again: Answered) -> Answered:
        """Return an answer that is told again with what would not be run now: another may have allowed it since."""
        with self._context.reading() as view:
            row = view.find(SpecSession, text_of(object_of(again.data).get("session_id")))
            if row is None:
                return again
            lacking = lacking_of_step(self._context, view, scene_of(view, row).outstanding)
            return replace(again, lacking=lacking)

    def obey(self, spec: str, session: str) -> None:
        """Take a request to stop away that was obeyed, once that has landed.

        One that came since is left, as when the answer that tells of the pause is told again to a run that goes on.
        """
        with self._context.reading() as view:
            row = view.find(SpecSession, session)
        if row is not None and (row.status, row.pause_reason) == ("paused", "user"):
            self._context.ports.get(AutonomyFiles).clear_stop(spec)

    def _judged(
        self, wanted: RunOf, result: StepResult | None, key: bytes
    ) -> tuple[Scene, Judged | None, Answered | None]:
        """Return the run that is meant, what is to be taken of a report, and what it was answered if it was taken; its refusals."""
        with self._context.reading() as view:
            scene = scene_of(view, run_named(view, wanted))
            now = self._context.ports.clock.now()
            judged = judge(result, known_of(scene, result, now, key))
            is_again = judged is not None and judged.again is not None
            return scene, judged, _again(scene, judged) if judged and is_again else None

    def _asked(
        self,
        scene: Scene,
        result: StepResult | None,
        judged: Judged | None,
        sign: Sign | None,
        key: bytes,
    ) -> _Asked:
        """Return a call with what is asked outside of the store: nobody waits to write meanwhile."""
        ports, root = self._context.ports, self._context.caller.root
        files = ports.get(AutonomyFiles)
        with self._context.reading() as view:
            is_done = judged is not None and _is_to_end(view.find, scene, judged)
        ending = None
        if is_done and scene.outstanding is not None:
            task = scene.known.id(scene.outstanding.task)
            ending = Moving(self._inside(scene.row)).measured(scene.known.spec, task)
        return _Asked(
            session=scene.row.session,
            result=result,
            sign=sign,
            key=key,
            stop=files.is_stop_asked(scene.known.spec),
            ending=ending,
            snapshot=ports.evidence.snapshot(root) if scene.row.status == "running" else None,
            sidecar=files.sidecar(),
        )

    def _inside(self, row: SpecSession) -> Context:
        """Return the context in the session that a run is, as long as that goes on."""
        is_live = row.status in LIVE
        return self._context.in_session(row.session, item=row.spec) if is_live else self._context

    def _step(self, asked: _Asked) -> Answered:
        # It writes nothing: it begins the transaction that is looked at.
        with recording(self._context, "run.looked") as change:
            row = change.get(SpecSession, asked.session)
            scene = scene_of(change.writing, row)
            known = known_of(scene, asked.result, change.clock, asked.key)
            judged = judge(asked.result, known)
        if judged is not None and judged.again:
            return _again(scene, judged)
        inside = self._inside(row)
        if row.status in LIVE:
            with recording(inside, "run.entered", row.spec) as change:
                holding.take_up(change, row.session)
        gate = self._land(inside, asked, scene, judged) if judged is not None else "pending"
        with recording(inside, "run.stepped", row.spec) as change:
            decision, told = _decided(change, asked, scene, judged, gate)
        if isinstance(decision, Issue) and decision.task is not None:
            moving, spec = Moving(inside), scene.known.spec
            started = moving.start(spec, decision.task.id, snapshot=asked.snapshot)
            return replace(told, lacking=started.lacking)
        return told

    def _land(self, inside: Context, asked: _Asked, scene: Scene, judged: Judged) -> GateStatus:
        """Let a report have its effect on the work itself; return how the gate of its phase stands then."""
        with inside.reading() as view:
            is_to_end = _is_to_end(view.find, scene, judged)
        if is_to_end and asked.ending is not None:
            Moving(inside).land(asked.ending, judged.result.note or _NOTE)
        return judge_gate(inside, scene, judged)


def _is_to_end(find: Callable[..., Item | None], scene: Scene, judged: Judged) -> bool:
    """Whether a task ends with a report: it says so, and nobody has ended, handed in or removed it yet."""
    step = scene.outstanding
    if step is None or not is_completed(Result(type=step.type, outcome=judged.result.outcome)):
        return False
    item = find(Item, step.task)
    return item is not None and item.category in {"open", "active"}


def _decided(
    change: Change,
    asked: _Asked,
    scene: Scene,
    judged: Judged | None,
    gate: GateStatus,
) -> tuple[Decision, Answered]:
    """Take a report, decide what comes next and keep both; return the decision and what is told."""
    row, done = change.get(SpecSession, asked.session), None
    if judged is not None and scene.last is not None:
        out = change.get(SessionStep, row.session, scene.last.number)
        row, done = reported(change, row, scene, out, judged, gate)
    row = signed(row, asked.sign, change.clock, scene.terms.limits, asked.sidecar)
    here = replace(scene, row=row, last=done or scene.last)
    shape = shape_of(change.writing, scene.known.root)
    situation = situation_of(
        here,
        shape,
        Holders(change.writing, change.context, session=row.session),
        had_step=judged is not None,
        stop_requested=asked.stop,
        unlanded=unlanded(change.context),
    )
    decision = decide(situation)
    if isinstance(decision, Complete) and decision.is_over and done is None:
        return decision, Answered(data=_answer_of(Issued(row=row), scene, situation))
    # Before a run that is complete ends its session.
    change.open_session()
    issued = settled(change, here, decision, asked.key)
    after = replace(issued.row, version=row.version + 1, updated_at=change.now)
    data = _answer_of(replace(issued, row=after), scene, situation)
    if isinstance(decision, Fail):
        data = refused(decision, row.session)
    keep(change, after, must=situation.is_sound)
    if done is not None:
        change.put(replace(done, answer=Prose(dump_any(data))))
    if issued.step is not None:
        change.put(issued.step)
    change.add_facts(status=after.status)
    # As it was until this call, which is a sign of life itself.
    before = replace(situation, heartbeat_at=scene.row.heartbeat_at)
    warnings = (_SILENT,) if warns_of_silence(before) else ()
    return decision, Answered(data=data, warnings=warnings)


def _answer_of(issued: Issued, scene: Scene, situation: Situation) -> Json:
    """Return what is told of a run and of the step that it was given."""
    gates = tuple(phase.gate for phase in situation.phases if phase.gate is not None)
    return step_answer(issued.row, scene, gates, issued.step, issued.title)


def lacking_of_step(context: Context, view: Reading, step: SessionStep | None) -> Lacking | None:
    """Return which commands of the task at a step would not be run; None if all would, or there is no task."""
    item = view.find(Item, step.task) if step is not None and step.task else None
    return lacking_of_node(context, view, item.id, type_in(view, item)) if item else None


def step_answer(
    row: SpecSession,
    scene: Scene,
    gates: tuple[PhaseGate, ...],
    step: SessionStep | None,
    title: str = "",
) -> Json:
    """Return what is told of a run. step: the one that is out; title: of its task."""
    state = RunState(
        session=row.session,
        spec=scene.known.spec,
        status=row.status,
        version=row.version,
        pause_reason=row.pause_reason,
        failure_reason=row.failure_reason,
        gates=gates,
    )
    out = step_in(step, scene.known) if step else None
    return answer(state, out, title, step.reason if step else "")


def _again(scene: Scene, judged: Judged) -> Answered:
    """Return what a report was answered when it was taken.

    What is known of the run now, if the ledger has that no more, or if the report is that of the pause in which it stands.
    """
    view, row, taken = scene.known.view, scene.row, judged.again.id if judged.again else ""
    steps = view.select(SessionStep, session=row.session, id=taken, limit=1)
    kept = load_object(steps[0].answer) if steps else {}
    if kept:
        return Answered(data=kept)
    gates = tuple(phase_gates(view, shape_of(view, scene.known.root), row, scene.terms))
    return Answered(data=step_answer(row, scene, gates, scene.outstanding))
