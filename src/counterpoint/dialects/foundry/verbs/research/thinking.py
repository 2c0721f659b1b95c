"""Investigates a topic: each step asks once, and judges all hypotheses anew."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from counterpoint.core.model.rows import Prose, load_object
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.ports.evidence import Watch
from counterpoint.dialects.foundry.nouns.research import ResearchStudy
from counterpoint.dialects.foundry.rules.research.answers import object_in, objects_of, text_of
from counterpoint.dialects.foundry.rules.research.prompts import THINKING, with_state
from counterpoint.dialects.foundry.rules.research.thinking import (
    HYPOTHESES,
    is_converged,
    judged,
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
from counterpoint.kernel.errors import Conflict
from counterpoint.kernel.plurals import counted

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


class Thinking:
    """Verbs that investigate."""

    def __init__(self, context: Context) -> None:
        self._context = context

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
