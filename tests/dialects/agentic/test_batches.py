"""Batches of texts: estimated, written side by side, gone on with after whatever broke off."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.kernel.errors import CircuitOpen
from fakes.scripted_models import Failing, Line, ModelServer, ScriptedModels, answer_with, provider


def brief(agent: Agent, title: str, **more: Any) -> str:
    """Answer the id of a brief of the batch `docs`."""
    asked = {"title": title, "content_type": "blog_post", "batch_id": "docs", **more}
    return agent.does("content_brief_create", **asked)["brief"]["id"]


def refusing(title: str) -> Callable[[dict[str, Any]], Line]:
    """Answer a line that refuses what is asked about a title."""

    def line(request: dict[str, Any]) -> Line:
        return Failing(401) if title in request["messages"][-1]["content"] else "fine"

    return line


def test_a_batch_is_written_and_told_item_by_item(opus: Agent, models: ModelServer) -> None:
    """The most urgent first; one whose time has not come waits; called again, nothing is asked."""
    first, second = brief(opus, "One"), brief(opus, "Two", priority=90)
    later = brief(opus, "Three", scheduled_for="2027-01-01T00:00:00Z")
    answer = opus.does("content_batch_generate", batch_id="docs", provider="local")
    assert [(one["id"], one["status"]) for one in answer["articles"]] == [
        *((second, "generated"), (first, "generated")),
    ]
    assert (answer["generated"], answer["failed"], answer["remaining"]) == (2, 0, 0)
    assert len(models.questions) == 4
    told = opus.does("content_status", batch_id="docs")
    assert [(one["id"], one["status"]) for one in told["articles"]] == [
        *((second, "review"), (first, "review"), (later, "pending")),
    ]
    assert (told["total"], told["remaining"]) == (3, 1)
    again = opus.does("content_batch_generate", batch_id="docs")
    assert (again["articles"], again["skipped"], again["total_cost"]) == ([], 2, 0)
    assert len(models.questions) == 4
    assert opus.does("content_brief_get", id=first)["brief"]["content"] == "forty-two"


@pytest.mark.parametrize("models", [(refusing("Two"),)], indirect=True)
def test_one_that_fails_does_not_stop_the_others(opus: Agent, models: ModelServer) -> None:
    """What went wrong is told with its code; the next call tries it again, and it alone."""
    names = [brief(opus, title) for title in ("One", "Two", "Three")]
    answer = opus.does("content_batch_generate", batch_id="docs", mode="draft")
    told = {one["id"]: one for one in answer["articles"]}
    assert [told[one]["status"] for one in names] == ["generated", "failed", "generated"]
    assert told[names[1]]["code"] == "service_unavailable"
    assert "401" in told[names[1]]["error"]
    assert (answer["generated"], answer["failed"], answer["remaining"]) == (2, 1, 1)
    assert "Call again" in answer["next"]
    (row,) = [
        one
        for one in opus.does("content_status", batch_id="docs")["articles"]
        if one["id"] == names[1]
    ]
    assert (row["status"], row["failures"]) == ("failed", 1)
    models.script = ["fine"]
    again = opus.does("content_batch_generate", batch_id="docs")
    assert [one["id"] for one in again["articles"]] == [names[1]]
    assert again["skipped"] == 2
    assert len(models.questions) == 4


def test_a_dry_run_says_what_it_costs_and_asks_nobody(opus: Agent, workshop: Workshop) -> None:
    """At most, for each and in all; nothing is written. Without a price it says that it does not know."""
    names = [brief(opus, title) for title in ("One", "Two")]
    dear = provider("openai", model="gpt-6-luna", is_free=False)
    models = ScriptedModels(there=(dear,))
    answer_with(workshop.app, models)
    size = opus.ledger_size
    answer = opus.does("content_batch_generate", batch_id="docs", dry_run=True)
    assert answer["would_generate"] == 2
    one = answer["articles"][0]
    assert (one["status"], one["provider"], one["model"], one["stages"]) == (
        *("would_generate", "openai", "gpt-6-luna", 2),
    )
    # Two answers of 4,096 tokens at most at 0.75 dollars a million, and one such draft in a question at 0.20.
    assert 0.0069 < one["cost_at_most"] < 0.0075
    assert answer["cost_at_most"] == pytest.approx(2 * one["cost_at_most"], rel=0.01)
    unknown = opus.does(
        "content_batch_generate", batch_id="docs", dry_run=True, config={"model": "nobody-1"}
    )
    assert unknown["cost_at_most"] is None
    assert (models.asked, opus.ledger_size) == ([], size)
    assert opus.does("content_brief_get", id=names[0])["brief"]["status"] == "pending"


def test_the_limit_of_costs_holds_and_the_rest_waits(opus: Agent, workshop: Workshop) -> None:
    """Who cannot be paid is not asked: the briefs wait, with the reason."""
    name = brief(opus, "One")
    dear = provider("openai", model="gpt-5.5-pro", is_free=False)
    models = answer_with(workshop.app, ScriptedModels(there=(dear,)))
    answer = opus.does("content_batch_generate", batch_id="docs", config={"max_tokens": 100_000})
    (one,) = answer["articles"]
    assert (one["status"], one["code"]) == ("waiting", "rate_limited")
    assert (answer["waiting"], answer["remaining"]) == (1, 1)
    kept = opus.does("content_brief_get", id=name)["brief"]
    assert kept["status"] == "queued"
    assert "limit of a day" in kept["error_message"]
    assert models.asked == []


def test_a_provider_that_is_left_alone_is_not_asked(opus: Agent, workshop: Workshop) -> None:
    """The breaker before it opened: the briefs wait and have not failed."""
    name = brief(opus, "One")
    answer_with(workshop.app, ScriptedModels([CircuitOpen("left alone", retry_after=60)]))
    answer = opus.does("content_batch_generate", batch_id="docs")
    assert (answer["articles"][0]["status"], answer["articles"][0]["code"]) == (
        *("waiting", "service_unavailable"),
    )
    assert opus.does("content_brief_get", id=name)["brief"]["status"] == "queued"


class Crowd:
    """Answers when as many ask at once as may, and counts how many did."""

    def __init__(self, most: int) -> None:
        """Wait for so many."""
        self.together = threading.Barrier(most)
        self.there = 0
        self.seen = 0
        self.lock = threading.Lock()

    def __call__(self, _request: dict[str, Any]) -> Line:
        """Answer when the others have come."""
        with self.lock:
            self.there += 1
            self.seen = max(self.seen, self.there)
        self.together.wait(20)
        with self.lock:
            self.there -= 1
        return "fine"


def test_so_many_are_written_at_once_and_no_more(opus: Agent, models: ModelServer) -> None:
    """Each is asked in a thread of its own, within the bound."""
    for number in range(6):
        brief(opus, f"T{number}")
    crowd = Crowd(2)
    models.script = [crowd]
    answer = opus.does("content_batch_generate", batch_id="docs", concurrency=2, mode="draft")
    assert (answer["generated"], crowd.seen) == (6, 2)


def test_a_batch_under_its_key_answers_again(opus: Agent, models: ModelServer) -> None:
    """Nobody is asked a second time, also for what failed then."""
    brief(opus, "One")
    asked = {"batch_id": "docs", "idempotency_key": "b1", "mode": "draft"}
    first = opus.does("content_batch_generate", **asked)
    brief(opus, "Two")
    assert opus.does("content_batch_generate", **asked) == first
    assert len(models.questions) == 1


def test_a_brief_that_another_call_writes_is_left_to_it(
    opus: Agent, haiku: Agent, models: ModelServer
) -> None:
    """Two calls at once pay once; who comes second is told to wait."""
    name = brief(opus, "One")
    told: list[dict[str, Any]] = []

    def line(_request: dict[str, Any]) -> Line:
        if not told:
            told.append({})
            asked = {"brief_id": name, "mode": "draft", "idempotency_key": "x"}
            told[0] = haiku.call("content_generate", asked).answer
            told.append(haiku.does("content_batch_generate", batch_id="docs"))
        return "fine"

    models.script = [line]
    assert opus.does("content_generate", brief_id=name, mode="draft")["content"] == "fine"
    assert told[0]["error"].startswith(f"another call is writing {name}")
    assert told[1]["articles"][0]["status"] == "waiting"
    assert len(models.questions) == 1


def test_texts_about_a_plan_are_a_batch(opus: Agent, models: ModelServer, plan: str) -> None:
    """One for each open task of its open phases, a few in a call; the next call goes on with the others."""
    opus.does("plan_update_status", slug=plan, status="active")
    opus.does("task_update", plan_slug=plan, phase_order=1, task_identifier=0, status="completed")
    first = opus.does("content_from_plan", plan_slug=plan, limit=3)
    assert (first["batch_id"], first["generated"]) == ("login-help_article", 3)
    said = models.questions[0]["messages"][-1]["content"]
    assert '"plan":{"title":"Login"}' in said
    assert '"phase":{"description":"Draw it","title":"Design"}' in said or "Build" in said
    told = opus.does("content_status", batch_id=first["batch_id"])
    assert [one["title"] for one in told["articles"]] == ["Review", "Code", "Test"]
    second = opus.does("content_from_plan", plan_slug=plan)
    assert [one["slug"] for one in second["articles"]] == ["ship"]
    assert opus.does("content_from_plan", plan_slug=plan)["articles"] == []
    assert len(models.questions) == 8
    shown = opus.does("content_brief_get", id="ship")["brief"]
    assert (shown["plan"], shown["content"]) == (plan, "forty-two")


@pytest.mark.parametrize("models", [(Failing(401), "fine")], indirect=True)
def test_texts_about_a_plan_go_on_where_they_failed(
    opus: Agent, models: ModelServer, plan: str
) -> None:
    """What failed is tried first; no task gets a second brief."""
    first = opus.does("content_from_plan", plan_slug=plan, limit=1)
    assert first["failed"] == 1
    second = opus.does("content_from_plan", plan_slug=plan, limit=1)
    assert [one["slug"] for one in second["articles"]] == [one["slug"] for one in first["articles"]]
    assert second["generated"] == 1
    assert len(models.questions) == 3


FILE = """**Priority:** high
### Article 1: How to moor
```yaml
SLUG: how-to-moor
OUTLINE: With ropes
```
### Article 2: How to row
```yaml
SLUG: how-to-row
```
"""


def beside(workshop: Workshop, text: str, name: str = "batch-harbour") -> None:
    """Put the file of a batch into the project."""
    folder = workshop.root / ".counterpoint" / "batches"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.md").write_text(text)


def test_a_file_of_the_project_is_a_batch(
    opus: Agent, workshop: Workshop, models: ModelServer
) -> None:
    """A dry run writes nothing; each article becomes one brief, and one that comes later is taken in later."""
    beside(workshop, FILE)
    size = opus.ledger_size
    asked = {"batch_id": "batch-harbour", "mode": "draft"}
    dry = opus.does("content_batch_generate", **asked, dry_run=True)
    assert [(one["slug"], "id" in one) for one in dry["articles"]] == [
        *(("how-to-moor", False), ("how-to-row", False)),
    ]
    assert opus.ledger_size == size
    made = opus.does("content_batch_generate", **asked)
    assert [(one["slug"], one["status"]) for one in made["articles"]] == [
        *(("how-to-moor", "generated"), ("how-to-row", "generated")),
    ]
    # They are written side by side, so either may be asked for first.
    said = [one["messages"][-1]["content"] for one in models.questions]
    assert ["With ropes" in words for words in said].count(True) == 1
    beside(workshop, FILE + "### Article 3: How to sail\n```yaml\nSLUG: how-to-sail\n```\n")
    dry = opus.does("content_batch_generate", **asked, dry_run=True)
    assert [one["slug"] for one in dry["articles"]] == ["how-to-sail"]
    again = opus.does("content_batch_generate", **asked)
    assert ([one["slug"] for one in again["articles"]], again["skipped"]) == (["how-to-sail"], 2)
    told = opus.does("content_status", batch_id="batch-harbour")
    assert (told["total"], told["remaining"]) == (3, 0)
    assert opus.does("content_brief_get", id="how-to-moor")["brief"]["priority"] == 80


def test_articles_that_were_edited_after_their_briefs_were_made_are_named(
    opus: Agent, workshop: Workshop, models: ModelServer
) -> None:
    """Texts are written of the briefs; nobody is to believe that they are of the file as it is now."""
    beside(workshop, FILE.replace("With ropes", "token=ghp_abcdefghijklmnopqrstuvwxyz0123456789"))
    asked = {"batch_id": "batch-harbour", "mode": "draft"}
    made = opus.does("content_batch_generate", **asked, limit=1)
    assert (made["remaining"], "edited" in made) == (1, False)
    beside(workshop, FILE.replace("SLUG: how-to-row", "SLUG: how-to-row\nOUTLINE: Oars"))
    for more in ({"dry_run": True}, {}):
        told = opus.does("content_batch_generate", **asked, **more)
        assert told["edited"] == ["how-to-moor", "how-to-row"]
        assert "another SLUG" in told["warning"]
    assert "Oars" not in models.questions[-1]["messages"][-1]["content"]


def test_a_file_that_cannot_be_read_makes_nothing(
    opus: Agent, workshop: Workshop, models: ModelServer
) -> None:
    """It is named with what is wrong; names that lead elsewhere are those of no file."""
    beside(workshop, FILE.replace("SLUG: how-to-row", "TITLE: x"))
    size = opus.ledger_size
    fault = opus.is_refused("content_batch_generate", batch_id="batch-harbour")
    assert "line 7: it has no SLUG" in fault["error"]
    (workshop.root / ".counterpoint" / "batches" / "bytes.md").write_bytes(b"\xff\xfe")
    assert "UTF-8" in opus.is_refused("content_batch_generate", batch_id="bytes")["error"]
    assert opus.is_refused("content_batch_generate", batch_id="../x")["code"] == "not_found"
    assert opus.ledger_size == size
    assert models.questions == []


def test_a_slug_that_is_taken_is_refused_before_anything_is_made(
    opus: Agent, workshop: Workshop, models: ModelServer
) -> None:
    """All of a file is taken in, or nothing; a dry run says so too."""
    opus.does("content_brief_create", title="T", content_type="blog_post", slug="how-to-row")
    beside(workshop, FILE)
    for more in ({}, {"dry_run": True}):
        fault = opus.is_refused("content_batch_generate", batch_id="batch-harbour", **more)
        assert "other briefs have the slugs how-to-row" in fault["error"]
    assert opus.is_refused("content_brief_get", id="how-to-moor")["code"] == "not_found"
    assert models.questions == []
