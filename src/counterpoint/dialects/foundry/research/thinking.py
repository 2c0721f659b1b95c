"""Thinks step by step, asks several models, and gathers ideas.

Asks several models the same, side by side, and combines their answers.
Each answer is stored as it comes, in a transaction of its own, since it was paid for. Callers may cancel: then no further model is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, cast

from counterpoint.core.model.models import Answer
from counterpoint.core.model.rows import Prose, load_object
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.evidence import Watch
from counterpoint.core.ports.models import Listen
from counterpoint.core.rules.models.providers import first_of
from counterpoint.dialects.foundry.models.research import IdeateAction, ResearchStudy, Strategy
from counterpoint.dialects.foundry.research.asking import (
    Askable,
    ModelQuestion,
    StepDraft,
    StudyDraft,
    add,
    add_step,
    alone,
    ask,
    begin,
    begin_alone,
    choose_provider,
    get_study,
    record_failure,
    side_by_side,
    user_message,
)
from counterpoint.dialects.foundry.research.rules import answers as rules
from counterpoint.dialects.foundry.research.rules.answers import (
    CLUSTERS_PROMPT,
    ELABORATION,
    HYPOTHESES,
    IDEAS_PROMPT,
    MAJORITY,
    SCORES,
    SYNTHESIS,
    THINKING,
    answers,
    given_by_most,
    is_converged,
    judged,
    list_of,
    object_in,
    objects_of,
    text_of,
    with_state,
)
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import (
    Conflict,
    CounterpointError,
    InvalidInput,
    NoProvider,
    NotFound,
    ProviderFailed,
    ProviderTimedOut,
)
from counterpoint.kernel.plurals import agree, counted

_MANY = 1_000
_ANALYSIS = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """A step of an investigation. is_read: whether the answer had hypotheses in it, in the form that was asked for."""

    study: ResearchStudy
    content: str
    hypotheses: tuple[dict[str, Json], ...]
    is_read: bool

    @property
    def is_converged(self) -> bool:
        """Whether nothing is left to look at."""
        return self.study.status == "completed"


class Thinking(Verbs):
    """Verbs that investigate."""

    def begin(
        self, topic: str, depth: int, provider: str = "", watch: Watch | None = None, item: str = ""
    ) -> Thought:
        """Take the first step with a topic; NoProvider, ProviderFailed."""
        draft = StudyDraft(kind="thinkdeep", query=topic, rounds=depth, item=item)
        return self._step(draft, None, "", provider, watch)

    def go_on(
        self, name: str, query: str = "", provider: str = "", watch: Watch | None = None
    ) -> Thought:
        """Take the next step of an investigation. query: what to look at now. NotFound, Conflict for one that has converged."""
        with self._context.reading() as view:
            row = get_study(view, name, "thinkdeep")
        if row.round >= row.rounds:
            raise Conflict(
                f"{row.id} is as deep as it may be ({counted(row.rounds, 'step')})",
                hint="Begin another with `topic`, with more steps if it needs them.",
            )
        if row.status == "completed" and not query:
            raise Conflict(
                f"{row.id} has converged: every hypothesis is sure",
                hint="Say in `query` what else to look at.",
            )
        draft = StudyDraft(kind="thinkdeep", query=row.query, item=row.item)
        return self._step(draft, row, query, provider or row.provider, watch)

    def _step(
        self,
        draft: StudyDraft,
        row: ResearchStudy | None,
        query: str,
        provider: str,
        watch: Watch | None,
    ) -> Thought:
        name = choose_provider(self._context, provider).name
        state = load_object(row.state) if row else {}
        question = ModelQuestion(
            messages=user_message(with_state(draft.query, state, query)),
            system=THINKING,
            provider=name,
            purpose="research-thinkdeep",
            item=draft.item,
        )
        answer = ask(self._context, question, watch)
        fields = object_in(answer.text)
        with recording(self._context, "research.answered", draft.item) as change:
            change.open_session()
            now = begin(change, replace(draft, provider=name)) if row is None else None
            now = now or get_study(change.writing, cast("ResearchStudy", row).id, "thinkdeep")
            earlier = hypotheses_of(now)
            hypotheses = judged(earlier, fields)
            depth = now.round + 1
            is_done = is_converged(
                [cast("dict[str, Json]", hypothesis) for hypothesis in hypotheses],
                depth,
                now.rounds,
            )
            state_fields: dict[str, Json] = {HYPOTHESES: hypotheses}
            after = add(
                change,
                now.id,
                StepDraft(kind="step", answer=answer, details={"query": query, **state_fields}),
                round=depth,
                state=Prose(canonical.dump_any(state_fields)),
                status="completed" if is_done else "active",
            )
        return Thought(
            study=after,
            content=text_of(fields.get("analysis"), _ANALYSIS) or answer.text,
            hypotheses=tuple(hypotheses_of(after)),
            is_read=bool(objects_of(fields.get(HYPOTHESES), 1)),
        )


def hypotheses_of(row: ResearchStudy) -> list[dict[str, Json]]:
    """Return the hypotheses of an investigation."""
    return objects_of(load_object(row.state).get(HYPOTHESES), _MANY)


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


PHASES: Final[Mapping[IdeateAction, str]] = {
    "generate": "divergent",
    "cluster": "convergent",
    "score": "convergent",
    "select": "selection",
    "elaborate": "elaboration",
}
"""The phase of an ideation after each act."""
_SYSTEM: Final[Mapping[IdeateAction, str]] = {
    "generate": IDEAS_PROMPT,
    "cluster": CLUSTERS_PROMPT,
    "score": SCORES,
    "elaborate": ELABORATION,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class IdeateDraft:
    """A step with ideas. topic: of a new ideation; `name`: of one to go on with. clusters: groups that the step is about."""

    act: IdeateAction = "generate"
    topic: str = ""
    name: str = ""
    perspectives: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    provider: str = ""
    item: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdeationStep:
    """An ideation after a step, with the text of that."""

    study: ResearchStudy
    content: str

    @property
    def ideas(self) -> int:
        """Count the ideas."""
        return len(rules.ideas_of(load_object(self.study.state)))

    @property
    def clusters(self) -> int:
        """Count the clusters."""
        return len(rules.clusters_of(load_object(self.study.state)))


class Ideating:
    """Verbs for ideas."""

    def __init__(self, context: Context, watch: Watch | None = None) -> None:
        self._context = context
        self._watch = watch

    def act(self, draft: IdeateDraft) -> IdeationStep:
        """Take the next step; InvalidInput, NotFound, NoProvider, ProviderFailed where the answer cannot be parsed."""
        row = None
        if draft.name:
            with self._context.reading() as view:
                row = get_study(view, draft.name, "ideate")
        elif draft.act != "generate":
            raise InvalidInput(
                f"{draft.act} needs an ideation",
                hint="Name it by `ideation_id`; to generate ideas about a `topic` begins one.",
            )
        state = load_object(row.state) if row else {}
        self._refuse(draft, state)
        if draft.act == "select":
            return self._store_step(
                draft, row, StepDraft(kind="select"), lambda now: _select_clusters(draft, now)
            )
        name = choose_provider(self._context, draft.provider or (row.provider if row else "")).name
        question = ModelQuestion(
            messages=user_message(_build_question(draft, row, state)),
            system=_SYSTEM[draft.act],
            provider=name,
            purpose="research-ideate",
            item=draft.item,
        )
        answer = ask(self._context, question, self._watch)
        fields = object_in(answer.text)
        step = StepDraft(kind=draft.act, answer=answer)
        if draft.act == "elaborate":
            return self._store_step(draft, row, step, lambda now: (dict(now), answer.text))
        return self._store_step(
            replace(draft, provider=name), row, step, lambda now: _apply_answer(draft, now, fields)
        )

    def _refuse(self, draft: IdeateDraft, state: Mapping[str, Json]) -> None:
        """Raise InvalidInput or NotFound for a step that is not possible yet."""
        if draft.act in {"cluster", "score"} and not rules.ideas_of(state):
            raise InvalidInput("there are no ideas yet", hint="Generate some first.")
        known_ids = {str(cluster["id"]) for cluster in rules.clusters_of(state)}
        unknown = [name for name in draft.clusters if name not in known_ids]
        if unknown:
            listed = ", ".join(sorted(known_ids)) or "none; cluster the ideas first"
            raise NotFound(f"there is no group {unknown[0][:40]!r}", hint=f"There are: {listed}.")
        if draft.act == "select" and not draft.clusters:
            raise InvalidInput(
                "it is not said which groups are chosen",
                hint="Name them in `cluster_ids`.",
                error_code="MISSING_REQUIRED",
            )
        if draft.act == "elaborate" and not (draft.clusters or state.get(rules.SELECTED)):
            raise InvalidInput(
                "no group is chosen", hint="Select some first, or name them in `cluster_ids`."
            )

    def _store_step(
        self,
        draft: IdeateDraft,
        row: ResearchStudy | None,
        step: StepDraft,
        make: Callable[[Mapping[str, Json]], tuple[dict[str, Json], str]],
    ) -> IdeationStep:
        """Store a step, and apply it to the present ideas."""
        with recording(self._context, "research.answered", draft.item) as change:
            change.open_session()
            now = (
                get_study(change.writing, row.id, "ideate")
                if row
                else begin(
                    change,
                    StudyDraft(
                        kind="ideate", query=draft.topic, provider=draft.provider, item=draft.item
                    ),
                )
            )
            state, content = make(load_object(now.state))
            after = add(
                change,
                now.id,
                replace(step, details={"clusters": list[Json](draft.clusters)}),
                state=Prose(canonical.dump_any(state)),
                phase=PHASES[draft.act],
                round=now.round + 1,
            )
        return IdeationStep(study=after, content=content)


def _build_question(
    draft: IdeateDraft, row: ResearchStudy | None, state: Mapping[str, Json]
) -> str:
    topic = row.query if row else draft.topic
    if draft.act == "generate":
        perspectives = ", ".join(draft.perspectives or rules.PERSPECTIVES)
        known_ideas: dict[str, Json] = {rules.IDEAS: list[Json](rules.ideas_of(state))}
        return with_state(
            topic,
            known_ideas,
            f"Perspectives: {perspectives}. {draft.topic if row else ''}".strip(),
        )
    if draft.act == "score":
        return with_state(topic, state, f"Criteria: {', '.join(draft.criteria or rules.CRITERIA)}")
    if draft.act == "elaborate":
        names = draft.clusters or tuple(map(str, list_of(state.get(rules.SELECTED))))
        return with_state(topic, state, f"Work out these groups: {', '.join(names)}")
    return with_state(topic, state)


def _select_clusters(draft: IdeateDraft, now: Mapping[str, Json]) -> tuple[dict[str, Json], str]:
    clusters = [cluster for cluster in rules.clusters_of(now) if cluster["id"] in draft.clusters]
    return {**now, rules.SELECTED: list[Json](draft.clusters)}, rules.groups_of(clusters)


def _apply_answer(
    draft: IdeateDraft, now: Mapping[str, Json], fields: Mapping[str, Json]
) -> tuple[dict[str, Json], str]:
    """Apply an answer; return the new state and its text. ProviderFailed where nothing of it can be parsed."""
    if draft.act == "generate":
        state, new = rules.with_ideas(now, fields)
        if not new:
            raise ProviderFailed("No ideas generated", error_code="INTERNAL_ERROR")
        return state, rules.lines_of(new)
    if draft.act == "cluster":
        state = rules.with_clusters(now, fields)
        if not fields or not rules.clusters_of(state):
            raise ProviderFailed("No groups were made", error_code="INTERNAL_ERROR")
        return state, rules.groups_of(rules.clusters_of(state))
    state, count = rules.with_scores(now, fields, draft.criteria or rules.CRITERIA)
    if not count:
        raise ProviderFailed("No idea was scored", error_code="INTERNAL_ERROR")
    clusters = rules.groups_of(rules.clusters_of(state))
    return state, f"{rules.lines_of(rules.ideas_of(state))}\n\n{clusters}".rstrip()
