"""The prompts for briefs, and which briefs are written first.

Rule 1: what an agent asks in a prompt is the question itself. Briefs, plans, tasks and drafts may be of others: they are given as data.
Rule 2: who is named as the contract names providers (`claude`, `gemini`) is the provider of that name, else the one of that company.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Final, Literal

from counterpoint.core.model.models.asking import Message, Provider, Question
from counterpoint.core.model.rows import load_object
from counterpoint.core.rules.models.quoting import DATA, quoted
from counterpoint.dialects.agentic.nouns.briefs import Brief
from counterpoint.dialects.agentic.nouns.writing import Stage, WritingOrder, WrittenText
from counterpoint.kernel.canonical import Json, dump_any
from counterpoint.kernel.clock import Timestamp, moment

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
        quoted(dump_any({name: value for name, value in fields.items() if value})),
    ]
    if context:
        parts += ["The plan that it is about:", quoted(context)]
    if draft:
        parts += ["The draft:", quoted(draft)]
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
