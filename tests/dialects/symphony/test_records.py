"""Findings, learnings, coverage and test health through the tools."""

from __future__ import annotations

import pytest

from counterpoint.core.model.journal import Record
from counterpoint.dialects.symphony.verbs.learnings import Learnings, Surveys

PATTERN = "Nuxt auto-imports whatever lies in app/utils, so explicit imports fail there"
OTHER = "The database of the tests is opened in memory, never share it between workers"


def test_a_finding_is_appended_to_the_bound_issue(worker):
    """With its category, its files and the run; the ledger has it."""
    made = worker.does(
        "add_finding",
        category="test_result",
        summary="42 passed",
        details="All of them",
        files=["README.md"],
    )
    entry = worker.last_entry
    assert (entry.action, entry.subject, entry.facts["record"]) == (
        "finding.recorded", "demo-1", made["id"],
    )  # fmt: skip
    (found,) = worker.does("get_issue")["findings"]
    assert (found["files"], found["category"]) == (["README.md"], "test_result")
    short = worker.does("add_finding", category="gap", summary="Nothing more")
    assert "details" not in worker.does("get_issue")["findings"][1]
    assert short["category"] == "gap"


@pytest.mark.parametrize(
    "arguments",
    [
        {"category": "phase_completion", "summary": "x"},
        {"category": "phase_verdict", "summary": "x"},
        {"category": "bug", "summary": ""},
        {"category": "bug", "summary": "x" * 501},
        {"category": "bug", "summary": "x", "files": ["../x"]},
        {"category": "bug"},
    ],
)
def test_a_finding_that_cannot_be_is_refused(worker, arguments):
    """Claims and verdicts are made by their own tools."""
    assert worker.is_refused("add_finding", **arguments)["code"] == "VALIDATION_ERROR"


def test_a_finding_needs_an_issue(seat):
    """The refusal says how to start the server."""
    refusal = seat("sid", "scanner").is_refused("add_finding", category="bug", summary="x")
    assert "--issue-id" in refusal["error"]


def test_a_learning_passes_the_gates(worker):
    """At 50 and 100 characters; quality begins at 50."""
    made = worker.does(
        "add_learning",
        pattern="x" * 50,
        context="y" * 100,
        applies_to=["app/"],
        learning_type="gotcha",
    )
    assert made["quality_score"] == 50
    (told,) = worker.does("get_issue")["learnings"]
    assert (told["learning_type"], told["applies_to"], told["verified"]) == (
        "gotcha", ["app/"], False,
    )  # fmt: skip
    assert (told["pattern"], told["context"]) == ("x" * 50, "y" * 100)
    assert worker.core.audit.log(limit=1)[0].action == "learning.recorded"


@pytest.mark.parametrize(
    ("arguments", "length"),
    [({"pattern": "x" * 49}, "49"), ({"pattern": PATTERN, "context": "y" * 99}, "99")],
)
def test_a_learning_that_says_too_little_is_refused(worker, arguments, length):
    """The refusal says how long it is and must be."""
    refusal = worker.is_refused("add_learning", **arguments)
    assert (refusal["code"], length in refusal["error"]) == ("VALIDATION_ERROR", True)


def test_a_learning_is_said_once_of_an_issue(worker, seat, make):
    """Another issue may say it, and hears of the first."""
    first = worker.does("add_learning", pattern=PATTERN)
    refusal = worker.is_refused("add_learning", pattern=PATTERN.upper() + "!!")
    assert (refusal["code"], refusal["details"]["record"]) == ("CONFLICT", first["id"])
    other = seat("wes", "worker", make("Another"))
    made = other.does("add_learning", pattern=PATTERN)
    assert [one["id"] for one in made["near_duplicates"]] == [first["id"]]


def test_learnings_are_found_best_first(worker, workshop):
    """With the parts of the score; verified ones pass every threshold."""
    first = worker.does("add_learning", pattern=PATTERN)["id"]
    second = worker.does("add_learning", pattern=OTHER)["id"]
    found = worker.does("search_learnings", query="auto-import")
    (told,) = found["learnings"]
    assert (told["id"], told["issue"], told["score"]) == (first, "DEMO-001", 1.0)
    assert told["parts"] == {"bm25": 1.0, "field": 1.0, "quality": 1.0}
    workshop.app.person().use(Learnings).judge(first, score=10)
    names = [
        one["id"]
        for one in worker.does("search_learnings", query="importing tests", min_quality_score=40)[
            "learnings"
        ]
    ]
    assert names == [second]
    workshop.app.person().use(Learnings).judge(first, verified=True)
    both = worker.does("search_learnings", query="importing tests", min_quality_score=40)
    assert {one["id"] for one in both["learnings"]} == {first, second}


def test_a_learning_in_other_words_comes_behind_those_with_the_words(worker):
    """It has none of them, so only its quality counts; what means something else is not found."""
    meant = worker.does(
        "add_learning", pattern="Passwords are always hashed with bcrypt before they are stored."
    )["id"]
    worded = worker.does(
        "add_learning", pattern="Secret of the garden: walnut trees want much water in spring."
    )["id"]
    worker.does(
        "add_learning", pattern="The menu has cake with apples on Sundays, and tea with it."
    )
    found = worker.does("search_learnings", query="keep credentials secret")["learnings"]
    assert [one["id"] for one in found] == [worded, meant]
    assert found[1]["parts"] == {"bm25": 0.0, "field": 0.0, "quality": 1.0}
    assert (found[0]["parts"]["bm25"], found[1]["score"]) == (1.0, 0.2)


