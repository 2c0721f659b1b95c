"""Branches handed in: measured by git, checked here.

Rule 1: where there is a repository the server's own difference counts; what was sent is compared with it.
Rule 2: the project's gates are run here, signed receipts are kept; what an agent says of them is kept as
its word. Rule 3: of each item the last request counts; an open one before it is superseded.
Rule 4: an approval is of the commit that was looked at; with another one the request is open again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from counterpoint.core.model.drafts import SubmissionDraft
from counterpoint.core.model.evidence import Branch, Command
from counterpoint.core.model.journal import Changeset, Receipt, Submission, Verdict
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.work import Item
from counterpoint.core.operations.gates import Gates
from counterpoint.core.operations.readiness import judge_item
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.holders import Holders
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.operations.reviews import hand_in
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.wording import few, spoken_of
from counterpoint.dialects.symphony.nouns import (
    DIFF_LIMIT,
    GATE_OUTPUT,
    MARKER,
    ChangeRequest,
    ClaimedGate,
    GateCommand,
    Policy,
    Proposal,
)
from counterpoint.dialects.symphony.rules.diffs import Diff, parse
from counterpoint.dialects.symphony.rules.risk import (
    GateResult,
    argv_of,
    judge,
    sensitive_paths,
    thresholds_of,
)
from counterpoint.dialects.symphony.verbs.policies import policy_of
from counterpoint.dialects.symphony.verbs.queries import bring_to_review, take_in_hand
from counterpoint.kernel.canonical import Json, dump_any
from counterpoint.kernel.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    NotReady,
)
from counterpoint.kernel.plurals import agree, counted

_PATHS_KEPT: Final = 500
_NOT_RUN: Final = 127


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A change as it was found: everything of a request that is not about who asked for it."""

    proposal: Proposal
    branch: Branch | None
    text: str
    diff: Diff
    gates: tuple[dict[str, Json], ...]
    policy: Policy
    remarks: tuple[str, ...]


