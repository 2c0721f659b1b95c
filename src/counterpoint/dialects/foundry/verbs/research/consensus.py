"""Asks several models the same, side by side, and makes one answer of theirs.

Each answer is written down as it comes, in a transaction of its own: what was paid for stays. Who asked may cancel: then nobody is asked any more.
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
from counterpoint.dialects.foundry.verbs.research.asking import Asked, ask, chosen, said
from counterpoint.dialects.foundry.verbs.research.keeping import (
    StepDraft,
    StudyDraft,
    added,
    alone,
    begun,
    failed,
)
from counterpoint.dialects.foundry.verbs.research.side_by_side import side_by_side
from counterpoint.kernel.errors import (
    CounterpointError,
    InvalidInput,
    NoProvider,
    ProviderFailed,
    ProviderTimedOut,
)

USUAL: Final = 2
"""How many are asked where nobody is named."""


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
    """What several models came to. faults: why the others did not answer, by the name of each."""

    study: ResearchStudy
    content: str
    consulted: tuple[str, ...]
    count: int
    faults: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Round:
    """Who was asked, who has answered, and who did not."""

    there: list[tuple[str, Answer]] = field(default_factory=list[tuple[str, Answer]])
    faults: dict[str, CounterpointError] = field(default_factory=dict[str, CounterpointError])


class Consulting:
    """Verbs that ask several models."""

    def __init__(self, context: Context, watch: Watch | None = None) -> None:
        self._context = context
        self._watch = watch

    def ask(self, draft: ConsensusDraft) -> Consensus:
        """Return what several models come to.

        Raises InvalidInput, NoProvider, and ProviderFailed or ProviderTimedOut where fewer answered than have to.
        """
        names = self._names(draft)
        if draft.least > len(names):
            raise InvalidInput(
                f"{draft.least} answers are asked for, of {len(names)} providers",
                hint="Name more `providers`, or ask for fewer answers.",
            )
        if draft.synthesis:
            chosen(self._context, draft.synthesis)
        study = begun(
            self._context,
            StudyDraft(kind="consensus", query=draft.prompt, system=draft.system, item=draft.item),
        )
        try:
            found = self._asked(draft, names, study.id)
            _refuse_few(draft, names, found)
            there = sorted(found.there, key=lambda one: names.index(one[0]))
            content, answer = self._content(draft, there)
        except CounterpointError as fault:
            failed(self._context, study.id, fault)
            fault.facts = {**fault.facts, "consensus_id": study.id}
            raise
        step = StepDraft(kind="consensus", name=draft.strategy, text=content, answer=answer)
        row = added(self._context, study.id, step, status="completed")
        return Consensus(
            study=row,
            content=content,
            consulted=tuple(name for name, _ in there),
            count=len(there),
            faults=tuple((name, fault.message) for name, fault in found.faults.items()),
        )

    def _names(self, draft: ConsensusDraft) -> tuple[str, ...]:
        if draft.providers:
            return tuple(dict.fromkeys(draft.providers))
        standing = Askable(self._context).standing()
        first_of(standing)
        return tuple(one.name for one in standing.first[:USUAL])

    def _asked(self, draft: ConsensusDraft, names: Sequence[str], study: str) -> _Round:
        """Ask everybody, or one after the other until enough have answered; write down each answer as it comes."""
        found, is_enough = _Round(), draft.strategy == "first_valid" and not draft.require_all
        groups = [(name,) for name in names] if is_enough else [tuple(names)]

        def ask_one(name: str, listen: Listen) -> Answer:
            return self._one(draft, name, listen)

        for group in groups:
            if is_enough and len(found.there) >= draft.least:
                break
            for name, result in side_by_side(group, ask_one, draft.most, self._watch):
                if isinstance(result, CounterpointError):
                    found.faults[name] = result
                else:
                    found.there.append((name, result))
                    step = StepDraft(kind="answer", name=name, answer=result)
                    added(self._context, study, step, stays=True)
        return found

    def _one(self, draft: ConsensusDraft, name: str, listen: Listen) -> Answer:
        """Return what one of them answers; in a thread, and so in a context, of its own."""
        context = alone(self._context)
        provider, _, model = name.partition(":")
        asked = Asked(
            messages=said(draft.prompt),
            system=draft.system,
            provider=chosen(context, provider).name,
            model=model,
            seconds=draft.seconds,
            purpose="research-consensus",
            item=draft.item,
        )
        return ask(context, asked, listen=listen)

    def _content(
        self, draft: ConsensusDraft, there: Sequence[tuple[str, Answer]]
    ) -> tuple[str, Answer | None]:
        """Return the one answer, and that of the model that made it of the others, if one did."""
        texts = [answer.text for _, answer in there]
        if draft.strategy == "all_responses":
            return "\n\n".join(f"## {name}\n\n{answer.text}" for name, answer in there), None
        if draft.strategy == "first_valid" or len(there) == 1:
            return texts[0], None
        most = given_by_most(texts) if draft.strategy == "majority" else None
        if most is not None:
            return most, None
        asked = Asked(
            messages=said(answers(draft.prompt, [(name, one.text) for name, one in there])),
            system=MAJORITY if draft.strategy == "majority" else SYNTHESIS,
            provider=chosen(self._context, draft.synthesis or there[0][1].provider).name,
            seconds=draft.seconds,
            purpose="research-synthesis",
            item=draft.item,
        )
        answer = ask(self._context, asked, self._watch)
        return answer.text, answer


def _refuse_few(draft: ConsensusDraft, names: Sequence[str], found: _Round) -> None:
    """Raise the fault of those who did not answer, where fewer did than have to."""
    least = len(names) if draft.require_all else draft.least
    if len(found.there) >= least:
        return
    faults = list(found.faults.values())
    told = "; ".join(f"{name}: {fault.message}" for name, fault in found.faults.items())
    words = f"{len(found.there)} of {len(names)} answered, and {least} have to: {told}"
    if all(isinstance(fault, ProviderTimedOut) for fault in faults):
        raise ProviderTimedOut(words)
    if not found.there and not any(isinstance(fault, ProviderFailed) for fault in faults):
        raise NoProvider(words)
    raise ProviderFailed(words)
