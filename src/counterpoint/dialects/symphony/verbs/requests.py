"""Changes handed in: measured by git, checked here, judged by others.

Rule 1: where there is a repository the server's own difference counts; what was sent is compared with it.
Rule 2: the project's gates are run here, signed receipts are kept; what an agent says of them is kept as
its word. Rule 3: of each item the last request counts; an open one before it is superseded.
Rule 4: an approval is of the commit that was looked at; with another one the request is open again.
Rule 5: who did the work does not judge it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from counterpoint.core.model.delivery.requests import (
    DIFF_LIMIT,
    GATE_OUTPUT,
    ChangeRequest,
    ClaimedGate,
    Proposal,
)
from counterpoint.core.model.evidence import Branch, Command
from counterpoint.core.model.journal import Receipt
from counterpoint.core.model.rows import Prose
from counterpoint.core.model.work import Item
from counterpoint.core.operations.gates import Gates
from counterpoint.core.operations.readiness import judged
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.moves import move
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.store import Reading
from counterpoint.core.rules.identifiers import spoken_of
from counterpoint.dialects.symphony.nouns.policy import GateCommand, Policy
from counterpoint.dialects.symphony.rules.commands import argv_of
from counterpoint.dialects.symphony.rules.diffs import Diff, parse
from counterpoint.dialects.symphony.rules.risk import (
    GateResult,
    judge,
    sensitive_paths,
    thresholds_of,
)
from counterpoint.dialects.symphony.verbs.authors import bring_to_review, note, refuse_author
from counterpoint.dialects.symphony.verbs.policies import policy_of
from counterpoint.kernel.canonical import Json, dump_any
from counterpoint.kernel.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    NotReady,
    StaleVersion,
)

_PATHS_KEPT: Final = 500
_NOT_RUN: Final = 127
_LIVE: Final = ("open", "approved")


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


class Requests:
    """Verbs for changes that are handed in."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def current(self, item: str) -> ChangeRequest | None:
        """Return the request of an item that counts, if there is one."""
        with self._context.reading() as view:
            return current(view, item)

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
            session = change.open_session()
            self._refuse_idle(change.find(Item, proposal.item), proposal.item)
            return self.put(change, measured, session, self._context.caller.actor.name)

    def _is_free(self, view: Reading, item: Item) -> bool:
        session, now = self._context.caller.actor.session, self._context.ports.clock.now()
        return judged(view, item, session, now).is_ready

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
            found = self._context.ports.evidence.branch(
                tree, proposal.branch, proposal.base, DIFF_LIMIT
            )
        except NotFound as fault:
            if not proposal.diff or self._context.ports.evidence.snapshot(tree).method == "git":
                raise
            return None, (f"the difference is what was sent: {fault.message}",)
        return found, ()

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
        told = [*remarks]
        if branch and proposal.diff and _shape(parse(proposal.diff)) != _shape(diff):
            told.append("the diff that was sent is not that of the branch; git's own is kept")
        ran: list[dict[str, Json]] = []
        if policy.gates and branch and not self._lies_there(proposal, branch):
            told.append("the gates were not run: no tree is on the head of the branch")
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
            remarks=tuple(told),
        )

    def _lies_there(self, proposal: Proposal, branch: Branch) -> bool:
        """Return whether what is on disk is what was committed last: else gates would see other files."""
        try:
            snapshot = self._context.ports.evidence.snapshot(self._tree(proposal))
        except NotFound:
            return False
        return snapshot.commit == branch.head

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
        wanted: dict[int, Command] = {}
        for place, gate in enumerate(gates):
            try:
                wanted[place] = Command(argv=argv_of(gate.command))
            except InvalidInput as fault:
                results[place] = _gate(gate, _NOT_RUN, fault.message)
        ran = Gates(context).run(proposal.item, tuple(wanted.values()), watch)
        for place, one in zip(wanted, ran, strict=True):
            if isinstance(one, Receipt):
                results[place] = _of_receipt(gates[place], one)
            else:
                results[place] = _gate(gates[place], _NOT_RUN, one.message)
        return [results[place] for place in range(len(gates))]

    def put(self, change: Change, measured: Measured, session: str, agent: str) -> ChangeRequest:
        """Write a request in a change, in place of the one before it; the item goes to review."""
        proposal, branch = measured.proposal, measured.branch
        for before in change.select(ChangeRequest, item=proposal.item, status=_LIVE):
            change.put(replace(before, status="superseded", updated_at=change.now))
        number = change.next_number(ChangeRequest)
        request = ChangeRequest(
            project=self._context.project,
            id=change.id_of(ChangeRequest, number),
            number=number,
            item=proposal.item,
            branch=branch.name if branch else proposal.branch,
            base=branch.base if branch else proposal.base,
            tree=str(self._tree(proposal)),
            head="",
            base_commit="",
            source="git" if branch else "sent",
            diff=Prose(""),
            files=0,
            additions=0,
            deletions=0,
            paths=(),
            gates=Prose(""),
            risk_level="",
            risk_score=0,
            risk=Prose(""),
            remarks=Prose(""),
            summary=Prose(proposal.summary),
            run=proposal.run,
            session=session,
            agent=agent,
            status="open",
            reason=Prose(""),
            fixes=Prose(""),
            judge="",
            created_at=change.now,
            updated_at=change.now,
        )
        request = change.masked(with_measured(request, measured))
        change.put(request)
        change.add_facts(request=request.id, head=request.head, risk=request.risk_level)
        bring_to_review(change, change.get(Item, proposal.item))
        return request

    def approve(self, item: str, reason: str = "", run: str = "") -> ChangeRequest:
        """Approve the commit that was looked at; the item stays in review for a person to merge.

        Raises NotReady without an open request, StaleVersion if the branch went on, Forbidden.
        """
        head = self._head_now(item)
        with recording(self._context, "change.approved", item) as change:
            change.open_session()
            request = self._open_request(change, item)
            refuse_author(change, item, request, "approve")
            if head and request.head and head != request.head:
                raise StaleVersion(
                    f"{request.branch} is at {head[:12]} now; what was looked at is"
                    f" {request.head[:12]}",
                    hint="Look at the change again once it was taken up anew.",
                    head=head,
                )
            if request.status == "approved":
                return request
            after = self._judged(change, request, "approved", reason, "")
            change.add_facts(request=request.id, head=request.head, run=run)
            return after

    def reject(
        self, item: str, reason: str = "", fixes: str = "", run: str = ""
    ) -> tuple[ChangeRequest, Item]:
        """Send a change back: the item is open again and carries the reason; NotReady, Forbidden."""
        with recording(self._context, "change.rejected", item) as change:
            change.open_session()
            request = self._open_request(change, item)
            refuse_author(change, item, request, "reject")
            after = self._judged(change, request, "rejected", reason, fixes)
            change.add_facts(request=request.id, head=request.head, run=run)
            note(change, item, "comment", _present_rejection(after), request=request.id)
            found = change.get(Item, item)
            if found.category == "review":
                found = move(change, found, "open")
            return after, found

    def _open_request(self, change: Change, item: str) -> ChangeRequest:
        change.get(Item, item)
        request = current(change.writing, item)
        if request is None or request.status not in _LIVE:
            what = f"is {request.status}" if request else "is not there"
            raise NotReady(
                f"the change of {spoken_of(item)} {what}: there is nothing to judge",
                hint="Wait until the work is handed in (again).",
            )
        return change.get(ChangeRequest, request.id)

    def _judged(
        self, change: Change, request: ChangeRequest, status: str, reason: str, fixes: str
    ) -> ChangeRequest:
        after = replace(
            request,
            status="approved" if status == "approved" else "rejected",
            reason=Prose(reason),
            fixes=Prose(fixes),
            judge=self._context.caller.actor.name,
            updated_at=change.now,
        )
        change.put(after)
        return after

    def _head_now(self, item: str) -> str:
        """Return the commit the branch of an item's request is on now; empty if it is gone."""
        request = self.current(item)
        if request is None or request.source != "git":
            return ""
        try:
            return self._context.ports.evidence.head(self._context.caller.root, request.branch)
        except NotFound:
            return ""

    def renew(self, watch: Watch | None = None) -> list[ChangeRequest]:
        """Measure each live request anew whose branch went on; it is open again. Answer these."""
        with self._context.reading() as view:
            live = view.select(ChangeRequest, status=_LIVE, source="git", order="number")
        return [after for one in live if (after := self._renewed(one, watch)) is not None]

    def _renewed(self, request: ChangeRequest, watch: Watch | None) -> ChangeRequest | None:
        head = self._head_now(request.item)
        if not head or head == request.head:
            return None
        proposal = Proposal(
            item=request.item, branch=request.branch, base=request.base, tree=request.tree
        )
        evidence, root = self._context.ports.evidence, self._context.caller.root
        try:
            branch = evidence.branch(root, request.branch, request.base, DIFF_LIMIT)
            measured = self.measure(proposal, branch, (), watch)
        except (InvalidInput, NotFound, Conflict) as fault:
            measured = fault
        with recording(self._context, "change.renewed", request.item) as change:
            change.open_session()
            found = change.get(ChangeRequest, request.id)
            if found != request:
                return None
            if isinstance(measured, Measured):
                after = with_measured(found, measured)
            else:
                after = replace(found, head=head, remarks=Prose(measured.message))
            after = replace(after, status="open", judge="", reason=Prose(""))
            after = change.masked(replace(after, updated_at=change.now))
            change.put(after)
            change.add_facts(request=request.id, head=head, before=request.head)
            return after


