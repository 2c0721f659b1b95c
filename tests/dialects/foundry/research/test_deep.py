"""Deep research over MCP: begun, worked on act by act, told, stopped, gone on with and deleted."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.core.model.models import ModelUse
from counterpoint.dialects.foundry.models.research import ResearchStep, ResearchStudy
from counterpoint.dialects.foundry.research.board import Board
from counterpoint.dialects.foundry.research.deep import Advancing
from counterpoint.evidence.running.configuration import read_checking
from fakes.deep_world import DeepWorld
from fakes.paged import Sent
from fakes.scripted_models import Failing

TURNS = 200


@pytest.fixture
def world(workshop: Workshop) -> Iterator[DeepWorld]:
    """Answer what the project asks, as a person trusted it."""
    workshop.app.is_open = False
    with DeepWorld() as world:
        world.configure(workshop.root)
        workshop.app.itself().projects.trust(read_checking(workshop.root), "")
        yield world


@pytest.fixture
def kay(world: DeepWorld, workshop: Workshop) -> Agent:
    """Answer an agent in it."""
    assert world
    return workshop.agent("kay", surface="foundry")


def told(agent: Agent, action: str, **more: Any) -> Any:
    """Answer the data of a call that succeeds."""
    return agent.does("research", action=action, **more)["data"]


def refused(agent: Agent, action: str, **more: Any) -> str:
    """Answer the code of a refusal."""
    return agent.is_refused("research", action=action, **more)["data"]["error_code"]


def started(agent: Agent, **more: Any) -> str:
    """Begin one; answer its id."""
    return told(agent, "deep-research", **({"query": "Is it so?", "max_iterations": 1} | more))[
        "research_id"
    ]


def work(workshop: Workshop, name: str, turns: int = TURNS) -> int:
    """Work on one, act by act, as a server does; answer how many acts there were."""
    for turn in range(turns):
        if not workshop.app.itself().use(Advancing).advance(name):
            return turn + 1
    return turns


def rows(workshop: Workshop, noun: Any) -> list[Any]:
    """Answer what is kept."""
    with workshop.app.store.reading(workshop.app.project) as view:
        return view.select(noun)


def test_a_study_goes_from_its_question_to_a_report_with_sources(
    kay: Agent, workshop: Workshop, world: DeepWorld
) -> None:
    """Each step is kept, and what was invented in the report is taken out and told."""
    begun = told(kay, "deep-research", query="Is it so?", max_iterations=1, max_sub_queries=2)
    name = begun["research_id"]
    assert begun == {
        "research_id": name,
        "status": "started",
        "effective_timeout": 600,
        "message": "It goes on in the background.",
        "polling_guidance": {
            "max_checks": 5,
            "typical_duration_minutes": 5,
            "require_user_communication": True,
            "no_independent_research": True,
        },
        "phase": "clarification",
    }
    assert name.startswith("deepres-")
    assert refused(kay, "deep-research-report", research_id=name) == "NOT_FOUND"
    assert work(workshop, name) == 9
    status = told(kay, "deep-research-status", research_id=name)
    assert (status["phase"], status["is_complete"], status["iteration"]) == ("completed", True, 1)
    assert (status["sub_queries_total"], status["source_count"]) == (2, 6)
    assert (status["finding_count"], status["gap_count"]) == (6, 1)
    assert status["total_tokens_used"] == 4 * 15
    assert world.paid == {"brief": 1, "plan": 1, "search": 2, "findings": 1, "report": 1}
    report = told(kay, "deep-research-report", research_id=name)
    first, second = world.pages.url("/11"), world.pages.url("/12")
    assert report["report"].splitlines() == [
        "# Report",
        "",
        "It is so [1]. It is otherwise [2]. See .",
        "",
        "## Sources",
        "",
        f"[1] Page 11 — {first}",
        f"[2] Page 12 — {second}",
        "",
        "Removed, for nothing of it was ever read: https://invented.example/x, [77].",
    ]
    assert sorted(world.pages.asked[:3]) == ["/11", "/12", "/13"]
    listed = told(kay, "deep-research-list")
    assert (listed["count"], listed["sessions"][0]["id"]) == (1, name)
    assert told(kay, "deep-research-list", completed_only=True)["count"] == 1
    steps = told(kay, "thread-get", thread_id=name)["messages"]
    assert steps[0]["role"] == "brief"


def test_what_a_report_lacks_is_looked_for_in_the_next_round(
    kay: Agent, workshop: Workshop, world: DeepWorld
) -> None:
    """As many rounds as it may have, and none more once it is enough."""
    answers = iter(
        [
            {"enough": False, "queries": ["query 1", "query 7"], "gaps": ["x"]},
            {"enough": True, "queries": ["query 8"]},
        ]
    )
    world.said["judgement"] = lambda _: json.dumps(next(answers))
    name = started(kay, max_iterations=5)
    work(workshop, name)
    status = told(kay, "deep-research-status", research_id=name)
    assert (status["iteration"], status["sub_queries_total"], status["is_complete"]) == (2, 3, True)
    assert world.searches.asked == ["query 1", "query 2", "query 7"]
    assert (world.paid["report"], world.paid["judgement"]) == (2, 2)


def test_one_that_fails_says_why_and_is_resumed_where_it_was(
    kay: Agent, workshop: Workshop, world: DeepWorld
) -> None:
    """Nothing that was paid for is paid for again."""
    world.said["report"] = Failing(401, "no more credit")
    name = started(kay)
    work(workshop, name)
    status = told(kay, "deep-research-status", research_id=name)
    assert (status["is_failed"], status["phase"]) == (True, "synthesis")
    assert "no more credit" in status["failure_error"]
    assert "resume" in status["next_action"]
    world.said.clear()
    assert refused(kay, "deep-research", deep_research_action="resume") == "VALIDATION_ERROR"
    told(kay, "deep-research", deep_research_action="resume", research_id=name)
    work(workshop, name)
    assert told(kay, "deep-research-status", research_id=name)["is_complete"]
    assert world.paid == {"brief": 1, "plan": 1, "search": 2, "findings": 1, "report": 2}
    again = {"deep_research_action": "resume", "research_id": name}
    assert refused(kay, "deep-research", **again) == "CONFLICT"


def test_one_that_is_completed_looks_further(
    kay: Agent, workshop: Workshop, world: DeepWorld
) -> None:
    """For what the caller says, or what a model finds missing."""
    name = started(kay)
    work(workshop, name)
    more = {"deep_research_action": "continue", "research_id": name, "max_iterations": 1}
    told(kay, "deep-research", **more, query="query 5")
    work(workshop, name)
    status = told(kay, "deep-research-status", research_id=name)
    assert (status["iteration"], status["source_count"], status["is_complete"]) == (2, 9, True)
    assert world.paid["judgement"] == 0
    told(kay, "deep-research", **more)
    work(workshop, name)
    assert world.paid["judgement"] == 1


def test_a_search_or_a_page_that_fails_is_told_and_not_the_end(
    kay: Agent, workshop: Workshop, world: DeepWorld
) -> None:
    """A page without words is no source; if nothing at all is found, that is said."""
    world.pages.pages["/11"] = Sent("x", status=404)
    world.pages.pages["/12"] = Sent("<p>no</p>")
    world.found = lambda query: Failing(403) if query == "query 2" else world.results(query)
    name = started(kay)
    work(workshop, name)
    status = told(kay, "deep-research-status", research_id=name)
    assert (status["is_complete"], status["source_count"], status["unread_count"]) == (True, 1, 2)
    assert status["failed_sub_queries"][0]["query"] == "query 2"
    assert (status["sub_queries_completed"], status["sub_queries_failed"]) == (1, 1)
    world.pages.pages.clear()
    name = started(kay)
    work(workshop, name)
    status = told(kay, "deep-research-status", research_id=name)
    assert "nothing was found that could be read" in status["failure_error"]
    world.found = lambda _: Failing(403)
    name = started(kay)
    work(workshop, name)
    assert "403" in told(kay, "deep-research-status", research_id=name)["failure_error"]


def test_without_fetching_what_searches_say_is_read_and_told_as_that(
    kay: Agent, workshop: Workshop, world: DeepWorld
) -> None:
    long = "A search told this much of the page, and nobody has fetched it."
    world.found = lambda query: [one | {"content": long} for one in world.results(query)]
    name = started(kay, follow_links=False)
    work(workshop, name)
    assert world.pages.asked == []
    report = told(kay, "deep-research-report", research_id=name)["report"]
    assert f"[1] Result 1 — {world.pages.url('/11')} (not fetched: as a search told it)" in report


def test_one_that_is_cancelled_is_left_and_keeps_what_it_has(
    kay: Agent, workshop: Workshop, world: DeepWorld
) -> None:
    """An answer that comes after that is paid for, and no step of it."""
    name = started(kay)
    work(workshop, name, 2)
    cancel = {"deep_research_action": "cancel", "research_id": name}

    def meanwhile(deed: str) -> None:
        if deed == "search" and not world.paid["search"]:
            world.before = lambda _: None
            told(kay, "deep-research", **cancel)

    world.before = meanwhile
    work(workshop, name)
    status = told(kay, "deep-research-status", research_id=name)
    assert (status["cancelled"], status["sub_queries_completed"]) == (True, 0)
    assert refused(kay, "deep-research", **cancel) == "CONFLICT"
    assert work(workshop, name) == 1
    told(kay, "deep-research", deep_research_action="resume", research_id=name)
    work(workshop, name)
    assert told(kay, "deep-research-status", research_id=name)["is_complete"]


def test_one_that_is_deleted_is_gone_with_all_of_it(
    kay: Agent, workshop: Workshop, world: DeepWorld
) -> None:
    """Also where it is worked on at that moment: what was paid for stays as a use."""
    name = started(kay)
    work(workshop, name, 2)
    warned: list[str] = []

    def meanwhile(deed: str) -> None:
        if deed == "search":
            found = kay.does("research", action="deep-research-delete", research_id=name)
            warned.extend(found["meta"]["warnings"])

    world.before = meanwhile
    assert work(workshop, name, 1) == 1
    world.before = lambda _: None
    assert work(workshop, name) == 1
    assert (rows(workshop, ResearchStudy), rows(workshop, ResearchStep)) == ([], [])
    assert "`counterpoint audit redact --text FILE --reason TEXT`" in warned[0]
    assert len(rows(workshop, ModelUse)) == 3
    for action in ("status", "report", "delete"):
        assert refused(kay, f"deep-research-{action}", research_id=name) == "NOT_FOUND"
    assert told(kay, "deep-research-list")["count"] == 0


@pytest.mark.parametrize("kind", ["brief", "plan", "search", "page", "findings"])
def test_a_step_that_a_person_took_away_leaves_the_rest_to_be_read(
    kind: str, kay: Agent, workshop: Workshop, world: DeepWorld
) -> None:
    """Neither the list nor another research stops at a word that is gone, and one that goes on does so with what is left."""
    name, other = started(kay), started(kay)
    done = 5 if kind == "page" else {"brief": 1, "plan": 2, "search": 3}.get(kind, TURNS)
    work(workshop, name, done)
    gone = [one for one in rows(workshop, ResearchStep) if one.kind == kind]
    for one in gone:
        workshop.app.person().erasing.of_row(ResearchStep, one.study, one.number, reason="private")
    assert gone
    work(workshop, name)
    work(workshop, other)
    assert told(kay, "deep-research-list")["count"] == 2
    # Without a plan there is nothing that could be looked for.
    for one, failed in ((name, kind == "plan"), (other, False)):
        assert told(kay, "deep-research-status", research_id=one)["is_failed"] is failed
    assert told(kay, "deep-research-report", research_id=other)["report"]
    told(kay, "thread-get", thread_id=name)


def test_time_and_money_are_limits(kay: Agent, workshop: Workshop, world: DeepWorld) -> None:
    """Who is out of time is told so, and has as much again when it is resumed."""
    name = started(kay, task_timeout=10)
    world.before = lambda _: workshop.clock.pass_by(seconds=11)
    work(workshop, name)
    status = told(kay, "deep-research-status", research_id=name)
    assert (status["timed_out"], status["is_failed"]) == (True, True)
    assert world.paid == {"brief": 1}
    world.before = lambda _: None
    told(kay, "deep-research", deep_research_action="resume", research_id=name)
    work(workshop, name)
    assert told(kay, "deep-research-status", research_id=name)["is_complete"]
    path = workshop.root / "counterpoint.toml"
    dear = path.read_text().replace("[web]\n", "[web]\nresearch_usd = 0.003\n", 1)
    path.write_text(dear + "usd_per_thousand = 2\n")
    workshop.app.itself().projects.trust(read_checking(workshop.root), "")
    name = started(kay)
    work(workshop, name)
    status = told(kay, "deep-research-status", research_id=name)
    assert (status["cost_micros"], status["sub_queries_failed"]) == (2_000, 1)


@pytest.mark.parametrize("at_once", [1, 3])
def test_pages_are_fetched_at_once_as_many_as_it_was_begun_with(
    kay: Agent, workshop: Workshop, world: DeepWorld, at_once: int
) -> None:
    """Their numbers are those of the search, whichever comes first."""
    lock, under_way, most = threading.Lock(), [0], [0]
    together = threading.Barrier(at_once)

    def page(number: int) -> Sent:
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        together.wait(20)
        with lock:
            under_way[0] -= 1
        return Sent(f"<h1>Page {number}</h1><p>What page {number} says of it at some length.</p>")

    for number in (11, 12, 13):
        world.pages.pages[f"/{number}"] = partial(page, number)
    world.queries = 1
    name = started(kay, max_concurrent=at_once)
    work(workshop, name)
    assert told(kay, "deep-research-status", research_id=name)["source_count"] == 3
    assert most == [at_once]
    steps = [json.loads(one.details) for one in rows(workshop, ResearchStep) if one.kind == "page"]
    assert [(one["number"], one["url"]) for one in steps] == [
        (number, world.pages.url(f"/{10 + number}")) for number in (1, 2, 3)
    ]


def test_what_one_was_begun_with_can_be_read_back(
    kay: Agent, workshop: Workshop, world: DeepWorld
) -> None:
    """Under the names of its parameters."""
    said = {
        "provider_id": "local",
        "system_prompt": "Be quick.",
        "max_sub_queries": 2,
        "max_sources_per_query": 4,
        "follow_links": False,
        "task_timeout": 99,
        "timeout_per_operation": 7,
        "max_concurrent": 2,
        "research_mode": "technical",
    }
    name = started(kay, **said)
    assert told(kay, "deep-research-status", research_id=name)["settings"] == said
    for wrong in ({"research_mode": "odd"}, {"max_concurrent": 0}, {"timeout_per_operation": 0}):
        answer = kay.is_refused("research", action="deep-research", query="?", **wrong)
        assert answer["data"]["error_type"] == "validation"


@pytest.mark.parametrize(
    ("mode", "first"),
    [("general", 1), ("academic", 2), ("technical", 3)],
)
def test_the_mode_says_whose_pages_are_read_first(
    kay: Agent, workshop: Workshop, world: DeepWorld, mode: str, first: int
) -> None:
    """Otherwise they stand as the search has them."""
    places = ("https://news.example/a", "https://arxiv.org/abs/1", "https://docs.python.org/3/")
    world.found = lambda _: [
        {"url": url, "title": url, "content": f"What is said of it at {url}, at some length."}
        for url in places
    ]
    world.queries = 1
    name = started(kay, research_mode=mode, follow_links=False, max_sources_per_query=1)
    work(workshop, name)
    report = told(kay, "deep-research-report", research_id=name)["report"]
    assert f"[1] {places[first - 1]} —" in report


def test_nothing_is_begun_that_nobody_could_answer(ada: Agent) -> None:
    """Without models or without searches it says so, and invents nothing."""
    for more in ({}, {"provider_id": "openai"}):
        code = refused(ada, "deep-research", query="Is it so?", **more)
        assert code in {"AI_NO_PROVIDER", "UNAVAILABLE"}
    assert told(ada, "deep-research-list")["count"] == 0
    assert refused(ada, "deep-research") == "VALIDATION_ERROR"
    assert refused(ada, "deep-research", query=" ") == "VALIDATION_ERROR"


def test_one_caller_has_so_many_and_no_more(kay: Agent, workshop: Workshop) -> None:
    """Another one still begins his."""
    names = [started(kay) for _ in range(5)]
    assert refused(kay, "deep-research", query="One more?") == "RATE_LIMITED"
    other = workshop.agent("bob", surface="foundry")
    assert started(other)
    told(kay, "deep-research", deep_research_action="cancel", research_id=names[0])
    assert started(kay)


def test_a_study_of_a_process_that_lives_is_left_to_it(kay: Agent, workshop: Workshop) -> None:
    """Of one that has ended it is taken up."""
    name = started(kay)
    work(workshop, name, 1)
    with workshop.app.store.reading(workshop.app.project) as view:
        row = view.find(ResearchStudy, name)
    assert row is not None
    assert row.runner == workshop.app.host.name
    assert workshop.app.itself().use(Advancing).waiting() == [(name, "cn_kay")]


def test_a_node_of_that_type_is_researched_in_the_background(
    kay: Agent, workshop: Workshop, world: DeepWorld, root: str
) -> None:
    """It names the study, and is recorded when that has come to something."""
    assert root
    spec = "export-2026-01-02-001"
    metadata = {"research_type": "deep-research"}
    node = kay.does(
        "task",
        action="add",
        spec_id=spec,
        parent="phase-1",
        title="Is it so?",
        task_type="research",
        **metadata,
    )["data"]["task_id"]
    named = {"spec_id": spec, "research_node_id": node}
    done = told(kay, "node-execute", **named)
    assert (done["status"], done["research_type"]) == ("in_progress", "deep-research")
    assert done["session_id"] == done["research_id"]
    work(workshop, done["research_id"])
    assert told(kay, "deep-research-status", research_id=done["research_id"])["is_complete"]
    assert {one.item for one in rows(workshop, ModelUse)} == {rows(workshop, ResearchStudy)[0].item}
    told(kay, "node-record", **named, result="completed", session_id=done["research_id"])
    assert world.paid["report"] == 1


def test_turns_go_round_callers_and_their_studies() -> None:
    """Who has many slows his own; one that was stopped does not wait again."""
    board = Board()
    for number in range(3):
        board.add(("p", f"a{number}"), "ann")
    board.add(("p", "b0"), "bob")
    board.add(("p", "b0"), "bob")
    seen: list[str] = []
    for _ in range(6):
        key = board.take(0)
        assert key is not None
        seen.append(key[1])
        board.put_back(key, goes_on=True)
    assert seen == ["a0", "b0", "a1", "b0", "a2", "b0"]
    board.stop(("p", "b0"))
    assert board.is_stopped(("p", "b0"))
    taken = [board.take(0) for _ in range(4)]
    for key in taken:
        board.put_back(key or ("", ""), goes_on=key != ("p", "a0"))
    left = [board.take(0) for _ in range(3)]
    assert {one for one in left if one} == {("p", "a1"), ("p", "a2")}