class Requests(Verbs):
    """Verbs for changes that are handed in."""

    def current(self, item: str) -> ChangeRequest | None:
        """Return the request of an item that counts, if there is one."""
        with self._context.reading() as view:
            return current(view, item)

    def get(self, item: str) -> ChangeRequest:
        """Return the request of an item that counts; NotFound."""
        request = self.current(item)
        if request is None:
            raise NotFound(f"nothing was handed in of {spoken_of(item)}")
        return request

    def propose(
        self,
        proposal: Proposal,
        watch: Watch | None = None,
        take_up: Callable[[], object] | None = None,
    ) -> ChangeRequest:
        """Hand a change in: it is measured, its gates are run, and the item goes to review.

        take_up: claims an item that is free; nothing is written before all gates have run. The same commit again changes nothing. Raises NotFound, NotReady for an item that nobody is at,
        InvalidInput for a difference that cannot be read or is too long.
        """
        with self._context.reading() as view:
            item = view.find(Item, proposal.item)
            if take_up is None or item is None or not self._is_free(view, item):
                self._refuse_idle(item, proposal.item)
            before = current(view, proposal.item)
        branch, remarks = self._branch(proposal)
        if before is not None and before.status == "open" and _is_same(before, branch, proposal):
            return before
        measured = self.measure(proposal, branch, remarks, watch)
        if take_up is not None:
            take_up()
        with recording(self._context, "change.proposed", proposal.item) as change:
            change.open_session()
            take_in_hand(change, change.get(Item, proposal.item))
            return self.put(change, measured)

    def _is_free(self, view: Reading, item: Item) -> bool:
        return judge_item(view, item, Holders(view, self._context)).is_ready

    def _refuse_idle(self, item: Item | None, name: str) -> None:
        if item is None:
            raise NotFound(f"there is no issue {name!r} in this project")
        if item.category not in {"active", "review"}:
            raise NotReady(
                f"{spoken_of(item.id)} is not in progress: it is {item.status}",
                hint="Only work that somebody is at can be handed in.",
            )

    def _branch(self, proposal: Proposal) -> tuple[Branch | None, tuple[str, ...]]:
        """Return what git says of the branch, None without a repository, and remarks."""
        tree = self._tree(proposal)
        try:
            branch = self._context.ports.evidence.branch(
                tree, proposal.branch, proposal.base, DIFF_LIMIT
            )
        except NotFound as fault:
            if not proposal.diff or self._context.ports.evidence.snapshot(tree).method == "git":
                raise
            return None, (f"the difference is what was sent: {fault.message}",)
        return branch, ()

    def measure(
        self,
        proposal: Proposal,
        branch: Branch | None,
        remarks: Sequence[str] = (),
        watch: Watch | None = None,
    ) -> Measured:
        """Return a change as it is: its difference, what the gates say; InvalidInput, Conflict."""
        text = branch.diff if branch else proposal.diff
        if len(text.encode()) > DIFF_LIMIT:
            raise InvalidInput(f"the difference has more than {DIFF_LIMIT} bytes")
        diff = parse(text)
        if not diff.files:
            raise Conflict("the change is empty", hint="Commit the work first.")
        with self._context.reading() as view:
            policy = policy_of(view)
        notes = [*remarks]
        if branch and proposal.diff and _shape(parse(proposal.diff)) != _shape(diff):
            notes.append("the diff that was sent is not that of the branch; git's own is kept")
        ran: list[dict[str, Json]] = []
        why = self._not_as_committed(proposal, branch) if policy.gates and branch else ""
        if why:
            notes.append(f"the gates were not run: {why}")
        else:
            ran = self._run(proposal, policy.gates, watch)
        gates = (*ran, *map(_claimed, proposal.gates))
        return Measured(
            proposal=proposal,
            branch=branch,
            text=text,
            diff=diff,
            gates=gates,
            policy=policy,
            remarks=tuple(notes),
        )

    def _not_as_committed(self, proposal: Proposal, branch: Branch) -> str:
        """Return why what is on disk is not what was committed last, so that gates would see other files."""
        away = "no tree is on the head of the branch"
        try:
            snapshot = self._context.ports.evidence.snapshot(self._tree(proposal))
        except NotFound:
            return away
        if snapshot.commit != branch.head:
            return away
        # The marker of the worktree is the server's own file.
        uncommitted = sorted(snapshot.files.keys() - {MARKER})
        return (
            f"{agree(len(uncommitted), 'path', 'is')} not committed: {few(uncommitted)}"
            if uncommitted
            else ""
        )

    def _tree(self, proposal: Proposal) -> Path:
        return Path(proposal.tree) if proposal.tree else self._context.caller.root

    def _run(
        self, proposal: Proposal, gates: Sequence[GateCommand], watch: Watch | None
    ) -> list[dict[str, Json]]:
        """Run the project's gates in the tree of the change; answer their results."""
        tree = self._tree(proposal)
        context = Context(
            ports=self._context.ports,
            caller=replace(self._context.caller, root=tree),
            unit=self._context.unit,
        )
        results: dict[int, dict[str, Json]] = {}
        commands: dict[int, Command] = {}
        for index, gate in enumerate(gates):
            try:
                commands[index] = Command(argv=argv_of(gate.command))
            except InvalidInput as fault:
                results[index] = _gate(gate, _NOT_RUN, fault.message)
        ran = Gates(context).run(proposal.item, tuple(commands.values()), watch)
        for index, outcome in zip(commands, ran, strict=True):
            if isinstance(outcome, Receipt):
                results[index] = _of_receipt(gates[index], outcome)
            else:
                results[index] = _gate(gates[index], _NOT_RUN, outcome.message)
        return [results[index] for index in range(len(gates))]

    def put(
        self, change: Change, measured: Measured, author: Submission | None = None
    ) -> ChangeRequest:
        """Write a request in a change, in place of the one before it; the item goes to review.

        author: the phase that the branch was handed over with, whose author is the request's.
        """
        proposal, branch = measured.proposal, measured.branch
        submission = hand_in(
            change,
            SubmissionDraft(
                of="branch",
                item=proposal.item,
                summary=proposal.summary or ("\n".join(branch.commits) if branch else ""),
                commit=branch.head if branch else "",
                tree=str(self._tree(proposal)),
                branch=branch.name if branch else proposal.branch,
                base=branch.base if branch else proposal.base,
                run=proposal.run,
                session=author.session if author else "",
                agent=author.agent if author else "",
            ),
        )
        changes = change.masked(changes_of(submission, measured))
        change.put(changes)
        change.add_facts(head=submission.commit, risk=changes.risk_level)
        bring_to_review(change, change.get(Item, proposal.item))
        return ChangeRequest(submission=submission, changes=changes)

    def _head_now(self, request: Submission) -> str:
        """Return the commit the branch of a request is on now; empty if it is gone, or was sent."""
        if not request.commit:
            return ""
        try:
            return self._context.ports.evidence.head(self._context.caller.root, request.branch)
        except NotFound:
            return ""

    def renew(self, watch: Watch | None = None) -> list[Submission]:
        """Measure each live request anew whose branch went on; it is open again. Answer these."""
        with self._context.reading() as view:
            live = view.select(Submission, of="branch", status=("open", "accepted"), order="number")
        return [
            after for request in live if (after := self._renew_request(request, watch)) is not None
        ]

    def _renew_request(self, request: Submission, watch: Watch | None) -> Submission | None:
        head = self._head_now(request)
        if not head or head == request.commit:
            return None
        proposal = Proposal(
            item=request.item, branch=request.branch, base=request.base, tree=request.tree
        )
        evidence, root = self._context.ports.evidence, self._context.caller.root
        try:
            branch = evidence.branch(root, request.branch, request.base, DIFF_LIMIT)
            measured = self.measure(proposal, branch, (), watch)
            head = branch.head
        except (InvalidInput, NotFound, Conflict) as fault:
            measured = fault
        with recording(self._context, "change.renewed", request.item) as change:
            change.open_session()
            if change.get(Submission, request.id) != request:
                return None
            changes = change.get(Changeset, request.id)
            if isinstance(measured, Measured):
                changes = changes_of(request, measured)
            else:
                changes = replace(changes, remarks=Prose(measured.message))
            change.put(changes)
            after = replace(request, commit=head, status="open", updated_at=change.now)
            change.put(after)
            change.add_facts(submission=request.id, head=head, before=request.commit)
            return after