def current(view: Reading, item: str) -> ChangeRequest | None:
    """Return the last request of an item."""
    found = view.select(ChangeRequest, item=item, order="number desc", limit=1)
    return found[0] if found else None


def with_measured(request: ChangeRequest, measured: Measured) -> ChangeRequest:
    """Return a request with what was found of its change."""
    branch, diff = measured.branch, measured.diff
    sensitive = sensitive_paths(diff.paths, measured.policy.sensitive_paths)
    risk = judge(
        lines=diff.lines,
        files=len(diff.files),
        sensitive=sensitive,
        gates=[_parse_gate(gate) for gate in measured.gates],
        thresholds=thresholds_of(dict(measured.policy.thresholds)),
    )
    told: dict[str, Json] = {
        "parts": asdict(risk.parts),
        "basis": risk.basis,
        "sensitive": list(risk.sensitive[:_PATHS_KEPT]),
        "reasons": list(risk.reasons),
    }
    return replace(
        request,
        head=branch.head if branch else "",
        base_commit=branch.base_commit if branch else "",
        diff=Prose(measured.text),
        files=len(diff.files),
        additions=diff.additions,
        deletions=diff.deletions,
        paths=diff.paths[:_PATHS_KEPT],
        gates=Prose(dump_any(list(measured.gates))),
        risk_level=risk.level,
        risk_score=risk.score,
        risk=Prose(dump_any(told)),
        remarks=Prose("\n".join(measured.remarks)),
        summary=request.summary or Prose("\n".join(branch.commits) if branch else ""),
    )


