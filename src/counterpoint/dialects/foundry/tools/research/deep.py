"""Deep research, as the tool of research tells it."""

from __future__ import annotations

from typing import Final

from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import page, present
from counterpoint.dialects.foundry.nouns.research import ResearchStudy
from counterpoint.dialects.foundry.tools.research import words
from counterpoint.dialects.foundry.tools.research.shown import STAYS, TITLE
from counterpoint.dialects.foundry.tools.shown import SAID
from counterpoint.dialects.foundry.verbs.research.deep.advancing import TIMED_OUT, bounds_of
from counterpoint.dialects.foundry.verbs.research.deep.studies import (
    DeepDraft,
    DeepStanding,
    DeepStudies,
    seconds_of,
)
from counterpoint.dialects.foundry.words import Cursor, Limit
from counterpoint.dialects.paging import clip, pages_of, part_of_text, sparse
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, NotFound
from counterpoint.protocol.actions import action

_PART: Final = 7_000
_FEW: Final = 10
_UNSERVED: Final = (
    "Nobody works on research in this process: it goes on with the next server of this ledger."
)


@action(
    reads=False,
    idempotent=False,
    open_world=True,
    aliases={"research_action": "deep_research_action"},
    hidden=(
        *("system_prompt", "follow_links", "task_timeout", "max_sources_per_query"),
        *("research_mode", "max_concurrent", "timeout_per_operation"),
    ),
)
def deep_research(
    call: Call,
    query: words.MaybeQuery = "",
    deep_research_action: words.DeepAction = "start",
    research_id: words.MaybeResearchId = "",
    max_iterations: words.Rounds = 3,
    max_sub_queries: words.SubQueries = 5,
    max_sources_per_query: words.SourcesPerQuery = 5,
    provider_id: words.ProviderId = "",
    system_prompt: words.System = "",
    task_timeout: words.TaskSeconds = 600,
    research_mode: words.Mode = "general",
    max_concurrent: words.Few = 3,
    timeout_per_operation: words.ActSeconds = 300,
    *,
    follow_links: words.Follow = True,
) -> Json:
    """Search, read and report with sources, in the background."""
    studies = call.core.use(DeepStudies)
    if bool(research_id) == (deep_research_action == "start"):
        raise InvalidInput(
            "one is begun with `query`, or named by `research_id` to continue, resume or cancel it",
            hint="Give `query` alone, or `research_id` with `deep_research_action`.",
        )
    if deep_research_action == "start":
        draft = DeepDraft(
            query=query,
            context=system_prompt,
            provider=provider_id,
            rounds=max_iterations,
            queries=max_sub_queries,
            sources=max_sources_per_query,
            follows=follow_links,
            seconds=task_timeout,
            together=max_concurrent,
            act_seconds=timeout_per_operation,
            mode=research_mode,
        )
        standing = studies.start(draft)
    elif deep_research_action == "continue":
        standing = studies.go_on(research_id, query, max_iterations)
    elif deep_research_action == "resume":
        standing = studies.resume(research_id)
    else:
        standing = studies.cancel(research_id)
    data, warnings = begun(standing)
    return present(data, warnings=warnings)


@action(reads=True, plain=True)
def deep_research_status(call: Call, research_id: words.ResearchId) -> Json:
    """How one stands."""
    standing = call.core.use(DeepStudies).get(research_id)
    row, course = standing.row, standing.course
    failed: list[Json] = [
        {"query": clip(query.query, TITLE), "error": clip(query.fault, TITLE)}
        for query in course.failed[:_FEW]
    ]
    data: dict[str, Json] = {
        "research_id": row.id,
        "original_query": clip(row.query, SAID),
        "status": row.status,
        "phase": row.phase,
        "iteration": max(1, course.round),
        "max_iterations": row.rounds,
        "sub_queries_total": len(course.queries),
        "sub_queries_completed": sum(
            1 for query in course.queries if query.is_searched and not query.fault
        ),
        "sub_queries_failed": len(course.failed),
        "failed_sub_queries": failed,
        "source_count": len(course.sources),
        "unread_count": len(course.unread),
        "finding_count": len(course.findings),
        "gap_count": len(course.gaps),
        "is_complete": row.status == "completed",
        "is_failed": row.status == "failed",
        "failure_error": clip(row.fault, SAID) or None,
        "total_tokens_used": row.tokens,
        "total_duration_ms": course.ms,
        "cost_micros": course.cost,
        "timed_out": row.status == "failed" and row.fault.startswith(TIMED_OUT),
        "cancelled": row.status == "cancelled",
        "status_check_count": standing.looks,
        "last_heartbeat_at": row.beat_at or None,
        "next_action": _next(row),
        "settings": _settings(row),
    }
    return present(data, warnings=_warnings(standing))


