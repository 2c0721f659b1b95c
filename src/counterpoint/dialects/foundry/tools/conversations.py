"""Actions of the tool `research` that talk, think and fetch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from counterpoint.core.model.models import Answer
from counterpoint.core.model.web import Page
from counterpoint.dialects.arguments import INTEGER, NUMBER, TEXT, TEXTS, not_blank
from counterpoint.dialects.call import DATA, Call
from counterpoint.dialects.foundry.envelope import code_of, page, present
from counterpoint.dialects.foundry.models import research as nouns
from counterpoint.dialects.foundry.models.research import ResearchStep, ResearchStudy, Strategy
from counterpoint.dialects.foundry.research.asking import (
    SECONDS,
    TOKENS,
    ChatDraft,
    Extracting,
    Threads,
    tokens_of,
)
from counterpoint.dialects.foundry.research.thinking import (
    Consensus,
    ConsensusDraft,
    Consulting,
    IdeateDraft,
    Ideating,
    IdeationStep,
    Thinking,
    Thought,
)
from counterpoint.dialects.foundry.tools.shown import SAID, in_pages
from counterpoint.dialects.foundry.words import Cursor, Limit
from counterpoint.dialects.paging import clip, pages_of, part_of_text, sparse
from counterpoint.dialects.progress import watching
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, InvalidInput
from counterpoint.protocol.actions import action
from counterpoint.protocol.parameters import Progress

_Said = Annotated[str, Field(min_length=1, max_length=100_000), AfterValidator(not_blank), TEXT]
_Id = Annotated[str, Field(min_length=1, max_length=200), TEXT]
_Name = Annotated[str, Field(max_length=200), TEXT]

Prompt = Annotated[_Said, Field(description="What to ask")]
MaybePrompt = Annotated[
    str, Field(max_length=100_000, description="Instead of the node's query"), TEXT
]
Topic = Annotated[str, Field(max_length=100_000, description="Begins one"), TEXT]
Query = Annotated[str, Field(max_length=100_000, description="What to look at now"), TEXT]
ThreadId = Annotated[_Id, Field(description="Thread; without: a new one")]
AnyThread = Annotated[_Id, Field(description="Thread, or other research")]
StudyId = Annotated[_Name, Field(description="Goes on with one")]
ProviderId = Annotated[_Name, Field(description="Other than the usual one")]
Model = Annotated[_Name, Field(description="Other than its usual one")]
System = Annotated[str, Field(max_length=100_000, description="Stands above all"), TEXT]
Title = Annotated[str, Field(max_length=500, description="Of the thread"), TEXT]
Temperature = Annotated[float | None, Field(ge=0, le=2, description="0-2"), NUMBER]
Tokens = Annotated[int, Field(ge=1, le=100_000, description="Of the answer"), INTEGER]
Seconds = Annotated[float, Field(ge=1, le=3_600, description="For each"), NUMBER]
Depth = Annotated[int, Field(ge=1, le=50, description="Steps at most"), INTEGER]
Few = Annotated[int, Field(ge=1, le=20, description="At once"), INTEGER]
RequireAll = Annotated[bool, Field(description="All have to answer")]
Least = Annotated[int, Field(ge=1, le=20, description="Answers there have to be"), INTEGER]
_Names = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], TEXTS]
Providers = Annotated[_Names, Field(max_length=20, description="Names, or name:model")]
Perspectives = Annotated[_Names, Field(max_length=20, description="Views to take")]
Clusters = Annotated[_Names, Field(max_length=30, description="c1 ...")]
Criteria = Annotated[_Names, Field(max_length=20, description="To score by")]
ThreadStatus = Annotated[nouns.ThreadStatus, Field(description="Only these")]
ConsensusStrategy = Annotated[nouns.Strategy, Field(description="How answers become one")]
IdeateAction = Annotated[nouns.IdeateAction, Field(description="Step of ideate")]
NodeId = Annotated[_Id, Field(description="research-1-2")]
Finding = Annotated[nouns.Finding, Field(description="What came of it")]
Confidence = Annotated[nouns.Confidence, Field(description="How sure")]
Summary = Annotated[str, Field(max_length=20_000, description="Summary"), TEXT]
_Texts = Annotated[list[Annotated[str, Field(min_length=1, max_length=2_000)]], TEXTS]
Texts = Annotated[_Texts, Field(max_length=50, description="Findings")]
_Url = Annotated[str, Field(min_length=1, max_length=2_000)]
Urls = Annotated[
    list[_Url], TEXTS, Field(min_length=1, max_length=10, description="Pages, at most 10")
]
MaybeQuery = Annotated[str, Field(max_length=100_000, description="What to find out"), TEXT]
ResearchId = Annotated[_Id, Field(description="deepres-...")]
MaybeResearchId = Annotated[_Name, Field(description="deepres-...")]
DeepAction = Annotated[
    nouns.DeepAction, Field(description="resume: after a stop; continue: look further")
]
Rounds = Annotated[int, Field(ge=1, le=10, description="Rounds"), INTEGER]
SubQueries = Annotated[int, Field(ge=1, le=20, description="Searches a round"), INTEGER]
SourcesPerQuery = Annotated[int, Field(ge=1, le=50, description="Pages a search"), INTEGER]
Mode = Annotated[nouns.ResearchMode, Field(description="Whose pages come first")]
ActSeconds = Annotated[float, Field(ge=1, le=3_600, description="For each act"), NUMBER]
Follow = Annotated[bool, Field(description="Fetch pages")]
TaskSeconds = Annotated[float, Field(ge=10, le=7_200, description="Seconds of work"), NUMBER]
CompletedOnly = Annotated[bool, Field(description="Only these")]
Offset = Annotated[int, Field(ge=0, le=10_000_000, description="Where the text begins"), INTEGER]
SessionId = Annotated[_Name, Field(description="Research, or run, behind it")]


CONTENT: Final = 7_000
"""The most bytes of one answer of a model in an answer of a tool."""
TITLE: Final = 300
STAYS: Final = (
    "Its words stay in the ledger until a person takes them away:"
    " `counterpoint audit redact --text FILE --reason TEXT`, with the words in that file."
)
"""What whoever deletes a study is told."""
_PART: Final = 6_000


def cut(content: str, study: str) -> tuple[str, list[str]]:
    """Return a text as an answer has it, with a warning that says where the rest stands if it is cut."""
    text = clip(content, CONTENT)
    message = (
        f'The answer is cut: `research action="thread-get" thread_id="{study}"` has all of it.'
    )
    return text, [] if text == content else [message]


def messages(steps: Sequence[ResearchStep]) -> list[Json]:
    """Return what was said in a study; a text that no page holds in several parts."""
    return [part for step in steps for part in _said(step)]


def begun_with(row: ResearchStudy, steps: Sequence[ResearchStep]) -> list[Json]:
    """Return, as messages before the first, what a study was begun with and nothing else tells whole."""
    messages: list[Json] = []
    if clip(row.system, SAID) != row.system:
        messages += _parts(row.system, id="system", role="system", timestamp=str(row.created_at))
    if row.query not in {row.title, *(step.text for step in steps if step.kind == "user")}:
        messages += _parts(row.query, id="query", role="user", timestamp=str(row.created_at))
    return messages


def _said(step: ResearchStep) -> list[Json]:
    return _parts(
        step.text,
        id=f"msg-{step.number}",
        role=step.kind,
        timestamp=str(step.created_at),
        provider_id=step.provider,
        model_used=step.model,
        tokens_used=step.tokens or None,
    )


def _parts(text: str, **beside: Json) -> list[Json]:
    """Return a text as messages that each fit on a page."""
    texts, at = list[str](), 0
    while True:
        part, end = part_of_text(text, at).cut(_PART)
        texts.append(str(part))
        if not isinstance(end, int):
            break
        at = end
    every = len(texts)
    return [
        sparse(
            **beside,
            content=part,
            part=number if every > 1 else None,
            parts=every if every > 1 else None,
        )
        for number, part in enumerate(texts, 1)
    ]


def line(row: ResearchStudy) -> Json:
    """Return a study as a list shows it."""
    return {
        "id": row.id,
        "title": clip(row.title, TITLE),
        "status": row.status,
        "message_count": row.steps,
        "created_at": str(row.created_at),
        "updated_at": str(row.updated_at),
        "provider_id": row.provider or None,
    }


@action(
    reads=False,
    idempotent=False,
    open_world=True,
    hidden=("system_prompt", "model", "temperature", "max_tokens", "title"),
)
def chat(
    call: Call,
    progress: Progress,
    prompt: Prompt,
    thread_id: ThreadId = "",
    system_prompt: System = "",
    provider_id: ProviderId = "",
    model: Model = "",
    temperature: Temperature = None,
    max_tokens: Tokens = TOKENS,
    title: Title = "",
) -> Json:
    """Talk with a model."""
    draft = ChatDraft(
        prompt=prompt,
        thread=thread_id,
        title=title,
        system=system_prompt,
        provider=provider_id,
        model=model,
        temperature=temperature,
        max_tokens=max_tokens,
    )
    row, answer = call.core.use(Threads).chat(draft, watching(progress))
    data, warnings = chatted(row, answer)
    return present(data, warnings=warnings)


@action(reads=True, plain=True)
def thread_list(
    call: Call,
    status: ThreadStatus | None = None,
    limit: Limit = 50,
    cursor: Cursor = "",
) -> Json:
    """Threads, the newest first."""
    pages = pages_of(call, cursor, "research thread-list", status, first="")
    every = call.core.use(Threads).list(status or "")
    rows = [thread for thread in every if not pages.at or _place(thread) < str(pages.at)]
    lines, further = pages.rows(rows[: limit + 1], limit, line, _place)
    answer = page(further, len(lines), len(every))
    return present({"threads": lines, "count": len(lines)}, pagination=answer)


@action(reads=True)
def thread_get(call: Call, thread_id: AnyThread, cursor: Cursor = "") -> Json:
    """All that was said."""
    row, steps = call.core.use(Threads).get(thread_id)
    report: dict[str, Json] = {
        "id": row.id,
        "title": row.title,
        "status": row.status,
        "system_prompt": clip(row.system, SAID) or None,
        "provider_id": row.provider or None,
        "created_at": str(row.created_at),
        "updated_at": str(row.updated_at),
        "messages": [*begun_with(row, steps), *messages(steps)],
        "metadata": {} if row.kind == "chat" else {"kind": row.kind},
    }
    return in_pages(call, ("research thread-get", thread_id), cursor, report, "messages")


@action(reads=False, destructive=True, plain=True)
def thread_delete(call: Call, thread_id: ThreadId) -> Json:
    """Delete one."""
    call.core.use(Threads).delete(thread_id, "chat")
    return present({"deleted": True, "thread_id": thread_id}, warnings=[STAYS])


def chatted(row: ResearchStudy, answer: Answer) -> tuple[dict[str, Json], list[str]]:
    """Return a thread as the action tells it that went on with it, with warnings."""
    content, warnings = cut(answer.text, row.id)
    return {
        "content": content,
        "thread_id": row.id,
        "message_count": row.steps,
        "provider_id": answer.provider,
        "model_used": answer.model,
        "tokens_used": tokens_of(answer),
    }, warnings


def _place(row: ResearchStudy) -> str:
    return f"{row.created_at} {row.id}"


TALKING: Final = (chat, thread_list, thread_get, thread_delete)
"""The actions, in the order of the list."""


DEPTH: Final = 5
_UNREAD: Final = (
    "The answer had no hypotheses in the form that was asked for: they stand as before."
)


@action(
    reads=False,
    idempotent=False,
    open_world=True,
    hidden=(
        *("synthesis_provider", "timeout_per_provider", "max_concurrent"),
        *("require_all", "min_responses", "system_prompt"),
    ),
)
def consensus(
    call: Call,
    progress: Progress,
    prompt: Prompt,
    providers: Providers = [],  # noqa: B006 -- never changed; the schema shows it
    strategy: ConsensusStrategy = "synthesize",
    synthesis_provider: ProviderId = "",
    system_prompt: System = "",
    timeout_per_provider: Seconds = SECONDS,
    max_concurrent: Few = 3,
    min_responses: Least = 1,
    *,
    require_all: RequireAll = False,
) -> Json:
    """Ask several models."""
    draft = ConsensusDraft(
        prompt=prompt,
        providers=tuple(providers),
        strategy=strategy,
        synthesis=synthesis_provider,
        system=system_prompt,
        seconds=timeout_per_provider,
        most=max_concurrent,
        require_all=require_all,
        least=min_responses,
    )
    consensus = Consulting(call.core.use(lambda context: context), watching(progress)).ask(draft)
    data, warnings = agreed(consensus, strategy)
    return present(data, warnings=warnings)


@action(reads=False, idempotent=False, open_world=True, hidden=("max_depth",))
def thinkdeep(
    call: Call,
    progress: Progress,
    topic: Topic = "",
    investigation_id: StudyId = "",
    query: Query = "",
    max_depth: Depth = DEPTH,
    provider_id: ProviderId = "",
) -> Json:
    """Judge hypotheses, a step each call; topic or investigation_id."""
    _either(topic, investigation_id, "investigation_id")
    thinking, watch = call.core.use(Thinking), watching(progress)
    step = (
        thinking.go_on(investigation_id, query, provider_id, watch)
        if investigation_id
        else thinking.begin(topic, max_depth, provider_id, watch)
    )
    data, warnings = thought(step)
    return present(data, warnings=warnings)


@action(
    reads=False,
    idempotent=False,
    open_world=True,
    aliases={"perspective": "perspectives"},
    hidden=("perspectives", "scoring_criteria"),
)
def ideate(
    call: Call,
    progress: Progress,
    topic: Topic = "",
    ideation_id: StudyId = "",
    ideate_action: IdeateAction = "generate",
    perspectives: Perspectives = [],  # noqa: B006 -- never changed; the schema shows it
    cluster_ids: Clusters = [],  # noqa: B006 -- never changed; the schema shows it
    scoring_criteria: Criteria = [],  # noqa: B006 -- never changed; the schema shows it
    provider_id: ProviderId = "",
) -> Json:
    """Find ideas: generate by topic, then the others in turn by ideation_id."""
    if not ideation_id:
        _either(topic, ideation_id, "ideation_id")
    draft = IdeateDraft(
        act=ideate_action,
        topic=topic,
        name=ideation_id,
        perspectives=tuple(perspectives),
        clusters=tuple(cluster_ids),
        criteria=tuple(scoring_criteria),
        provider=provider_id,
    )
    step = Ideating(call.core.use(lambda context: context), watching(progress)).act(draft)
    data, warnings = ideated(step)
    return present(data, warnings=warnings)


def agreed(consensus: Consensus, strategy: Strategy) -> tuple[dict[str, Json], list[str]]:
    """Return a consensus as the action tells it, with warnings."""
    content, warnings = cut(consensus.content, consensus.study.id)
    away = [f"{name} did not answer: {clip(why, TITLE)}" for name, why in consensus.faults]
    return {
        "content": content,
        "consensus_id": consensus.study.id,
        "providers_consulted": list(consensus.consulted),
        "strategy": strategy,
        "response_count": consensus.count,
    }, [*warnings, *away]


def thought(thought: Thought) -> tuple[dict[str, Json], list[str]]:
    """Return a step of an investigation as the action tells it, with warnings."""
    row = thought.study
    content, warnings = cut(thought.content, row.id)
    hypotheses: list[Json] = [
        {
            "id": hypothesis["id"],
            "statement": clip(str(hypothesis["statement"]), 80),
            "confidence": hypothesis["confidence"],
        }
        for hypothesis in thought.hypotheses
    ]
    return {
        "content": content,
        "investigation_id": row.id,
        "current_depth": row.round,
        "max_depth": row.rounds,
        "converged": thought.is_converged,
        "hypothesis_count": len(hypotheses),
        "step_count": row.steps,
        "hypotheses": hypotheses,
    }, [*warnings, *([] if thought.is_read else [_UNREAD])]


def ideated(ideated: IdeationStep) -> tuple[dict[str, Json], list[str]]:
    """Return an ideation as the action tells it, with warnings."""
    content, warnings = cut(ideated.content, ideated.study.id)
    return {
        "content": content,
        "ideation_id": ideated.study.id,
        "phase": ideated.study.phase,
        "idea_count": ideated.ideas,
        "cluster_count": ideated.clusters,
    }, warnings


def _either(topic: str, name: str, argument: str) -> None:
    """Raise InvalidInput unless one is begun, or gone on with."""
    if bool(topic.strip()) == bool(name):
        raise InvalidInput(
            f"one is begun with `topic`, or gone on with by `{argument}`",
            hint="Give one of the two.",
        )


THINKING: Final = (consensus, thinkdeep, ideate)
"""The actions, in the order of the list."""


INVALID_URL: Final = "INVALID_URL"
_URL: Final = 500


@action(reads=True, open_world=True, hidden=("offset",))
def extract(call: Call, progress: Progress, urls: Urls, offset: Offset = 0) -> Json:
    """Fetch pages as text."""
    extracting = call.core.use(lambda context: Extracting(context, watching(progress)))
    fetched = extracting.extract(urls)
    faults = [(url, fault) for url, fault in fetched if isinstance(fault, CounterpointError)]
    pages = [page for _, page in fetched if isinstance(page, Page)]
    failed: list[Json] = [_fault(url, fault) for url, fault in faults]
    if not pages:
        first = faults[0][1]
        first.facts = {**first.facts, "error_code": _code(first), "failed": failed}
        raise first
    chars = CONTENT // len(fetched)
    results = [_page(page, offset, chars) for page in pages]
    is_cut = any("next_offset" in fields for fields in results)
    message = "A page is cut: ask for it alone with `offset`, the number in `next_offset`."
    warnings = [DATA, *([message] if is_cut else [])]
    return present(
        sparse(results=list[Json](results), count=len(results), failed=failed), warnings=warnings
    )


def _page(page: Page, offset: int, chars: int) -> Mapping[str, Json]:
    text, end = part_of_text(page.text, offset).cut(chars)
    return sparse(
        url=clip(page.url, _URL),
        final_url=clip(page.final_url, _URL) if page.final_url != page.url else None,
        title=clip(page.title, TITLE),
        content_type=page.kind,
        content=str(text),
        characters=len(page.text),
        next_offset=end if isinstance(end, int) else None,
    )


def _fault(url: str, fault: CounterpointError) -> Json:
    return {"url": clip(url, _URL), "error_code": _code(fault), "error": clip(fault.message, TITLE)}


def _code(fault: CounterpointError) -> str:
    """Return the code of why a page was not fetched."""
    return INVALID_URL if isinstance(fault, InvalidInput) else code_of(fault)


FETCHING: Final = (extract,)
"""The actions, in the order of the list."""