@pytest.mark.parametrize("query", ['"', "a OR (", "NEAR(x y", "x* AND -y", "col:x"])
def test_what_looks_like_syntax_is_only_words(worker, query):
    """No query is an error of the database."""
    reply = worker.call("search_learnings", {"query": query})
    assert "syntax" not in reply.text
    assert not reply.is_error or reply.answer["code"] == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    "arguments", [{"limit": 0}, {"limit": 101}, {"min_quality_score": 101}, {"query": "?!"}]
)
def test_a_search_beyond_its_limits_is_refused(worker, arguments):
    """Never silently cut."""
    refusal = worker.is_refused("search_learnings", **{"query": "x", **arguments})
    assert refusal["code"] == "VALIDATION_ERROR"


def test_other_projects_are_searched_in_place_of_this_one(worker, workshop, seat):
    """The present one is left out."""
    worker.does("add_learning", pattern=PATTERN)
    api = workshop.project("api")
    maker = seat("ann", "architect", app=api)
    issue = maker.does("create_issue", title="There")["id"]
    seat("abe", "worker", issue, app=api).does("add_learning", pattern=PATTERN)
    (told,) = worker.does("search_learnings", query="nuxt", cross_project=True)["learnings"]
    assert told["project"] == "api"
    (told,) = worker.does("search_learnings", query="nuxt")["learnings"]
    assert (told["issue"], "project" in told) == ("DEMO-001", False)


def test_many_learnings_fit_into_one_page(worker):
    """What does not fit comes on the next ones; a cursor belongs to its query."""
    for number in range(30):
        pattern = f"Learning{number} number{number} about hulls{number}: " + f"word{number} " * 60
        worker.does("add_learning", pattern=pattern)
    # A word that a search leaves out beside others is searched for if it is the only one.
    assert worker.does("search_learnings", query="about", limit=100)["total"] == 30
    found = worker.call("search_learnings", {"query": "learning", "limit": 100})
    assert len(found.text.encode()) <= 10_000
    seen = [one["id"] for one in found.answer["learnings"]]
    first = found.answer["next_cursor"]
    while cursor := found.answer.get("next_cursor", ""):
        more = {"query": "learning", "limit": 100, "cursor": cursor}
        found = worker.call("search_learnings", more)
        assert len(found.text.encode()) <= 10_000
        seen += [one["id"] for one in found.answer["learnings"]]
    assert len(seen) == len(set(seen)) == found.answer["total"] == 30
    other = worker.is_refused("search_learnings", query="about", limit=100, cursor=first)
    assert other["code"] == "VALIDATION_ERROR"


def test_coverage_has_one_answer_for_a_file_and_a_concept(seat, make):
    """The latest; a ticket is needed where there are issues."""
    ticket = make()
    scanner = seat("sid", "scanner")
    asked = {"file_path": "README.md", "concept": "error_handling"}
    assert scanner.does("record_coverage", **asked, status="covered")["status"] == "covered"
    assert scanner.last_entry.action == "coverage.recorded"
    again = scanner.does("record_coverage", **asked, status="has_issues", ticket_id=ticket)
    assert (again["previous_status"], again["ticket_id"]) == ("covered", "DEMO-001")
    assert len(scanner.core.use(Surveys).coverage("error_handling")) == 1
    for more, code in (
        ({"status": "has_issues"}, "VALIDATION_ERROR"),
        ({"status": "has_issues", "ticket_id": "DEMO-099"}, "NOT_FOUND"),
        ({"status": "seen"}, "VALIDATION_ERROR"),
        ({"status": "covered", "file_path": "../x"}, "VALIDATION_ERROR"),
        ({"status": "covered", "concept": " "}, "VALIDATION_ERROR"),
    ):
        assert scanner.is_refused("record_coverage", **{**asked, **more})["code"] == code


def test_the_health_of_tests_has_a_trend(worker):
    """In the answer, and with the issue."""
    worker.does("record_test_health", test_count=100, execution_time_ms=500)
    assert worker.last_entry.action == "test_health.recorded"
    told = worker.does(
        "record_test_health",
        test_count=110,
        tests_added=12,
        tests_removed=2,
        test_files_changed=3,
        execution_time_ms=650,
    )
    assert told["trend"] == {
        "counts": [100, 110], "since_last": 10, "since_first": 10, "slower_ms": 150,
    }  # fmt: skip
    health = worker.does("get_issue")["test_health"]
    assert (health["test_count"], health["change"]) == (110, 10)
    for wrong in (-1, 1.5, "many"):
        refusal = worker.is_refused("record_test_health", test_count=wrong)
        assert refusal["code"] == "VALIDATION_ERROR"


def test_a_finding_whose_details_were_redacted_is_still_listed(worker):
    """What is gone is gone; the rest of the record and of the issue is shown."""
    made = worker.does("add_finding", category="gap", summary="A name", details="Ada")
    worker.app.person().erasing.of_row(Record, made["id"], reason="private")
    (found,) = worker.does("get_issue")["findings"]
    assert found["id"] == made["id"]
    assert "Ada" not in str(found)
