"""Deep research as a fold of its steps: where it is, and what to do next.

A round looks for each of its queries, takes pages up, reads them and writes a report; what is missing then is looked for in the next. Rule 1: all that is known of a
study is in its steps, so that whoever takes it up goes on where the last step was. Rule 2: a page is a source, with a number, if and only if
there are words of it. Rule 3: a finding counts that names sources which are there. Rule 4: one address is taken up once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import urlsplit

from counterpoint.core.model.rows import REDACTED, load_object
from counterpoint.dialects.foundry.nouns.research import CONFIDENCES, ResearchMode, ResearchStep
from counterpoint.dialects.foundry.rules.research.answers import (
    list_of,
    object_in,
    objects_of,
    text_of,
    texts_of,
)
from counterpoint.dialects.foundry.rules.research.ranking import ranked
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json

ActKind = Literal["brief", "plan", "search", "page", "findings", "report", "judgement", "done"]
PHASES: Final[Mapping[ActKind, str]] = {
    "brief": "clarification",
    "plan": "planning",
    "search": "gathering",
    "page": "gathering",
    "findings": "analysis",
    "report": "synthesis",
    "judgement": "refinement",
    "done": "completed",
}
SOURCES: Final = 60
"""How many sources a study has at most."""
EXCERPT: Final = 8_000
"""Characters that are kept of a page, and read."""
_READ: Final = 64_000
"""Characters that are read at once."""
_QUERY: Final = 400
_STATEMENT: Final = 1_000
_FINDINGS: Final = 60
_GAPS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a study was begun with.

    follows: whether pages are fetched; else what searches say of them is read. seconds: of work, for one going. together: how many pages are
    fetched at once. act_seconds: what one act may take. mode: whose pages are read first.
    """

    queries: int = 5
    sources: int = 5
    follows: bool = True
    seconds: float = 600.0
    together: int = 3
    act_seconds: float = 300.0
    mode: ResearchMode = "general"


@dataclass(slots=True, kw_only=True)
class SubQuery:
    """Something that is looked for. results: what was found, once it was looked for; fault: why not; taken: how many of them were."""

    id: str
    query: str
    round: int
    results: list[dict[str, Json]] = field(default_factory=list[dict[str, Json]])
    fault: str = ""
    is_searched: bool = False
    taken: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A page with words. number: by which it is cited; is_fetched: or what a search said of it."""

    number: int
    url: str
    title: str
    text: str
    is_fetched: bool


@dataclass(slots=True, kw_only=True)
class Course:
    """Where a study is."""

    brief: str = ""
    round: int = 0
    queries: list[SubQuery] = field(default_factory=list[SubQuery])
    sources: list[Source] = field(default_factory=list[Source])
    unread: list[str] = field(default_factory=list[str])
    seen: set[str] = field(default_factory=set[str])
    findings: list[dict[str, Json]] = field(default_factory=list[dict[str, Json]])
    gaps: list[str] = field(default_factory=list[str])
    read: set[int] = field(default_factory=set[int])
    reported: int = 0
    judged: int = 0
    is_enough: bool = False
    cost: int = 0
    ms: int = 0

    @property
    def failed(self) -> list[SubQuery]:
        """What was looked for in vain, since nobody answered."""
        return [query for query in self.queries if query.fault]


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What to do next. query: what it is about; results: the pages, of different addresses; sources: what is read."""

    kind: ActKind
    query: SubQuery | None = None
    results: tuple[Mapping[str, Json], ...] = ()
    sources: tuple[Source, ...] = ()


def course_of(steps: Sequence[ResearchStep]) -> Course:
    """Return where a study is by its steps."""
    course = Course()
    for step in steps:
        details = load_object(step.details)
        course.cost += _number(details.get("cost"))
        course.ms += _number(details.get("ms"))
        _TAKE.get(step.kind, _nothing)(course, step, details)
    return course


def _number(value: Json) -> int:
    return value if isinstance(value, int) else 0


def _nothing(course: Course, step: ResearchStep, details: Mapping[str, Json]) -> None:
    del course, step, details


def _briefed(course: Course, step: ResearchStep, details: Mapping[str, Json]) -> None:
    del details
    course.brief = step.text


def _planned(course: Course, step: ResearchStep, details: Mapping[str, Json]) -> None:
    del step
    course.round += 1
    for query in objects_of(details.get("queries"), SOURCES):
        course.queries.append(
            SubQuery(id=str(query["id"]), query=str(query["query"]), round=course.round)
        )


def _searched(course: Course, step: ResearchStep, details: Mapping[str, Json]) -> None:
    for query in course.queries:
        if query.id == step.name:
            query.is_searched, query.fault = True, str(details.get("fault") or "")
            is_there = step.text not in {"", REDACTED}
            query.results = objects_of(canonical.load(step.text), SOURCES) if is_there else []


def _taken(course: Course, step: ResearchStep, details: Mapping[str, Json]) -> None:
    # Of a page that was redacted there is nothing left but that there was one.
    url = str(details.get("url") or REDACTED)
    course.seen.add(normal(url))
    for query in course.queries:
        query.taken += query.id == step.name
    number = _number(details.get("number"))
    if not number:
        course.unread.append(url)
        return
    course.sources.append(
        Source(
            number=number,
            url=str(details["final_url"]),
            title=str(details["title"]),
            text=step.text,
            is_fetched=details.get("fetched") is True,
        )
    )


