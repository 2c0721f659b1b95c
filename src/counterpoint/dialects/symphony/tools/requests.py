"""The tools `create_pr`, `approve_pr` and `reject_pr`."""

from __future__ import annotations

from typing import Annotated, Any, Final, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from counterpoint.core.model.filters import Judgment
from counterpoint.core.model.rows import REDACTED
from counterpoint.dialects.call import Call
from counterpoint.dialects.paging import clip, sparse
from counterpoint.dialects.progress import watching
from counterpoint.dialects.symphony.nouns import DIFF_LIMIT, ChangeRequest, ClaimedGate, Proposal
from counterpoint.dialects.symphony.tools.phases import require_workspace
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.dialects.symphony.verbs.requests import Requests
from counterpoint.dialects.symphony.words import Line, Text, bound, status_of
from counterpoint.kernel.canonical import Json, load
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.tools import Progress, tool

Branch = Annotated[str, Field(min_length=1, max_length=250)]
_DEPRECATED: Final = (
    "create_pr is deprecated: call complete_phase with completed_phase `ready` instead, and the PR is"
    " made from your commits."
)
_GATES: Final = 50
_OUTPUT: Final = 65_536
_WORDS: Final = 600
_REASON: Final = 200
_BRIEF: Final = 300
_SHOWN: Final = 15


class GateReport(TypedDict):
    """A quality gate as you ran it."""

    command: Annotated[Line, Field(description="Command that was run")]
    label: Annotated[Line, Field(description="Human-readable name")]
    exit_code: Annotated[int, Field(description="0 = pass")]
    output: Annotated[str, Field(max_length=_OUTPUT, description="Command output")]
    required: NotRequired[Annotated[bool, Field(description="Whether it must pass")]]


@tool(reads=False, open_world=True)
def create_pr(
    call: Call,
    progress: Progress,
    diff: Annotated[str, Field(max_length=DIFF_LIMIT, description="Full git diff output")],
    branch_name: Annotated[Branch, Field(description="Source branch")],
    base_branch: Annotated[Branch, Field(description="Target branch")],
    gate_results: Annotated[
        tuple[GateReport, ...], Field(max_length=_GATES, description="What you ran yourself")
    ] = (),
) -> Json:
    """Deprecated: use complete_phase. Hand a change in; the server measures it and runs the gates."""
    item = bound(call)
    tree = require_workspace(call)
    if tree.branch and tree.branch != branch_name:
        raise InvalidInput(
            f"branch_name is {branch_name!r}, but this worktree is on {tree.branch!r}",
            hint="Name the branch of your worktree.",
        )
    proposal = Proposal(
        item=item,
        branch=branch_name,
        base=base_branch,
        diff=diff,
        gates=[
            ClaimedGate(
                command=gate["command"],
                label=gate["label"],
                exit_code=gate["exit_code"],
                output=gate["output"],
                required=gate.get("required", True),
            )
            for gate in gate_results
        ],
        run=call.settings.run,
    )
    # Taken up after everything was run, so that nobody waits to write while a gate runs.
    request = call.core.use(Requests).propose(
        proposal, watching(progress), lambda: call.core.use(Issues).attended(item, lambda: None)
    )
    return {**present_request(request), "issue_status": "review", "notice": _DEPRECATED}


@tool(reads=False)
def approve_pr(call: Call, reason: Annotated[Text, Field(description="Why")] = "") -> Json:
    """Approve the current PR at its head commit; a person merges it."""
    return {**_judge(call, approves=True, reason=reason), "issue_status": "review"}


@tool(reads=False, idempotent=False)
def reject_pr(
    call: Call,
    reason: Annotated[Text, Field(description="Why")] = "",
    fix_instructions: Annotated[Text, Field(description="What to do")] = "",
) -> Json:
    """Reject the current PR; the issue goes back to todo with the reason as a comment."""
    fixes = (fix_instructions,) if fix_instructions else ()
    answer = _judge(call, approves=False, reason=reason, fixes=fixes)
    item = call.core.items.get(bound(call))
    return {**answer, "issue_status": status_of(call, item)}


def _judge(
    call: Call, *, approves: bool, reason: str, fixes: tuple[str, ...] = ()
) -> dict[str, Json]:
    """Judge the current request; answer it with its verdict."""
    item = bound(call)
    judgment = Judgment(
        of="branch", approves=approves, reason=reason, fixes=fixes, run=call.settings.run
    )
    call.core.reviews.review(item, judgment)
    return present_request(call.core.use(Requests).get(item))


def present_request(request: ChangeRequest) -> dict[str, Json]:
    """Return a change request without its difference."""
    submission, changes, verdict = request.submission, request.changes, request.verdict
    risk = cast("dict[str, Any]", _kept(changes.risk, {}))
    gates = cast("list[dict[str, Any]]", _kept(changes.gates, []))
    return {
        "id": f"pr-{submission.number}",
        "status": request.status,
        "branch_name": submission.branch,
        "base_branch": submission.base,
        "head": submission.commit or None,
        "diff_source": changes.source,
        "stats": {
            "files": changes.files,
            "additions": changes.additions,
            "deletions": changes.deletions,
        },
        "risk": {
            "level": changes.risk_level,
            "score": changes.risk_score,
            "parts": risk.get("parts", {}),
            "gates_used": risk.get("basis", "none"),
            "reasons": [clip(str(reason), _REASON) for reason in risk.get("reasons", ())][:10],
        },
        "gates": [_present_gate(gate) for gate in gates[:_SHOWN]],
        **sparse(
            gates_not_shown=max(0, len(gates) - _SHOWN) or None,
            remarks=clip(changes.remarks, _WORDS),
            summary=clip(submission.summary, _WORDS),
            reason=clip(verdict.reason, _WORDS) if verdict else "",
            fix_instructions=clip("\n".join(verdict.fixes), _WORDS) if verdict else "",
            judge=verdict.agent if verdict else "",
            independence=verdict.independence if verdict else "",
        ),
        "created_at": submission.created_at,
        "updated_at": submission.updated_at,
    }


def brief_request(request: ChangeRequest) -> dict[str, Json]:
    """Return a change request in few words, for an issue that has one."""
    submission, changes, verdict = request.submission, request.changes, request.verdict
    gates = cast("list[dict[str, Any]]", _kept(changes.gates, []))
    failed = [str(gate["label"]) for gate in gates if gate["exit_code"] != 0]
    return {
        "id": f"pr-{submission.number}",
        "status": request.status,
        "branch_name": submission.branch,
        "base_branch": submission.base,
        "head": submission.commit or None,
        "files": changes.files,
        "lines": changes.additions + changes.deletions,
        "risk": f"{changes.risk_level} ({changes.risk_score})",
        "gates": f"{len(gates) - len(failed)} of {len(gates)} passed",
        **sparse(
            failed_gates=clip(", ".join(failed), _BRIEF),
            reason=clip(verdict.reason, _BRIEF) if verdict else "",
            fix_instructions=clip("\n".join(verdict.fixes), _BRIEF) if verdict else "",
        ),
    }


def _present_gate(gate: dict[str, Any]) -> dict[str, Json]:
    return {
        "label": clip(str(gate["label"]), 100),
        "exit_code": gate["exit_code"],
        "required": gate["required"],
        "source": "verified" if gate["verified"] else "claimed",
        **sparse(receipt=gate.get("receipt", ""), ended_for=gate.get("ended_for", "")),
    }


def _kept(text: str, empty: Json) -> Json:
    """Return a kept value; an empty one once it was redacted."""
    return empty if text in {"", REDACTED} else load(text)
