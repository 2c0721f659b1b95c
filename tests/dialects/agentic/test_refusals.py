"""Refusals of the agentic surface: five codes, and nothing of other projects."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.core.ports.circuits import Breaker
from counterpoint.dialects.agentic.envelope import code_of, refuse
from counterpoint.dialects.agentic.rules.precedence import ToolOrder, read_table
from counterpoint.dialects.call import Call
from counterpoint.dialects.registry import surface
from counterpoint.kernel import errors
from counterpoint.kernel.errors import CounterpointError, StoreBusy
from fakes.failing import FailingStore

CODES = {
    "validation_error",
    "not_found",
    "permission_denied",
    "rate_limited",
    "service_unavailable",
}
SECRET = b"a secret of the tests"
TOOLS = {tool.name: tool for tool in surface("agentic").tools}
FOREIGN: dict[str, dict[str, Any]] = {
    "plan_get": {"slug": "{plan}"},
    "plan_update_status": {"slug": "{plan}", "status": "active"},
    "plan_archive": {"slug": "{plan}"},
    "phase_get": {"plan_slug": "{plan}", "phase_order": 1},
    "phase_update_status": {"plan_slug": "{plan}", "phase_order": 1, "status": "skipped"},
    "phase_add_checkpoint": {"plan_slug": "{plan}", "phase_order": 1, "note": "n"},
    "session_start": {"agent_type": "opus", "plan_slug": "{plan}"},
    "session_end": {"session_id": "{session}", "status": "completed"},
    "session_log": {"session_id": "{session}", "message": "m"},
    "session_handoff": {"session_id": "{session}", "summary": "s"},
    "session_resume": {"session_id": "{session}"},
    "session_replay": {"session_id": "{session}"},
    "session_continue": {"session_id": "{session}"},
    "session_artifact": {"session_id": "{session}", "path": "a", "action": "created"},
    "session_list": {"plan_slug": "{plan}"},
    "state_set": {"plan_slug": "{plan}", "key": "k", "value": 1},
    "state_get": {"plan_slug": "{plan}", "key": "k"},
    "state_list": {"plan_slug": "{plan}"},
    "task_update": {"plan_slug": "{plan}", "phase_order": 1, "task_identifier": 0, "notes": "n"},
    "task_toggle": {"plan_slug": "{plan}", "phase_order": 1, "task_identifier": 0},
    "template_preview": {"slug": "{template}"},
    "template_create_plan": {"template_slug": "{template}"},
    "content_brief_create": {
        "title": "T",
        "content_type": "blog_post",
        "plan_slug": "{plan}",
    },
    "content_brief_get": {"id": "{brief}"},
    "content_from_plan": {"plan_slug": "{plan}"},
}
"""A call of each tool that names something."""
OWN: dict[str, str] = {
    "plan_list": "plans",
    "content_brief_list": "briefs",
    "session_list": "sessions",
}
"""The tools that list, with the list that another project has nothing in."""
NAMELESS = {"plan_create", "template_list", "content_generate", "content_batch_generate"} | {
    "content_status",
    "content_usage_stats",
}
"""The tools that name nothing that belongs to somebody."""


def every_error() -> list[type[CounterpointError]]:
    """Answer every class of the tree of errors."""
    found = [one for one in vars(errors).values() if isinstance(one, type)]
    return [one for one in found if issubclass(one, CounterpointError)]


@pytest.mark.parametrize("error", every_error(), ids=lambda error: error.__name__)
def test_every_error_has_one_of_the_five_codes(error: type[CounterpointError]) -> None:
    """And the shape is always the same."""
    answer = refuse(error())
    assert set(answer) == {"error", "code", "details"}
    assert answer["code"] == code_of(error()) in CODES
    assert answer["details"]["hint"]


def test_an_error_that_is_too_large_keeps_its_words() -> None:
    """The details that do not fit are left out."""
    answer = refuse(errors.InvalidInput("no", faults=["f" * 500] * 100))
    assert set(answer["details"]) == {"kind", "hint", "retryable"}


def _filled(asked: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {
        key: value.format(**names) if isinstance(value, str) else value
        for key, value in asked.items()
    }


def test_every_tool_is_walked() -> None:
    """A tool that is added is asked about other projects too."""
    assert FOREIGN.keys() | OWN.keys() | NAMELESS == TOOLS.keys()


def test_nothing_of_another_project_is_there(workshop: Workshop, opus: Agent, plan: str) -> None:
    """Whatever is named is refused as if it were not there, in the same words."""
    session = opus.does("session_start", agent_type="opus", plan_slug=plan)["session"]["session_id"]
    opus.does("state_set", plan_slug=plan, key="k", value=1)
    made = opus.does("content_brief_create", title="B", content_type="blog_post")
    theirs = {"plan": plan, "session": session, "brief": made["brief"]["id"], "template": "none"}
    nobodys = {"plan": "nothing", "session": "ses_none", "brief": "none", "template": "none"}
    other = workshop.agent("opus", surface="agentic", app=workshop.project("other"))
    for tool, asked in FOREIGN.items():
        first = other.is_refused(tool, **_filled(asked, theirs))
        second = other.is_refused(tool, **_filled(asked, nobodys))
        assert first["code"] == second["code"] == "not_found", tool
        for name, value in theirs.items():
            first["error"] = first["error"].replace(value, "it")
            second["error"] = second["error"].replace(nobodys[name], "it")
        assert first == second, tool


@pytest.mark.parametrize("tool", sorted(OWN))
def test_lists_show_nothing_of_another_project(
    workshop: Workshop, opus: Agent, session: str, tool: str
) -> None:
    opus.does("content_brief_create", title="B", content_type="blog_post")
    assert opus.does(tool)[OWN[tool]] != []
    other = workshop.agent("opus", surface="agentic", app=workshop.project("other"))
    assert other.does(tool)[OWN[tool]] == []
    assert set(other.does("content_status")["briefs"].values()) == {0}


def test_the_same_slug_is_free_in_another_project(workshop: Workshop, plan: str) -> None:
    other = workshop.agent("opus", surface="agentic", app=workshop.project("other"))
    assert other.does("plan_create", title="L", slug=plan)["plan"]["slug"] == plan


def test_a_store_that_fails_opens_the_breaker(workshop: Workshop, opus: Agent, plan: str) -> None:
    """From then on nobody asks it; faults of callers never count."""
    app = workshop.app
    failing = FailingStore(app.store)
    app.store = failing
    app.__dict__.pop("ports", None)
    spoken = surface("agentic")

    def ask(slug: str) -> Any:
        call = Call(core=app.core(opus.identity, guarded=True), secret=lambda: SECRET)
        return spoken.invoke(call, "plan_get", {"slug": slug})

    for _ in range(9):
        assert ask("nothing").answer["code"] == "not_found"
    assert not ask(plan).is_error
    failing.fault = StoreBusy
    for _ in range(5):
        assert ask(plan).answer["code"] == "service_unavailable"
    asked = failing.asked
    refused = ask(plan).answer
    assert (refused["code"], refused["details"]["kind"]) == ("service_unavailable", "circuit_open")
    assert failing.asked == asked
    assert refused["details"]["retry_after"] > 0


def test_the_breaker_recovers_by_one_trial(workshop: Workshop, opus: Agent, plan: str) -> None:
    """After a minute one call is let through: it opens the breaker again, or closes it for all."""
    app = workshop.app
    failing = FailingStore(app.store)
    at = [0.0]
    app.store, app.breaker = failing, Breaker(seconds=lambda: at[0])
    app.__dict__.pop("ports", None)
    spoken = surface("agentic")

    def ask(slug: str = plan) -> dict[str, Any]:
        call = Call(core=app.core(opus.identity, guarded=True), secret=lambda: SECRET)
        return spoken.invoke(call, "plan_get", {"slug": slug}).answer

    assert ask()["success"] is True
    failing.fault = StoreBusy
    for _ in range(5):
        assert ask()["details"]["kind"] == "store_busy"
    assert ask()["details"]["kind"] == "circuit_open"
    at[0] += 60
    asked = failing.asked
    assert ask()["details"]["kind"] == "store_busy"
    assert failing.asked == asked + 1
    assert ask()["details"]["kind"] == "circuit_open"
    assert failing.asked == asked + 1
    failing.fault = None
    assert ask()["details"]["kind"] == "circuit_open"
    at[0] += 60
    assert app.breaker.circuit().state == "half_open"
    # That nothing has this name is an answer of the database, so the trial went well.
    assert ask("nothing")["code"] == "not_found"
    assert app.breaker.circuit().state == "closed"
    assert ask()["success"] is True


ORDER = """
session_log:
  - tool_called: session_start, session_resume
