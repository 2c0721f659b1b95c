"""Learnings: kept if they say enough and something new, found best first.

A learning is a record of its item. What is searched of it, in this order, is the pattern (which is
its title as far as it fits), what it applies to, its context and its kind; its details keep each apart,
with its quality. A person's word that it is right is the status `verified` of its record.

Surveys: which files were looked through and why, and how the tests moved.
Rule 1: a file and a concept have one answer in a project, the latest; the ledger keeps the earlier
ones. Rule 2: every run of the tests is a record; the trend is of the project's last ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import Record, StateEntry
from counterpoint.core.model.rows import Prose, load_object
from counterpoint.core.model.work import Item
from counterpoint.core.operations.finding.hits import meaning_of
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Ports, Verbs
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.core.ports.store import Hit, Reading
from counterpoint.core.rules.fitting import asked_words
from counterpoint.dialects.symphony.nouns import (
    Coverage,
    Covered,
    Learning,
    LearningDraft,
    LearningHit,
    LearningQuery,
    SavedLearning,
    TestRun,
    TestTrend,
)
from counterpoint.dialects.symphony.rules import quality
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict, InvalidInput

VERIFIED: Final = "verified"
_KIND: Final = "learning"
_NEAR: Final = 3
_LOOKED_AT: Final = 20
_FEW: Final = 50
_PLAIN: Final = "pattern"


class Learnings(Verbs):
    """Verbs for learnings."""

    def keep(self, draft: LearningDraft) -> SavedLearning:
        """Keep a learning; answer those of other items that say nearly the same.

        Raises InvalidInput with all that is missing in it, Conflict if the item has one alike.
        """
        quality.check(draft.pattern, draft.context, draft.kind)
        with transaction(self._context):
            with recording(self._context, "learning.compared") as change:
                _refuse_twin(change, draft)
                near = _near(change.writing, draft)
            record = Journal(self._context).append(note_of(draft))
        return SavedLearning(learning=learning_of(record), near=near)

    def find(self, query: LearningQuery) -> list[LearningHit]:
        """Return learnings that have a word of the query or mean nearly the same, best first.

        InvalidInput without a word.
        """
        words = asked_words(query.query)
        projects = [self._context.project]
        if query.elsewhere:
            stored_projects = self._context.ports.store.projects()
            projects = [
                row.project for row in stored_projects if row.project != self._context.project
            ]
        hits_by_key: dict[str, tuple[Learning, Hit]] = {}
        for project in projects:
            for learning, hit in self._search_project(
                project, query.query, words, _candidates(query)
            ):
                hits_by_key[f"{project}/{learning.record.id}"] = learning, hit
        matches = [_match(key, learning, hit) for key, (learning, hit) in hits_by_key.items()]
        with self._context.reading() as view:
            ranked = quality.order(
                words, matches, view.stems, min_quality=query.min_quality, limit=query.limit
            )
        return [_present(hits_by_key[ranked_match.key][0], ranked_match) for ranked_match in ranked]

    def _search_project(
        self, project: str, query: str, words: Sequence[str], most: int
    ) -> list[tuple[Learning, Hit]]:
        ports = self._context.ports
        if project == self._context.project:
            with self._context.reading() as view:
                return _hits(ports, view, query, words, most)
        with ports.store.reading(project) as view:
            return _hits(ports, view, query, words, most)

    def judge(
        self, record: str, *, verified: bool | None = None, score: int | None = None
    ) -> Learning:
        """Say that a learning is right, or what it is worth; NotFound, InvalidInput."""
        if score is not None and not 0 <= score <= 100:  # noqa: PLR2004 -- the ends of the scale
            raise InvalidInput(f"a quality is from 0 to 100, not {score}")
        with recording(self._context, "learning.judged") as change:
            change.open_session()
            stored = change.get(Record, record)
            if stored.kind != _KIND:
                raise InvalidInput(f"{record} is a {stored.kind}", hint="Name a learning.")
            details = {
                **load_object(stored.details),
                **({} if score is None else {"quality": score}),
            }
            after = replace(stored, details=Prose(canonical.dump_any(details)))
            if verified is not None:
                after = replace(after, status=VERIFIED if verified else "")
            change.put(after)
            change.subject = stored.item
            change.add_facts(record=record)
            return learning_of(after)


def learning_of(record: Record) -> Learning:
    """Return the learning of a record; a record from another source gives its text as the pattern."""
    details = load_object(record.details)
    return Learning(
        record=record,
        project=record.project,
        pattern=str(details.get("pattern") or record.body),
        context=str(details.get("context") or ""),
        applies_to=tuple(map(str, details.get("applies_to") or ())),
        kind=str(details.get("kind") or _PLAIN),
        quality=int(details.get("quality", quality.FIRST_QUALITY)),
        is_verified=record.status == VERIFIED,
    )


def note_of(draft: LearningDraft) -> Note:
    """Return the note that a learning is kept as."""
    kind = draft.kind or _PLAIN
    details: dict[str, Json] = {
        "pattern": draft.pattern,
        "context": draft.context or "",
        "applies_to": list(draft.applies_to),
        "kind": kind,
        "quality": quality.FIRST_QUALITY,
        **({"run": draft.run} if draft.run else {}),
    }
    parts = (draft.pattern, " ".join(draft.applies_to), draft.context or "", kind)
    return Note(
        kind=_KIND,
        item=draft.item,
        body="\n\n".join(part for part in parts if part),
        tags=(kind,),
        details=details,
    )


def _refuse_twin(change: Change, draft: LearningDraft) -> None:
    own_records = change.select(Record, item=draft.item, kind=_KIND, order="number")
    patterns = [(record.id, learning_of(record).pattern) for record in own_records]
    twin = quality.find_twin(draft.pattern, patterns)
    if twin is not None:
        earlier = dict(patterns)[twin]
        raise Conflict(
            f"{twin} of the same issue says this already: {earlier[:200]}",
            hint="Leave it out, or say what is different in other words.",
            record=twin,
        )


def _near(view: Reading, draft: LearningDraft) -> tuple[Learning, ...]:
    """Return learnings of other items with nearly the same pattern."""
    words = asked_words(draft.pattern)
    hits = view.search(words, kinds=(_KIND,), limit=_LOOKED_AT)
    rows = [view.find(Record, hit.key) for hit in hits if hit.item != draft.item]
    learnings = [learning_of(row) for row in rows if row is not None]
    return tuple(
        learning for learning in learnings if quality.is_twin(draft.pattern, learning.pattern)
    )[:_NEAR]


def _candidates(query: LearningQuery) -> int:
    """Return how many are ranked: twice as many as are asked for; more if some may fall away."""
    few = max(2 * query.limit, _FEW)
    return quality.CANDIDATES if query.min_quality else min(few, quality.CANDIDATES)


def _hits(
    ports: Ports, view: Reading, query: str, words: Sequence[str], most: int
) -> list[tuple[Learning, Hit]]:
    """Return the most relevant learnings of a project, with their hits.

    Behind those with a word of the query come those that mean nearly the same; as for what has no word of it, their score is 0.
    """
    hits = view.search(words, kinds=(_KIND,), begun=True, limit=most)
    meaning = meaning_of(ports, view, query)
    if meaning is not None:
        had = {hit.number for hit in hits}
        near = (hit for hit in meaning.nearest((_KIND,)) if hit.score >= meaning.model.least)
        hits += [replace(hit, score=0.0) for hit in near if hit.number not in had]
    keys = tuple(hit.key for hit in hits)
    rows = {row.id: row for row in view.select(Record, id=keys)} if keys else {}
    return [(learning_of(rows[hit.key]), hit) for hit in hits if hit.key in rows]


def _match(key: str, learning: Learning, hit: Hit) -> quality.Match:
    return quality.Match(
        key=key,
        relevance=hit.score,
        texts={
            "pattern": learning.pattern,
            "applies_to": " ".join(learning.applies_to),
            "context": learning.context,
            "type": learning.kind,
        },
        quality=learning.quality,
        is_verified=learning.is_verified,
    )


def _present(learning: Learning, ranked: quality.Ranked) -> LearningHit:
    fields: dict[str, Any] = {
        name: getattr(ranked, name) for name in ("score", "relevance", "place", "quality", "fields")
    }
    return LearningHit(learning=learning, **fields)


_SCOPE: Final = "coverage:"
_CATEGORY: Final = "coverage"
TEST_HEALTH: Final = "test_health"
"""The kind of the records of runs of the tests."""
_TREND: Final = 20


class Surveys(Verbs):
    """Verbs for what was looked through and how the tests stand."""

    def cover(self, coverage: Coverage) -> Covered:
        """Note that a file was looked through; what was noted before is replaced.

        Raises PathOutside, NotFound for the item, InvalidInput if issues were found and none is named.
        """
        if coverage.status == "has_issues" and not coverage.item:
            raise InvalidInput(
                "the file has issues, but no ticket is named", hint="Make one and name it."
            )
        path = self._context.ports.evidence.contain(self._context.caller.root, coverage.path)
        scope = f"{_SCOPE}{coverage.concept}"
        value: dict[str, Json] = {
            name: content
            for name, content in asdict(coverage).items()
            if content and name not in {"path", "concept"}
        }
        with recording(self._context, "coverage.recorded") as change:
            change.open_session()
            if coverage.item:
                change.get(Item, coverage.item)
            before = change.find(StateEntry, scope, path)
            entry = StateEntry(
                project=self._context.project,
                scope=scope,
                name=path,
                value=Prose(canonical.dump_any(value)),
                version=before.version + 1 if before else 1,
                agent=self._context.caller.actor.name,
                updated_at=change.now,
                category=_CATEGORY,
                description=Prose(""),
            )
            change.put(entry)
            change.add_facts(path=path, concept=coverage.concept, status=coverage.status)
            was = _covered(before).coverage.status if before else ""
            return Covered(
                coverage=_covered(entry).coverage,
                agent=entry.agent,
                at=entry.updated_at,
                before=was,
            )

    def coverage(self, concept: str, after: str = "", limit: int = 50) -> list[Covered]:
        """Return which files were looked through with a question in mind, by path, beyond a path."""
        beyond = (after,) if after else ()
        with self._context.reading() as view:
            rows = view.select(
                StateEntry, scope=f"{_SCOPE}{concept}", order="name", after=beyond, limit=limit
            )
        return [_covered(row) for row in rows]

    def tested(self, run: TestRun, item: str = "") -> tuple[Record, TestTrend]:
        """Note how a run of the tests came out; answer the record and the trend with it; NotFound."""
        details = {name: value for name, value in asdict(run).items() if value not in {None, ""}}
        note = Note(
            kind=TEST_HEALTH,
            item=item,
            body=f"{run.tests} tests",
            details=details,
        )
        record = Journal(self._context).append(note)
        return record, self.trend()

    def trend(self, item: str = "") -> TestTrend:
        """Return how the tests have moved over the last runs, of one item if it is named."""
        only = {"item": item} if item else {}
        with self._context.reading() as view:
            rows = view.select(Record, kind=TEST_HEALTH, order="number desc", limit=_TREND, **only)
        runs = tuple(test_run(row) for row in reversed(rows))
        last = runs[-1] if runs else TestRun(tests=0)
        before = runs[-2] if len(runs) > 1 else last
        first = runs[0] if runs else last
        return TestTrend(
            runs=runs,
            since_last=last.tests - before.tests,
            since_first=last.tests - first.tests,
            slower_ms=_difference(last.milliseconds, before.milliseconds),
        )

    def covered(self, concept: str, path: str) -> Covered | None:
        """Return what was noted last of a file for a concept, if anything was."""
        with self._context.reading() as view:
            entry = view.find(StateEntry, f"{_SCOPE}{concept}", path)
        return _covered(entry) if entry is not None else None


def _difference(last: int | None, before: int | None) -> int | None:
    return None if last is None or before is None else last - before


def _covered(entry: StateEntry) -> Covered:
    stored: dict[str, Any] = {"status": "covered", **load_object(entry.value)}
    coverage = Coverage(path=entry.name, concept=entry.scope.removeprefix(_SCOPE), **stored)
    return Covered(coverage=coverage, agent=entry.agent, at=entry.updated_at)


def test_run(record: Record) -> TestRun:
    """Return the run of the tests that a record is of."""
    details: dict[str, Any] = {"tests": 0, **load_object(record.details)}
    return TestRun(**details)
