"""Deep research for callers: begun, continued, stopped, shown, deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from counterpoint.core.model.rows import Prose, load_object
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context, Verbs
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.operations.web import SearchVerbs
from counterpoint.dialects.foundry.models.research import ResearchMode, ResearchStudy
from counterpoint.dialects.foundry.research.asking import (
    StepDraft,
    StudyDraft,
    Threads,
    add,
    alone,
    begin,
    choose_provider,
    get_study,
    list_steps,
    settle,
)
from counterpoint.dialects.foundry.research.board import Board
from counterpoint.dialects.foundry.research.deep import caller_of
from counterpoint.dialects.foundry.research.rules.deep import Course, course_of
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict, InvalidInput, RateLimited
from counterpoint.kernel.plurals import counted

MAX_PER_CALLER: Final = 5
"""Studies of one caller that may be under way."""
MAX_TOGETHER: Final = 40
"""Studies of all callers that may be under way."""
_MOST_ROUNDS: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepDraft:
    """A deep research to begin. context: more about the question."""

    query: str
    context: str = ""
    provider: str = ""
    rounds: int = 3
    queries: int = 5
    sources: int = 5
    follows: bool = True
    seconds: float = 600.0
    together: int = 3
    act_seconds: float = 300.0
    mode: ResearchMode = "general"
    item: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepStanding:
    """A study with its state. looks: how often it was looked at, in this process. is_served: whether a worker takes studies."""

    row: ResearchStudy
    course: Course
    looks: int
    is_served: bool


class DeepStudies(Verbs):
    """Verbs for deep research."""

    def start(self, draft: DeepDraft) -> DeepStanding:
        """Begin a study, which continues by itself; NoProvider, NotFound, ProviderAway, RateLimited."""
        if not draft.query.strip():
            raise InvalidInput("there is nothing to find out", hint="Say in `query` what.")
        # Nothing is begun where no provider is available.
        provider = choose_provider(self._context, draft.provider).name
        SearchVerbs(self._context).chosen()
        with recording(self._own, "research.begun", draft.item) as change:
            caller = self._refuse_many(change)
            settings: dict[str, Json] = {
                "queries": draft.queries,
                "sources": draft.sources,
                "follows": draft.follows,
                "seconds": draft.seconds,
                "together": draft.together,
                "act_seconds": draft.act_seconds,
                "mode": draft.mode,
                "caller": caller,
            }
            row = begin(
                change,
                StudyDraft(
                    kind="deep-research",
                    query=draft.query,
                    system=draft.context,
                    phase="clarification",
                    provider=provider,
                    rounds=draft.rounds,
                    settings=settings,
                    item=draft.item,
                ),
            )
        return self._queue(row)

    def resume(self, name: str) -> DeepStanding:
        """Resume a study that stopped, with as much time again; Conflict for one that is under way or completed, NotFound."""
        with recording(self._own, "research.resumed") as change:
            row = get_study(change.writing, name, "deep-research")
            if row.status in {"active", "completed"}:
                state_text = "is under way" if row.status == "active" else "is completed"
                raise Conflict(
                    f"{row.id} {state_text}",
                    hint='Look with `research action="deep-research-status"`, or go on with `deep_research_action` continue.',
                )
            self._refuse_many(change)
            row = self._restart(change, row, row.rounds)
        return self._queue(row)

    def go_on(self, name: str, query: str, rounds: int) -> DeepStanding:
        """Continue a study that has ended; query: another question. Conflict for one that is under way, NotFound."""
        with recording(self._own, "research.continued") as change:
            row = get_study(change.writing, name, "deep-research")
            if row.status == "active":
                raise Conflict(f"{row.id} is under way", hint="Wait until it has ended.")
            course = self._course(change, row)
            if course.round >= _MOST_ROUNDS:
                raise Conflict(
                    f"{row.id} had {counted(course.round, 'round')}",
                    hint="Begin another one with `query`.",
                )
            self._refuse_many(change)
            if query.strip():
                number, words = len(course.queries) + 1, " ".join(query.split())[:400]
                more: list[Json] = [{"id": f"q{number}", "query": words}]
                details: dict[str, Json] = {"enough": False, "queries": more, "gaps": []}
                row = add(change, row.id, StepDraft(kind="judgement", details=details))
            most = min(_MOST_ROUNDS, max(row.rounds, course.round) + rounds)
            row = self._restart(change, row, most)
        return self._queue(row)

    def cancel(self, name: str) -> DeepStanding:
        """Stop a study: its findings stay, and it can be resumed; Conflict for one that is not under way, NotFound."""
        with recording(self._own, "research.cancelled") as change:
            row = get_study(change.writing, name, "deep-research")
            if row.status != "active":
                raise Conflict(f"{row.id} is not under way", hint="Its status is kept as it is.")
            row = settle(change, row, status="cancelled", runner="")
            change.add_facts(study=row.id)
        self._board.stop(self._key(name))
        return self.get(name)

    def get(self, name: str) -> DeepStanding:
        """Return a study with its state; NotFound."""
        with self._context.reading() as view:
            row = get_study(view, name, "deep-research")
            course = course_of(list_steps(view, row.id))
        return self._standing(row, course, self._board.look(self._key(name)))

    def list(self, *, completed: bool = False) -> Sequence[ResearchStudy]:
        """List the studies, the newest first. completed: only completed ones."""
        return Threads(self._context).list("completed" if completed else "", "deep-research")

    def counts(self, row: ResearchStudy) -> tuple[int, int]:
        """Count the sources and the findings of a study."""
        with self._context.reading() as view:
            course = course_of(list_steps(view, row.id))
        return len(course.sources), len(course.findings)

    def delete(self, name: str) -> None:
        """Stop and delete a study with all its findings; NotFound."""
        Threads(self._context).delete(name, "deep-research")
        self._board.stop(self._key(name))

    @property
    def _own(self) -> Context:
        # A study continues by itself: it is stored before the caller is answered.
        return alone(self._context)

    @property
    def _board(self) -> Board:
        return self._context.ports.remember(Board)

    def _key(self, name: str) -> tuple[str, str]:
        return self._context.project, name

    def _refuse_many(self, change: Change) -> str:
        """Return the caller whose turns these studies take; RateLimited if as many as may are under way."""
        actor = change.context.caller.actor
        caller = actor.principal.id if actor.principal else actor.session or actor.name
        rows = change.writing.select(ResearchStudy, kind="deep-research", status="active")
        own = sum(1 for row in rows if caller_of(row) == caller)
        if own >= MAX_PER_CALLER or len(rows) >= MAX_TOGETHER:
            raise RateLimited(
                f"{own} of your deep researches are under way, of {len(rows)} in all: {MAX_PER_CALLER} and {MAX_TOGETHER} may be",
                hint="Wait for one to end, or stop one with `deep_research_action` cancel.",
            )
        return caller

    def _restart(self, change: Change, row: ResearchStudy, rounds: int) -> ResearchStudy:
        """Store that a study continues, with its time counted anew."""
        since = canonical.dump_any({"since": self._course(change, row).ms})
        change.add_facts(study=row.id)
        return settle(
            change,
            row,
            status="active",
            fault=Prose(""),
            rounds=rounds,
            runner="",
            state=Prose(since),
        )

    def _course(self, change: Change, row: ResearchStudy) -> Course:
        return course_of(list_steps(change.writing, row.id))

    def _queue(self, row: ResearchStudy) -> DeepStanding:
        """Queue a study."""
        self._board.add(self._key(row.id), caller_of(row))
        with self._context.reading() as view:
            course = course_of(list_steps(view, row.id))
        return self._standing(row, course, 0)

    def _standing(self, row: ResearchStudy, course: Course, looks: int) -> DeepStanding:
        return DeepStanding(row=row, course=course, looks=looks, is_served=self._board.is_served)


def seconds_of(row: ResearchStudy) -> float:
    """Return the time limit of a study."""
    return float(str(load_object(row.settings)["seconds"]))
