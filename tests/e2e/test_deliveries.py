"""Issues through their phases to a change that is judged: three roles, linked worktrees, real clients."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from builders import AGENT_PROCESS, commit, git, let_run
from counterpoint.app import App
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit
from counterpoint.core.rules.wording import spoken_of
from counterpoint.dialects.symphony.contract_files import ContractDirectory
from counterpoint.dialects.symphony.nouns import GateCommand, PhaseReport, PolicyEdit
from counterpoint.dialects.symphony.verbs.phases import Phases
from counterpoint.dialects.symphony.verbs.policies import Policies

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

COMMAND = (sys.executable, "-m", "counterpoint", "mcp", "--surface", "symphony")
SECTIONS = {
    "research": ("Problem", "Current State", "Findings", "Risks", "Recommendation"),
}
NEXT = {"research": "architecture", "architecture": "grooming", "grooming": "ready"}
FILES = {"research": "research.md", "architecture": "design.md", "grooming": "grooming.md"}


@pytest.fixture
def seat(repository: Path, wire: ModuleType) -> Iterator[Callable[..., Any]]:
    """Give what starts a client of a type, bound to an issue, in a folder."""
    with ExitStack() as held:

        def seated(type_: str, issue: str = "", folder: Path = repository, *more: str) -> Any:
            bound = ("--issue-id", issue) if issue else ()
            client = wire.Client(
                folder, (*AGENT_PROCESS, *COMMAND, "--agent-type", type_, *bound, *more)
            )
            held.callback(client.close)
            client.greet("claude-code")
            return client

        yield seated


def counterpoint(folder: Path, *words: str) -> Any:
    """Run the command line and answer its JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "counterpoint", *words, "--json"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return json.loads(done.stdout)


def open_tree(repository: Path, issue: str) -> Path:
    """Make a linked worktree for an issue and mark it."""
    tree = repository.parent / f"tree-{issue}"
    git(repository, "worktree", "add", "-q", "-b", f"symphony/{issue}", str(tree))
    counterpoint(tree, "workspace", "open", issue)
    return tree


def written(tree: Path, issue: str, phase: str, sections: tuple[str, ...]) -> dict[str, Any]:
    """Write the text of a phase; answer the arguments that hand it over."""
    text = f"# {phase}\n\n" + "\n\n".join(
        f"## {name}\n\nWhat is so, and how it was seen." for name in sections
    )
    path = f"docs/tickets/{issue}/{FILES[phase]}"
    place = tree / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    return {
        "completed_phase": phase,
        "contract_version": 1,
        "artifact_path": path,
        "artifact_hash": hashlib.sha256(text.encode()).hexdigest(),
        "summary": f"The {phase} is written down",
        "recommended_next_phase": NEXT[phase],
        "project_path": str(tree),
    }


@pytest.mark.long
def test_an_issue_from_research_to_an_approved_change(
    repository: Path,
    app: App,
    seat: Callable[..., Any],
    assert_whole: Callable[[App], None],
    wire: ModuleType,
) -> None:
    """Researcher, planner, worker and judge, each a process of its own; the step is the command."""
    let_run(repository)
    person = app.person()
    gate = GateCommand(command="git diff --check main", label="Spaces", required=True)
    person.use(Policies).edit(PolicyEdit(gates=(gate,), sensitive_paths=("*.env",)))
    made = seat("intake").call("create_issue", title="Make it float", priority=2)
    issue = made["identifier"]
    person.items.edit(made["id"], Edit(status="open"))
    tree = open_tree(repository, issue)
    for phase, role in (
        ("research", "researcher"),
        ("architecture", "architect"),
        ("grooming", "planner"),
    ):
        agent = seat(role, issue, tree)
        assert agent.call("verify_workspace")["issue"] == issue
        sections = app.ports.get(ContractDirectory).contract(phase).sections
        agent.call("complete_phase", **written(tree, issue, phase, sections))
        (step,) = counterpoint(repository, "phases", "advance")
        assert (step["fate"], step["phases"]) == ("passed", [NEXT[phase]])
    worker = seat("worker", issue, tree, "--run-id", "run-1")
    status = worker.call("get_issue_status")
    assert (status["status"], status["labels"]) == ("todo", ["phase:ready"])
    ready = {"completed_phase": "ready", "summary": "It floats", "project_path": str(tree)}
    with pytest.raises(wire.Refused, match="not committed"):
        worker.call("complete_phase", **ready)
    git(tree, "add", "docs")
    head = commit(tree, "float.py", "floats = True\n")
    worker.call("complete_phase", **ready)
    (step,) = counterpoint(repository, "phases", "advance")
    assert step["fate"] == "passed"
    judge = seat("judge", issue)
    seen = judge.call("get_issue")["pull_request"]
    assert (seen["head"], seen["gates"], seen["files"]) == (head, "1 of 1 passed", 4)
    with pytest.raises(wire.Refused, match="PERMISSION_DENIED"):
        worker.call("approve_pr")
    rejected = judge.call("reject_pr", reason="No test", fix_instructions="Add one")
    assert rejected["issue_status"] == "todo"
    again = seat("worker", issue, tree, "--run-id", "run-2")
    told = again.call("get_issue")
    assert "Add one" in told["comments"][0]["content"]
    commit(tree, "test_float.py", "def test_it(): pass\n")
    again.call("complete_phase", **ready | {"summary": "It floats, and is tested"})
    counterpoint(repository, "phases", "advance")
    with pytest.raises(wire.Refused, match="since you last looked"):
        judge.call("approve_pr", reason="It floats")
    judge.call("get_issue")
    approved = judge.call("approve_pr", reason="It floats")
    assert (approved["id"], approved["status"], approved["issue_status"]) == (
        "pr-7",
        "approved",
        "review",
    )
    assert judge.call("get_issue_status")["status"] == "review"
    for states, tools in (
        (("open",), ("approve_pr",)),
        (("active", "done"), ("approve_pr", "reject_pr")),
    ):
        for state in states:
            person.items.edit(made["id"], Edit(status=state))
        for tool in tools:
            with pytest.raises(wire.Refused, match="is not in review"):
                judge.call(tool, reason="late")
    assert_whole(app)


