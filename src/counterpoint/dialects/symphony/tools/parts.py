"""What was handed in and judged of an issue, by its id, whole.

id            what it is
pc-1          a phase that was handed over: its summary, questions, reasons
pv-1          a verdict on a phase: reason, instructions
pr-1          a change request: summary, remarks, its verdict, the output of each gate, the difference
DEMO-r1       a finding, learning, comment or blocker, in the form it was given
coverage/error_handling/src/a.py    what was noted of a file that was examined for a concept
project       what workers and judges of the project are told
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast
from urllib.parse import unquote

from counterpoint.core.model.catalogue import noun_of_id
from counterpoint.core.model.journal import Changeset, Receipt, Record, Submission, Verdict
from counterpoint.core.model.rows import REDACTED
from counterpoint.core.rules.wording import kept
from counterpoint.dialects.call import Call
from counterpoint.dialects.paging import sparse
from counterpoint.dialects.symphony.nouns.phases import RESULTS
from counterpoint.dialects.symphony.rules.handing import report_of
from counterpoint.dialects.symphony.verbs.policies import Policies
from counterpoint.dialects.symphony.verbs.surveys import Surveys
from counterpoint.dialects.symphony.words import present_id
from counterpoint.dialects.whole import Written, written_record
from counterpoint.kernel.canonical import Json, load

PROJECT: Final = "project"
COVERAGE: Final = "coverage/"
_FORM: Final = re.compile(r"(p[crv])-([0-9]{1,15})")
_LETTERS: Final = {"pc": "s", "pr": "s", "pv": "v"}


def find_part(call: Call, name: str) -> Written | None:
    """Return what an id means that is no issue's, or None."""
    if name == PROJECT:
        policy = call.core.use(Policies).get()
        told = policy.instructions.items()
        parts: dict[str, Json] = {f"{role}_instructions": text for role, text in told}
        return Written(header={"gates": len(policy.gates)}, parts=parts)
    if name.startswith(COVERAGE):
        concept, _, path = name.removeprefix(COVERAGE).partition("/")
        return _coverage(call, unquote(concept), path)
    found = _FORM.fullmatch(name)
    if found is not None:
        sort, number = found.groups()
        prefix = call.core.items.project().prefix
        return _SORTS[sort](call, f"{prefix}-{_LETTERS[sort]}{number}")
    plain = kept(name) or name
    record = call.core.overview.find(Record, plain) if noun_of_id(plain) is Record else None
    return written_record(record) if record is not None else None


def coverage_id(concept: str, path: str) -> str:
    """Return the id of what was noted of a file; a concept may be any words."""
    return f"{COVERAGE}{concept.replace('%', '%25').replace('/', '%2F')}/{path}"


def _coverage(call: Call, concept: str, path: str) -> Written | None:
    found = call.core.use(Surveys).covered(concept, path)
    if found is None:
        return None
    kept = found.coverage
    header = sparse(file_path=path, concept=concept, status=kept.status, updated_at=found.at)
    return Written(header=header, parts={"notes": kept.notes})


def _completion(call: Call, name: str) -> Written | None:
    claim = call.core.overview.find(Submission, name)
    if claim is None or claim.of != "phase":
        return None
    said = report_of(claim)
    header = sparse(
        category="phase_completion",
        issue=present_id(claim.item),
        phase=claim.phase,
        artifact_path=claim.path,
        artifact_hash=claim.sha256,
        commit=claim.commit,
        confidence=said.confidence,
        result=RESULTS[claim.status],
    )
    questions, reasons = list(said.questions), list(claim.reasons)
    return Written(
        header=header,
        parts={"summary": claim.summary, "open_questions": questions, "reasons": reasons},
    )


def _phase_verdict(call: Call, name: str) -> Written | None:
    verdict = call.core.overview.find(Verdict, name)
    if verdict is None:
        return None
    header = sparse(
        category="phase_verdict",
        issue=present_id(verdict.item),
        artifact_hash=verdict.subject,
        verdict="approved" if verdict.decision == "approve" else "rejected",
        independence=verdict.independence,
    )
    return Written(header=header, parts=_said(verdict))


def _said(verdict: Verdict | None) -> dict[str, Json]:
    if verdict is None:
        return {}
    return {"reason": verdict.reason, "fix_instructions": "\n".join(verdict.fixes)}


def _request(call: Call, name: str) -> Written | None:
    overview = call.core.overview
    request, changes = overview.find(Submission, name), overview.find(Changeset, name)
    if request is None or changes is None:
        return None
    said = overview.rows(Verdict, submission=name, latest=True, limit=1)
    gates = (
        [] if changes.gates in {"", REDACTED} else cast("list[dict[str, Any]]", load(changes.gates))
    )
    outputs = {
        f"gate {number}": f"{gate['label']}: {gate['command']}\n{_output(call, gate)}"
        for number, gate in enumerate(gates, 1)
    }
    header = sparse(
        issue=present_id(request.item),
        status=request.status,
        branch_name=request.branch,
        base_branch=request.base,
        head=request.commit,
        independence=said[0].independence if said else "",
    )
    return Written(
        header=header,
        parts={
            "summary": request.summary,
            **_said(said[0] if said else None),
            "remarks": changes.remarks,
            **outputs,
            "diff": changes.diff,
        },
    )


def _output(call: Call, gate: Mapping[str, Any]) -> str:
    """Return what a gate said: all of it, where the server ran it and keeps a receipt."""
    receipt = call.core.overview.find(Receipt, str(gate.get("receipt", "")))
    return receipt.output if receipt is not None else str(gate["output"])


_SORTS: Final[Mapping[str, Callable[[Call, str], Written | None]]] = {
    "pc": _completion,
    "pr": _request,
    "pv": _phase_verdict,
}
