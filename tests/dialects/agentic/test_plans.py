"""The plan tools: create, get, list, update the status, archive."""

from __future__ import annotations

import re
from typing import Any

import orjson
import pytest

from builders import Agent, Workshop
from counterpoint.core.model.filters import ReadyFilter


def test_a_plan_is_answered_as_the_contract_says(opus: Agent) -> None:
    """A slug of chance that tells nothing of the title, a draft, the number of phases."""
    answer = opus.does("plan_create", title="My Plan", phases=[{"tasks": ["a"]}, {}, {"name": "Z"}])
    slug = answer["plan"]["slug"]
    assert re.fullmatch("plan-[a-z0-9]{6}", slug)
    assert answer == {
        "success": True,
        "plan": {"slug": slug, "title": "My Plan", "status": "draft", "phases": 3},
    }
    names = [phase["name"] for phase in opus.does("plan_get", slug=slug)["plan"]["phases"]]
    assert names == ["Phase 1", "Phase 2", "Z"]


def test_a_plan_is_shown_with_everything(opus: Agent, plan: str) -> None:
    """Progress counts phases, each phase counts its tasks."""
    answer = opus.does("plan_get", slug=plan)
    shown = answer["plan"]
    assert answer["success"] is True
    assert (shown["slug"], shown["title"], shown["status"]) == ("login", "Login", "draft")
    assert shown["progress"] == {
        "total": 2, "completed": 0, "in_progress": 0, "pending": 2, "blocked": 0, "skipped": 0,
        "percentage": 0,
    }  # fmt: skip
    first, second = shown["phases"]
    assert first["tasks"] == [
        {"index": 0, "name": "TemplatePart", "status": "pending"},
        {"index": 1, "name": "Review", "status": "pending"},
    ]
    assert (first["order"], first["description"], second["dependencies"]) == (1, "Draw it", [1])


def test_a_slug_is_taken_once(opus: Agent, plan: str) -> None:
    """The refusal names the field; another plan is not touched."""
    refusal = opus.is_refused("plan_create", title="Other", slug=plan)
    assert refusal["code"] == "validation_error"
    assert refusal["details"]["slug"] == plan


def test_context_comes_back(opus: Agent) -> None:
    """Any object, and the description."""
    context = {"repo": "x", "list": [1, None, {"deep": True}]}
    slug = opus.does("plan_create", title="A", description="About", context=context)["plan"]["slug"]
    shown = opus.does("plan_get", slug=slug)["plan"]
    assert (shown["context"], shown["description"]) == (context, "About")


def test_too_much_context_is_refused(opus: Agent) -> None:
    """What comes with a call is bounded."""
    refusal = opus.is_refused("plan_create", title="A", context={"x": "y" * 20_000})
    assert refusal["code"] == "validation_error"


@pytest.mark.parametrize("wrong", [{"title": ""}, {"title": "x" * 256}, {"slug": "a b"}, {"x": 1}])
def test_a_wrong_argument_is_a_validation_error(opus: Agent, wrong: dict[str, Any]) -> None:
    """Every fault is named in the details."""
    refusal = opus.is_refused("plan_create", **({"title": "A"} | wrong))
    assert refusal["code"] == "validation_error"
    assert refusal["details"]["faults"]


def test_a_dependency_on_no_phase_is_refused(opus: Agent) -> None:
    """By order or by name, all of them at once; a circle too."""
    phases = [{"name": "A", "dependencies": [3, "C"]}, {"name": "B", "dependencies": ["A"]}]
    refusal = opus.is_refused("plan_create", title="A", phases=phases)
    assert len(refusal["details"]["faults"]) == 2
    round_about = [{"name": "A", "dependencies": ["B"]}, {"name": "B", "dependencies": ["1"]}]
    assert opus.is_refused("plan_create", title="A", phases=round_about)["code"] == (
        "validation_error"
    )


def test_plans_are_listed_the_last_changed_first(opus: Agent, workshop: Workshop) -> None:
    """With a cursor; archived ones only when asked for."""
    for number in range(5):
        workshop.clock.pass_by(seconds=1)
        opus.does("plan_create", title=f"P{number}", slug=f"p{number}")
    workshop.clock.pass_by(seconds=1)
    opus.does("plan_update_status", slug="p1", status="active")
    opus.does("plan_archive", slug="p3", reason="old")
    first = opus.does("plan_list", limit=2)
    assert [one["slug"] for one in first["plans"]] == ["p1", "p4"]
    assert first["count"] == 2
    rest = opus.does("plan_list", limit=2, cursor=first["next_cursor"])
    assert [one["slug"] for one in rest["plans"]] == ["p2", "p0"]
    assert "next_cursor" not in rest
    assert [p["slug"] for p in opus.does("plan_list", status="archived")["plans"]] == ["p3"]
    assert [p["slug"] for p in opus.does("plan_list", status="active")["plans"]] == ["p1"]
    assert opus.does("plan_list", include_archived=True)["count"] == 5