def test_a_wrong_tree_a_judge_and_a_memory(
    repository: Path,
    app: App,
    seat: Callable[..., Any],
    wire: ModuleType,
    tmp_path: Path,
    assert_whole: Callable[[App], None],
) -> None:
    """A claim out of another tree is refused; a sensitive one waits for its verdict; memory lasts."""
    maker = seat("intake")
    made = maker.call("create_issue", title="Lock the door", labels=["security"])
    issue = made["identifier"]
    app.person().items.edit(made["id"], Edit(status="open"))
    tree = open_tree(repository, issue)
    sections = SECTIONS["research"]
    lost = seat("researcher", issue)
    with pytest.raises(wire.Refused, match="WORKSPACE_INVALID"):
        lost.call("complete_phase", **written(repository, issue, "research", sections))
    agent = seat("researcher", issue, repository, "--worktree-path", str(tree))
    asked = written(tree, issue, "research", sections)
    assert agent.call("complete_phase", **asked)["awaits_judge"]
    assert counterpoint(repository, "phases", "advance")[0]["fate"] == "waiting"
    judge = seat("judge", issue)
    hash_ = judge.call("get_issue")["phase_completions"][0]["artifact_hash"]
    judge.call("approve_phase", phase="research", artifact_hash=hash_)
    assert counterpoint(repository, "phases", "advance")[0]["fate"] == "passed"
    memory = ("--symphony-dir", str(tmp_path), "--project-slug", "demo")
    first = seat("judge", issue, repository, *memory)
    first.call("update_memory", scope="project", filename="notes.md", content="Look at locks")
    assert (tmp_path / "data/memory/demo/judge/notes.md").read_text() == "Look at locks"
    later = wire.Client(
        repository, (sys.executable, "-m", "counterpoint", "mcp", "--agent-type", "judge")
    )
    later.greet("later")
    assert later.call("brief")["memory"][0]["content"] == "Look at locks"
    later.close()
    assert_whole(app)


def test_steps_taken_at_once_act_upon_each_claim_once(
    repository: Path, app: App, assert_whole: Callable[[App], None]
) -> None:
    """Three processes share the claims among them; nothing is done twice."""
    person, agent = app.person(), app.core(app.agent())
    sections = app.ports.get(ContractDirectory).contract("research").sections
    for _ in range(6):
        item = person.plans.create(
            Draft(kind="issue", title="One of six", labels=("phase:research",))
        ).root.id
        asked = written(repository, spoken_of(item), "research", sections)
        report = PhaseReport(
            phase="research",
            summary="s",
            version=1,
            path=asked["artifact_path"],
            sha256=asked["artifact_hash"],
            next_phase="architecture",
        )
        agent.claims.start(item)
        agent.use(Phases).hand_over(item, report)
    words = [sys.executable, "-m", "counterpoint", "phases", "advance", "--json"]
    walks = [subprocess.Popen(words, cwd=repository, stdout=subprocess.PIPE) for _ in range(3)]
    steps = [step for walk in walks for step in json.loads(walk.communicate(timeout=60)[0])]
    assert [walk.returncode for walk in walks] == [0, 0, 0]
    assert sum(step["fate"] == "passed" for step in steps) == 6
    assert {step["fate"] for step in steps} <= {"passed", "left"}
    assert_whole(app)