task_update:
  - tool_called: session_start
  - entity_exists: plan
    argument: plan_slug
    made_by: plan_create
"""


def test_tools_come_in_the_order_of_the_table(
    workshop: Workshop, opus: Agent, haiku: Agent
) -> None:
    """What is missing is told with the calls that make it up; a session carries what was called in it."""
    app = workshop.app
    app.__dict__["ports"] = _ordered(app)
    task = {"plan_slug": "p", "phase_order": 1, "task_identifier": 0, "notes": "n"}
    refusal = opus.is_refused("task_update", **task)
    assert refusal["code"] == "validation_error"
    assert refusal["details"]["suggested_order"] == ["session_start", "plan_create", "task_update"]
    opus.does("plan_create", title="P", slug="p", phases=[{"tasks": ["a"]}])
    session = opus.does("session_start", agent_type="opus")["session"]["session_id"]
    opus.does("task_update", **task)
    opus.does("session_log", message="m")
    opus.does("session_handoff", summary="s")
    refusal = haiku.is_refused("session_log", message="m")
    assert refusal["details"]["missing"][0]["names"] == ["session_start", "session_resume"]
    haiku.does("session_resume", session_id=session)
    haiku.does("session_log", session_id=session, message="m")


def _ordered(app: Any, order: str = ORDER) -> Any:
    from dataclasses import replace

    asked = {ToolOrder: ToolOrder(table=read_table(order, TOOLS))}
    kept = app.ports.extras()
    return replace(app.ports, extras=lambda: {**kept, **asked})


@pytest.mark.parametrize(
    ("kind", "name"),
    [("plan", "{plan}"), ("session", "{session}"), ("brief", "b"), ("template", "bug-fix")],
)
def test_what_a_table_can_ask_for_is_found(
    workshop: Workshop, opus: Agent, session: str, kind: str, name: str
) -> None:
    """Plans, sessions, briefs and templates, by the names that agents use."""
    opus.does("content_brief_create", title="b", content_type="blog_post")
    slugs = [entry["slug"] for entry in opus.does("template_list")["templates"]]
    name = slugs[0] if kind == "template" else name.format(plan="login", session=session)
    table = f"state_list:\n  - entity_exists: {kind}\n    argument: category\n"
    app = workshop.app
    app.__dict__["ports"] = _ordered(app, table)
    opus.does("state_list", plan_slug="login", category=name)
    refusal = opus.is_refused("state_list", plan_slug="login", category="nothing")
    assert refusal["details"]["missing"][0]["kind"] == "entity_exists"
