"""The tool `research`, with its actions of deep research and of nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from counterpoint.core.ports.evidence import Watch
from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import page, present
from counterpoint.dialects.foundry.models.research import ResearchStudy
from counterpoint.dialects.foundry.research.asking import ChatDraft, Threads, choose_provider
from counterpoint.dialects.foundry.research.deep import TIMED_OUT, bounds_of
from counterpoint.dialects.foundry.research.nodes import Researching, ResearchNode
from counterpoint.dialects.foundry.research.rules.answers import list_of
from counterpoint.dialects.foundry.research.studies import (
    DeepDraft,
    DeepStanding,
    DeepStudies,
    seconds_of,
)
from counterpoint.dialects.foundry.research.thinking import (
    ConsensusDraft,
    Consulting,
    IdeateDraft,
    Ideating,
    Thinking,
)
from counterpoint.dialects.foundry.tools import conversations
from counterpoint.dialects.foundry.tools.conversations import (
    DEPTH,
    FETCHING,
    STAYS,
    TALKING,
    THINKING,
    TITLE,
    agreed,
    chatted,
    ideated,
    thought,
)
from counterpoint.dialects.foundry.tools.shown import SAID, in_pages
from counterpoint.dialects.foundry.words import Cursor, Limit, SpecId
from counterpoint.dialects.paging import clip, pages_of, part_of_text, sparse
from counterpoint.dialects.progress import watching
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import InvalidInput, NotFound
from counterpoint.protocol.actions import action, of_actions
from counterpoint.protocol.parameters import Progress

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
    query: conversations.MaybeQuery = "",
    deep_research_action: conversations.DeepAction = "start",
    research_id: conversations.MaybeResearchId = "",
    max_iterations: conversations.Rounds = 3,
    max_sub_queries: conversations.SubQueries = 5,
    max_sources_per_query: conversations.SourcesPerQuery = 5,
    provider_id: conversations.ProviderId = "",
    system_prompt: conversations.System = "",
    task_timeout: conversations.TaskSeconds = 600,
    research_mode: conversations.Mode = "general",
    max_concurrent: conversations.Few = 3,
    timeout_per_operation: conversations.ActSeconds = 300,
    *,
    follow_links: conversations.Follow = True,
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
def deep_research_status(call: Call, research_id: conversations.ResearchId) -> Json:
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
    call: Call, research_id: conversations.ResearchId, offset: conversations.Offset = 0
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
    completed_only: conversations.CompletedOnly = False,
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
def deep_research_delete(call: Call, research_id: conversations.ResearchId) -> Json:
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


_Told = tuple[str, dict[str, Json], list[str]]
"""The id of a study, what its action tells of it, and warnings."""


@action(reads=False, idempotent=False, open_world=True)
def node_execute(
    call: Call,
    progress: Progress,
    spec_id: SpecId,
    research_node_id: conversations.NodeId,
    prompt: conversations.MaybePrompt = "",
    provider_id: conversations.ProviderId = "",
    session_id: conversations.SessionId = "",
) -> Json:
    """Start a research node and do what it says."""
    # Of the unattended run that works on the spec: whoever lets the call through has looked at it.
    del session_id
    nodes, context = call.core.use(Researching), call.core.use(lambda context: context)
    node = nodes.get(spec_id, research_node_id)
    # Who cannot ask anybody does not take it up.
    provider = choose_provider(context, provider_id).name if provider_id else ""
    choose_provider(context, provider)
    nodes.start(spec_id, research_node_id)
    query = prompt.strip() or node.query or node.title
    study, data, warnings = _RUNS[node.kind](call, node, query, provider, watching(progress))
    after = nodes.note(spec_id, research_node_id, study, node.kind)
    return present(
        {
            "spec_id": after.spec,
            "research_node_id": after.id,
            "research_type": after.kind,
            "session_id": study,
            "status": after.status,
            **data,
        },
        warnings=warnings,
    )


@action(reads=False, idempotent=False)
def node_record(
    call: Call,
    spec_id: SpecId,
    research_node_id: conversations.NodeId,
    result: conversations.Finding,
    summary: conversations.Summary = "",
    key_insights: conversations.Texts = [],  # noqa: B006 -- never changed; the schema shows it
    recommendations: conversations.Texts = [],  # noqa: B006 -- never changed; the schema shows it
    sources: conversations.Texts = [],  # noqa: B006 -- never changed; the schema shows it
    confidence: conversations.Confidence = "medium",
    session_id: conversations.SessionId = "",
) -> Json:
    """Write down what was found; completed ends it."""
    findings: dict[str, Json] = {
        "summary": summary,
        "key_insights": list[Json](key_insights),
        "recommendations": list[Json](recommendations),
        "sources": list[Json](sources),
        "confidence": confidence,
    }
    nodes = call.core.use(Researching)
    after = nodes.record(spec_id, research_node_id, result, findings, session_id)
    return present(
        {
            "spec_id": after.spec,
            "research_node_id": after.id,
            "result": result,
            "status": after.status,
            "findings_recorded": bool(summary or key_insights or recommendations or sources),
        }
    )


@action(reads=True, plain=True)
def node_status(call: Call, spec_id: SpecId, research_node_id: conversations.NodeId) -> Json:
    """How one stands."""
    node = call.core.use(Researching).get(spec_id, research_node_id)
    return present(
        {
            **_head(node),
            "research_type": node.kind,
            "blocking_mode": node.mode,
            "session_id": node.session or None,
            "query": clip(node.query, SAID),
            "has_findings": bool(node.findings),
            "history_count": len(node.history),
        }
    )


@action(reads=True, plain=True)
def node_findings(
    call: Call, spec_id: SpecId, research_node_id: conversations.NodeId, cursor: Cursor = ""
) -> Json:
    """What was found."""
    node = call.core.use(Researching).get(spec_id, research_node_id)
    stored = node.findings
    lists = ("key_insights", "recommendations", "sources")
    flat: dict[str, Json] = {
        **_head(node),
        **{name: _texts(stored.get(name)) for name in lists},
        "research_history": list(node.history),
    }
    query = ("research node-findings", spec_id, research_node_id)
    answer = object_of(in_pages(call, query, cursor, flat, *lists, "research_history"))
    data = object_of(answer["data"])
    findings: dict[str, Json] = {
        "summary": clip(str(stored.get("summary") or ""), SAID),
        **{name: data.pop(name) for name in lists},
        "confidence": stored.get("confidence"),
    }
    history = data.pop("research_history")
    whole: dict[str, Json] = {
        **data,
        "findings": findings if stored else {},
        "research_history": history,
    }
    return {**answer, "data": whole}


def _head(node: ResearchNode) -> dict[str, Json]:
    return {
        "spec_id": node.spec,
        "research_node_id": node.id,
        "title": clip(node.title, TITLE),
        "status": node.status,
    }


def _texts(value: Json) -> list[Json]:
    return [clip(str(part), SAID) for part in list_of(value)]


def _chat(call: Call, node: ResearchNode, text: str, provider: str, watch: Watch) -> _Told:
    draft = ChatDraft(prompt=text, title=node.title, provider=provider, thread="", item=node.item)
    row, answer = call.core.use(Threads).chat(draft, watch)
    return row.id, *chatted(row, answer)


def _consensus(call: Call, node: ResearchNode, text: str, provider: str, watch: Watch) -> _Told:
    names = (provider,) if provider else ()
    draft = ConsensusDraft(prompt=text, providers=names, item=node.item)
    consensus = call.core.use(lambda context: Consulting(context, watch)).ask(draft)
    return consensus.study.id, *agreed(consensus, draft.strategy)


def _thinkdeep(call: Call, node: ResearchNode, text: str, provider: str, watch: Watch) -> _Told:
    thinking = call.core.use(Thinking)
    step = thinking.begin(text, DEPTH, provider, watch, node.item)
    return step.study.id, *thought(step)


def _ideate(call: Call, node: ResearchNode, text: str, provider: str, watch: Watch) -> _Told:
    draft = IdeateDraft(topic=text, provider=provider, item=node.item)
    step = call.core.use(lambda context: Ideating(context, watch)).act(draft)
    return step.study.id, *ideated(step)


def _deep(call: Call, node: ResearchNode, text: str, provider: str, watch: Watch) -> _Told:
    del watch
    draft = DeepDraft(query=text, provider=provider, item=node.item)
    standing = call.core.use(DeepStudies).start(draft)
    data, warnings = begun(standing)
    # How the node stands is told under this name.
    return (
        standing.row.id,
        {name: value for name, value in data.items() if name != "status"},
        warnings,
    )


_RUNS: Final[dict[str, Callable[[Call, ResearchNode, str, str, Watch], _Told]]] = {
    "chat": _chat,
    "consensus": _consensus,
    "thinkdeep": _thinkdeep,
    "ideate": _ideate,
    "deep-research": _deep,
}
NODES: Final = (node_execute, node_record, node_status, node_findings)
"""The actions, in the order of the list."""


_CHAT, *_THREADS = TALKING

research = of_actions(
    "research",
    "Research with AI models; all is kept.",
    (_CHAT, *THINKING, *_THREADS, *DEEP, *NODES, *FETCHING),
)
