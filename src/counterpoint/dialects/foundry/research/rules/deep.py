"""How deep research is planned, ranked, asked and cited.

Deep research as a fold of its steps: where it is, and what to do next.
A round looks for each of its queries, takes pages up, reads them and writes a report; what is missing then is looked for in the next. Rule 1: all that is known of a
study is in its steps, so that whoever takes it up goes on where the last step was. Rule 2: a page is a source, with a number, if and only if
there are words of it. Rule 3: a finding counts that names sources which are there. Rule 4: one address is taken up once.

Citations of a report, held against what was really taken up.
Rule 1: a number in brackets stands if there is a source of it; else it goes, and is told. Rule 2: an address stands if it is that of a source. Rule 3: which sources there are is
written here, never by a model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import urlsplit

from counterpoint.core.model.rows import REDACTED, load_object
from counterpoint.core.rules.models.providers import DATA, quote_text
from counterpoint.dialects.foundry.models.research import CONFIDENCES, ResearchMode, ResearchStep
from counterpoint.dialects.foundry.research.rules.answers import (
    list_of,
    object_in,
    objects_of,
    text_of,
    texts_of,
)
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json, dump_any

_ACADEMIC: Final = re.compile(
    r"(?:.*\.)?(?:arxiv|doi|semanticscholar|openreview|aclanthology|jstor|plos|acm|ieee|pnas|biorxiv|medrxiv)\.org"
    r"|(?:.*\.)?(?:nature|springer|sciencedirect|wiley|science)\.com|.*\.nih\.gov|.*\.edu(?:\.[a-z]{2})?|.*\.ac\.[a-z]{2}"
)
_TECHNICAL: Final = re.compile(
    r"(?:docs?|developers?|dev|api|learn|manual|wiki)\..*|(?:.*\.)?(?:github|gitlab|stackoverflow|stackexchange|superuser|serverfault)\.com"
    r"|.*\.(?:github|gitlab|readthedocs)\.io|docs\.rs|(?:.*\.)?(?:python|rust-lang|kernel|postgresql|sqlite|ietf|rfc-editor|w3|mozilla|whatwg)\.org"
)


def ranked(results: Sequence[Mapping[str, Json]], mode: ResearchMode) -> list[Mapping[str, Json]]:
    """Return results as they are read: those of the mode first, and otherwise as the search has them."""
    return (
        sorted(results, key=lambda result: not _is_of(result, mode))
        if mode != "general"
        else [*results]
    )


def _is_of(result: Mapping[str, Json], mode: ResearchMode) -> bool:
    if mode == "academic" and result.get("kind") == "academic":
        return True
    host = urlsplit(str(result["url"])).netloc.lower().partition(":")[0]
    return bool((_ACADEMIC if mode == "academic" else _TECHNICAL).fullmatch(host))


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


_CITED: Final = re.compile(r" ?\[(\d{1,4}(?:\s*[,;]\s*\d{1,4}){0,50})\](?!\()")
_LINK: Final = re.compile(r"\[([^\[\]\n]{0,300})\]\(\s*<?([^()\s<>]{1,2000})>?[^()\n]{0,200}\)")
_ADDRESS: Final = re.compile(r"https?://[^\s<>\[\]()\"'`|]{1,2000}")
_LISTED: Final = re.compile(
    r"^#{1,6}\s*(?:sources|references|bibliography|citations|works cited)\s*:?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_TELLING: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A report whose citations lead to sources. cited: their numbers; removed: what led nowhere."""

    text: str
    cited: tuple[int, ...]
    removed: tuple[str, ...]


def checked(report: str, sources: Sequence[Source]) -> Checked:
    """Return a report without citations and addresses of what was never taken up, and which these were."""
    numbers = {source.number for source in sources}
    addresses = {normal(source.url): source.number for source in sources}
    cited, removed = list[int](), list[str]()

    def number(match: re.Match[str]) -> str:
        cited_numbers = [int(digits) for digits in re.findall(r"\d+", match[1])]
        present = [cited_number for cited_number in cited_numbers if cited_number in numbers]
        cited.extend(present)
        removed.extend(
            f"[{cited_number}]" for cited_number in cited_numbers if cited_number not in numbers
        )
        blank = " " if match[0].startswith(" ") else ""
        return f"{blank}[{', '.join(map(str, present))}]" if present else ""

    def link(match: re.Match[str]) -> str:
        source_number = addresses.get(normal(match[2]))
        if source_number is None:
            removed.append(match[2])
        words = match[1].strip()
        message = "" if words.isdecimal() else words
        return message if source_number is None else f"{message} [{source_number}]".strip()

    def address(match: re.Match[str]) -> str:
        url = match[0].rstrip(".,;:!?")
        source_number = addresses.get(normal(url))
        if source_number is None:
            removed.append(url)
        punctuation = match[0][len(url) :]
        return punctuation if source_number is None else f"[{source_number}]{punctuation}"

    listed = _LISTED.search(report)
    own = report[: listed.start()] if listed else report
    text = _CITED.sub(number, _ADDRESS.sub(address, _LINK.sub(link, own))).strip()
    return Checked(
        text=text,
        cited=tuple(sorted(set(cited))),
        removed=tuple(dict.fromkeys(removed)),
    )


