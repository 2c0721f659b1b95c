"""Gates of a run: proved, judged, waived and shown.

The key that proves evidence of gates to be as its reviewer left it.
It lies in no file: whoever can write the database cannot make evidence, and where the signer is of another account, nobody of this one can.

Reads from the ledger how the gates of a spec were opened.
So a row that somebody edited opens nothing. Only entries about the phase itself open its gate: a verdict, a waiver, and the judgment of a report. That a gate was closed again by what
happened elsewhere is in its row, and `audit verify` compares that with all entries. What the call that asks has written itself counts as
said: its entries land together with what it decides by them, or not at all.

Applies reported evidence to the gate of its phase.
A verdict that passes opens the gate as a check is opened by its receipt: the server judged, and not whoever reports it. What does not pass
leaves it closed, and so does all that waits for a person. The phase ends with its gate if all that it holds is done.

Waives the gates of phases, under the rules of the core.
The role of a connection that was started as a maintainer's counts as the scope `maintain`, for this act alone; nobody waives for work
that he has a part in, and where the project asks for a person, one signs.

Gathers what a reviewer sees of a phase.
That is what its nodes promise, and what this server knows of them. Rules: (1) whether a task is completed and its criteria are met is what its items say. A criterion that is not met counts as not met
once somebody has reported the work, and as open before. (2) A file was changed if it differs from the tree in which the work began, or a
claim of a task of the phase has ended with it. (3) A verification is proved by the last receipt of the command that it has now.
(4) Such a receipt is stale once a file that a task of the phase names was changed after it: other edits in the same tree may be others' (0012).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Literal

from counterpoint.core.ledger.entry import RowImage, load_fields
from counterpoint.core.model.access import MAINTAIN
from counterpoint.core.model.evidence import Snapshot
from counterpoint.core.model.filters import Edit
from counterpoint.core.model.journal import Outcome, Receipt, StartPoint
from counterpoint.core.model.rows import load_object
from counterpoint.core.model.work import Area, Attribute, Criterion, Gate, Item
from counterpoint.core.operations.items import Items
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.facets import value_of
from counterpoint.core.operations.recording.moves import settle
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.operations.trust.derived_keys import DerivedKeys
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.areas import covers
from counterpoint.core.rules.evidence import snapshot_of
from counterpoint.core.rules.planning.attributes import command_of
from counterpoint.dialects.foundry.journal.operations import Journals
from counterpoint.dialects.foundry.models.runs import (
    GateEvidence,
    GatePolicy,
    GateStatus,
    SpecSession,
    Verdict,
)
from counterpoint.dialects.foundry.models.tasks import COMMAND
from counterpoint.dialects.foundry.nodes.queries import chunks, get_spec
from counterpoint.dialects.foundry.nodes.rules.shape import items_of, text_of
from counterpoint.dialects.foundry.reviews.panel import Settled
from counterpoint.dialects.foundry.reviews.rules.material import (
    CriterionState,
    PhaseWork,
    ReviewedTask,
    ReviewedVerification,
)
from counterpoint.dialects.foundry.runs.rows import (
    SESSION_TYPE,
    STEP_TYPE,
    Ending,
    RunSelector,
    SpecShape,
    gate_of,
    get_run,
    latest_run,
    note_event,
    policy_in,
    shape_of,
    shown_terms,
)
from counterpoint.dialects.foundry.runs.rules.commands import (
    GateEvent,
    GateEventKind,
    PhaseGate,
    asked_of,
    judged,
    refuse_unreasoned,
    refuse_waiver,
    waiver_of,
)
from counterpoint.dialects.foundry.runs.rules.limits import Configured
from counterpoint.dialects.foundry.tasks.moving import LAST_AT, LAST_RESULT
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import InvalidInput, NotFound, PathOutside

STATEMENT: Final = b"counterpoint gate evidence v1\n"


class EvidenceKeys(DerivedKeys):
    """Those keys, by ledger."""

    statement: ClassVar[bytes] = STATEMENT


_PAGE_ENTRIES: Final = 100
_KINDS: Final[dict[str, GateEventKind]] = {"met": "gate_passed", "waived": "gate_waived"}


def gate_events(
    view: Reading, shape: SpecShape, unlanded: Sequence[RowImage] = ()
) -> tuple[GateEvent, ...]:
    """Return how the ledger says each open gate of a spec was opened; closed gates are left out.

    unlanded: rows that the same call has written and not committed yet.
    """
    return tuple(_list_events(view, shape, unlanded))


def _list_events(
    view: Reading, shape: SpecShape, unlanded: Sequence[RowImage]
) -> Iterator[GateEvent]:
    for phase in shape.phases:
        gate = gate_of(view, phase.id)
        if gate is None or gate.status == "closed":
            continue
        status, proof = _read_status(view, gate, unlanded)
        if status in _KINDS:
            attempt = waiver_of(gate) if status == "waived" else proof
            yield GateEvent(phase=shape.nodes.id(phase.id), kind=_KINDS[status], attempt=attempt)


def _read_status(view: Reading, gate: Gate, unlanded: Sequence[RowImage]) -> tuple[str, str]:
    """Return status and proof of a gate as the entries about its item have left them, and then this call."""
    key, after = {"item": gate.item, "name": gate.name}, -1
    columns: dict[str, Any] = {}
    while sequences := view.sequences(subject=gate.item, after=after, limit=_PAGE_ENTRIES):
        for sequence in sequences:
            for row in load_fields(next(view.entries(sequence, sequence + 1))).get("r", ()):
                if row["t"] == Gate.table and row["k"] == key:
                    columns |= row.get("v") or row.get("c") or {}
        after = sequences[-1]
    for image in unlanded:
        if image.table == Gate.table and image.key == key:
            columns |= image.values or {}
    return columns.get("status", ""), columns.get("proof", "")


class Judging(Verbs):
    """Verbs that apply evidence about a phase."""

    def act_upon(self, attempt: str) -> GateStatus:
        """Apply the evidence of an attempt that was reported and is genuine; return the gate's status.

        It is an entry of its own, about the phase, by which `proving` finds what opened the gate.
        """
        with recording(self._context, "gate.judged") as change:
            change.open_session()
            evidence = change.get(GateEvidence, attempt)
            row = change.get(SpecSession, evidence.session)
            shape = shape_of(change.writing, change.get(Item, row.spec))
            phase = change.get(Item, evidence.phase)
            change.subject = phase.id
            change.put(replace(evidence, reported_at=change.now))
            gate = gate_of(change.writing, phase.id)
            required = asked_of(gate, has_verify=shape.verifies(phase))
            policy = policy_in(change.writing, shown_terms(row).policy)
            status = judged(required, policy, evidence.verdict)
            if gate is not None and gate.status != "closed":
                # A person was faster: the verdict is only recorded.
                status = "waived" if gate.status == "waived" else "passed"
            elif gate is not None and status == "passed":
                _open_gate(change, gate, evidence)
            change.add_facts(
                run=row.session, attempt=attempt, verdict=evidence.verdict, gate=f"gate_{status}"
            )
            name = shape.nodes.id(phase.id)
            note_event(
                change,
                row,
                f"Gate of {name}: {_WORDS[status]}",
                f"The {evidence.reviewer} reviewer said: {evidence.verdict}.",
                type_=STEP_TYPE,
                action=f"gate_{status}",
                step_id=evidence.step,
                phase_id=name,
                gate_attempt_id=attempt,
                verdict=evidence.verdict,
            )
            return status


_WORDS: dict[GateStatus, str] = {
    "passed": "passed",
    "failed": "failed",
    "waived": "waived",
    "pending": "waits for a person",
}


def _open_gate(change: Change, gate: Gate, evidence: GateEvidence) -> None:
    stored = change.get(Gate, gate.item, gate.name)
    change.put(stored.moved("met", change.now, proof=evidence.id))
    settle(change, gate.item)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseReview:
    """What a reviewer found about a phase in one attempt at its gate; every name of a node is its id.

    policy: the one that counts. opens: whether the gate opens with this, or is open already. again: whether it was found before, in the
    same attempt. findings: the heaviest first. settled: what models came to that were asked now; of nobody if none was. path: of the file
    that says what they found.
    """

    spec: str
    session: str
    phase: str
    step: str
    attempt: str
    verdict: Verdict
    policy: GatePolicy
    opens: bool
    reviewer: str
    findings: Sequence[Json]
    again: bool = False
    settled: Settled = field(default_factory=Settled)
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What reviewers say of a spec, of a phase or of a task as it is now, and what people asked for. scope: which of them.

    findings: of the rules. models: of models, as far as any were asked. path: of the file that has all of it. left: files that were not
    shown to models for want of room. is_unchanged: whether nothing had changed since the last review, so that none was asked.
    """

    spec: str
    title: str
    scope: str
    verdict: Verdict | Literal["unknown"]
    findings: Sequence[Json]
    asked: Sequence[str] = ()
    models: Sequence[Json] = ()
    settled: Settled = field(default_factory=Settled)
    path: str = ""
    left: Sequence[str] = ()
    is_unchanged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WaivedGate:
    """A gate that was waived. session: the run of the spec that is live or was the last; empty if there was none."""

    spec: str
    session: str
    phase: str
    gate: str
    waiver: str
    reason_code: str
    reason_detail: str
    waived_at: str
    independence: str


