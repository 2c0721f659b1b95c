"""`counterpoint phases`, `runs`, `vault`, `issue` and `workspace`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import App
from counterpoint.core.model.drafts import Draft
from counterpoint.core.rules.wording import spoken_of
from counterpoint.dialects.symphony.nouns import PhaseReport
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.dialects.symphony.verbs.phases import Phases

TEXT = "# Research\n\n" + "\n\n".join(
    f"## {name}\n\nWhat is so, and how it was seen."
    for name in ("Problem", "Current State", "Findings", "Risks", "Recommendation")
)


@pytest.fixture
def issue(ledger: Any, app: App) -> str:
    """Answer an issue in research."""
    draft = Draft(kind="issue", title="A thing", labels=("phase:research",))
    return app.person().plans.create(draft).root.id


def test_the_step_is_taken_at_the_command_line(issue: str, app: App, call: Any) -> None:
    """It says what became of each claim, in a table and as JSON; then nothing waits."""
    assert "Nothing waits" in call("phases", "advance").err
    identifier = spoken_of(issue)
    folder = app.places.tree / f"docs/tickets/{identifier}"
    folder.mkdir(parents=True)
    (folder / "research.md").write_text(TEXT)
    report = PhaseReport(
        phase="research",
        summary="s",
        version=1,
        path=f"docs/tickets/{identifier}/research.md",
        sha256=hashlib.sha256(TEXT.encode()).hexdigest(),
        next_phase="architecture",
    )
    agent = app.core(app.agent())
    agent.claims.start(issue)
    agent.use(Phases).hand_over(issue, report)
    (folder / "research.md").write_text("other")
    said = call("phases", "advance")
    assert said.code == 0
    assert "rejected" in said.out
    assert identifier in said.out
    (folder / "research.md").write_text(TEXT)
    agent.claims.start(issue)
    agent.use(Phases).hand_over(issue, report)
    (step,) = call("phases", "advance", "--json").json
    assert (step["issue"], step["fate"], step["phases"]) == (identifier, "passed", ["architecture"])


def test_a_stream_is_taken_in(issue: str, call: Any, tmp_path: Path) -> None:
    """With what it came to; lines that are no events are named on the other stream."""
    file = tmp_path / "stream.jsonl"
    result = {"type": "result", "subtype": "success", "is_error": False, "total_cost_usd": 0.25}
    file.write_text('{"type":"system","subtype":"init"}\nno json\n' + json.dumps(result) + "\n")
    said = call("runs", "ingest", str(file), "--run", "r1", "--issue", issue, "--profile", "worker")
    assert said.code == 0
    assert said.out == "r1: 2 events taken in, 2 in all; completed, cost $0.2500.\n"
    assert "line 2" in said.err
    again = call("runs", "ingest", str(file), "--run", "r1", "--json").json
    assert (again["kept"], again["events"], again["cost"], again["issue"]) == (0, 2, 0.25, issue)
    assert again["fault_count"] == 1
    file.write_text('{"type":"thread.started","thread_id":"t"}\n')
    assert "unfinished." in call("runs", "ingest", str(file)).out
    assert call("runs", "ingest", str(file), "--json").json["cost"] is None
    assert call("runs", "ingest", str(file), "--issue", "demo-99").code == 1


def test_documents_are_kept_at_the_command_line(ledger: Any, app: App, call: Any) -> None:
    """In the vault, or for the project alone once that was turned on."""
    (app.places.tree / "guide.md").write_text("# Retry\n\nUse backoff.\n")
    assert "no document" in call("vault", "list").err
    assert call("vault", "add", "guide.md").out == "guide.md: 1 passage.\n"
    assert call("vault", "add", "guide.md").out == "guide.md: is as it was.\n"
    assert "guide.md" in call("vault", "list").out
    (one,) = call("vault", "list", "--json").json
    assert (one["path"], one["shelf"], one["passages"]) == ("guide.md", "vault", 1)
    assert call("vault", "add", "guide.md", "--own").code == 1
    assert "vault add --own" in call("vault", "on").out
    assert call("vault", "on", "--json").json == {"enabled": True}
    assert call("vault", "add", "guide.md", "--own", "--json").json[0]["unchanged"] is False
    assert call("vault", "remove", "guide.md", "--own", "--json").json["shelf"] == "project"
    assert call("vault", "remove", "guide.md").out == "guide.md is gone: 1 passage.\n"
    assert call("vault", "remove", "guide.md").code == 1


def test_a_tree_is_marked_for_an_issue(issue: str, app: App, call: Any) -> None:
    said = call("workspace", "open", issue)
    assert said.out.endswith("on main.\n")
    told = call("workspace", "open", issue, "--base", "trunk", "--json").json
    assert (told["branch"], told["base"]) == ("main", "trunk")
    marker = json.loads((app.places.tree / ".symphony-worktree").read_text())
    assert marker["issue_id"] == issue
    assert call("workspace", "open", "demo-99").code == 1


def test_a_person_says_how_large_an_issue_is(issue: str, app: App, call: Any) -> None:
    """By any name of the issue, until it is taken back; other words are refused."""
    identifier = spoken_of(issue)
    assert call("issue", "size", identifier, "large").out == f"{identifier}: large\n"
    assert app.person().use(Issues).details(issue).attributes["size"] == "large"
    assert call("issue", "size", issue, "none", "--json").json == {
        "issue": identifier,
        "size": None,
    }
    assert app.person().use(Issues).details(issue).attributes == {}
    assert call("issue", "size", issue, "huge").code == 2
    assert call("issue", "size", "demo-99", "small").code == 1