@action(reads=True, plain=True, hidden=("offset",))
def deep_research_report(
    call: Call, research_id: words.ResearchId, offset: words.Offset = 0
) -> Json:
    """What it came to."""
    standing = call.core.use(DeepStudies).get(research_id)
    row, course = standing.row, standing.course
    if not row.report:
        raise NotFound(
            f"{row.id} has no report: {_why_none(row)}",
            hint=f"Look with {_named('deep-research-status', row)}.",
        )
    text, end = part_of_text(row.report, offset).cut(_PART)
    warnings: list[str] = []
    if row.status != "completed":
        warnings.append(f"The research is {row.status}: this is the report of a round before.")
    if isinstance(end, int):
        warnings.append(f"The report goes on: ask again with `offset` {end}.")
    data = sparse(
        research_id=row.id,
        query=clip(row.query, TITLE),
        report=str(text),
        characters=len(row.report),
        next_offset=end if isinstance(end, int) else None,
        source_count=len(course.sources),
        finding_count=len(course.findings),
        iterations=course.round,
        is_complete=row.status == "completed",
    )
    return present(data, warnings=warnings)


@action(reads=True, plain=True)
def deep_research_list(
    call: Call,
    limit: Limit = 50,
    cursor: Cursor = "",
    *,
    completed_only: words.CompletedOnly = False,
) -> Json:
    """Those there are, the newest first."""
    studies = call.core.use(DeepStudies)
    query = ("research deep-research-list", completed_only)
    pages = pages_of(call, cursor, *query, first="")
    every = studies.list(completed=completed_only)
    rows = [study for study in every if not pages.at or _place(study) < str(pages.at)]

    def line(row: ResearchStudy) -> Json:
        sources, findings = studies.counts(row)
        return {
            "id": row.id,
            "query": clip(row.query, TITLE),
            "status": row.status,
            "phase": row.phase,
            "iteration": max(1, row.round),
            "source_count": sources,
            "finding_count": findings,
            "is_complete": row.status == "completed",
            "created_at": str(row.created_at),
            "updated_at": str(row.updated_at),
        }

    lines, further = pages.rows(rows[: limit + 1], limit, line, _place)
    answer = page(further, len(lines), len(every))
    return present({"sessions": lines, "count": len(lines)}, pagination=answer)


@action(reads=False, destructive=True, plain=True)
def deep_research_delete(call: Call, research_id: words.ResearchId) -> Json:
    """Stop and delete one."""
    call.core.use(DeepStudies).delete(research_id)
    return present({"deleted": True, "research_id": research_id}, warnings=[STAYS])


def begun(standing: DeepStanding) -> tuple[dict[str, Json], list[str]]:
    """Return a study as the action tells it that began it, with warnings."""
    row = standing.row
    is_on = row.status == "active"
    message = (
        "It goes on in the background." if is_on else "It was stopped; what was found is kept."
    )
    return {
        "research_id": row.id,
        "status": "started" if is_on else row.status,
        "effective_timeout": seconds_of(row),
        "message": message,
        "polling_guidance": {
            "max_checks": 5,
            "typical_duration_minutes": 5,
            "require_user_communication": True,
            "no_independent_research": True,
        },
        "phase": row.phase,
    }, _warnings(standing)


def _settings(row: ResearchStudy) -> dict[str, Json]:
    """Return what one was begun with, under the names of its parameters."""
    bounds = bounds_of(row)
    return {
        "provider_id": row.provider,
        "system_prompt": clip(row.system, TITLE) or None,
        "max_sub_queries": bounds.queries,
        "max_sources_per_query": bounds.sources,
        "follow_links": bounds.follows,
        "task_timeout": bounds.seconds,
        "timeout_per_operation": bounds.act_seconds,
        "max_concurrent": bounds.together,
        "research_mode": bounds.mode,
    }


def _warnings(standing: DeepStanding) -> list[str]:
    return [_UNSERVED] if not standing.is_served and standing.row.status == "active" else []


def _next(row: ResearchStudy) -> str:
    if row.status == "active":
        return "Do something else, and look again in a minute or two."
    if row.status == "completed":
        return f"Read it with {_named('deep-research-report', row)}."
    return f'Go on with `research action="deep-research" deep_research_action="resume" research_id="{row.id}"`.'


def _why_none(row: ResearchStudy) -> str:
    return f"it is {row.status}, {row.fault or f'in the phase of {row.phase}'}"


def _named(name: str, row: ResearchStudy) -> str:
    return f'`research action="{name}" research_id="{row.id}"`'


def _place(row: ResearchStudy) -> str:
    return f"{row.created_at} {row.id}"


DEEP: Final = (
    *(deep_research, deep_research_status, deep_research_report),
    *(deep_research_list, deep_research_delete),
)
"""The actions, in the order of the list."""
