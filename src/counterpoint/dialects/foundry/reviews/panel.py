"""Asks the reviewers, and keeps what they said.

Has models review, and settles what they say.
Rule 1: an answer that does not have its form is asked for once more, with what is wrong with it; the second one counts, or its reviewer
has not answered. Rule 2: reviewers answer side by side and know nothing of each other. Rule 3: where no verdict has enough votes one more
is asked who was not yet, and judges without knowing the others' verdicts. Rule 4: a question is the same as long as all is that it is about: so
asking again pays only for who did not answer, unless the caller wants it anew.

Reviews as files beside specs and plans, each with an entry of the ledger.
The entry has the digest of the file, who judged and what came of it: so an edit of the file is found by whoever compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from posixpath import normpath
from typing import Final, Protocol

from counterpoint.core.model.models import Answer, Caching, Message, Question
from counterpoint.core.operations.models.asking import ModelVerbs
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.models import Listen
from counterpoint.core.rules.models.providers import first_of
from counterpoint.core.rules.secrets import mask
from counterpoint.dialects.foundry.models.specs import SpecLine
from counterpoint.dialects.foundry.places import SpecsPlaces
from counterpoint.dialects.foundry.research.asking import (
    Askable,
    alone,
    choose_provider,
    side_by_side,
    tokens_of,
)
from counterpoint.dialects.foundry.reviews.rules import material
from counterpoint.dialects.foundry.reviews.rules.feedback import (
    Modification,
    Remark,
    needed,
    settled,
    strictest,
)
from counterpoint.dialects.foundry.reviews.rules.material import (
    Form,
    PhaseWork,
    Review,
    read,
    repair,
)
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import (
    CounterpointError,
    InvalidInput,
    NotFound,
    PathOutside,
    ProviderFailed,
    ProviderTimedOut,
    Unavailable,
)

DETERMINISTIC: Final = "deterministic"


class Reviewer(Protocol):
    """Judges what was done in a phase; it is asked while no transaction is open, so it may take its time."""

    @property
    def name(self) -> str:
        """What evidence calls it."""
        ...

    def review(self, work: PhaseWork) -> Review:
        """Return what it says of a phase; Unavailable if it cannot be asked."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DeterministicReviewer:
    """Compares what nodes promise with what the server knows: the same work is always judged alike."""

    name: str = DETERMINISTIC

    def review(self, work: PhaseWork) -> Review:
        """Return what the rules say of a phase."""
        return material.review(work)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewers:
    """The reviewers of a project. phases: who judges gates."""

    phases: Reviewer = field(default_factory=DeterministicReviewer)


