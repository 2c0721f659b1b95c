"""Surveys: which files were looked through and why, and how the tests moved.

Rule 1: a file and a concept have one answer in a project, the latest; the ledger keeps the earlier
ones. Rule 2: every run of the tests is a record; the trend is of the project's last ones.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import Record, StateEntry
from counterpoint.core.model.rows import Prose, load_object
from counterpoint.core.model.work import Item
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording
from counterpoint.dialects.symphony.nouns.learnings import Coverage, Covered, TestRun, TestTrend
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import InvalidInput

_SCOPE: Final = "coverage:"
_CATEGORY: Final = "coverage"
TEST_HEALTH: Final = "test_health"
"""The kind of the records of runs of the tests."""
_TREND: Final = 20


class Surveys:
    """Verbs for what was looked through and how the tests stand."""

    def __init__(self, context: Context) -> None:
        self._context = context

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
