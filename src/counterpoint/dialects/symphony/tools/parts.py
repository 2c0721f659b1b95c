"""What was handed in and judged of an issue, by its id, whole.

id            what it is
pc-1          a phase that was handed over: its summary, questions, reasons
pv-1          a verdict on a phase: reason, instructions
pr-1          a change request: summary, remarks, its verdict, the output of each gate, what its agent said of gates,
              the difference
DEMO-r1       a finding, learning, comment, blocker or run of the tests, in the form it was given
coverage/error_handling/src/a.py    what was noted of a file that was examined for a concept
project       what the project is configured with: gates, paths, thresholds, words to workers and judges
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast
from urllib.parse import unquote

from counterpoint.core.model.catalogue import noun_of_id
from counterpoint.core.model.journal import Changeset, Receipt, Record, Submission, Verdict
from counterpoint.core.model.rows import REDACTED, load_object
from counterpoint.core.rules.wording import id_of_name
from counterpoint.dialects.call import Call
from counterpoint.dialects.paging import sparse
from counterpoint.dialects.symphony.nouns import TestRun
from counterpoint.dialects.symphony.rules.contracts import report_of
from counterpoint.dialects.symphony.tools.phases import ALL, claim_header, verdict_header
from counterpoint.dialects.symphony.tools.project import policy_json
from counterpoint.dialects.symphony.verbs.learnings import TEST_HEALTH, Surveys, test_run
from counterpoint.dialects.symphony.verbs.phases import Phases
from counterpoint.dialects.symphony.verbs.policies import Policies
from counterpoint.dialects.symphony.words import present_id
from counterpoint.dialects.whole import Written, written_record
from counterpoint.kernel.canonical import Json, load

PROJECT: Final = "project"
COVERAGE: Final = "coverage/"
_RECORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*-r[0-9]+", re.IGNORECASE)
_FORM: Final = re.compile(r"(p[crv])-([0-9]{1,15})")
_CLAIMED: Final = ("command", "label", "exit_code", "output", "required")
"""What an agent says of a gate that it ran itself."""
_VERDICTS: Final = 50
"""How many of the last verdicts on a request are read."""
_LETTERS: Final = {"pc": "s", "pr": "s", "pv": "v"}


def find_part(call: Call, name: str) -> Written | None:
    """Return what an id means that is no issue's, or None."""
    if name == PROJECT:
        return Written(header={}, parts=policy_json(call.core.use(Policies).get()))
    if name.startswith(COVERAGE):
        concept, _, path = name.removeprefix(COVERAGE).partition("/")
        return _coverage(call, unquote(concept), path)
    part_match = _FORM.fullmatch(name)
    if part_match is not None:
        sort, number = part_match.groups()
        prefix = call.core.items.project().prefix
        return _SORTS[sort](call, f"{prefix}-{_LETTERS[sort]}{number}")
    # As people say it the prefix is in capitals.
    plain = _RECORD.sub(lambda match: match[0].lower(), id_of_name(name) or name)
    record = call.core.overview.find(Record, plain) if noun_of_id(plain) is Record else None
    return _record(record) if record is not None else None


def _record(record: Record) -> Written:
    """Return a finding, a learning, a comment or a run of tests under the names of the tools' parameters."""
    details = load_object(record.details)
    header = sparse(
        issue=present_id(record.item) if record.item else "",
        created_at=record.created_at,
        run=details.pop("run", ""),
    )
    if record.kind == "finding":
        header["category"] = record.tags[0] if record.tags else ""
        body = "" if record.body == record.title else record.body
        own: dict[str, Json] = {"summary": record.title, "details": body}
        return Written(header=header, parts={**own, "files": list(record.files), **details})
    if record.kind == "comment":
        header["author"] = details.pop("author", "") or f"agent:{record.agent}"
        return Written(header=header, parts={"content": record.body, **details})
    if record.kind == "learning":
        header |= {
            "learning_type": details.pop("kind", "") or "pattern",
            "quality_score": details.pop("quality", 50),
            "verified": record.status == "verified",
        }
        pattern = str(details.pop("pattern", "") or record.body)
        return Written(header=header, parts={"pattern": pattern, **details})
    if record.kind == "blocker":
        header["status"] = record.status
        resolved = sparse(resolution=record.resolution, resolved_at=record.resolved_at)
        return Written(header=header, parts={"reason": record.body, **details, **resolved})
    if record.kind == TEST_HEALTH:
        return Written(header={**header, **health_json(test_run(record))}, parts={})
    return written_record(record)


