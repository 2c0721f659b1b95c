"""Reading one thing that was written about an issue, whole and in pages, by its id."""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

from builders import Agent, Workshop, commit, git
from counterpoint.dialects.symphony.tools.phases import MARKER
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.dialects.symphony.verbs.workspaces import Workspaces
from fakes.boards import Make, Seat

LONG = 'He said "no":\t{"a": [1, null]}\n\u00e9\u4e16\U0001f600 \\ ' * 300

SECTIONS = ("Problem", "Current State", "Findings", "Risks", "Recommendation")
TEXT = "# R\n\n" + "\n\n".join(f"## {one}\n\nWhat is so, and how seen." for one in SECTIONS)


def whole(agent: Agent, name: str) -> dict[str, Any]:
    """Answer all pages of a thing as one."""
    found: dict[str, Any] = {}
    cursor = ""
    while True:
        page = agent.does("get_issue", issue_id=name, **({"cursor": cursor} if cursor else {}))
        cursor = page.pop("next_cursor", "")
        for part, content in page.items():
            if part in found and part not in {"id", "note"}:
                found[part] += content
            else:
                found[part] = content
        if not cursor:
            return found


def test_what_is_written_about_an_issue_is_read_back_whole(worker: Agent) -> None:
    """A comment, a finding and a learning, each by the id that was answered."""
    comment = worker.does("add_comment", content=LONG)["id"]
    assert whole(worker, comment)["content"] == LONG
    finding = worker.does("add_finding", category="gap", summary="a gap", details=LONG[:20_000])
    assert whole(worker, finding["id"])["details"] == LONG[:20_000]
    said = {"pattern": LONG[:20_000], "context": LONG[:19_000]}
    learning = whole(worker, worker.does("add_learning", **said)["id"])
    assert {learning["pattern"], learning["context"]} >= {LONG[:20_000], LONG[:19_000]}


def test_an_issue_is_meant_before_anything_else(
    worker: Agent, seat: Seat, make: Make, workshop: Workshop
) -> None:
    """And what nobody wrote is not found."""
    assert worker.does("get_issue", issue_id="DEMO-001")["identifier"] == "DEMO-001"
    for name in ("pr-9", "pc-9", "pv-9", "demo-r9"):
        assert worker.is_refused("get_issue", issue_id=name)["code"] == "NOT_FOUND"
    del seat, make, workshop


def test_a_judge_sees_gate_output_difference_and_instructions(
    seat: Seat, make: Make, workshop: Workshop
) -> None:
    """What a gate that was run here said, what the worker says of his own, and what was judged."""
    judge = seat("jo", "judge", make(labels=["phase:ready"]))
    code = "print('x' * 12000); raise SystemExit(1)"
    gate = {"label": "noise", "command": f'{sys.executable} -c "{code}"', "required": True}
    workshop.agent("root", surface="symphony").does("configure_project", gates=[gate])
    git(workshop.root, "switch", "-q", "-c", "work")
    commit(workshop.root, "a.py", "a = 1\n" * 3_000)
    core = workshop.app.person()
    core.use(Workspaces).open(core.use(Issues).named("DEMO-001").id, MARKER)
    worker = seat("will", "worker", "DEMO-001")
    own = {"command": "make", "label": "own", "exit_code": 0, "output": LONG}
    asked = {"diff": "", "branch_name": "work", "base_branch": "main", "gate_results": [own]}
    name = worker.does("create_pr", **asked)["id"]
    seen = whole(judge, name)
    assert "x" * 12_000 in seen["gate 1"]
    (claimed,) = json.loads(seen["gate_results"])
    assert claimed == {**own, "required": True}
    assert seen["diff"].count("+a = 1") == 3_000
    judge.does("reject_pr", reason=LONG[:9_000], fix_instructions=LONG[:12_000])
    seen = whole(worker, name)
    assert (seen["reason"], seen["fix_instructions"]) == (LONG[:9_000], LONG[:12_000])
    assert seen["independence"] == "attested"


def test_open_questions_and_verdicts_of_a_phase_are_read_whole(
    seat: Seat, make: Make, workshop: Workshop
) -> None:
    """All of them, however many there are."""
    name = make(labels=["phase:research"])
    core = workshop.app.person()
    core.use(Workspaces).open(core.use(Issues).named(name).id, MARKER)
    path = f"docs/tickets/{name}/research.md"
    place = workshop.root / path
    place.parent.mkdir(parents=True)
    place.write_text(TEXT)
    digest = hashlib.sha256(TEXT.encode()).hexdigest()
    questions = [LONG[: 400 + number] for number in range(90)]
    claim = seat("rita", "researcher", name).does(
        "complete_phase",
        completed_phase="research",
        contract_version=1,
        artifact_path=path,
        artifact_hash=digest,
        summary=LONG[:20_000],
        open_questions=questions,
        recommended_next_phase="architecture",
        project_path=".",
    )
    judge = seat("jo", "judge", name)
    seen = whole(judge, claim["id"])
    assert (seen["open_questions"], seen["summary"]) == (questions, LONG[:20_000])
    told = {"reason": LONG[:20_000], "fix_instructions": LONG[:15_000]}
    verdict = judge.does("reject_phase", phase="research", artifact_hash=digest, **told)["id"]
    again = whole(judge, verdict)
    assert {key: again[key] for key in told} == told


def test_a_record_is_found_by_the_name_that_people_say(worker: Agent) -> None:
    """The prefix in capitals, as in the identifiers of issues."""
    record = worker.does("add_finding", category="gap", summary="a gap")["id"]
    prefix, _, number = record.rpartition("-")
    assert worker.does("get_issue", issue_id=f"{prefix.upper()}-{number}")["summary"] == "a gap"