@pytest.mark.parametrize("status", ["active", "paused", "completed", "archived", "draft"])
def test_a_plan_takes_every_status(opus: Agent, plan: str, status: str) -> None:
    """And comes back to be a draft; the same status again writes nothing."""
    answer = opus.does("plan_update_status", slug=plan, status=status)
    assert answer["plan"] == {"slug": plan, "status": status}
    size = opus.ledger_size
    opus.does("plan_update_status", slug=plan, status=status)
    assert opus.ledger_size == size
    assert opus.does("plan_update_status", plan_slug=plan, status="draft")["plan"]["status"] == (
        "draft"
    )


def test_a_completed_plan_names_what_it_skipped(opus: Agent, plan: str) -> None:
    """What was open in it is needed no more."""
    answer = opus.does("plan_update_status", slug=plan, status="completed")
    assert answer["skipped"] == [
        "Design",
        "TemplatePart",
        "Review",
        "Build",
        "Code",
        "Test",
        "Ship",
    ]
    assert opus.does("plan_get", slug=plan)["plan"]["progress"]["percentage"] == 100


def test_an_archived_plan_takes_nothing_up(opus: Agent, plan: str) -> None:
    """It keeps when and why; the same again changes nothing, another reason is refused; it can be brought back."""
    answer = opus.does("plan_archive", slug=plan, reason="no more")
    assert answer["plan"] == {
        "slug": plan,
        "status": "archived",
        "archived_at": opus.last_entry.time,
        "reason": "no more",
    }
    size = opus.ledger_size
    assert opus.does("plan_archive", slug=plan, reason="no more") == answer
    assert opus.does("plan_archive", slug=plan) == answer
    refused = opus.is_refused("plan_archive", slug=plan, reason="else")
    assert (refused["code"], refused["details"]["kind"]) == ("validation_error", "conflict")
    assert opus.ledger_size == size
    asked = {"plan_slug": plan, "phase_order": 1}
    assert opus.is_refused("phase_update_status", **asked, status="completed")["code"] == (
        "validation_error"
    )
    opus.is_refused("task_toggle", **asked, task_identifier=0)
    opus.does("plan_update_status", slug=plan, status="active")
    opus.does("task_toggle", **asked, task_identifier=0)


def test_a_plan_that_was_archived_without_a_reason_is_given_one(opus: Agent, plan: str) -> None:
    """What is accepted can be read back."""
    opus.does("plan_update_status", slug=plan, status="archived")
    at = opus.last_entry.time
    answer = opus.does("plan_archive", slug=plan, reason="no more")["plan"]
    assert (answer["archived_at"], answer["reason"]) == (at, "no more")
    shown = opus.does("plan_get", slug=plan)["plan"]["archived"]
    assert shown == {"at": at, "reason": "no more"}


def test_tasks_of_a_draft_are_not_offered(opus: Agent, ada: Agent, plan: str) -> None:
    """Natively nothing is ready before the plan is active; then the first phase is."""
    assert ada.core.items.find(plan) is not None
    assert ada.core.ready.offers(ReadyFilter(), 10) == []
    opus.does("plan_update_status", slug=plan, status="active")
    offers = ada.core.ready.offers(ReadyFilter(), 10)
    assert [offer.item.title for offer in offers] == ["TemplatePart", "Review"]


def test_a_large_plan_comes_in_pages(opus: Agent) -> None:
    """Each page is at most 10,000 bytes, and together they are everything, once."""
    phases = [
        {"name": f"Phase {p}", "tasks": [f"Task {p}.{t} " + "x" * 40 for t in range(120)]}
        for p in range(6)
    ]
    slug = opus.does("plan_create", title="Large", phases=phases)["plan"]["slug"]
    found: list[tuple[int, int]] = []
    asked: dict[str, Any] = {"slug": slug}
    for _ in range(30):
        reply = opus.call("plan_get", asked)
        assert len(reply.text.encode()) <= 10_000
        for phase in reply.answer["plan"]["phases"]:
            found += [(phase["order"], task["index"]) for task in phase["tasks"]]
        if "next_cursor" not in reply.answer:
            break
        asked["cursor"] = reply.answer["next_cursor"]
    assert found == [(p + 1, t) for p in range(6) for t in range(120)]
    assert orjson.loads(reply.text) == reply.answer


