"""When a claim of a phase needs a verdict, and where its text may lie.

A verdict is needed if and only if a text is handed over and (1) the contract says `judge`, (2) the item
has one of the contract's labels, (3) confidence is low, or (4) questions are open. Commits need none
here: the change they make is looked at as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from counterpoint.core.model.journal import Submission
from counterpoint.core.model.rows import load_object
from counterpoint.dialects.symphony.nouns.phases import PhaseReport
from counterpoint.dialects.symphony.rules.contracts import (
    Contract,
    artifact_faults,
    artifact_place,
    stray_writes,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.plurals import agree

REVISE: Final = "needs-revision"
"""The label of an item whose last claim was refused."""
REVISION_SECONDS: Final = 24 * 3600
"""How long an item may wait for its revision before a person is asked."""
DOCUMENTS: Final = "docs"


def details_of(report: PhaseReport) -> dict[str, Json]:
    """Return what a report says that only this dialect keeps with a submission."""
    return {
        "version": report.version,
        "questions": list(report.questions),
        "confidence": report.confidence,
        "promote_to": report.promote_to,
        "next_phase": report.next_phase,
    }


def report_of(claim: Submission) -> PhaseReport:
    """Return the report with which a phase was handed over; without its details once redacted."""
    details = load_object(claim.details)
    return PhaseReport(
        phase=claim.phase,
        summary=claim.summary,
        version=details.get("version", 0),
        path=claim.path,
        sha256=claim.sha256,
        questions=tuple(details.get("questions", ())),
        confidence=details.get("confidence", "medium"),
        promote_to=details.get("promote_to", ""),
        next_phase=details.get("next_phase", ""),
        run=claim.run,
    )


def needs_verdict(
    contract: Contract, labels: Iterable[str], confidence: str, questions: int
) -> tuple[str, ...]:
    """Return in words why a claim needs a verdict; nothing if it needs none."""
    if not contract.artifact:
        return ()
    reasons: list[str] = []
    if contract.validation == "judge":
        reasons.append(f"the contract of {contract.phase} asks for a verdict")
    matching_labels = sorted(set(contract.judge_labels) & set(labels))
    if matching_labels:
        reasons.append(f"the item is labelled {', '.join(matching_labels)}")
    if confidence == "low":
        reasons.append("confidence is low")
    if questions:
        reasons.append(f"{agree(questions, 'question', 'is')} open")
    return tuple(reasons)


def with_doubts(report: PhaseReport, before: Iterable[PhaseReport]) -> PhaseReport:
    """Return a report with the doubts of the earlier, unjudged reports of the phase added."""
    earlier = list(before)
    questions = [
        question
        for phase_report in (report, *reversed(earlier))
        for question in phase_report.questions
    ]
    is_low = any(phase_report.confidence == "low" for phase_report in (report, *earlier))
    return replace(
        report,
        confidence="low" if is_low else report.confidence,
        questions=tuple(dict.fromkeys(questions)),
    )


def place_faults(contract: Contract, identifier: str, path: str) -> list[str]:
    """Return what is wrong with the path of an artifact: it must be in the folder that the contract names."""
    artifact_path = artifact_place(contract, identifier)
    folder = artifact_path.rpartition("/")[0]
    if path == artifact_path or (folder and path.startswith(f"{folder}/")):
        return []
    return [f"artifact_path {path!r} is not in {folder or '.'}: the contract names {artifact_path}"]


def text_faults(contract: Contract, content: bytes) -> list[str]:
    """Return what the form of a text lacks."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return ["the artifact is not text in UTF-8"]
    return artifact_faults(contract, text)


def word_faults(contract: Contract, version: int, next_phase: str) -> list[str]:
    """Return where a claim and the contract as it is now disagree."""
    faults: list[str] = []
    if version != contract.version:
        faults.append(
            f"contract_version is {version}, the contract of {contract.phase} has {contract.version}"
        )
    if next_phase != contract.next_phase:
        faults.append(
            f"recommended_next_phase is {next_phase!r}, after {contract.phase} comes"
            f" {contract.next_phase or 'nothing'!r}"
        )
    return faults


def strays(contract: Contract, identifier: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that work in the phase was not to write; texts of the same item are no others."""
    folder = f"{artifact_place(contract, identifier).rpartition('/')[0]}/"
    stray_paths = stray_writes(contract, identifier, paths)
    return tuple(path for path in stray_paths if not path.startswith(folder))


def promotion_faults(path: str) -> list[str]:
    """Return what is wrong with where a text is to be copied to: it must be below `docs`."""
    if path.startswith(f"{DOCUMENTS}/") and not path.startswith(f"{DOCUMENTS}/tickets/"):
        return []
    return [f"promote_to {path!r} is not in {DOCUMENTS}/, outside of {DOCUMENTS}/tickets/"]


def chain(phase: str, following: Mapping[str, str], passed: Iterable[str]) -> tuple[str, ...]:
    """Return the phases from one on, past those that need not be gone through; the last one counts.

    following: phase → the one after it, empty after the last.
    """
    skipped, gone = set(passed), [phase]
    while phase in skipped and following.get(phase):
        phase = following[phase]
        if phase in gone:
            break
        gone.append(phase)
    return tuple(gone)
