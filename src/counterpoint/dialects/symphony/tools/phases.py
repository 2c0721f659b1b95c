"""The tools of phases, and the workspace they begin in."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from counterpoint.core.model.filters import Judgment
from counterpoint.core.model.journal import Submission
from counterpoint.dialects.call import Call
from counterpoint.dialects.paging import clip, sparse
from counterpoint.dialects.symphony.nouns import (
    MARKER,
    RESULTS,
    Claimed,
    Confidence,
    PhaseReport,
    PhaseVerdict,
    Workspace,
)
from counterpoint.dialects.symphony.rules.contracts import report_of
from counterpoint.dialects.symphony.verbs.phases import Phases
from counterpoint.dialects.symphony.verbs.workspaces import Workspaces
from counterpoint.dialects.symphony.words import Lines, Said, Text, bound
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.tools import tool


@tool(reads=True)
def verify_workspace(call: Call) -> Json:
    """Verify that this is the worktree of the current issue; do this first."""
    workspace = require_workspace(call)
    return {
        "valid": True,
        "path": workspace.path,
        "issue": workspace.identifier,
        "branch": workspace.branch,
        "message": "Workspace verified: you are in the right worktree.",
    }


def require_workspace(call: Call) -> Workspace:
    """Return the worktree of the current issue; Conflict with the way back if this is another."""
    return call.core.use(Workspaces).verify(MARKER, bound(call))


Phase = Annotated[str, Field(min_length=1, max_length=64)]
Place = Annotated[str, Field(max_length=1_000)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-fA-F]{40,64}$")]
ALL: Final = 10_000
"""More claims or verdicts than an issue has."""
_TEXT: Final = 1_000
_BRIEF: Final = 200


@tool(reads=False)
def complete_phase(
    call: Call,
    completed_phase: Annotated[Phase, Field(description="research, architecture, grooming, ready")],
    summary: Annotated[Said, Field(description="What was handed over, in brief")],
    project_path: Annotated[Place, Field(description="Project root; the server uses its own")],
    contract_version: Annotated[int, Field(ge=0, description="Of the contract; not for ready")] = 0,
    artifact_path: Annotated[Place, Field(description="In docs/tickets/<ID>/; not for ready")] = "",
    artifact_hash: Annotated[Hash | None, Field(description="SHA-256; not for ready")] = None,
    open_questions: Annotated[Lines, Field(description="What is unresolved")] = (),
    confidence: Annotated[Confidence, Field(description="How sure you are")] = "medium",
    promote_to: Annotated[Place, Field(description="Copy it there, in docs/")] = "",
    recommended_next_phase: Annotated[
        str, Field(max_length=64, description="Next phase; not for ready")
    ] = "",
    contracts_dir: Annotated[Place, Field(description="Ignored: the server has its own")] = "",
) -> Json:
    """Hand the current phase over; the artifact is checked now, the transition comes later."""
    del project_path, contracts_dir  # where the server looks is nothing that a caller chooses
    item = bound(call)
    tree = require_workspace(call)
    report = PhaseReport(
        phase=completed_phase,
        summary=summary,
        version=contract_version,
        path=artifact_path,
        sha256=artifact_hash or "",
        questions=open_questions,
        confidence=confidence,
        promote_to=promote_to,
        next_phase=recommended_next_phase,
        run=call.settings.run,
    )
    claimed = call.core.use(Phases).hand_over(item, report, marker=MARKER, base=tree.base)
    return {
        **present_claim(claimed.claim),
        **sparse(
            awaits_judge=list(claimed.needs_verdict),
            outside_of_contract=[clip(path, _BRIEF) for path in claimed.stray[:10]],
        ),
        "message": _describe_claim(claimed),
    }


def _describe_claim(claimed: Claimed) -> str:
    if not claimed.again:
        return "Recorded. The transition follows; end your run."
    outcome = "what is new of it was kept" if claimed.renewed else "nothing changed"
    return f"This claim was recorded before; {outcome}."


@tool(reads=False)
def approve_phase(
    call: Call,
    phase: Annotated[Phase, Field(description="Phase being approved")],
    artifact_hash: Annotated[Hash, Field(description="Of the artifact you read")],
    reason: Annotated[Text, Field(description="Why")] = "",
) -> Json:
    """Approve the artifact of a phase; the transition follows later. Not for PRs."""
    return _judge(call, phase, artifact_hash, approves=True, reason=reason)


@tool(reads=False)
def reject_phase(
    call: Call,
    phase: Annotated[Phase, Field(description="Phase being rejected")],
    artifact_hash: Annotated[Hash, Field(description="Of the artifact you read")],
    reason: Annotated[Said, Field(description="Why")],
    fix_instructions: Annotated[Text, Field(description="What to do")] = "",
) -> Json:
    """Reject the artifact of a phase; a comment says so. Not for PRs."""
    fixes = (fix_instructions,) if fix_instructions else ()
    return _judge(call, phase, artifact_hash, approves=False, reason=reason, fixes=fixes)


def _judge(
    call: Call,
    phase: str,
    subject: str,
    *,
    approves: bool,
    reason: str,
    fixes: tuple[str, ...] = (),
) -> Json:
    judgment = Judgment(
        of="phase",
        phase=phase,
        subject=subject,
        approves=approves,
        reason=reason,
        fixes=fixes,
        run=call.settings.run,
    )
    done = call.core.reviews.review(bound(call), judgment)
    verdicts = call.core.use(Phases).verdicts(done.verdict.item, ALL)
    return present_verdict(next(entry for entry in verdicts if entry.verdict.id == done.verdict.id))


def present_claim(claim: Submission) -> dict[str, Json]:
    """Return a claim as a finding of its own sort, its long texts clipped."""
    report = report_of(claim)
    return {
        **claim_header(claim),
        "summary": clip(claim.summary, _TEXT),
        "open_questions": [clip(question, _TEXT // 2) for question in report.questions[:5]],
        **sparse(reasons=[clip(reason, _TEXT // 2) for reason in claim.reasons[:5]]),
    }


def claim_header(claim: Submission) -> dict[str, Json]:
    """Return the fields of a claim that are never long."""
    report, result = report_of(claim), RESULTS[claim.status]
    return {
        "id": f"pc-{claim.number}",
        "category": "phase_completion",
        "completed_phase": claim.phase,
        **sparse(
            contract_version=report.version or None,
            artifact_path=claim.path,
            artifact_hash=claim.sha256,
            commit="" if claim.path else claim.commit,
            branch=claim.branch,
            run=claim.run,
        ),
        "confidence": report.confidence,
        "promote_to": report.promote_to or None,
        "recommended_next_phase": report.next_phase or None,
        "processed": bool(result),
        **sparse(processed_at=claim.updated_at if result else "", result=result),
        "created_at": claim.created_at,
    }


def present_verdict(phase_verdict: PhaseVerdict) -> dict[str, Json]:
    """Return a verdict as a finding of its own sort, its long texts clipped."""
    verdict = phase_verdict.verdict
    return {
        **verdict_header(phase_verdict),
        "reason": clip(verdict.reason, _TEXT),
        **sparse(fix_instructions=clip("\n".join(verdict.fixes), _TEXT)),
    }


def verdict_header(phase_verdict: PhaseVerdict) -> dict[str, Json]:
    """Return the fields of a verdict that are never long."""
    verdict = phase_verdict.verdict
    return {
        "id": f"pv-{verdict.number}",
        "category": "phase_verdict",
        "phase": phase_verdict.claim.phase,
        "artifact_hash": verdict.subject,
        "verdict": "approved" if verdict.decision == "approve" else "rejected",
        "independence": verdict.independence,
        "processed": bool(phase_verdict.result),
        **sparse(
            processed_at=phase_verdict.processed_at, result=phase_verdict.result, run=verdict.run
        ),
        "created_at": verdict.created_at,
    }


def brief_claim(claim: Submission) -> dict[str, Json]:
    """Return a claim in few words, for an issue that has some."""
    report, result = report_of(claim), RESULTS[claim.status]
    return {
        "id": f"pc-{claim.number}",
        "phase": claim.phase,
        **sparse(artifact_path=clip(claim.path, _BRIEF), artifact_hash=claim.sha256),
        "summary": clip(claim.summary, _BRIEF),
        "open_questions": len(report.questions),
        "confidence": report.confidence,
        "processed": bool(result),
        **sparse(result=result, reasons=clip("; ".join(claim.reasons), _BRIEF)),
    }


def brief_verdict(phase_verdict: PhaseVerdict) -> dict[str, Json]:
    """Return a verdict in few words, for an issue that has some."""
    answer = present_verdict(phase_verdict)
    for name in ("category", "artifact_hash", "result", "run", "processed_at", "created_at"):
        answer.pop(name, None)
    texts = sparse(fix_instructions=clip("\n".join(phase_verdict.verdict.fixes), _BRIEF))
    return {**answer, "reason": clip(phase_verdict.verdict.reason, _BRIEF), **texts}
