"""Asks several models the same, side by side, and combines their answers.

Each answer is stored as it comes, in a transaction of its own, since it was paid for. Callers may cancel: then no further model is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from counterpoint.core.model.models.asking import Answer
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.models import Listen
from counterpoint.core.rules.models.trying import first_of
from counterpoint.dialects.foundry.nouns.research import ResearchStudy, Strategy
from counterpoint.dialects.foundry.rules.research.answers import given_by_most
from counterpoint.dialects.foundry.rules.research.prompts import MAJORITY, SYNTHESIS, answers
from counterpoint.dialects.foundry.verbs.asking import Askable
from counterpoint.dialects.foundry.verbs.research.asking import (
    ModelQuestion,
    ask,
    choose_provider,
    user_message,
)
from counterpoint.dialects.foundry.verbs.research.keeping import (
    StepDraft,
    StudyDraft,
    add_step,
    alone,
    begin_alone,
    record_failure,
)
from counterpoint.dialects.foundry.verbs.research.side_by_side import side_by_side
from counterpoint.kernel.errors import (
    CounterpointError,
    InvalidInput,
    NoProvider,
    ProviderFailed,
    ProviderTimedOut,
)
from counterpoint.kernel.plurals import agree, counted

USUAL: Final = 2
"""Models that are asked where none is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusDraft:
    """A question to several models. providers: names, each with `:MODEL` for another than its usual one; none: the first two that can be asked."""

    prompt: str
    providers: tuple[str, ...] = ()
    strategy: Strategy = "synthesize"
    synthesis: str = ""
    system: str = ""
    seconds: float = 360.0
    most: int = 3
    require_all: bool = False
    least: int = 1
    item: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consensus:
    """The combined answer of several models. faults: why the others did not answer, by name."""

    study: ResearchStudy
    content: str
    consulted: tuple[str, ...]
    count: int
    faults: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Round:
    """Who was asked, who has answered, and who did not."""

    answers: list[tuple[str, Answer]] = field(default_factory=list[tuple[str, Answer]])
    faults: dict[str, CounterpointError] = field(default_factory=dict[str, CounterpointError])


class Consulting:
    """Verbs that ask several models."""

    def __init__(self, context: Context, watch: Watch | None = None) -> None:
        self._context = context
        self._watch = watch

    def ask(self, draft: ConsensusDraft) -> Consensus:
        """Ask several models and combine their answers.

        Raises InvalidInput, NoProvider, and ProviderFailed or ProviderTimedOut where fewer answered than have to.
        """
        names = self._names(draft)
        if draft.least > len(names):
            raise InvalidInput(
                f"{agree(draft.least, 'answer', 'is')} asked for, of {counted(len(names), 'provider')}",
                hint="Name more `providers`, or ask for fewer answers.",
            )
        if draft.synthesis:
            choose_provider(self._context, draft.synthesis)
        study = begin_alone(
            self._context,
            StudyDraft(kind="consensus", query=draft.prompt, system=draft.system, item=draft.item),
        )
        try:
            replies = self._ask_providers(draft, names, study.id)
            _refuse_few(draft, names, replies)
            ordered = sorted(replies.answers, key=lambda pair: names.index(pair[0]))
            content, answer = self._combine(draft, ordered)
        except CounterpointError as fault:
            record_failure(self._context, study.id, fault)
            fault.facts = {**fault.facts, "consensus_id": study.id}
            raise
        step = StepDraft(kind="consensus", name=draft.strategy, text=content, answer=answer)
        row = add_step(self._context, study.id, step, status="completed")
        return Consensus(
            study=row,
            content=content,
            consulted=tuple(name for name, _ in ordered),
            count=len(ordered),
            faults=tuple((name, fault.message) for name, fault in replies.faults.items()),
        )

    def _names(self, draft: ConsensusDraft) -> tuple[str, ...]:
        if draft.providers:
            return tuple(dict.fromkeys(draft.providers))
        standing = Askable(self._context).list_providers()
        first_of(standing)
        return tuple(provider.name for provider in standing.first[:USUAL])

    def _ask_providers(self, draft: ConsensusDraft, names: Sequence[str], study: str) -> _Round:
        """Ask all providers, or one after the other until enough have answered; store each answer as it comes."""
        replies, is_enough = _Round(), draft.strategy == "first_valid" and not draft.require_all
        groups = [(name,) for name in names] if is_enough else [tuple(names)]

        def ask_one(name: str, listen: Listen) -> Answer:
            return self._ask_provider(draft, name, listen)

        for group in groups:
            if is_enough and len(replies.answers) >= draft.least:
                break
            for name, result in side_by_side(group, ask_one, draft.most, self._watch):
                if isinstance(result, CounterpointError):
                    replies.faults[name] = result
                else:
                    replies.answers.append((name, result))
                    step = StepDraft(kind="answer", name=name, answer=result)
                    add_step(self._context, study, step, stays=True)
        return replies

    def _ask_provider(self, draft: ConsensusDraft, name: str, listen: Listen) -> Answer:
        """Ask one provider; in a thread, and so in a context, of its own."""
        context = alone(self._context)
        provider, _, model = name.partition(":")
        question = ModelQuestion(
            messages=user_message(draft.prompt),
            system=draft.system,
            provider=choose_provider(context, provider).name,
            model=model,
            seconds=draft.seconds,
            purpose="research-consensus",
            item=draft.item,
        )
        return ask(context, question, listen=listen)

    def _combine(
        self, draft: ConsensusDraft, ordered: Sequence[tuple[str, Answer]]
    ) -> tuple[str, Answer | None]:
        """Return the combined answer, and that of the model that combined them, if one did."""
        texts = [answer.text for _, answer in ordered]
        if draft.strategy == "all_responses":
            return "\n\n".join(f"## {name}\n\n{answer.text}" for name, answer in ordered), None
        if draft.strategy == "first_valid" or len(ordered) == 1:
            return texts[0], None
        most = given_by_most(texts) if draft.strategy == "majority" else None
        if most is not None:
            return most, None
        question = ModelQuestion(
            messages=user_message(
                answers(draft.prompt, [(name, answer.text) for name, answer in ordered])
            ),
            system=MAJORITY if draft.strategy == "majority" else SYNTHESIS,
            provider=choose_provider(self._context, draft.synthesis or ordered[0][1].provider).name,
            seconds=draft.seconds,
            purpose="research-synthesis",
            item=draft.item,
        )
        answer = ask(self._context, question, self._watch)
        return answer.text, answer


def _refuse_few(draft: ConsensusDraft, names: Sequence[str], replies: _Round) -> None:
    """Raise the fault of those who did not answer, where fewer did than have to."""
    least = len(names) if draft.require_all else draft.least
    if len(replies.answers) >= least:
        return
    faults = list(replies.faults.values())
    messages = "; ".join(f"{name}: {fault.message}" for name, fault in replies.faults.items())
    words = f"{len(replies.answers)} of {len(names)} answered, and {least} have to: {messages}"
    if all(isinstance(fault, ProviderTimedOut) for fault in faults):
        raise ProviderTimedOut(words)
    if not replies.answers and not any(isinstance(fault, ProviderFailed) for fault in faults):
        raise NoProvider(words)
    raise ProviderFailed(words)