def current(view: Reading, item: str) -> ChangeRequest | None:
    """Return the last request of an item."""
    submissions = view.select(Submission, item=item, of="branch", order="number desc", limit=1)
    if not submissions:
        return None
    verdicts: list[Verdict] = []
    if submissions[0].status in {"accepted", "rejected"}:
        verdicts = view.select(Verdict, submission=submissions[0].id, order="number desc", limit=1)
    (changes,) = view.select(Changeset, submission=submissions[0].id)
    return ChangeRequest(
        submission=submissions[0], changes=changes, verdict=verdicts[0] if verdicts else None
    )


def changes_of(submission: Submission, measured: Measured) -> Changeset:
    """Return what a branch changes, with what was found of it."""
    branch, diff = measured.branch, measured.diff
    risk = judge(
        lines=diff.lines,
        files=len(diff.files),
        sensitive=sensitive_paths(diff.paths, measured.policy.sensitive_paths),
        gates=[_parse_gate(gate) for gate in measured.gates],
        thresholds=thresholds_of(dict(measured.policy.thresholds)),
    )
    assessment: dict[str, Json] = {
        "parts": asdict(risk.parts),
        "basis": risk.basis,
        "sensitive": list(risk.sensitive[:_PATHS_KEPT]),
        "reasons": list(risk.reasons),
    }
    return Changeset(
        project=submission.project,
        submission=submission.id,
        base_commit=branch.base_commit if branch else "",
        source="git" if branch else "sent",
        diff=Prose(measured.text),
        files=len(diff.files),
        additions=diff.additions,
        deletions=diff.deletions,
        paths=diff.paths[:_PATHS_KEPT],
        gates=Prose(dump_any(list(measured.gates))),
        risk_level=risk.level,
        risk_score=risk.score,
        risk=Prose(dump_any(assessment)),
        remarks=Prose("\n".join(measured.remarks)),
    )


def _is_same(before: ChangeRequest, branch: Branch | None, proposal: Proposal) -> bool:
    if branch is not None:
        return before.submission.commit == branch.head and not proposal.gates
    changes = before.changes
    return changes.source == "sent" and changes.diff == proposal.diff and not proposal.gates


def _shape(diff: Diff) -> list[tuple[str, int, int]]:
    return sorted((file.path, file.additions, file.deletions) for file in diff.files)


def _gate(gate: GateCommand, exit_code: int, output: str) -> dict[str, Json]:
    return {
        "command": gate.command,
        "label": gate.label,
        "required": gate.required,
        "exit_code": exit_code,
        "output": output,
        "verified": True,
    }


def _of_receipt(gate: GateCommand, receipt: Receipt) -> dict[str, Json]:
    code = receipt.exit_code if not receipt.timed_out else receipt.exit_code or -1
    ended = {"ended_for": receipt.ended_for} if receipt.ended_for else {}
    output = "\n".join((_end_of(receipt.output), *receipt.remarks))
    return {**_gate(gate, code, output), "receipt": receipt.id, **ended}


def _claimed(gate: ClaimedGate) -> dict[str, Json]:
    return {
        "command": gate.command,
        "label": gate.label,
        "required": gate.required,
        "exit_code": gate.exit_code,
        "output": gate.output,
        "verified": False,
    }


def _end_of(output: str) -> str:
    """Return the end of an output, where what matters stands."""
    omitted = len(output) - GATE_OUTPUT
    return (
        output
        if omitted <= 0
        else f"… ({counted(omitted, 'character')} before)\n{output[omitted:]}"
    )


def _parse_gate(gate: dict[str, Json]) -> GateResult:
    return GateResult(
        command=str(gate["command"]),
        label=str(gate["label"]),
        is_passed=gate["exit_code"] == 0,
        is_required=bool(gate["required"]),
        is_verified=bool(gate["verified"]),
    )