_STATUSES: dict[str, GateStatus] = {"met": "passed", "waived": "waived"}


class Waiving(Verbs):
    """Verbs that waive gates."""

    def waive(
        self,
        selector: RunSelector,
        phase: str,
        why: Ending,
        configured: Configured,
        *,
        is_maintainer: bool = False,
    ) -> WaivedGate:
        """Waive the gate of a phase, and record the reason.

        configured: the limits of the caller's connection. is_maintainer: whether it was started as a maintainer's.
        Raises Forbidden where waivers are not allowed or to whoever has a part in the work, NotFound, InvalidInput.
        """
        refuse_unreasoned(why.code, why.detail)
        with self._context.reading() as view:
            shape, row = _load_spec(view, selector)
            phase_gate = refuse_waiver(
                phase, _gates_by_phase(view, shape), configured.role, configured.terms()
            )
            item = shape.nodes.get(phase_gate.phase, "PHASE_NOT_FOUND")
            gate = gate_of(view, item.id)
        name = gate.name if gate else phase_gate.required
        code, detail = str(why.code), str(why.detail or "")
        context = _as_maintainer(self._context) if is_maintainer else self._context
        with transaction(context):
            edit = Edit(waive=(name,), reason=f"{code}: {detail}" if detail else code)
            Items(context).edit(item.id, edit)
            with recording(context, "gate.waived", item.id) as change:
                change.open_session()
                waived = change.get(Gate, item.id, name)
                change.add_facts(gate="gate_waived", reason_code=code)
                details: dict[str, Json] = {
                    "phase_id": phase_gate.phase,
                    "reason_code": code,
                    "waiver_id": waiver_of(waived),
                }
                title = f"Gate of {phase_gate.phase} waived: {code}"
                if row is not None:
                    text = detail or code
                    note_event(
                        change,
                        row,
                        title,
                        text,
                        type_=SESSION_TYPE,
                        action="gate_waived",
                        **details,
                    )
            if row is None:
                Journals(context).add(
                    shape.nodes.spec, "decision", title, detail or code, phase_gate.phase, details
                )
        return WaivedGate(
            spec=shape.nodes.spec,
            session=row.session if row else "",
            phase=phase_gate.phase,
            gate=name,
            waiver=waiver_of(waived),
            reason_code=code,
            reason_detail=str(waived.reason).partition(": ")[2],
            waived_at=waived.updated_at,
            independence=waived.independence,
        )