def _is_same(before: ChangeRequest, branch: Branch | None, proposal: Proposal) -> bool:
    if branch is not None:
        return before.head == branch.head and not proposal.gates
    return before.source == "sent" and before.diff == proposal.diff and not proposal.gates


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
    return {**_gate(gate, code, _end_of(receipt.output)), "receipt": receipt.id}


def _claimed(gate: ClaimedGate) -> dict[str, Json]:
    return {
        "command": gate.command,
        "label": gate.label,
        "required": gate.required,
        "exit_code": gate.exit_code,
        "output": _end_of(gate.output),
        "verified": False,
    }


def _end_of(output: str) -> str:
    """Return the end of an output, where what matters stands."""
    left = len(output) - GATE_OUTPUT
    return output if left <= 0 else f"… ({left} characters before)\n{output[left:]}"


def _parse_gate(gate: dict[str, Json]) -> GateResult:
    return GateResult(
        command=str(gate["command"]),
        label=str(gate["label"]),
        is_passed=gate["exit_code"] == 0,
        is_required=bool(gate["required"]),
        is_verified=bool(gate["verified"]),
    )


def _present_rejection(request: ChangeRequest) -> str:
    reason = request.reason or "no reason was given"
    fixes = f"\n\nWhat to do: {request.fixes}" if request.fixes else ""
    return f"The change was rejected: {reason}{fixes}"