TOKENS: Final = 8_000
"""The most tokens of a review."""
SECONDS: Final = 360.0
_AT_ONCE: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerChoice:
    """Which reviewers a caller wants asked, and how.

    providers: names, each with `:MODEL` for another than its usual one; none: the first that can be asked, or as many as `threshold` says.
    model: of the only one. threshold: how many have to give the same verdict; 0: more than half of those who are asked. caches: whether an
    answer to the very same question may stand for another.
    """

    providers: tuple[str, ...] = ()
    model: str = ""
    seconds: float = SECONDS
    threshold: int = 0
    caches: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A question to reviewers. judge: returns the verdict of an answer. order: verdicts, the mildest first; none: there is no verdict to settle."""

    system: str
    text: str
    form: Form = field(repr=False)
    purpose: str
    item: str = ""
    sample: str = ""
    judge: Callable[[Mapping[str, Json]], str] = field(default=lambda _: "", repr=False)
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The answer of one reviewer. answers: one, or two where the first had to be repaired. verdict: empty where none is asked for."""

    name: str
    found: Mapping[str, Json]
    verdict: str
    answers: tuple[Answer, ...]

    @property
    def model(self) -> str:
        """Who answered, as the provider named it."""
        return self.answers[-1].model

    @property
    def tokens(self) -> int:
        """Count the tokens of question and answer, without answers from the cache."""
        return sum(map(tokens_of, self.answers))

    @property
    def cost_micros(self) -> int:
        """Sum the cost in millionths of a dollar."""
        return sum(answer.cost_micros for answer in self.answers)

    @property
    def is_kept(self) -> bool:
        """Whether all answers came from the cache."""
        return all(answer.is_kept for answer in self.answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The outcome of a panel. least: how many votes a verdict needed. tie: who was asked since no verdict had enough. faults: why others did not answer."""

    judged: tuple[Judged, ...] = ()
    verdict: str = ""
    least: int = 0
    tie: str = ""
    faults: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def reviewers(self) -> tuple[str, ...]:
        """Name who answered, with the model of each."""
        return tuple(f"{judged.name.partition(':')[0]}:{judged.model}" for judged in self.judged)

    @property
    def said(self) -> dict[str, Mapping[str, Json]]:
        """Return the fields of each answer, by reviewer."""
        return {judged.name: judged.found for judged in self.judged}


class Panel:
    """Verbs that ask reviewers."""

    def __init__(self, context: Context, watch: Watch | None = None) -> None:
        self._context = context
        self._watch = watch

    def can_ask(self, choice: ReviewerChoice) -> bool:
        """Return whether anybody can be asked, or was named; MalformedDocument."""
        return bool(choice.providers) or bool(Askable(self._context).list_providers().first)

    def ask(self, task: Task, choice: ReviewerChoice) -> Settled:
        """Ask reviewers and settle their verdict; NoProvider, NotFound, ProviderAway, ProviderFailed or ProviderTimedOut where too few answered."""
        names = self._names(choice)
        least = needed(len(names), choice.threshold)
        if choice.threshold > len(names):
            raise InvalidInput(
                f"{choice.threshold} reviewers have to agree, of {len(names)}",
                hint="Name more in `ai_tools`, or ask fewer to agree.",
            )
        reviews, faults = self._ask_reviewers(task, choice, names)
        if len(reviews) < (choice.threshold or 1):
            raise _too_few(names, faults, len(reviews), choice.threshold or 1)
        if not task.order:
            return _settle(reviews, "", least, faults=faults)
        votes = {review.name: review.verdict for review in reviews}
        verdict, tie = settled(votes, task.order, least), ""
        if not verdict and len(reviews) > 1:
            tie = self._find_other(names)
            more, missed = self._ask_reviewers(task, choice, (tie,)) if tie else ((), {})
            reviews, faults = (*reviews, *more), {**faults, **missed}
            votes = {review.name: review.verdict for review in reviews}
            verdict = settled(votes, task.order, least)
        verdict = verdict or strictest(list(votes.values()), task.order)
        return _settle(reviews, verdict, least, tie=tie, faults=faults)

    def _names(self, choice: ReviewerChoice) -> tuple[str, ...]:
        """Return the names of reviewers to ask; each is available."""
        if not choice.providers:
            standing = Askable(self._context).list_providers()
            first = first_of(standing).name
            names = tuple(provider.name for provider in standing.first[: max(1, choice.threshold)])
            return (f"{first}:{choice.model}",) if choice.model and len(names) == 1 else names
        names = tuple(dict.fromkeys(choice.providers))
        for name in names:
            choose_provider(self._context, name.partition(":")[0])
        if choice.model and len(names) == 1 and ":" not in names[0]:
            return (f"{names[0]}:{choice.model}",)
        return names

    def _find_other(self, names: Sequence[str]) -> str:
        """Return the first available reviewer who was not asked; empty without one."""
        asked_providers = {name.partition(":")[0] for name in names}
        first = Askable(self._context).list_providers().first
        return next(
            (provider.name for provider in first if provider.name not in asked_providers), ""
        )

    def _ask_reviewers(
        self, task: Task, choice: ReviewerChoice, names: Sequence[str]
    ) -> tuple[tuple[Judged, ...], dict[str, CounterpointError]]:
        reviews: dict[str, Judged] = {}
        faults: dict[str, CounterpointError] = {}

        def ask(name: str, listen: Listen) -> Judged:
            return _judge(alone(self._context), task, choice, name, listen)

        for name, result in side_by_side(names, ask, _AT_ONCE, self._watch):
            if isinstance(result, CounterpointError):
                faults[name] = result
            else:
                reviews[name] = result
        return tuple(reviews[name] for name in names if name in reviews), faults


def _judge(
    context: Context, task: Task, choice: ReviewerChoice, name: str, listen: Listen
) -> Judged:
    """Ask one reviewer, and once more to repair an answer of another form; ProviderFailed where both have another form."""
    provider, _, model = name.partition(":")
    caching: Caching = "always" if choice.caches else "never"
    # Of what is judged nothing leaves that looks like a key.
    messages = (Message(role="user", text=mask(task.text, context.ports.secrets)),)
    answers: list[Answer] = []
    faults: list[str] = []
    while len(answers) < 2:  # noqa: PLR2004 -- asked once, and once more
        question = Question(
            messages=messages,
            system=task.system,
            provider=provider,
            model=model,
            max_tokens=TOKENS,
            schema=task.form,
            timeout=choice.seconds,
            purpose=task.purpose,
            item=task.item,
            caching=caching,
            sample=task.sample,
        )
        answer = ModelVerbs(context).ask(question, listen=listen)
        answers.append(answer)
        fields, faults = read(answer.text, task.form)
        if not faults:
            verdict = task.judge(fields)
            return Judged(
                name=name,
                found={**fields, "verdict": verdict} if verdict else fields,
                verdict=verdict,
                answers=tuple(answers),
            )
        reply = Message(role="assistant", text=answer.text or "(nothing)")
        messages = (*messages, reply, Message(role="user", text=repair(faults)))
    raise ProviderFailed(
        f"{name} answered twice in a form that is none of a review: {'; '.join(faults)}",
        hint="Ask another with `ai_provider`, or the same anew with `consultation_cache` false.",
        provider_id=name,
        faults_of_form=list(faults),
        error_code="AI_PROVIDER_ERROR",
    )


def _settle(
    judged: Sequence[Judged],
    verdict: str,
    least: int,
    *,
    tie: str = "",
    faults: Mapping[str, CounterpointError],
) -> Settled:
    messages = {name: fault.message for name, fault in faults.items()}
    return Settled(judged=tuple(judged), verdict=verdict, least=least, tie=tie, faults=messages)


def _too_few(
    names: Sequence[str], faults: Mapping[str, CounterpointError], count: int, least: int
) -> CounterpointError:
    """Return the refusal where too few answered: that of the only one who was asked, or one that tells of all."""
    if len(names) == 1 and faults:
        return faults[names[0]]
    messages = "; ".join(f"{name}: {fault.message}" for name, fault in faults.items())
    words = f"{count} of {len(names)} reviewers answered, and {least} have to: {messages}"
    is_late = all(isinstance(fault, ProviderTimedOut) for fault in faults.values())
    hint = "Ask again: who has answered is not asked twice."
    return (ProviderTimedOut if is_late else ProviderFailed)(words, hint=hint)


LONGEST = 500_000
"""The most bytes of a review that is read."""


def save(
    context: Context, change: Change, pages: Mapping[str, str], **facts: Json
) -> tuple[str, ...]:
    """Write files of reviews, and record them in the ledger's entry; return their paths, none where this server writes no file.

    pages: the text of each by its path from the folder of specs on, as it is returned. Raises PathOutside, InvalidInput.
    """
    home = context.ports.get(SpecsPlaces).home
    written: list[Json] = []
    for path, text in pages.items():
        body = mask(text, context.ports.secrets).encode()
        try:
            context.ports.evidence.save(home, from_home(context, path), body)
        except Unavailable:
            continue
        written.append({"path": path, "sha256": sha256(body).hexdigest()})
    change.add_facts(files=written, **facts)
    return tuple(str(object_of(file)["path"]) for file in written)


def from_home(context: Context, path: str) -> str:
    """Return a path relative to the main worktree. path: relative to the folder of specs, empty for none."""
    places = context.ports.get(SpecsPlaces)
    return f"{places.specs.relative_to(places.home).as_posix()}/{path}" if path else ""


def name_of(path: str, *parts: str) -> str:
    """Return the path of a review's file. parts: of its name; characters that a file name may not have are replaced."""
    words = (_to_file_name(part) for part in parts if part)
    return f"{path}/{'-'.join(words)}.md"


def load(context: Context, path: str) -> str:
    """Return the text of a file named relative to the folder of specs; NotFound, PathOutside, InvalidInput for a longer one."""
    places, evidence = context.ports.get(SpecsPlaces), context.ports.evidence
    inside = path if path.startswith("/") else normpath(from_home(context, path))
    try:
        content = evidence.load(places.home, inside, LONGEST)
    except NotFound:
        # What was written in a worktree is not in the main one yet.
        content = evidence.load(places.tree, inside, LONGEST)
    return content.decode("utf-8", "replace")


def is_there(context: Context, path: str) -> bool:
    """Return whether a review's file exists. path: relative to the folder of specs."""
    home = context.ports.get(SpecsPlaces).home
    try:
        context.ports.evidence.digest(home, from_home(context, path))
    except (NotFound, PathOutside, InvalidInput, Unavailable):
        return False
    return True


def _to_file_name(part: str) -> str:
    name = "".join(
        char if char.isascii() and (char.isalnum() or char in "-_.") else "-" for char in part
    )
    return name.strip(".-")[:150] or "x"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecReview:
    """A review of a spec. found: remarks of all reviewers in one, or the answer of the one whose verdict counts. settled: without answers if it was not held."""

    line: SpecLine
    template: str
    found: Mapping[str, Json]
    settled: Settled = field(default_factory=Settled)
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReview:
    """A review of a plan. path: of the review; own: paths of the single answers of several reviewers, by name. settled: without answers if it was not held."""

    plan: str
    name: str
    remarks: tuple[Remark, ...] = ()
    settled: Settled = field(default_factory=Settled)
    path: str = ""
    own: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """Remarks that were read from a file, and the changes they ask for. settled: who put them in order; None if the file was in order."""

    spec: str
    path: str
    remarks: tuple[Remark, ...]
    asked: tuple[Modification, ...]
    settled: Settled | None = None