def _load_spec(view: Reading, selector: RunSelector) -> tuple[SpecShape, SpecSession | None]:
    """Return the selected spec and its run; a spec whose runs were all collected still has gates."""
    if selector.spec and not selector.session:
        root = get_spec(view, selector.spec)
        return shape_of(view, root), latest_run(view, root.id)
    row = get_run(view, selector)
    return shape_of(view, view.find(Item, row.spec) or get_spec(view, row.spec)), row


def _gates_by_phase(view: Reading, shape: SpecShape) -> dict[str, PhaseGate]:
    """Return the gates of a spec, by the ids of their phases."""
    gates: dict[str, PhaseGate] = {}
    for phase in shape.phases:
        gate = gate_of(view, phase.id)
        if gate is not None:
            name = shape.nodes.id(phase.id)
            gates[name] = PhaseGate(
                phase=name,
                required=asked_of(gate, has_verify=shape.verifies(phase)),
                status=_STATUSES.get(gate.status, "pending"),
            )
    return gates


def _as_maintainer(context: Context) -> Context:
    """Return the context of the same call with the scope of a maintainer."""
    scopes = context.caller.scopes | {MAINTAIN}
    return replace(context, caller=replace(context.caller, scopes=scopes))


_WILD: Final = frozenset("*?")
_NO_TASKS: Final = frozenset({"group", "verify", "phase"})
"""Types of nodes that promise nothing of their own, or are looked at as verifications."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasePromises:
    """What the ledger says a phase promises.

    work: without the state of the tree. receipts: of the verifications that were run, by the ids of their nodes. measured: paths that
    ended claims have changed. start: the tree in which the work began; None if it never began.
    """

    work: PhaseWork
    receipts: Mapping[str, Receipt]
    measured: frozenset[str]
    start: StartPoint | None


def load_promises(view: Reading, shape: SpecShape, phase: Item) -> PhasePromises:
    """Load what the ledger says a phase promises."""
    items = shape.tasks[phase.id]
    names = shape.nodes.ids([phase.id, *(item.id for item in items)])
    tasks = [item for item in items if shape.types[item.id] not in _NO_TASKS]
    checks = [item for item in items if shape.types[item.id] == "verify"]
    pairs = [_load_verification(view, item, names[item.id]) for item in checks]
    work = PhaseWork(
        phase=names[phase.id],
        tasks=tuple(_tasks(view, tasks, names)),
        verifications=tuple(verification for verification, _ in pairs),
    )
    return PhasePromises(
        work=work,
        receipts={
            verification.id: receipt for verification, receipt in pairs if receipt is not None
        },
        measured=frozenset(_measured_paths(view, tasks)),
        start=_find_start(view, shape.nodes.root, tasks),
    )


def gather_work(context: Context, promises: PhasePromises) -> PhaseWork:
    """Return what a reviewer sees of a phase, with the state of the caller's tree; called while no transaction is open."""
    named_paths = tuple(dict.fromkeys(path for task in promises.work.tasks for path in task.files))
    paths = {
        *promises.measured,
        *(_changed_paths(context, snapshot_of(promises.start)) if promises.start else ()),
    }
    changed = frozenset(_touched_names(named_paths, paths))
    is_stale: dict[tuple[str, str], bool] = {}
    for receipt in promises.receipts.values():
        tree = receipt.commit, str(receipt.files)
        if tree not in is_stale:
            since = _changed_paths(context, snapshot_of(receipt)) if named_paths else ()
            is_stale[tree] = any(_touched_names(named_paths, since))
    checks = tuple(
        replace(verification, is_stale=is_stale[receipt.commit, str(receipt.files)])
        if (receipt := promises.receipts.get(verification.id)) is not None
        else verification
        for verification in promises.work.verifications
    )
    present = frozenset(
        path for path in named_paths if path not in changed and _is_present(context, path)
    )
    return replace(promises.work, verifications=checks, changed=changed, present=present)


