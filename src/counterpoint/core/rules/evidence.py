"""Between measured evidence and the rows that keep it, and remarks on it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from counterpoint.core.model.answers import Measured
from counterpoint.core.model.evidence import Apart, Command, Comparison, Execution, Method, Snapshot
from counterpoint.core.model.journal import Receipt, StartPoint
from counterpoint.core.model.rows import REDACTED
from counterpoint.core.rules.areas import outside
from counterpoint.core.rules.shared_tree import apart_json
from counterpoint.core.rules.wording import few
from counterpoint.kernel import canonical
from counterpoint.kernel.matching.expressions import expression
from counterpoint.kernel.plurals import agree

FILES_SHOWN = 500
"""How many changed files an outcome keeps by name; the count is always whole."""
PATH_MARK = 12
"""How many hex digits of its SHA-256 an outcome keeps of the path of every other file, so that paths can be counted once."""


def files_text(snapshot: Snapshot) -> str:
    """Return a snapshot's files as the JSON text that a row keeps."""
    return canonical.dump_any(dict(snapshot.files)) if snapshot.files else ""


def snapshot_of(point: StartPoint | Receipt) -> Snapshot:
    """Return the snapshot that a row kept."""
    files: dict[str, str] = {}
    warnings: tuple[str, ...] = ()
    if point.files == REDACTED:
        warnings = ("the start snapshot was redacted",)
    elif point.files:
        files = canonical.load(point.files)
    method: Method = "git" if point.method == "git" else "hash"
    return Snapshot(method=method, commit=point.commit, files=files, warnings=warnings)


def make_evidence(comparison: Comparison, apart: Sequence[Apart] = ()) -> Measured:
    """Return what is kept of a comparison, and beside it of the files that lie apart."""
    return Measured(
        method=comparison.end.method,
        start_commit=comparison.start.commit,
        end_commit=comparison.end.commit,
        files=comparison.changes[:FILES_SHOWN],
        file_count=len(comparison.changes),
        insertions=sum(change.insertions for change in comparison.changes),
        deletions=sum(change.deletions for change in comparison.changes),
        commits=comparison.commits[:100],
        warnings=comparison.warnings,
        marks="".join(
            mark
            for change in comparison.changes[FILES_SHOWN:]
            for mark in path_marks(change.path, change.previous)
        ),
        apart=tuple(apart),
    )


def drop_path(comparison: Comparison, path: str) -> Comparison:
    """Return a comparison without what changed at a path, as what somebody else is known to have written."""
    changes = tuple(change for change in comparison.changes if change.path != path)
    return replace(comparison, changes=changes)


def path_marks(*paths: str) -> list[str]:
    """Return what stands for paths, without empty ones."""
    return [canonical.text_digest(path)[:PATH_MARK] for path in paths if path]


def marked_paths(evidence: Mapping[str, Any]) -> set[str]:
    """Return what stands for every path that evidence is of; of a renamed file both names."""
    paths = [
        path for file in evidence["files"] for path in (file["path"], file.get("previous", ""))
    ]
    marks = str(evidence.get("marks", ""))
    beyond = {marks[at : at + PATH_MARK] for at in range(0, len(marks), PATH_MARK)}
    return beyond.union(path_marks(*paths))


def evidence_text(measured: Measured) -> str:
    """Return the evidence as JSON text."""
    value: dict[str, Any] = {
        "method": measured.method,
        "start_commit": measured.start_commit,
        "end_commit": measured.end_commit,
        "files": [
            {
                "path": file.path,
                "kind": file.kind,
                **({"previous": file.previous} if file.previous else {}),
                "insertions": file.insertions,
                "deletions": file.deletions,
            }
            for file in measured.files
        ],
        "file_count": measured.file_count,
        "insertions": measured.insertions,
        "deletions": measured.deletions,
        "commits": list(measured.commits),
        "warnings": list(measured.warnings),
        **({"marks": measured.marks} if measured.marks else {}),
        **({"apart": apart_json(measured.apart)} if measured.apart else {}),
    }
    return canonical.dump_any(value)