def test_a_plan_that_is_not_there_is_not_found(opus: Agent, ada: Agent) -> None:
    task = ada.does("plan", tree={"title": "T", "kind": "task"})["items"][0]["id"]
    for name in ("nothing", task):
        assert opus.is_refused("plan_get", slug=name)["code"] == "not_found"
        assert opus.is_refused("plan_archive", slug=name)["code"] == "not_found"


def test_a_plan_that_was_made_natively_is_known_by_its_id(opus: Agent, ada: Agent) -> None:
    """Both speak of the same work."""
    made = ada.does("plan", markdown="# P\n\n## One\n\n- [ ] a\n- [ ] b\n")
    root = made["items"][0]["id"]
    assert opus.does("plan_get", slug=root)["plan"]["slug"] == root
    asked = {"plan_slug": root, "phase_order": "One"}
    opus.does("task_update", **asked, task_identifier="a", status="completed")
    opus.does("task_update", **asked, task_identifier="b", status="completed")
    assert opus.does("plan_get", slug=root)["plan"]["status"] == "completed"


def test_no_answer_is_larger_than_a_page(opus: Agent, workshop: Workshop) -> None:
    """Whatever was written; and every page goes on behind the one before."""
    long = "x" * 19_000
    phases = [
        {
            "name": "n" * 300,
            "description": long,
            "tasks": [{"name": "t" * 300, "description": long}] * 30,
            "completion_criteria": ["c" * 900] * 40,
        }
    ] * 3
    opus.does(
        "plan_create", title="L" * 255, slug="p", description=long, context={"c": "y" * 15_000},
        phases=phases,
    )  # fmt: skip
    place = {"plan_slug": "p", "phase_order": 1}
    opus.does("phase_update_status", **place, status="blocked", reason=long)
    opus.does("task_update", **place, task_identifier=0, status="skipped", notes=long)
    opus.does("phase_add_checkpoint", **place, note=long, context={"c": "z" * 15_000})
    session = opus.does(
        "session_start", agent_type="opus", plan_slug="p", context={"c": long[:15_000]}
    )
    opus.does("session_log", message=long, type="decision", data={"d": "z" * 15_000})
    opus.does("session_log", message=long, type="checkpoint", data={"d": "z" * 15_000})
    opus.does("plan_archive", slug="p", reason=long)
    name = session["session"]["session_id"]
    opus.does(
        "session_handoff", summary=long, next_steps=["s" * 2_000] * 50, blockers=[long[:2_000]]
    )
    for tool, asked in {
        "plan_get": {"slug": "p"},
        "phase_get": place,
        "session_replay": {"session_id": name},
    }.items():
        seen: set[str] = set()
        more: dict[str, Any] = {}
        for _ in range(200):
            reply = opus.call(tool, asked | more)
            assert len(reply.text.encode()) <= 10_000
            if "next_cursor" not in reply.answer:
                break
            more = {"cursor": reply.answer["next_cursor"]}
            assert more["cursor"] not in seen
            seen.add(more["cursor"])
        assert "next_cursor" not in reply.answer, tool
    taken = workshop.agent("next", surface="agentic").call("session_resume", {"session_id": name})
    assert len(taken.text.encode()) <= 10_000


def test_a_plan_is_read_as_markdown(opus: Agent) -> None:
    """In pages, each task once, with how it stands; a cursor is good for one form."""
    names = [f"T{number} {'x' * 200}" for number in range(90)]
    phases = [{"name": "Design", "description": "Draw", "tasks": names}, {"name": "Build"}]
    opus.does("plan_create", title="Login", slug="login", context={"a": 1}, phases=phases)
    asked: dict[str, Any] = {"slug": "login", "format": "markdown"}
    opus.does("task_update", plan_slug="login", phase=1, task_index=0, status="completed")
    opus.does("task_update", plan_slug="login", phase=1, task_index=1, status="blocked", notes="no")
    texts: list[str] = []
    for _ in range(9):
        page = opus.call("plan_get", asked)
        assert len(page.text.encode()) <= 10_000
        texts.append(page.answer["markdown"])
        if "next_cursor" not in page.answer:
            break
        asked["cursor"] = page.answer["next_cursor"]
    text = "\n".join(texts)
    lines = text.splitlines()
    assert lines[:5] == ["# Login", "", "**Status:** active (0 %, 0 of 2 phases)", "", "## Context"]
    assert f"- [x] {names[0]}" in lines
    assert f"- [!] {names[1]}" in lines
    assert [line[6:] for line in lines if line.startswith("- [")] == names
    assert text.count("## 2. Build (pending)") == 1
    refusal = opus.is_refused("plan_get", slug="login", cursor=asked["cursor"])
    assert refusal["code"] == "validation_error"