def _tasks(
    view: Reading, items: Sequence[Item], names: Mapping[str, str]
) -> Iterator[ReviewedTask]:
    ids = [item.id for item in items]
    criteria: dict[str, list[Criterion]] = defaultdict(list)
    files: dict[str, list[str]] = defaultdict(list)
    reported: set[str] = set()
    for some in chunks(ids):
        for sentence in view.select(Criterion, item=some):
            criteria[sentence.item].append(sentence)
        for area in view.select(Area, item=some):
            files[area.item].append(area.pattern)
        reported.update(name for (name,) in view.cells(Outcome, ("item",), item=some))
    for item in items:
        unmet = False if item.id in reported else None
        yield ReviewedTask(
            id=names[item.id],
            title=item.title,
            is_completed=item.category == "done",
            left=_skip_status(item),
            criteria=tuple(
                CriterionState(text=criterion.text, is_met=True if criterion.met else unmet)
                for criterion in sorted(criteria[item.id], key=lambda criterion: criterion.position)
            ),
            files=tuple(files[item.id]),
        )


def _load_verification(
    view: Reading, item: Item, name: str
) -> tuple[ReviewedVerification, Receipt | None]:
    attributes = {
        attribute.name: value_of(attribute) for attribute in view.select(Attribute, item=item.id)
    }
    line = text_of(attributes.get(COMMAND)).strip()
    argv = command_of(line)[0] if line else ()
    receipts = view.select(Receipt, item=item.id, order="number desc") if argv else []
    receipt = next((candidate for candidate in receipts if candidate.argv == argv), None)
    return ReviewedVerification(
        id=name,
        is_completed=item.category == "done",
        left=_skip_status(item),
        result=_last_result(attributes, receipt),
        has_command=bool(line),
        exit_code=receipt.exit_code if receipt else None,
    ), receipt