_WHAT = r"(?:tests?|testsuite|suite|specs?|checks?|ci|pytest|jest|vitest|tox|lint(?:er|ing)?|build)"
_WELL = r"(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|success(?:ful(?:ly)?)?|ok)"
_CLAIMS = expression(
    rf"\b{_WHAT}\b[^.!?;\n]{{0,60}}?\b{_WELL}\b"
    rf"|\b{_WELL}\b[^.!?;\n]{{0,40}}?\b{_WHAT}\b"
    r"|\ball tests\b|\b\d+ passed\b|\bpasses? all\b"
    r"|\b(?:no|0|zero) (?:test )?(?:failures?|failed)\b"
    r"|\btests?\b[^.!?;\n]{0,40}?\b(?:bestehen|bestanden|grün|laufen durch)\b"
    r"|\btests?\b[^.!?;\n]{0,40}?\b(?:passent|réussis|réussissent|au vert)\b"
    r"|\b(?:pruebas|tests)\b[^.!?;\n]{0,40}?\b(?:pasan|pasaron|en verde)\b"
    r"|\btestes\b[^.!?;\n]{0,40}?\bpassa(?:m|ram)\b"
    r"|测试[^。\n]{0,12}通过|通过[^。\n]{0,12}测试|テスト[^。\n]{0,12}(?:通過|通っ|成功|合格)",
    re.IGNORECASE,
)
"""How people and agents say that what they wrote was tried, in the languages in which most of them write."""
_DENIES = expression(
    r"\b(?:not|never|no longer|cannot|can't|don't|doesn't|didn't|won't|fails?|failed|failing|until|once|should|must|will"
    r"|nicht|noch|ne|n.ont|no pasan|não)\b|没|未|ない",
    re.IGNORECASE,
)


def says_tests_pass(text: str) -> bool:
    """Return whether a text says somewhere that tests or checks pass; not where it denies that or asks for it."""
    return any(not _DENIES.search(_clause(text, claim)) for claim in _CLAIMS.finditer(text))


def _clause(text: str, claim: re.Match[str]) -> str:
    """Return what was found with the words before it, from the beginning of its clause."""
    before = re.split(r"[.!?;\n。,]", text[: claim.start()])[-1]
    words = claim[0]
    # "0 failed" denies nothing, whatever it sounds like.
    return "" if re.fullmatch(r"(?:no|0|zero) .*", words, re.IGNORECASE) else before + words


def remarks_on(
    comparison: Comparison,
    *,
    areas: Sequence[str],
    unmet: Sequence[str],
    unproved: Sequence[str],
) -> list[str]:
    """Return what a reviewer should know about a finished item.

    areas: what the item was to touch. unmet: acceptance sentences nobody marked as met, with their numbers.
    unproved: claims about checks that no receipt shows.
    """
    remarks = list(comparison.warnings)
    paths = [change.path for change in comparison.changes]
    if not paths:
        remarks.append("no file changed since the start")
    if areas and (beyond := outside(areas, paths)):
        remarks.append(
            f"{len(beyond)} of {agree(len(paths), 'changed file', 'lies')} outside the areas: {few(beyond)}"
        )
    if comparison.end.method == "git":
        changed = set(paths)
        uncommitted = [path for path in sorted(comparison.end.files) if path in changed]
        if uncommitted:
            remarks.append(
                f"{agree(len(uncommitted), 'changed file', 'is')} not committed: {few(uncommitted)}"
            )
    if unmet:
        remarks.append(f"acceptance not marked as met: {few(unmet)}")
    remarks += unproved
    return remarks


def terms_of(command: Command, execution: Execution) -> tuple[str, ...]:
    """Return what a command was run under, and what came of that."""
    quotas = execution.quotas
    values = {
        "seconds": command.limit_seconds,
        "memory_bytes": quotas.memory_bytes,
        "processes": quotas.processes,
        "file_bytes": quotas.file_bytes,
        "output_bytes": quotas.output_bytes,
        "network": "on" if execution.network else "off",
        "ended_for": execution.ended_for,
        "unconfined": execution.unconfined,
    }
    terms = [(name, value) for name, value in values.items() if value]
    terms += [("hidden", login) for login in execution.missed]
    terms += [("read_only", path) for path in execution.protected]
    terms += [("put_aside", path) for path in execution.put_aside]
    terms += [("leftover", text) for text in execution.leftovers]
    return tuple(f"{name}={value}" for name, value in terms)
