"""The prompts of deep research."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from counterpoint.core.rules.models.quoting import DATA, quoted
from counterpoint.dialects.foundry.rules.research.deep import Course, Source
from counterpoint.kernel.canonical import Json, dump_any

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
    return quoted(query) + (f"\n\nBeside that:\n{quoted(context)}" if context else "")


def planned(brief: str, most: int) -> str:
    """Return a brief with how many queries are wanted."""
    return f"The brief:\n{quoted(brief)}\n\nAt most {most} queries."


def read(brief: str, sources: Sequence[Source]) -> str:
    """Return a brief with sources, whole."""
    text = "\n\n".join(
        f"Source {source.number}:\n{quoted(f'{source.title}{chr(10)}{source.text}')}"
        for source in sources
    )
    return f"The brief:\n{quoted(brief)}\n\n{text}"


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
    return f"The brief:\n{quoted(course.brief)}\n\nWhat was found:\n{quoted(dump_any(fields))}"


def judged(course: Course, report: str, most: int) -> str:
    """Return a brief with its report and what was looked for."""
    queries = dump_any([query.query for query in course.queries])
    return (
        f"The brief:\n{quoted(course.brief)}\n\nThe report:\n{quoted(report)}\n\n"
        f"Looked for until now:\n{quoted(queries)}\n\nAt most {most} queries."
    )