def _last_result(attributes: Mapping[str, Json], receipt: Receipt | None) -> str:
    """Return the last word about a verification: that of its receipt, unless somebody reported after that."""
    if receipt is not None and text_of(attributes.get(LAST_AT)) <= receipt.ended_at:
        return "FAILED" if receipt.timed_out else ""
    return text_of(attributes.get(LAST_RESULT))


def _skip_status(item: Item) -> str:
    return item.status if item.status in item.states.skips else ""


def _measured_paths(view: Reading, items: Iterable[Item]) -> Iterator[str]:
    """Yield every path that claims of some items have ended with, as far as it was recorded by name."""
    for some in chunks([item.id for item in items]):
        for outcome in view.select(Outcome, item=some):
            for file in items_of(load_object(outcome.evidence).get("files")):
                yield text_of(object_of(file).get("path"))


def _find_start(view: Reading, root: Item, items: Sequence[Item]) -> StartPoint | None:
    """Return the first of the trees in which a run of the spec, or work on some items, began."""
    points: list[StartPoint] = []
    for some in chunks([root.id, *(item.id for item in items)]):
        points += view.select(StartPoint, item=some)
    return min(points, key=lambda point: point.taken_at, default=None)


def _changed_paths(context: Context, start: Snapshot) -> list[str]:
    """Return the paths in which the caller's tree differs from an earlier one, by their present and previous names."""
    comparison = context.ports.evidence.compare(context.caller.root, start)
    return [
        path for change in comparison.changes for path in (change.path, change.previous) if path
    ]


def _touched_names(names: Iterable[str], paths: Iterable[str]) -> Iterator[str]:
    """Yield those of the named files, folders and patterns that some paths lie in."""
    lie_in = {lead for path in paths for lead in _prefixes(path)}
    for name in names:
        is_wild = not _WILD.isdisjoint(name)
        if _normalize(name) in lie_in or (is_wild and any(covers(name, path) for path in lie_in)):
            yield name


def _prefixes(path: str) -> Iterator[str]:
    """Yield a path and every folder that it lies in; the whole tree has an empty name."""
    parts = path.split("/")
    for end in range(len(parts) + 1):
        yield "/".join(parts[:end])


def _normalize(name: str) -> str:
    return "/".join(part for part in name.split("/") if part not in {"", "."})


def _is_present(context: Context, path: str) -> bool:
    """Return whether a file or folder exists; a pattern counts as present, since nothing can be said of it."""
    if not _WILD.isdisjoint(path):
        return True
    try:
        context.ports.evidence.load(context.caller.root, path, 0)
    except (NotFound, PathOutside):
        return False
    except InvalidInput:
        # It exists, and is a folder or larger than nothing.
        return True
    return True