def with_sources(checked: Checked, sources: Sequence[Source]) -> str:
    """Return a report with the sources that it cites, and what was removed of it."""
    lines = [checked.text, "", "## Sources", ""]
    for source in sources:
        if source.number in checked.cited:
            how = "" if source.is_fetched else " (not fetched: as a search told it)"
            lines.append(f"[{source.number}] {source.title} — {source.url}{how}")
    if not checked.cited:
        lines.append("The report cites none.")
    if checked.removed:
        some = ", ".join(checked.removed[:_TELLING])
        lines += ["", f"Removed, for nothing of it was ever read: {some}."]
    return "\n".join(lines)


BRIEF: Final = (
    f"You prepare research. {DATA} Say in at most 150 words what is to be found out, with the assumptions that you make where the question leaves"
    " something open. Ask nothing back; answer with the brief alone."
)
PLAN: Final = (
    f'You plan searches on the web. {DATA} Answer with one JSON object alone: {{"queries": [text]}}, each a short query for a search engine about'
    " another part of the brief, the most important first."
)
FINDINGS: Final = (
    f'You read sources, each with its number. {DATA} Answer with one JSON object alone: {{"findings": [{{"statement": text, "confidence": '
    '"low"|"medium"|"high"|"confirmed", "sources": [numbers]}], "contradictions": [text], "gaps": [text]}. A finding is what sources say'
    " about the brief, with the numbers of those that say it; gaps are what the brief asks and none of them says."
)
REPORT: Final = (
    f"You write a report in Markdown that answers the brief from findings. {DATA} After each claim stand the numbers of its sources in brackets, such as"
    " [2] or [1, 3]. Use no other number, no address and no source that is not listed; write no list of sources, it is added. Say where"
    " sources contradict each other, and what was not found."
)
JUDGEMENT: Final = (
    f'You judge whether a report answers its brief. {DATA} Answer with one JSON object alone: {{"enough": true or false, "gaps": [text], "queries": [text]}}.'
    " Where it is not enough, queries are what to search the web for next, none of those that were."
)


def briefed(query: str, context: str) -> str:
    """Return a question with what else was said of it."""
    return quote_text(query) + (f"\n\nBeside that:\n{quote_text(context)}" if context else "")


def planned(brief: str, most: int) -> str:
    """Return a brief with how many queries are wanted."""
    return f"The brief:\n{quote_text(brief)}\n\nAt most {most} queries."


def read(brief: str, sources: Sequence[Source]) -> str:
    """Return a brief with sources, whole."""
    text = "\n\n".join(
        f"Source {source.number}:\n{quote_text(f'{source.title}{chr(10)}{source.text}')}"
        for source in sources
    )
    return f"The brief:\n{quote_text(brief)}\n\n{text}"


def reported(course: Course) -> str:
    """Return a brief with what was found."""
    listed: list[Json] = [
        {"number": source.number, "title": source.title} for source in course.sources
    ]
    fields: dict[str, Json] = {
        "findings": list[Json](course.findings),
        "sources": listed,
        "not_found": list[Json](course.gaps),
    }
    return (
        f"The brief:\n{quote_text(course.brief)}\n\nWhat was found:\n{quote_text(dump_any(fields))}"
    )


def judged(course: Course, report: str, most: int) -> str:
    """Return a brief with its report and what was looked for."""
    queries = dump_any([query.query for query in course.queries])
    return (
        f"The brief:\n{quote_text(course.brief)}\n\nThe report:\n{quote_text(report)}\n\n"
        f"Looked for until now:\n{quote_text(queries)}\n\nAt most {most} queries."
    )