def health_json(run: TestRun) -> dict[str, Json]:
    """Return a run of the tests under the names of the parameters that it came with."""
    return sparse(
        test_count=run.tests,
        test_files_changed=run.files,
        tests_added=run.added,
        tests_removed=run.removed,
        execution_time_ms=run.milliseconds,
    )


def coverage_id(concept: str, path: str) -> str:
    """Return the id of what was noted of a file; a concept may be any words."""
    return f"{COVERAGE}{concept.replace('%', '%25').replace('/', '%2F')}/{path}"


def _coverage(call: Call, concept: str, path: str) -> Written | None:
    covered = call.core.use(Surveys).covered(concept, path)
    if covered is None:
        return None
    coverage = covered.coverage
    header = sparse(
        file_path=path,
        concept=concept,
        status=coverage.status,
        ticket_id=present_id(coverage.item) if coverage.item else "",
        updated_at=covered.at,
        run=coverage.run,
    )
    return Written(header=header, parts={"notes": coverage.notes})


def _completion(call: Call, name: str) -> Written | None:
    claim = call.core.overview.find(Submission, name)
    if claim is None or claim.of != "phase":
        return None
    questions, reasons = list(report_of(claim).questions), list(claim.reasons)
    return Written(
        header={"issue": present_id(claim.item), **claim_header(claim)},
        parts={"summary": claim.summary, "open_questions": questions, "reasons": reasons},
    )


def _phase_verdict(call: Call, name: str) -> Written | None:
    verdict = call.core.overview.find(Verdict, name)
    if verdict is None:
        return None
    judged = call.core.use(Phases).verdicts(verdict.item, ALL)
    phase_verdict = next((entry for entry in judged if entry.verdict.id == verdict.id), None)
    if phase_verdict is None:
        return None
    header = {"issue": present_id(verdict.item), **verdict_header(phase_verdict)}
    return Written(header=header, parts=_verdict_texts(verdict))


def _verdict_texts(verdict: Verdict | None) -> dict[str, Json]:
    if verdict is None:
        return {}
    return {"reason": verdict.reason, "fix_instructions": "\n".join(verdict.fixes)}


def _request(call: Call, name: str) -> Written | None:
    overview = call.core.overview
    request, changes = overview.find(Submission, name), overview.find(Changeset, name)
    if request is None or changes is None:
        return None
    verdicts = overview.rows(Verdict, submission=name, latest=True, limit=_VERDICTS)
    gates = (
        [] if changes.gates in {"", REDACTED} else cast("list[dict[str, Any]]", load(changes.gates))
    )
    outputs = {
        f"gate {number}": f"{gate['label']}: {gate['command']}\n{_output(call, gate)}"
        for number, gate in enumerate(gates, 1)
        if gate["verified"]
    }
    claimed = [{name: gate[name] for name in _CLAIMED} for gate in gates if not gate["verified"]]
    header = sparse(
        issue=present_id(request.item),
        status=request.status,
        branch_name=request.branch,
        base_branch=request.base,
        head=request.commit,
        independence=verdicts[0].independence if verdicts else "",
    )
    return Written(
        header=header,
        parts={
            "summary": request.summary,
            **_verdict_texts(verdicts[0] if verdicts else None),
            "earlier_verdicts": {verdict.id: _earlier(verdict) for verdict in verdicts[1:]},
            "remarks": changes.remarks,
            **outputs,
            "gate_results": claimed,
            "diff": changes.diff,
        },
    )


def _earlier(verdict: Verdict) -> dict[str, Json]:
    return sparse(
        verdict="approved" if verdict.decision == "approve" else "rejected",
        independence=verdict.independence,
        created_at=verdict.created_at,
        **_verdict_texts(verdict),
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
