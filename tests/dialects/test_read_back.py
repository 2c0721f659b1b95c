"""Whatever a tool takes is shown whole, in pages, by a tool of the same dialect: a table over tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from builders import Agent, Workshop

LONG = ('He said "no":\t{"a": [1, null]}\n\u00e9\u4e16\U0001f600 \\ ' * 500)[:12_000]
REPORT = LONG[:5_000]
LINE = LONG.replace("\n", " ").replace("\t", " ")[:400]
HIDDEN = "\u202e\u200b\x7f\ufeff"
"""What is shown as such in a text, and by escapes where a text is a document of JSON."""
VALUE = {"said": LONG[:3_000] + HIDDEN, "list": [1, None, "\u4e16"], HIDDEN: HIDDEN}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How something is read back: a tool, its arguments, and where its cursor stands."""

    tool: str
    arguments: dict[str, Any]


SAME = {"id", "note", "key", "category", "updated_at", "updated_by"}
"""What each page tells again."""
Case = Callable[[Agent], tuple[Reading, list[Any]]]
"""Writes with a tool; answers how it is read back, and what must be there."""


def pages(agent: Agent, asked: Reading) -> Iterator[dict[str, Any]]:
    """Answer every page of an answer, also those of its single parts."""
    waiting: list[str] = [""]
    while waiting:
        cursor = waiting.pop(0)
        page = agent.does(asked.tool, **asked.arguments, **({"cursor": cursor} if cursor else {}))
        page = page["data"] if "ok" in page else page
        yield page
        waiting += [page["next_cursor"]] if page.get("next_cursor") else []
        waiting += list(page.get("more", {}).values())


def whole(agent: Agent, asked: Reading) -> dict[str, Any]:
    """Answer the parts of a thing, each put together from its pages."""
    found: dict[str, Any] = {}
    for page in pages(agent, asked):
        for name, content in page.items():
            is_more = name in found and isinstance(content, str | list) and name not in SAME
            found[name] = found[name] + content if is_more else content
    return found


def holds(found: Any, wanted: Any) -> bool:
    """Tell whether a value stands somewhere, as itself or as the text of its JSON."""
    if found == wanted:
        return True
    if isinstance(found, str) and found[:1] in '[{"' and found[-1:] in ']}"':
        return json.loads(found) == wanted
    if isinstance(found, dict):
        return any(holds(one, wanted) for one in found.values())
    return isinstance(found, list) and any(holds(one, wanted) for one in found)


# ── native ──


def note(agent: Agent) -> tuple[Reading, list[Any]]:
    made = agent.does("note", kind="finding", text=LONG)
    return Reading(tool="show", arguments={"id": made["record"]["id"]}), [LONG]


def task_of(agent: Agent) -> tuple[str, int]:
    made = agent.does(
        "plan",
        tree={
            "kind": "plan",
            "title": "P",
            "items": [{"kind": "task", "title": "T", "description": LONG}],
        },
    )
    item = f"{made['root'].rpartition('-')[0]}-2"
    return item, agent.does("start", id=item)["claim"]["token"]


def plan(agent: Agent) -> tuple[Reading, list[Any]]:
    item, _ = task_of(agent)
    return Reading(tool="show", arguments={"id": item}), [LONG]


def finish(agent: Agent) -> tuple[Reading, list[Any]]:
    item, token = task_of(agent)
    said = {"achievements": [LINE] * 9, "limitations": [LINE + "."], "next_steps": [LINE + "!"]}
    agent.does("finish", id=item, token=token, outcome="done", summary=REPORT, **said)
    (ended,) = agent.does("show", id=item, include=["outcomes"])["outcomes"]
    return Reading(tool="show", arguments={"id": ended["id"]}), [REPORT, *said.values()]


def submit(agent: Agent) -> tuple[Reading, list[Any]]:
    item, token = task_of(agent)
    made = agent.does("submit", id=item, token=token, summary=REPORT)
    return Reading(tool="show", arguments={"id": made["submission"]}), [REPORT]


def review(agent: Agent) -> tuple[Reading, list[Any]]:
    root = agent.does("plan", tree={"kind": "task", "title": "T", "approval": True})["root"]
    made = agent.does("review", id=root, verdict="reject", reason=REPORT, fixes=[LINE] * 20)
    return Reading(tool="show", arguments={"id": made["verdict"]}), [REPORT, [LINE] * 20]


def handoff(agent: Agent) -> tuple[Reading, list[Any]]:
    said = {"next_steps": [LINE] * 9, "blockers": [LINE + "."], "context": LONG[:11_000]}
    made = agent.does("handoff", action="pause", summary=REPORT, **said)
    return Reading(tool="show", arguments={"id": made["handoff"]["id"]}), [REPORT, *said.values()]


def waive(agent: Agent) -> tuple[Reading, list[Any]]:
    root = agent.does("plan", tree={"kind": "task", "title": "T", "verify": [["false"]]})["root"]
    agent.does("edit", id=root, waive=["check-1"], reason=LONG[:1_900])
    return Reading(tool="show", arguments={"id": root}), [LONG[:1_900]]


# ── workflow ──


def flow(agent: Agent) -> dict[str, str]:
    made = agent.does("start_workflow", name="F", objective=LONG, scope=LONG[:5_000])
    flow = made["workflow_id"]
    phase = agent.does("start_phase", workflow_id=flow, number=1, name="P", description=LONG)
    asked = {"workflow_id": flow, "phase_id": phase["phase_id"], "caller_type": "orchestrator"}
    task = agent.does("start_task", **asked, name="T", goal=LONG)["task_id"]
    return {"flow": flow, "phase": phase["phase_id"], "task": task}


def read(name: str) -> Reading:
    return Reading(tool="get_context", arguments={"workflow_id": name, "include": []})