def _found(course: Course, step: ResearchStep, details: Mapping[str, Json]) -> None:
    del step
    course.findings += objects_of(details.get("findings"), _FINDINGS)
    course.gaps = texts_of(details.get("gaps"), _GAPS, _STATEMENT) or course.gaps
    course.read |= {number for number in list_of(details.get("read")) if isinstance(number, int)}


def _written(course: Course, step: ResearchStep, details: Mapping[str, Json]) -> None:
    del step, details
    course.reported = course.round


def _judged(course: Course, step: ResearchStep, details: Mapping[str, Json]) -> None:
    course.judged = course.round
    course.is_enough = details.get("enough") is True
    course.gaps = texts_of(details.get("gaps"), _GAPS, _STATEMENT)
    if not course.is_enough:
        _planned(course, step, details)


_TAKE = {
    "brief": _briefed,
    "plan": _planned,
    "search": _searched,
    "page": _taken,
    "findings": _found,
    "report": _written,
    "judgement": _judged,
}


def next_act(course: Course, bounds: Bounds, rounds: int) -> Act:
    """Return what to do next."""
    if not course.brief or not course.round:
        return Act(kind="plan" if course.brief else "brief")
    gathering = _gathering(course, bounds)
    if gathering is not None:
        return gathering
    unread = [source for source in course.sources if source.number not in course.read]
    if unread:
        return Act(kind="findings", sources=_batch(unread))
    if course.reported < course.round:
        return Act(kind="report")
    if course.round < rounds and not (course.judged == course.round and course.is_enough):
        return Act(kind="judgement")
    return Act(kind="done")


def _gathering(course: Course, bounds: Bounds) -> Act | None:
    """Return what is to be gathered next; None if nothing is."""
    for query in course.queries:
        if query.round != course.round:
            continue
        if not query.is_searched:
            return Act(kind="search", query=query)
        if query.taken >= bounds.sources or len(course.sources) >= SOURCES:
            continue
        count = min(bounds.sources - query.taken, SOURCES - len(course.sources), bounds.together)
        if pages := _unseen(course, ranked(query.results, bounds.mode), count):
            return Act(kind="page", query=query, results=pages)
    return None


def _unseen(
    course: Course, results: Sequence[Mapping[str, Json]], count: int
) -> tuple[Mapping[str, Json], ...]:
    """Return the first results that were not taken up, each address once."""
    unseen: dict[str, Mapping[str, Json]] = {}
    for result in results:
        address = normal(str(result["url"]))
        if address not in course.seen:
            unseen.setdefault(address, result)
    return tuple(unseen.values())[:count]


def _batch(unread: Sequence[Source]) -> tuple[Source, ...]:
    """Return the first sources that are read together."""
    batch, size = list[Source](), 0
    for source in unread:
        size += len(source.text)
        if batch and size > _READ:
            break
        batch.append(source)
    return tuple(batch)


def normal(url: str) -> str:
    """Return an address as it is compared: two that lead to one page are one."""
    parts = urlsplit(url)
    host = (parts.netloc or "").lower().removeprefix("www.")
    return f"{host}{parts.path.rstrip('/')}?{parts.query}"


def queries_in(answer: str, course: Course, most: int) -> list[Json]:
    """Return what an answer says is to be looked for, each once, with ids."""
    known_queries = {query.query.casefold() for query in course.queries}
    queries: list[Json] = []
    raw = object_in(answer).get("queries")
    for raw_query in list_of(raw):
        text = " ".join(text_of(raw_query if isinstance(raw_query, str) else "", _QUERY).split())
        if text and text.casefold() not in known_queries and len(queries) < most:
            known_queries.add(text.casefold())
            queries.append({"id": f"q{len(course.queries) + len(queries) + 1}", "query": text})
    return queries


def findings_in(answer: str, course: Course) -> dict[str, Json]:
    """Return what an answer has found: findings that name sources which are there, and gaps."""
    fields, source_numbers = object_in(answer), {source.number for source in course.sources}
    findings_left = _FINDINGS - len(course.findings)
    findings: list[Json] = []
    for finding in objects_of(fields.get("findings"), max(0, findings_left)):
        statement = text_of(finding.get("statement"), _STATEMENT)
        numbers = [
            n for n in list_of(finding.get("sources")) if isinstance(n, int) and n in source_numbers
        ]
        word = text_of(finding.get("confidence"), 20).lower()
        if statement and numbers:
            findings.append(
                {
                    "id": f"f{len(course.findings) + len(findings) + 1}",
                    "statement": statement,
                    "confidence": word if word in CONFIDENCES else "low",
                    "sources": list[Json](dict.fromkeys(numbers)),
                }
            )
    gaps: list[Json] = [*texts_of(fields.get("gaps"), _GAPS, _STATEMENT)]
    contradictions: list[Json] = [*texts_of(fields.get("contradictions"), _GAPS, _STATEMENT)]
    return {"findings": findings, "gaps": gaps, "contradictions": contradictions}


def judgement_in(answer: str, course: Course, most: int) -> dict[str, Json]:
    """Return whether an answer says that it is enough, and what else to look for; without that it is enough."""
    fields = object_in(answer)
    queries = queries_in(answer, course, most)
    gaps: list[Json] = [*texts_of(fields.get("gaps"), _GAPS, _STATEMENT)]
    return {"enough": fields.get("enough") is True or not queries, "queries": queries, "gaps": gaps}
