"""The errors that calls of this dialect have met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from counterpoint.dialects.arguments import INTEGER, TEXT
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import page, present
from counterpoint.dialects.foundry.nouns.errors import (
    DAYS,
    MOST,
    ErrorFilter,
    ErrorPattern,
    ErrorRecord,
)
from counterpoint.dialects.foundry.verbs.errors import Errors
from counterpoint.dialects.foundry.words import Cursor, DryRun, LongLimit
from counterpoint.dialects.paging import pages_of, sparse
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import moment, stamp
from counterpoint.kernel.plurals import counted
from counterpoint.protocol.actions import action, of_actions

_TOP: Final = 10
_SHOWN: Final = 25
"""How many sorts are told at once."""


def _moment(text: str) -> str:
    """Return a moment as timestamps are written; a date is its beginning. ValueError."""
    try:
        time = moment(text)
    except ValueError:
        raise ValueError("must be a time such as 2026-11-20T12:00:00Z") from None
    return stamp(time if time.tzinfo else time.replace(tzinfo=UTC)) if time.year > 1 else ""


_Word = Annotated[str, Field(min_length=1, max_length=100), TEXT]
Tool = Annotated[_Word, Field(description="Tool")]
Code = Annotated[_Word, Field(description="Code")]
Type = Annotated[_Word, Field(description="Type")]
Fingerprint = Annotated[_Word, Field(description="Sort of error")]
Provider = Annotated[_Word, Field(description="Provider")]
Since = Annotated[str, Field(max_length=40, description="From this time"), TEXT]
Until = Annotated[str, Field(max_length=40, description="To this time"), TEXT]
Moment = AfterValidator(_moment)


@action(reads=True, plain=True)
def list_(
    call: Call,
    tool_name: Tool = "",
    error_code: Code = "",
    error_type: Type = "",
    fingerprint: Fingerprint = "",
    provider_id: Provider = "",
    since: Annotated[Since, Moment] = "",
    until: Annotated[Until, Moment] = "",
    limit: LongLimit = 100,
    cursor: Cursor = "",
) -> Json:
    """Newest first."""
    selection = ErrorFilter(
        tool_name=tool_name,
        error_code=error_code,
        error_type=error_type,
        fingerprint=fingerprint,
        provider_id=provider_id,
        since=since,
        until=until,
    )
    query: Mapping[str, Json] = asdict(selection)
    pages = pages_of(call, cursor, "errors", dict(query), first="")
    every = call.core.use(Errors).find(selection)
    # What came since the first page is newer than its place, and is not met again.
    rows = [record for record in every if not pages.at or _place(record) < str(pages.at)]
    lines, further = pages.rows(rows[: limit + 1], limit, _error, _place)
    answer = page(further, len(lines), len(every))
    return present({"errors": lines, "count": len(lines)}, pagination=answer)


@action(reads=True, plain=True)
def get(call: Call, error_id: Annotated[_Word, Field(description="Error id")]) -> Json:
    """One error."""
    return present({"error": _error(call.core.use(Errors).get(error_id))})


@action(reads=True, plain=True)
def stats(call: Call) -> Json:
    """Counts."""
    errors = call.core.use(Errors)
    counts = errors.statistics()
    return present(
        {
            "total_errors": counts.total,
            "unique_patterns": len(counts.patterns),
            "by_tool": dict(counts.by_tool),
            "by_error_code": dict(counts.by_code),
            "top_patterns": [_pattern(pattern) for pattern in counts.patterns[:_TOP]],
            "updated_at": errors.now(),
        }
    )


@action(reads=True)
def patterns(
    call: Call,
    min_count: Annotated[int, Field(ge=1, le=MOST, description="How often"), INTEGER] = 3,
) -> Json:
    """Those that recur."""
    patterns = call.core.use(Errors).patterns(min_count)
    return present(
        {
            "patterns": [_pattern(pattern) for pattern in patterns[:_SHOWN]],
            "pattern_count": len(patterns),
            "min_count_filter": min_count,
        }
    )


@action(reads=False, destructive=True, plain=True)
def cleanup(
    call: Call,
    retention_days: Annotated[int, Field(ge=0, le=DAYS, description="Days kept"), INTEGER] = DAYS,
    max_errors: Annotated[int, Field(ge=0, le=MOST, description="Errors kept"), INTEGER] = MOST,
    *,
    dry_run: DryRun = False,
) -> Json:
    """Delete old ones."""
    stay, go = call.core.use(Errors).clean(retention_days, max_errors, dry_run=dry_run)
    would = "would be deleted" if dry_run else "were deleted"
    return present(
        {
            "current_count": stay + go if dry_run else stay,
            "deleted_count": go,
            "retention_days": retention_days,
            "max_errors": max_errors,
            "dry_run": dry_run,
            "message": f"{counted(go, 'error')} {would}; {stay} stay",
        }
    )


error = of_actions(
    "error", "Errors of this dialect's calls.", (list_, get, stats, patterns, cleanup)
)


def _error(record: ErrorRecord) -> Json:
    return sparse(**asdict(record))


def _place(record: ErrorRecord) -> Json:
    return f"{record.timestamp} {record.id}"


def _pattern(pattern: ErrorPattern) -> Json:
    last = pattern.last
    return {
        "fingerprint": last.fingerprint,
        "tool_name": last.tool_name,
        "action": last.action,
        "error_code": last.error_code,
        "message": last.message,
        "count": pattern.count,
        "first_seen": pattern.first_seen,
        "last_seen": last.timestamp,
    }
