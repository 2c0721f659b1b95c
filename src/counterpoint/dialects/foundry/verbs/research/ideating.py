"""Generates ideas about a topic, and clusters, scores, selects and elaborates them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from counterpoint.core.model.rows import Prose, load_object
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.evidence import Watch
from counterpoint.dialects.foundry.nouns.research import IdeateAction, ResearchStudy
from counterpoint.dialects.foundry.rules.research import ideas as rules
from counterpoint.dialects.foundry.rules.research.answers import list_of, object_in
from counterpoint.dialects.foundry.rules.research.prompts import (
    CLUSTERS,
    ELABORATION,
    IDEAS,
    SCORES,
    with_state,
)
from counterpoint.dialects.foundry.verbs.research.asking import (
    ModelQuestion,
    ask,
    choose_provider,
    user_message,
)
from counterpoint.dialects.foundry.verbs.research.keeping import (
    StepDraft,
    StudyDraft,
    add,
    begin,
    get_study,
)
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput, NotFound, ProviderFailed

PHASES: Final[Mapping[IdeateAction, str]] = {
    "generate": "divergent",
    "cluster": "convergent",
    "score": "convergent",
    "select": "selection",
    "elaborate": "elaboration",
}
"""The phase of an ideation after each act."""
_SYSTEM: Final[Mapping[IdeateAction, str]] = {
    "generate": IDEAS,
    "cluster": CLUSTERS,
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
