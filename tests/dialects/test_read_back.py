"""Whatever a tool takes is shown whole, in pages, by a tool of the same dialect: a table over tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from readback import join_page

from builders import Agent, Workshop, commit
from counterpoint.dialects.registry import surface as offered_by
from fakes.errands import ERRANDS, Office
from fakes.marking import Marks, Scribe, writing

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


Case = Callable[[Agent], tuple[Reading, list[Any]]]
"""Writes with a tool; answers how it is read back, and what must be there."""


def pages(agent: Agent, asked: Reading) -> Iterator[dict[str, Any]]:
    """Answer every page of an answer, also those of its single parts."""
    waiting: list[str] = [""]
    while waiting:
        cursor = waiting.pop(0)
        page = agent.does(asked.tool, **asked.arguments, **({"cursor": cursor} if cursor else {}))
        paged = page.get("meta", {}).get("pagination", {}).get("cursor")
        page = page["data"] if {"ok", "meta"} & page.keys() else page
        yield page
        waiting += [one for one in (paged, page.get("next_cursor")) if one]
        waiting += list(page.get("more", {}).values())


def whole(agent: Agent, asked: Reading) -> dict[str, Any]:
    """Answer the parts of a thing, each put together from its pages."""
    found: dict[str, Any] = {}
    for number, page in enumerate(pages(agent, asked)):
        join_page(found, page, first=number == 0)
    return found


def holds(found: Any, wanted: Any) -> bool:
    """Tell whether a value stands somewhere, as itself or as the text of its JSON."""
    if found == wanted:
        return True
    if isinstance(found, str) and found[:1] in '[{"' and found[-1:] in ']}"':
        with suppress(ValueError):
            return holds(json.loads(found), wanted)
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


# ── foundry ──


def spec_of(agent: Agent, **given: Any) -> str:
    commit(agent.app.places.tree, "specs/.plans/it.md", "# It")
    paths = {"plan_path": ".plans/it.md", "plan_review_path": ".plans/it.md"}
    made = agent.does("authoring", action="spec-create", name="S", **paths, **given)
    return made["data"]["spec_id"]


def document(spec: str) -> Reading:
    return Reading(tool="spec", arguments={"action": "get", "spec_id": spec})


def head(agent: Agent) -> tuple[Reading, list[Any]]:
    spec = spec_of(agent, mission=LONG[:9_000])

    def does(action: str, **given: Any) -> None:
        agent.does("authoring", action=action, spec_id=spec, **given)

    does("spec-update-frontmatter", key="own", value=VALUE)
    does("spec-update-frontmatter", key="description", value=LONG[:9_001])
    does("assumption-add", text=LONG[:9_002], author=LINE[:200], assumption_type=LINE[:99])
    for action in ("constraint-add", "question-add", "success-criterion-add"):
        does(action, text=LONG[:9_003])
    does("risk-add", description=LONG[:9_004], mitigation=LONG[:9_005], likelihood="low")
    does("revision-add", version=LINE[:50], changes=LONG[:8_000], author=LINE[:180])
    lengths = (9_000, 9_001, 9_002, 9_003, 9_004, 9_005, 8_000)
    lines = [LINE[:length] for length in (200, 99, 50, 180)]
    return document(spec), [VALUE, *lines, *(LONG[:length] for length in lengths)]


def phases(agent: Agent) -> tuple[Reading, list[Any]]:
    spec = spec_of(agent)
    task = {"title": LINE, "description": LONG, "acceptance_criteria": [LONG[:990], LINE]}
    bulk = {"phase": {"title": LINE + "!", "description": LONG[:9_999], "purpose": LONG[:9_998]}}
    agent.does("authoring", action="phase-add-bulk", spec_id=spec, tasks=[task], **bulk)
    said = {"description": LONG + "a", "purpose": LONG + "b"}
    agent.does("authoring", action="phase-add", spec_id=spec, title=LINE + "?", **said)
    later = {"description": LONG + "c", "purpose": LONG + "d"}
    agent.does(
        "authoring", action="phase-update-metadata", spec_id=spec, phase_id="phase-2", **later
    )
    return document(spec), [*task.values(), *bulk["phase"].values(), LINE + "?", *later.values()]


def nodes(agent: Agent) -> tuple[Reading, list[Any]]:
    spec = spec_of(agent)
    agent.does("authoring", action="phase-add", spec_id=spec, title="P")
    said = {"title": LINE, "description": LONG, "query": LONG + "q"}
    asked = {"action": "add", "spec_id": spec, "parent": "phase-1", "task_type": "research"}
    made = agent.does("task", **asked, **said)["data"]["task_id"]
    one = {"spec_id": spec, "task_id": made}
    edit = {"description": LONG + "e", "status_note": LONG + "n", "custom_metadata": {"own": VALUE}}
    criteria = [LONG[:900], LINE]
    agent.does("task", action="update-metadata", **one, acceptance_criteria=criteria, **edit)
    need = {"requirement_type": "constraint", "text": LONG + "r"}
    agent.does("task", action="add-requirement", spec_id=spec, task_id="verify-1-2", **need)
    line = f"echo '{LONG[:3_000].replace(chr(39), '')}'"
    check = {"task_id": "verify-1-1", "command": line}
    agent.does("task", action="update-metadata", spec_id=spec, **check)
    batch = {"owners": [LINE[:90]], "labels": {"a": LINE[:91]}, "category": LINE[:92]}
    agent.does("task", action="metadata-batch", spec_id=spec, parent_filter="phase-1", **batch)
    wanted = [
        LONG + "e",
        LONG + "n",
        VALUE,
        criteria,
        need["text"],
        LINE,
        LONG + "q",
        line,
        *batch.values(),
    ]
    return document(spec), wanted


def work(agent: Agent) -> tuple[Reading, list[Any]]:
    spec = spec_of(agent)
    tasks = [{"title": name, "description": name} for name in ("A", "B")]
    bulk = {"phase": {"title": "P"}, "tasks": tasks}
    agent.does("authoring", action="phase-add-bulk", spec_id=spec, **bulk)

    def does(action: str, task: str, **given: Any) -> None:
        agent.does("task", action=action, spec_id=spec, task_id=task, **given)

    does("start", "task-1-1", note=LONG + "s")
    does("block", "task-1-1", reason=LONG + "b", ticket=LINE)
    does("unblock", "task-1-1", resolution=LONG + "u")
    does("update-status", "task-1-1", status="in_progress", note=LONG + "i")
    does("complete", "task-1-1", completion_note=LONG + "c")
    failed = {"task_id": "task-1-2", "success": False, "completion_note": LONG + "f"}
    agent.does("task", action="complete-batch", spec_id=spec, completions=[failed])
    found = {"output": LONG[:9_000], "issues": LONG[:3_000], "notes": LONG[:3_001]}
    found["command"] = LINE
    verify = {"spec_id": spec, "verify_id": "verify-1-1", "result": "PARTIAL"}
    agent.does("verification", action="add", **verify, **found)
    said = {"title": LINE + "j", "content": LONG + "j"}
    agent.does("journal", action="add", spec_id=spec, task_id="task-1-2", **said)
    ends = "sbuicf"
    return document(spec), [*(LONG + end for end in ends), *found.values(), *said.values()]


def replaced(agent: Agent) -> tuple[Reading, list[Any]]:
    spec = spec_of(agent)
    agent.does("authoring", action="phase-add", spec_id=spec, title="P", description="of this")
    given = {"find": "of this", "replace": LONG[:9_000], "scope": "descriptions"}
    agent.does("authoring", action="spec-find-replace", spec_id=spec, **given)
    return document(spec), [LONG[:9_000]]


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
    "foundry": (head, phases, nodes, work, replaced),
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


class Refusal(Exception):
    """A call that was refused."""


@dataclass(kw_only=True)
class Seat:
    """An agent as an errand calls it."""

    agent: Agent

    def call(self, tool: str, **given: Any) -> dict[str, Any]:
        """Call a tool; Refusal."""
        reply = self.agent.call(tool, given)
        if reply.is_error:
            raise Refusal(reply.text)
        return reply.answer


@dataclass(kw_only=True)
class Listener(Scribe):
    """Says a word of its own in every text, and reads after each call whether all of them are told."""

    reader: Agent
    lost: list[tuple[str, str]]

    def does(self, client: Any, tool: str, **given: Any) -> Any:
        """Call an action, and read everything."""
        before = set(self.marks.of)
        answer = Scribe.does(self, client, tool, **given)
        said = {word: at for word, at in self.marks.of.items() if word not in before}
        told = json.dumps([whole(self.reader, one) for one in self._readings()])
        self.lost += [
            at[1:] for word, at in said.items() if at[2] != ".idempotency_key" and word not in told
        ]
        return answer

    def _readings(self) -> Iterator[Reading]:
        yield Reading(tool="plan", arguments={"action": "list"})
        for one in self.reader.does("spec", action="list")["data"]["specs"]:
            yield document(one["spec_id"])
        runs = self.reader.does("task", action="session", command="list")["data"]["sessions"]
        for run in runs:
            told = {"action": "session-events", "session_id": run["session_id"]}
            yield Reading(tool="task", arguments=told)


def test_whatever_foundry_took_is_told_by_its_tools(workshop: Workshop) -> None:
    """Every text of every action that writes, right after the call: from what reads in the same dialect."""
    agents: dict[str, Seat] = {}

    def join(_agent: str, name: str) -> Seat:
        agent = workshop.agent(name, surface="foundry")
        return agents.setdefault(name, Seat(agent=agent))

    offered, reader = offered_by("foundry"), workshop.agent("rea", surface="foundry")
    scribe = Listener(
        surface="foundry",
        parts=writing(offered),
        marks=Marks(),
        refusal=Refusal,
        reader=reader,
        lost=[],
    )
    ERRANDS["foundry"](Office(scribe=scribe, join=join, person=print, folder=workshop.root))
    assert scribe.lost == []
