"""The tools that record and find what was found, learned, covered and tested."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from pydantic import Field

from counterpoint.core.model.filters import Note
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.continuing import describe_lost_claim
from counterpoint.dialects.paging import PAGE, RESERVE, clip, pages_of, part_of_list, sparse
from counterpoint.dialects.symphony.envelope import PHRASES
from counterpoint.dialects.symphony.nouns import (
    Coverage,
    Learning,
    LearningDraft,
    LearningHit,
    LearningQuery,
    TestRun,
    TestTrend,
)
from counterpoint.dialects.symphony.tools.parts import coverage_id
from counterpoint.dialects.symphony.verbs.learnings import Learnings, Surveys
from counterpoint.dialects.symphony.words import (
    Concept,
    Count,
    Covered,
    Cursor,
    FindingCategory,
    Id,
    LearningType,
    Limit,
    Line,
    Lines,
    Said,
    Text,
    bound,
    parse_issue,
    present_id,
    run_of,
)
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.tools import tool

_PATTERN = 1_200


@tool(reads=False, idempotent=False)
def add_finding(
    call: Call,
    category: Annotated[FindingCategory, Field(description="Kind of finding")],
    summary: Annotated[Line, Field(description="Short and scannable")],
    details: Annotated[Text, Field(description="All of it")] = "",
    files: Annotated[Lines, Field(description="Related paths")] = (),
) -> Json:
    """Record a test result, a pattern, an architecture note, a bug or a gap on the current issue."""
    note = Note(
        kind="finding",
        item=bound(call),
        title=summary,
        body=details or summary,
        tags=(category,),
        files=files,
        details=run_of(call),
    )
    record = call.core.journal.append(note)
    return {
        "id": record.id,
        "category": category,
        "created_at": record.created_at,
        **describe_lost_claim(call, PHRASES, record.item),
    }


@tool(reads=False, idempotent=False)
def add_learning(
    call: Call,
    pattern: Annotated[Said, Field(description="At least 50 characters; begin with the subject")],
    context: Annotated[Text | None, Field(description="When it applies; at least 100")] = None,
    applies_to: Annotated[Lines, Field(description="Directory or file prefixes")] = (),
    learning_type: Annotated[LearningType | None, Field(description="Kind of learning")] = None,
) -> Json:
    """Record a reusable pattern or gotcha for future agents."""
    saved = call.core.use(Learnings).keep(
        LearningDraft(
            item=bound(call),
            pattern=pattern,
            context=context,
            applies_to=applies_to,
            kind=learning_type,
            run=call.settings.run,
        )
    )
    near: list[Json] = [_summarize(learning) for learning in saved.near]
    return {
        "id": saved.learning.record.id,
        "quality_score": saved.learning.quality,
        "created_at": saved.learning.record.created_at,
        **sparse(near_duplicates=near),
    }


@tool(reads=True)
def search_learnings(
    call: Call,
    query: Annotated[str, Field(min_length=1, max_length=500, description="Words or beginnings")],
    limit: Annotated[Limit, Field(description="Most results")] = 50,
    *,
    cross_project: Annotated[
        bool, Field(description="Other projects in place of this one")
    ] = False,
    min_quality_score: Annotated[
        int, Field(ge=0, le=100, description="Verified ones always pass")
    ] = 0,
    cursor: Annotated[Cursor, Field(description="`next_cursor` of the page before")] = "",
) -> Json:
    """Search learnings, best first: 50 % relevance, 30 % field, 20 % quality."""
    learning_query = LearningQuery(
        query=query, limit=limit, min_quality=min_quality_score, elsewhere=cross_project
    )
    pages = pages_of(call, cursor, "search_learnings", asdict(learning_query))
    hits = call.core.use(Learnings).find(learning_query)
    entries = [_present(hit, elsewhere=cross_project) for hit in hits]
    learnings, next_start = part_of_list(entries, pages.at).cut(PAGE - RESERVE)
    return {
        "learnings": learnings,
        "total": len(hits),
        **sparse(next_cursor=pages.cursor(next_start)),
        "note": DATA,
    }


@tool(reads=False)
def record_coverage(
    call: Call,
    file_path: Annotated[Line, Field(description="Examined file")],
    concept: Annotated[Concept, Field(description="Such as error_handling")],
    status: Annotated[Covered, Field(description="has_issues: a ticket was created")],
    ticket_id: Annotated[Id | None, Field(description="Needed with has_issues")] = None,
    notes: Annotated[Text, Field(description="Observation")] = "",
) -> Json:
    """Record that a file was examined for a concept; the latest record counts."""
    done = call.core.use(Surveys).cover(
        Coverage(
            path=file_path,
            concept=concept,
            status=status,
            item=parse_issue(call, ticket_id).id if ticket_id else "",
            notes=notes,
            run=call.settings.run,
        )
    )
    return {
        "id": coverage_id(concept, done.coverage.path),
        "file_path": done.coverage.path,
        "concept": concept,
        "status": status,
        "updated_at": done.at,
        **sparse(
            ticket_id=present_id(done.coverage.item) if done.coverage.item else "",
            previous_status=done.before,
        ),
    }


@tool(reads=False, idempotent=False)
def record_test_health(
    call: Call,
    test_count: Annotated[Count, Field(description="Test cases after this run")],
    test_files_changed: Annotated[Count | None, Field(description="Test files modified")] = None,
    tests_added: Annotated[Count | None, Field(description="New test cases")] = None,
    tests_removed: Annotated[Count | None, Field(description="Cases taken away")] = None,
    execution_time_ms: Annotated[Count | None, Field(description="Duration of the suite")] = None,
) -> Json:
    """Record test health after a test run; answers the trend."""
    run = TestRun(
        tests=test_count,
        added=tests_added,
        removed=tests_removed,
        files=test_files_changed,
        milliseconds=execution_time_ms,
        run=call.settings.run,
    )
    item = bound(call) if call.core.caller.item else ""
    record, trend = call.core.use(Surveys).tested(run, item)
    return {"id": record.id, "created_at": record.created_at, "trend": _trend(trend)}


def _trend(trend: TestTrend) -> Json:
    return {
        "counts": [run.tests for run in trend.runs],
        "since_last": trend.since_last,
        "since_first": trend.since_first,
        "slower_ms": trend.slower_ms,
    }


def _summarize(learning: Learning) -> dict[str, Json]:
    return {
        "id": learning.record.id,
        "pattern": clip(learning.pattern, _PATTERN),
        **sparse(issue=present_id(learning.record.item) if learning.record.item else ""),
    }


def _present(hit: LearningHit, *, elsewhere: bool) -> dict[str, Json]:
    learning = hit.learning
    return {
        **_summarize(learning),
        **({"project": learning.project} if elsewhere else {}),
        **sparse(context=clip(learning.context, _PATTERN), applies_to=list(learning.applies_to)),
        "learning_type": learning.kind,
        "quality_score": learning.quality,
        "verified": learning.is_verified,
        "score": hit.score,
        "parts": {"bm25": hit.relevance, "field": hit.place, "quality": hit.quality},
    }
