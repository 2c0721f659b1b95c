"""What briefs, files of batches and written texts may hold.

Reads a batch of articles that is a file of the project.

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

The prompts for briefs, and which briefs are written first.
Rule 1: what an agent asks in a prompt is the question itself. Briefs, plans, tasks and drafts may be of others: they are given as data.
Rule 2: who is named as the contract names providers (`claude`, `gemini`) is the provider of that name, else the one of that company.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, timedelta
from typing import Final, Literal, cast

from counterpoint.core.model.models import Message, Provider, Question
from counterpoint.core.model.rows import load_object
from counterpoint.core.model.work import BODY_LIMIT, TITLE_LIMIT
from counterpoint.core.rules.drafting import list_faults, title_faults
from counterpoint.core.rules.models.providers import DATA, quote_text
from counterpoint.dialects.agentic.nouns import (
    BRIEF_PRIORITIES,
    CONTENT_TYPES,
    DIFFICULTIES,
    USUAL_PRIORITY,
    USUAL_WORD_COUNT,
    WORD_COUNTS,
    Brief,
    BriefRequest,
    Stage,
    WritingOrder,
    WrittenText,
)
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json, dump_any
from counterpoint.kernel.clock import Timestamp, moment, stamp
from counterpoint.kernel.errors import InvalidInput, MalformedDocument
from counterpoint.kernel.matching.expressions import expression
from counterpoint.kernel.yamltext import parse_int, parse_words, read_yaml

SLUG_LIMIT = 120
VARIABLES_LIMIT = 16_000
"""Bytes of JSON that the variables of a brief may have."""
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_APART = re.compile(r"[^a-z0-9]+")


def refuse_faults(request: BriefRequest) -> None:
    """Raise InvalidInput with all that is wrong with a commission."""
    faults = faults_of(request)
    if faults:
        raise InvalidInput("; ".join(faults), hint="Mend what is named and try again.")


def faults_of(request: BriefRequest) -> list[str]:
    """Return all that is wrong with a commission."""
    faults = title_faults(request.title)
    words = {"keywords": request.keywords, "words": (request.service, request.category)}
    faults += list_faults(words)
    if len(request.description) > BODY_LIMIT:
        faults.append(f"the description is longer than {BODY_LIMIT} characters")
    faults += _choice_faults(request)
    if request.slug and (len(request.slug) > SLUG_LIMIT or _SLUG.fullmatch(request.slug) is None):
        faults.append(
            f"the slug is not small letters and digits joined by `-`, at most {SLUG_LIMIT} characters"
        )
    if len(canonical.dump_any(dict(request.variables)).encode()) > VARIABLES_LIMIT:
        faults.append(f"the variables have more than {VARIABLES_LIMIT} bytes of JSON")
    try:
        when(request)
    except ValueError:
        faults.append("the time it is scheduled for is not of ISO 8601")
    return faults


def _choice_faults(request: BriefRequest) -> list[str]:
    faults: list[str] = []
    if request.content_type not in CONTENT_TYPES:
        faults.append(f"the content type is one of {', '.join(CONTENT_TYPES)}")
    if request.difficulty not in DIFFICULTIES:
        faults.append(f"the difficulty is one of {', '.join(DIFFICULTIES[1:])}")
    for what, number, span in (
        ("priority", request.priority, BRIEF_PRIORITIES),
        ("word count", request.target_word_count, WORD_COUNTS),
    ):
        if number not in span:
            faults.append(f"the {what} is from {span[0]} to {span[-1]}")
    return faults


def when(request: BriefRequest) -> str:
    """Return the time a commission is scheduled for, in UTC; empty without one; ValueError."""
    if not request.scheduled_for:
        return ""
    scheduled = moment(request.scheduled_for)
    try:
        return stamp(scheduled if scheduled.tzinfo else scheduled.replace(tzinfo=UTC))
    except OverflowError as fault:
        raise ValueError(str(fault)) from fault


def slug_of(title: str, otherwise: str = "brief") -> str:
    """Return the slug of a title: its letters and digits without accents, joined by `-`.

    otherwise: the slug of a title that has none of these.
    """
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return _APART.sub("-", plain).strip("-")[: SLUG_LIMIT - 20].strip("-") or otherwise


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


Period = Literal["day", "week", "month", "year"]

COMPANIES: Final[Mapping[str, str]] = {"claude": "anthropic", "gemini": "google"}
PROMPT: Final = "text"
"""The content type of a brief that was made of a prompt."""
_PROMPT_TOKENS: Final = 4_000
_LEAST_TOKENS: Final = 4_096
_A_WORD: Final = 2
"""Tokens that an answer may have for each word that is wanted."""
_KINDS: Final[Mapping[str, str]] = {
    "help_article": "a help article",
    "blog_post": "a blog post",
    "landing_page": "the text of a landing page",
    "social_post": "a post for social media",
    PROMPT: "a text",
}
_DRAFT: Final = (
    f"You write texts for a software project. {DATA} What a brief asks for is what the text is to be about. Answer with the text alone, in"
    " Markdown. State nothing that neither the brief nor what comes with it says, and that is not common knowledge."
)
_REFINE: Final = (
    f"You are the editor of texts for a software project. {DATA} Make the draft clearer, correct and complete as its brief asks, and keep"
    " what is good in it. Answer with the whole text alone, in Markdown. Add no facts."
)


def purpose_of(brief: Brief, stage: Stage) -> str:
    """Return the word by which the use of a model for it is counted."""
    return (
        "content-chat" if brief.content_type == PROMPT and stage == "draft" else f"content-{stage}"
    )


def question_of(
    brief: Brief, order: WritingOrder, stage: Stage, context: str = "", draft: str = ""
) -> Question:
    """Return what a model is asked in one stage. context: what the plan says, draft: what is to be refined."""
    settings = load_object(order.settings)
    text, system = brief.description, ""
    if brief.content_type != PROMPT or stage == "refine":
        text, system = (
            _render_brief(brief, context, draft),
            _REFINE if stage == "refine" else _DRAFT,
        )
    most_tokens = max(_LEAST_TOKENS, _A_WORD * brief.target_word_count)
    usual = _PROMPT_TOKENS if brief.content_type == PROMPT else most_tokens
    most, warmth = settings.get("max_tokens"), settings.get("temperature")
    return Question(
        messages=(Message(role="user", text=text),),
        system=system,
        provider=order.provider,
        model=str(settings.get("model", "")),
        max_tokens=most if isinstance(most, int) else usual,
        temperature=float(warmth) if isinstance(warmth, int | float) else None,
        purpose=purpose_of(brief, stage),
        item=brief.item,
        # Asked for again, another text is wanted; what was written is kept with its brief.
        caching="never",
    )


def _render_brief(brief: Brief, context: str, draft: str) -> str:
    fields: dict[str, Json] = {
        "title": brief.title,
        "description": brief.description,
        "about": brief.service,
        "category": brief.category,
        "for": brief.difficulty,
        "keywords": list(brief.keywords),
        "variables": load_object(brief.variables),
    }
    kind, words = _KINDS[brief.content_type], brief.target_word_count
    length = "" if brief.content_type == PROMPT else f" of about {words} words"
    parts = [
        f"Write {kind}{length}. The brief:",
        quote_text(dump_any({name: value for name, value in fields.items() if value})),
    ]
    if context:
        parts += ["The plan that it is about:", quote_text(context)]
    if draft:
        parts += ["The draft:", quote_text(draft)]
    return "\n\n".join(parts)


def best_of(texts: Sequence[WrittenText]) -> WrittenText | None:
    """Return the text that was written last; None without any."""
    return max(texts, key=lambda text: text.number, default=None)


def provider_named(name: str, providers: Iterable[Provider]) -> str:
    """Return the provider that a name of the contract means, of those there are; the name itself if none is."""
    providers_by_name = {provider.name: provider for provider in providers}
    company = COMPANIES.get(name, "")
    if name in providers_by_name and (
        providers_by_name[name].is_available or company not in providers_by_name
    ):
        return name
    return company if company in providers_by_name else name


def shown_provider(name: str) -> str:
    """Return a provider as the contract names it."""
    return next((word for word, company in COMPANIES.items() if company == name), name)


def is_due(brief: Brief, now: Timestamp) -> bool:
    """Return whether the time has come that a brief was scheduled for."""
    return not brief.scheduled_for or brief.scheduled_for <= now


def in_order(briefs: Iterable[Brief]) -> list[Brief]:
    """Return briefs, the most urgent first, then the oldest."""
    return sorted(briefs, key=lambda brief: (-brief.priority, brief.number))


def first_day(period: Period, now: Timestamp) -> str:
    """Return the first day of the period (of UTC) that a time is in; weeks begin on Mondays."""
    today = moment(now)
    match period:
        case "day":
            first = today
        case "week":
            first = today - timedelta(days=today.weekday())
        case "month":
            first = today.replace(day=1)
        case "year":
            first = today.replace(month=1, day=1)
    return first.strftime("%Y-%m-%d")
