"""Faults of a spec's document outside of its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from counterpoint.dialects.foundry.rules.numbering import is_spec_id
from counterpoint.dialects.foundry.rules.shape import (
    LEVELS,
    LIST_LIMIT,
    NESTING_LIMIT,
    SPEC_FIELDS,
    SPEC_STATUSES,
    Document,
    depth_of,
    has_text,
    is_one_of,
    items_of,
    metadata_of,
    place,
    quoted,
    texts_of,
)
from counterpoint.dialects.foundry.rules.validation.table import Diagnostic
from counterpoint.kernel.canonical import Json, object_of

DATES = ("generated", "last_updated")


def document_faults(document: Document) -> Iterator[Diagnostic]:
    """Return the faults of a document outside of its nodes, and of its size."""
    yield from _size_faults(document)
    yield from _top_faults(document)
    yield from _metadata_faults(document)


def is_time(value: Json) -> bool:
    """Return whether a value is a time of ISO 8601."""
    try:
        datetime.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        return False
    return True


def _size_faults(document: Document) -> Iterator[Diagnostic]:
    for name, node in object_of(document.get("hierarchy")).items():
        if depth_of(node, NESTING_LIMIT) > NESTING_LIMIT:
            yield Diagnostic(
                "EXCESSIVE_NESTING", f"{quoted(name)} nests more than {NESTING_LIMIT}", place(name)
            )
        count = len(items_of(object_of(node).get("children")))
        if count > LIST_LIMIT:
            message = f"{quoted(name)} has {count} children, more than {LIST_LIMIT}"
            yield Diagnostic("EXCESSIVE_ARRAY_LENGTH", message, place(name, "children"))
    if depth_of(document.get("metadata"), NESTING_LIMIT) > NESTING_LIMIT:
        message = f"the metadata nest more than {NESTING_LIMIT}"
        yield Diagnostic("EXCESSIVE_NESTING", message, "metadata")
    count = len(items_of(document.get("journal")))
    if count > LIST_LIMIT:
        message = f"the journal has {count} entries, more than {LIST_LIMIT}"
        yield Diagnostic("EXCESSIVE_JOURNAL_LENGTH", message, "journal")


def _top_faults(document: Document) -> Iterator[Diagnostic]:
    for field in SPEC_FIELDS:
        if field not in document:
            yield Diagnostic("MISSING_REQUIRED_FIELD", f"{field} is missing", field)
    spec = document.get("spec_id")
    if "spec_id" in document and not (isinstance(spec, str) and is_spec_id(spec)):
        message = f"{quoted(spec)} is not of the form {{slug}}-{{YYYY-MM-DD}}-{{NNN}}"
        yield Diagnostic("INVALID_SPEC_ID_FORMAT", message, "spec_id")
    for field in DATES:
        if field in document and not is_time(document[field]):
            message = f"{quoted(document[field])} is not a time of ISO 8601"
            yield Diagnostic("INVALID_DATE_FORMAT", message, field)
    if "status" in document and not is_one_of(document["status"], SPEC_STATUSES):
        message = f"the spec has the status {quoted(document['status'])}"
        yield Diagnostic("INVALID_STATUS", message, "status")
    journal = document.get("journal", [])
    if not isinstance(journal, list):
        yield Diagnostic("INVALID_JOURNAL_TYPE", f"the journal is {quoted(journal)}", "journal")
    for number, entry in enumerate(items_of(journal)):
        if not isinstance(entry, dict):
            where = f"journal[{number}]"
            yield Diagnostic("INVALID_JOURNAL_TYPE", f"the entry is {quoted(entry)}", where)


def _metadata_faults(document: Document) -> Iterator[Diagnostic]:
    raw = document.get("metadata", {})
    if not isinstance(raw, dict):
        yield Diagnostic("INVALID_METADATA_TYPE", f"the metadata are {quoted(raw)}", "metadata")
    metadata = metadata_of(document)
    if not has_text(metadata.get("mission")):
        yield Diagnostic("MISSING_MISSION", "the spec has no mission", "metadata.mission")
    for code, field in (
        ("EMPTY_SUCCESS_CRITERIA", "success_criteria"),
        ("EMPTY_CONSTRAINTS", "constraints"),
    ):
        if not any(map(has_text, texts_of(metadata.get(field)))):
            yield Diagnostic(code, f"the spec has no {field}", place("metadata", field))
    yield from _risk_faults(metadata.get("risks"))
    for code, field in (
        ("MISSING_PLAN_PATH", "plan_path"),
        ("MISSING_PLAN_REVIEW_PATH", "plan_review_path"),
    ):
        if not has_text(metadata.get(field)):
            yield Diagnostic(code, f"the spec has no {field}", place("metadata", field))


def _risk_faults(risks: Json) -> Iterator[Diagnostic]:
    if risks is not None and not isinstance(risks, list):
        yield Diagnostic("INVALID_RISK_ENTRY", f"risks is {quoted(risks)}", "metadata.risks")
    for number, risk in enumerate(items_of(risks)):
        where = f"metadata.risks[{number}]"
        if not isinstance(risk, dict):
            yield Diagnostic("INVALID_RISK_ENTRY", f"the risk is {quoted(risk)}", where)
            continue
        fields = object_of(risk)
        if not has_text(fields.get("description")):
            message = "the risk has no description"
            yield Diagnostic("MISSING_RISK_DESCRIPTION", message, place(where, "description"))
        for field in ("likelihood", "impact"):
            level = fields.get(field)
            if level is not None and not is_one_of(level, LEVELS):
                message = f"{field} is {quoted(level)}"
                yield Diagnostic("INVALID_RISK_FIELD", message, place(where, field))
        if not isinstance(fields.get("mitigation", ""), str | None):
            yield Diagnostic(
                "INVALID_RISK_FIELD", "mitigation is no text", place(where, "mitigation")
            )
