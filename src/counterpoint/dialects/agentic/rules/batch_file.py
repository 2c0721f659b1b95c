"""Reads a batch of articles that is a file of the project.

    **Service:** Harbour            lines for all of it, in front of the first article
    **Category:** guides
    **Priority:** high (the launch)
    ```yaml
    SERVICE_NAME: Harbour           one block of variables for all of it
    ```
    ### Article 1: How to moor
    ```yaml
    SLUG: how-to-moor               what the article asks; its own variables go before those of all
    ```

Rules: (1) keys are read in any case; those that no brief has are variables of it. (2) An article without a slug, one whose slug is
another's, a second block of an article, one that does not end, and what no brief can be made of are refused, all at once and with their
lines: nothing is left out in silence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, cast

from counterpoint.core.model.work import TITLE_LIMIT
from counterpoint.dialects.agentic.nouns.briefs import (
    CONTENT_TYPES,
    USUAL_PRIORITY,
    USUAL_WORD_COUNT,
    BriefRequest,
)
from counterpoint.dialects.agentic.rules.briefing import faults_of
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, MalformedDocument
from counterpoint.kernel.matching.expressions import expression
from counterpoint.kernel.yamltext import parse_int, parse_words, read_yaml

PRIORITIES: Final[Mapping[str, int]] = {"critical": 95, "high": 80, "medium": 50, "low": 20}
"""What the words for a priority are in numbers."""
_HEAD: Final = expression(
    r"^\*\*(Service|Category|Priority):\*\*[ \t]*(.*)$", re.MULTILINE | re.IGNORECASE
)
_ARTICLE: Final = expression(
    r"^###[ \t]+Article[ \t]+\d+[ \t]*:?[ \t]*(.*)$", re.MULTILINE | re.IGNORECASE
)
_BLOCK: Final = expression(
    r"^(```|~~~)[ \t]*ya?ml[ \t]*\n(.*?)(?:^(\1)[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_LISTS: Final = ("keywords", "primary_keyword", "secondary_keywords")
_TAKEN: Final = frozenset(
    {
        *(*_LISTS, "slug", "title", "outline", "description", "difficulty", "category", "service"),
        *("content_type", "word_count", "target_word_count", "priority"),
    }
)


def parse_batch(text: str, batch: str) -> tuple[BriefRequest, ...]:
    """Return what the articles of a file ask for, in their order; InvalidInput with all that is wrong and where."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    headings = [*_ARTICLE.finditer(text)]
    begin = headings[0].start() if headings else len(text)
    faults: list[str] = []
    head = {name.lower(): words.strip() for name, words in _HEAD.findall(text[:begin])}
    common = _block(text, 0, begin, faults)
    requests: dict[str, BriefRequest] = {}
    for heading, after in zip(headings, [*headings[1:], None], strict=False):
        line = text.count("\n", 0, heading.start()) + 1
        own = _block(text, heading.end(), after.start() if after else len(text), faults)
        try:
            request = _request(heading[1].strip(), own, common, head, batch)
        except (MalformedDocument, ValueError) as fault:
            faults.append(f"the article of line {line}: {fault}")
            continue
        faults += [f"the article of line {line}: {problem}" for problem in faults_of(request)]
        if request.slug in requests:
            faults.append(f"the article of line {line} has the slug {request.slug!r} of another")
        requests[request.slug] = request
    if not headings and not faults:
        faults.append("there is no article: each begins with a line `### Article 1: TITLE`")
    if faults:
        raise InvalidInput(
            f"the file of the batch {batch} cannot be taken in: {'; '.join(faults)}",
            hint="Mend what is named in the file, and call again; nothing was written.",
        )
    return tuple(requests.values())


def _block(text: str, begin: int, end: int, faults: list[str]) -> dict[str, Json]:
    """Return the keys and values of the first block between two places, by names in small letters."""
    blocks = [*_BLOCK.finditer(text, begin, end)]
    if not blocks:
        return {}
    lines = [text.count("\n", 0, block.start()) + 1 for block in blocks]
    faults += [
        f"the block of line {line} is a second one; an article begins with `### Article 1: TITLE`"
        for line in lines[1:]
    ]
    block, line = blocks[0], lines[0]
    if not block[3]:
        faults.append(f"the block of line {line} does not end")
        return {}
    try:
        parsed = read_yaml(block[2], first_line=line + 1).value
    except MalformedDocument as fault:
        faults.append(fault.message)
        return {}
    if not isinstance(parsed, dict):
        faults.append(f"the block of line {line} is not made of keys and values")
        return {}
    values = cast("dict[str, Json]", parsed)
    return {name.lower(): value for name, value in values.items()}


def _request(
    heading: str,
    own: Mapping[str, Json],
    common: Mapping[str, Json],
    head: Mapping[str, str],
    batch: str,
) -> BriefRequest:
    """Return what one article asks for; MalformedDocument, ValueError."""
    fields = {**common, **own}
    slug = _words(own.get("slug", ""))
    if not slug:
        raise ValueError("it has no SLUG")
    keywords = [
        word for name in _LISTS if name in fields for word in parse_words(name, fields[name])
    ]
    kind = _words(fields.get("content_type", "help_article"))
    if kind not in CONTENT_TYPES:
        raise ValueError(f"CONTENT_TYPE is one of {', '.join(CONTENT_TYPES)}")
    count = fields.get("target_word_count", fields.get("word_count", str(USUAL_WORD_COUNT)))
    return BriefRequest(
        title=(_words(own.get("title", "")) or heading or slug)[:TITLE_LIMIT],
        content_type=kind,
        slug=slug.lower(),
        description=_words(fields.get("outline", fields.get("description", ""))),
        service=_words(fields.get("service", "")) or head.get("service", ""),
        keywords=tuple(dict.fromkeys(keywords)),
        category=_words(fields.get("category", "")) or head.get("category", ""),
        difficulty=_words(fields.get("difficulty", "")).lower(),
        target_word_count=parse_int("WORD_COUNT", count),
        variables={name: value for name, value in fields.items() if name not in _TAKEN},
        priority=_priority(_words(fields.get("priority", "")) or head.get("priority", "")),
        batch=batch,
    )


def _words(value: Json) -> str:
    """Return a text, or the lines of a list; MalformedDocument for anything else."""
    return value.strip() if isinstance(value, str) else "\n".join(parse_words("a list", value))


def _priority(text: str) -> int:
    word = text.partition("(")[0].strip().lower()
    if not word:
        return USUAL_PRIORITY
    return PRIORITIES[word] if word in PRIORITIES else parse_int("Priority", word)