def start_workflow(agent: Agent) -> tuple[Reading, list[Any]]:
    return read(flow(agent)["flow"]), [LONG, LONG[:5_000]]


def start_phase(agent: Agent) -> tuple[Reading, list[Any]]:
    return read(flow(agent)["phase"]), [LONG]


def start_task(agent: Agent) -> tuple[Reading, list[Any]]:
    return read(flow(agent)["task"]), [LONG]


def complete_task(agent: Agent) -> tuple[Reading, list[Any]]:
    task = flow(agent)["task"]
    outcome = {"summary": LONG, "achievements": [LINE] * 9, "limitations": [LINE + "."]}
    agent.does("complete_task", task_id=task, status="success", outcome=outcome)
    return read(task), [*outcome.values()]


def complete_phase(agent: Agent) -> tuple[Reading, list[Any]]:
    phase = flow(agent)["phase"]
    agent.does("complete_phase", phase_id=phase, status="failed", summary=LONG)
    return read(phase), [LONG]


def log_decision(agent: Agent) -> tuple[Reading, list[Any]]:
    said = {"question": LONG[:3_000], "chosen": LONG[:2_000], "reasoning": LONG}
    made = agent.does("log_decision", task_id=flow(agent)["task"], category="other", **said)
    return read(made["decision_id"]), [*said.values()]


def log_issue(agent: Agent) -> tuple[Reading, list[Any]]:
    said = {"description": LONG, "resolution": LONG[:9_000]}
    made = agent.does("log_issue", task_id=flow(agent)["task"], type="other", **said)
    return read(made["issue_id"]), [*said.values()]


def log_milestone(agent: Agent) -> tuple[Reading, list[Any]]:
    said = {"message": LINE, "metadata": VALUE}
    made = agent.does("log_milestone", task_id=flow(agent)["task"], **said)
    return read(made["milestone_id"]), [*said.values()]


# ── agentic ──


def login(agent: Agent) -> None:
    phases = [
        {"name": "Build", "description": LONG, "tasks": [{"name": "Code", "description": LONG}]}
    ]
    asked = {"title": "Login", "slug": "login", "description": LONG, "context": VALUE}
    agent.does("plan_create", **asked, phases=phases)


def place(name: str) -> Reading:
    return Reading(tool="plan_get", arguments={"slug": name})


def plan_create(agent: Agent) -> tuple[Reading, list[Any]]:
    login(agent)
    return place("login/"), [LONG, VALUE]


def phase_of_plan(agent: Agent) -> tuple[Reading, list[Any]]:
    login(agent)
    return place("login/1"), [LONG]


def task_of_plan(agent: Agent) -> tuple[Reading, list[Any]]:
    login(agent)
    step = {"plan_slug": "login", "phase_order": 1, "task_identifier": 0}
    agent.does("task_update", **step, notes=LONG[:9_000])
    return place("login/1/0"), [LONG, LONG[:9_000]]


def phase_add_checkpoint(agent: Agent) -> tuple[Reading, list[Any]]:
    login(agent)
    asked = {"plan_slug": "login", "phase_order": 1, "note": LONG, "context": VALUE}
    made = agent.does("phase_add_checkpoint", **asked)
    return place(made["checkpoint"]["id"]), [LONG, VALUE]


def session_log(agent: Agent) -> tuple[Reading, list[Any]]:
    session = agent.does("session_start", agent_type="opus")["session"]["session_id"]
    made = agent.does("session_log", session_id=session, message=LONG, data=VALUE)
    return place(made["entry"]["id"]), [LONG, VALUE]


def session_handoff(agent: Agent) -> tuple[Reading, list[Any]]:
    session = agent.does("session_start", agent_type="opus")["session"]["session_id"]
    said = {"summary": LONG, "next_steps": [LINE] * 9, "context_for_next": VALUE}
    told = agent.does("session_handoff", session_id=session, **said)
    return place(told["handoff_context"]["whole"]), [*said.values()]


def state_set(agent: Agent) -> tuple[Reading, list[Any]]:
    login(agent)
    agent.does("state_set", plan_slug="login", key="k", value=LONG)
    return Reading(tool="state_get", arguments={"plan_slug": "login", "key": "k"}), [LONG]


# ── colibri ──


def thought_record(agent: Agent) -> tuple[Reading, list[Any]]:
    task = agent.does("task_create", title="T")["data"]["id"]
    said = {"task_id": task, "type": "plan", "agent_id": "a", "content": LONG}
    made = agent.does("thought_record", **said)["data"]["id"]
    return Reading(tool="thought_record_list", arguments={"task_id": made}), [LONG]


CASES: dict[str, tuple[Case, ...]] = {
    "native": (note, plan, finish, submit, review, handoff, waive),
    "workflow": (
        *(start_workflow, start_phase, start_task, complete_task, complete_phase),
        *(log_decision, log_issue, log_milestone),
    ),
    "agentic": (
        *(plan_create, phase_of_plan, task_of_plan),
        *(phase_add_checkpoint, session_log, session_handoff, state_set),
    ),
    "colibri": (thought_record,),
}


@pytest.mark.parametrize(
    ("surface", "case"),
    [
        pytest.param(surface, case, id=f"{surface}-{case.__name__}")
        for surface, cases in CASES.items()
        for case in cases
    ],
)
def test_what_was_accepted_is_read_back_whole(workshop: Workshop, surface: str, case: Case) -> None:
    """Quotes, tabs, new lines, other scripts and JSON come back as they were given."""
    agent = workshop.agent("ada", surface=surface)
    asked, wanted = case(agent)
    found = whole(agent, asked)
    for one in wanted:
        assert holds(found, one), (one, found)
