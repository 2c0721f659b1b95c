"""What was looked through, and how the tests stand."""

from __future__ import annotations

from counterpoint.core.model.journal import StateEntry
from counterpoint.dialects.symphony.nouns import Coverage, IssueDraft, TestRun
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.dialects.symphony.verbs.learnings import Surveys


def covers(path="src/a.py", concept="errors", status="covered", **more):
    """Describe a coverage."""
    return Coverage(path=path, concept=concept, status=status, **more)


def test_a_file_has_one_answer_for_each_question(ada, bob):
    """The latest; what it was before is told."""
    issue = ada.use(Issues).open(IssueDraft(title="Leak")).id
    first = ada.use(Surveys).cover(covers())
    assert (first.before, first.agent) == ("", "ada")
    second = bob.use(Surveys).cover(
        covers(path="./src/a.py", status="has_issues", item=issue, notes="n")
    )
    assert (second.before, second.coverage.path) == ("covered", "src/a.py")
    ada.use(Surveys).cover(covers(concept="types"))
    ada.use(Surveys).cover(covers(path="src/b.py", run="r1"))
    one, two = ada.use(Surveys).coverage("errors")
    assert (one.coverage.item, one.coverage.notes, one.agent) == (issue, "n", "bob")
    assert (two.coverage.path, two.coverage.run) == ("src/b.py", "r1")
    assert [c.coverage.path for c in ada.use(Surveys).coverage("errors", "src/a.py", 1)] == [
        "src/b.py"
    ]


def test_a_redacted_coverage_keeps_its_place(ada, person):
    """What was said of it is gone."""
    ada.use(Surveys).cover(covers(notes="too much"))
    person.erasing.of_row(StateEntry, "coverage:errors", "src/a.py", reason="private")
    (left,) = ada.use(Surveys).coverage("errors")
    assert (left.coverage.path, left.coverage.notes) == ("src/a.py", "")


def test_the_trend_of_the_tests_is_told(ada):
    """In numbers: since the last run, since the first, and slower by how much."""
    assert ada.use(Surveys).trend().runs == ()
    issue = ada.use(Issues).open(IssueDraft(title="Leak")).id
    record, trend = ada.use(Surveys).tested(TestRun(tests=100, milliseconds=500))
    assert (record.kind, trend.since_last, trend.since_first) == ("test_health", 0, 0)
    ada.use(Surveys).tested(TestRun(tests=110, added=10, removed=0, files=1, run="r"), issue)
    _, trend = ada.use(Surveys).tested(TestRun(tests=105, milliseconds=900))
    assert [run.tests for run in trend.runs] == [100, 110, 105]
    assert trend.runs[1] == TestRun(tests=110, added=10, removed=0, files=1, run="r")
    assert (trend.since_last, trend.since_first, trend.slower_ms) == (-5, 5, None)
    _, trend = ada.use(Surveys).tested(TestRun(tests=105, milliseconds=1000))
    assert trend.slower_ms == 100
    assert [run.tests for run in ada.use(Surveys).trend(issue).runs] == [110]
