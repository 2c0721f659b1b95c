"""A spec by real clients: through relays and over HTTP, on both databases, beside those who speak other dialects."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Protocol

import pytest

from builders import Window, let_run
from counterpoint.app import App
from counterpoint.dialects.foundry.files.mirror import Mirroring
from fakes.callers import Caller, Server

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

FOUNDRY, SYMPHONY, WORKFLOW, NATIVE = "foundry", "symphony", "workflow", ""
TASKS = [
    {"title": name, "description": f"{name} it", "acceptance_criteria": [f"{name}: it stands"]}
    for name in ("Draw", "Build", "Paint", "Hang")
]
CHECK = {"title": "Try it", "type": "verify", "command": "echo it holds"}


class Voice(Protocol):
    """One agent, however it is connected, in whichever dialect it speaks."""

    def does(self, surface: str, tool: str, **given: Any) -> dict[str, Any]:
        """Call a tool that must succeed."""
        ...

    def is_refused(self, surface: str, tool: str, **given: Any) -> str:
        """Call a tool that must be refused; answer what is said of it."""
        ...


class Piped:
    """An agent's process of its own, whose every connection goes through a relay."""

    def __init__(self, folder: Path) -> None:
        """Start it."""
        self._window = Window(folder)

    def does(self, surface: str, tool: str, **given: Any) -> dict[str, Any]:
        """Call a tool that must succeed."""
        return self._window.does(_words(surface), tool, **given)

    def is_refused(self, surface: str, tool: str, **given: Any) -> str:
        """Call a tool that must be refused."""
        return self._window.is_refused(_words(surface), tool, **given)

    def close(self) -> None:
        """Let it end."""
        self._window.close()


def _words(surface: str) -> str:
    return f"--surface {surface}" if surface else ""


class Sent:
    """An agent with a token of its own over HTTP; a bare one sends back no session, as the newest clients do."""

    def __init__(self, server: Server, token: str, *, is_bare: bool) -> None:
        """Take its token; it shakes hands with a surface when it calls that first."""
        self._server, self._token = server, token
        self._more = {"mcp_session_id": ""} if is_bare else {}
        self._callers: dict[str, Caller] = {}

    def does(self, surface: str, tool: str, **given: Any) -> dict[str, Any]:
        """Call a tool that must succeed."""
        result = self._called(surface, tool, given)
        assert not result.get("isError"), result
        return result["structuredContent"]

    def is_refused(self, surface: str, tool: str, **given: Any) -> str:
        """Call a tool that must be refused."""
        result = self._called(surface, tool, given)
        assert result.get("isError"), result
        return json.dumps(result["structuredContent"])

    def _called(self, surface: str, tool: str, given: dict[str, Any]) -> Any:
        if surface not in self._callers:
            self._callers[surface] = Caller(self._server, self._token, surface)
        return self._callers[surface].call(tool, self._more, **given)


Join = Callable[[str], Voice]


@pytest.fixture
def token(counterpoint: Callable[..., Any], repository: Path) -> Callable[..., str]:
    """Give what makes a token."""

    def make(name: str, *words: str) -> str:
        made = counterpoint("token", "create", name, *words, cwd=repository)
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

    return make


@pytest.fixture
def join(
    request: pytest.FixtureRequest, where: str, repository: Path, token: Callable[..., str]
) -> Iterator[Join]:
    """Give what lets an agent in by the way of the test."""
    del where
    let_run(repository)
    with ExitStack() as held:
        if request.param == "relay":
            yield lambda _name: held.enter_context(closing(Piped(repository)))
        else:
            server = held.enter_context(closing(Server(repository)))
            is_bare = request.param == "bare"
            yield lambda name: Sent(server, token(name, "--scope", "run"), is_bare=is_bare)


@pytest.mark.long
@pytest.mark.alike
@pytest.mark.parametrize("join", ["relay", "session", "bare"], indirect=True)
def test_a_spec_is_done_by_agents_of_several_dialects(
    join: Join, repository: Path, app: App, assert_whole: Callable[[App], None]
) -> None:
    """Planned in foundry, seen and worked on in the others, verified by the server, held by a review, and completed."""
    fay, gus, ned, eve = (join(name) for name in ("fay", "gus", "ned", "eve"))
    spec = _planned(fay, repository)
    _seen_elsewhere(spec, fay, ned)
    # A task that is planned in native, with a review.
    tree = {"kind": "task", "title": "Varnish", "review": True}
    reviewed = ned.does(NATIVE, "plan", parent="demo-2", tree=tree)["items"][0]["id"]
    _held_both_ways(spec, gus, ned)
    _worked_in_batches(spec, gus)
    _held_by_a_review(spec, reviewed, gus, eve)
    assert (repository / "specs/pending" / f"{spec}.json").exists()
    gus.does(FOUNDRY, "lifecycle", action="activate", spec_id=spec)
    moved = gus.does(FOUNDRY, "lifecycle", action="move", spec_id=spec, to_folder="completed")
    assert moved["data"]["to_folder"] == "completed"
    assert ned.does(NATIVE, "show", id="demo-1")["status"] == "done"
    app.person().use(Mirroring).round(waits=True)
    mirrored = json.loads((repository / "specs/completed" / f"{spec}.json").read_text())
    assert (mirrored["status"], mirrored["progress_percentage"]) == ("completed", 100)
    assert_whole(app)


def _planned(fay: Voice, repository: Path) -> str:
    (repository / "specs/.plans").mkdir(parents=True)
    (repository / "specs/.plans/it.md").write_text("# It\n")
    paths = {"plan_path": ".plans/it.md", "plan_review_path": ".plans/it.md"}
    made = fay.does(FOUNDRY, "authoring", action="spec-create", name="Sign", mission="M", **paths)
    spec = made["data"]["spec_id"]
    phase = {"title": "Make"}
    fay.does(
        FOUNDRY,
        "authoring",
        action="phase-add-bulk",
        spec_id=spec,
        phase=phase,
        tasks=[*TASKS, CHECK],
    )
    fay.does(FOUNDRY, "task", action="add", spec_id=spec, parent="phase-1", title="Sweep")
    return spec


def _seen_elsewhere(spec: str, fay: Voice, ned: Voice) -> None:
    offered = fay.does(FOUNDRY, "task", action="next", spec_id=spec)["data"]
    assert (offered["task_id"], offered["title"]) == ("task-1-1", "Draw")
    ready = ned.does(NATIVE, "brief")["ready"]
    assert ready[0] == {"id": "demo-3", "title": "Draw"}
    shown = ned.does(NATIVE, "show", id="demo-1")
    assert (shown["kind"], shown["title"]) == ("spec", "Sign")
    assert ned.does(NATIVE, "find", query="Paint")["hits"][0]["id"] == "demo-5"
    issue = ned.does(SYMPHONY, "get_issue", issue_id="demo-3")
    assert (issue["title"], issue["parent_issue"]["title"]) == ("Draw", "Make")
    context = ned.does(WORKFLOW, "get_context", workflow_id="demo-3", include=[])
    assert (context["kind"], context["title"]) == ("task", "Draw")


def _held_both_ways(spec: str, gus: Voice, ned: Voice) -> None:
    """What one holds, blocks or has done counts for the other."""
    gus.does(FOUNDRY, "task", action="start", spec_id=spec, task_id="task-1-1")
    assert "already_claimed" in ned.is_refused(NATIVE, "start", id="demo-3")
    token = ned.does(NATIVE, "start", id="demo-4")["claim"]["token"]
    asked = {"spec_id": spec, "task_id": "task-1-2"}
    for given in ({"action": "start"}, {"action": "complete", "completion_note": "x"}):
        assert "CONFLICT" in gus.is_refused(FOUNDRY, "task", **asked, **given)
    blocked = {"spec_id": spec, "task_id": "task-1-3", "reason": "no paint", "action": "block"}
    gus.does(FOUNDRY, "task", **blocked)
    assert "no paint" in ned.is_refused(NATIVE, "start", id="demo-5")
    ned.does(NATIVE, "note", kind="blocker", id="demo-6", text="no nails")
    hang = {"spec_id": spec, "task_id": "task-1-4"}
    assert "no nails" in gus.is_refused(FOUNDRY, "task", action="start", **hang)
    told = gus.does(FOUNDRY, "task", action="list-blocked", spec_id=spec)["data"]
    assert {one["blocker_description"] for one in told["blocked_tasks"]} == {"no paint", "no nails"}
    for task in ("task-1-3", "task-1-4"):
        gus.does(FOUNDRY, "task", action="unblock", spec_id=spec, task_id=task, resolution="Came")
    ned.does(NATIVE, "finish", id="demo-4", token=token, outcome="done", summary="Built")
    done = {"task_id": "task-1-1", "completion_note": "Drawn"}
    progress = gus.does(FOUNDRY, "task", action="complete", spec_id=spec, **done)["data"]
    assert progress["progress"]["completed_tasks"] == 2
    assert ned.does(NATIVE, "show", id="demo-3")["status"] == "done"


def _worked_in_batches(spec: str, gus: Voice) -> None:
    """Two at once, a verification that the server runs, and a word in the journal."""
    names = ["task-1-3", "task-1-4"]
    gus.does(FOUNDRY, "task", action="start-batch", spec_id=spec, task_ids=names)
    ends = [{"task_id": name, "success": True, "completion_note": "Done"} for name in names]
    told = gus.does(FOUNDRY, "task", action="complete-batch", spec_id=spec, completions=ends)
    assert told["data"]["completed_count"] == 2
    verify = {"spec_id": spec, "verify_id": "verify-1-1"}
    ran = gus.does(FOUNDRY, "verification", action="execute", record=True, **verify)["data"]
    assert (ran["result"], ran["exit_code"], ran["output"].strip()) == ("PASSED", 0, "it holds")
    asked = {"action": "query", "status": "pending", "spec_id": spec}
    for task in gus.does(FOUNDRY, "task", **asked)["data"]["tasks"]:
        if task["title"] != "Varnish":
            done = {"spec_id": spec, "task_id": task["task_id"], "completion_note": "Done"}
            gus.does(FOUNDRY, "task", action="complete", **done)
    said = {"title": "Nailed", "content": "With long nails", "entry_type": "decision"}
    gus.does(FOUNDRY, "journal", action="add", spec_id=spec, task_id="task-1-4", **said)
    entries = gus.does(FOUNDRY, "journal", action="list", spec_id=spec)["data"]["entries"]
    assert (entries[0]["title"], entries[0]["content"]) == ("Nailed", "With long nails")


def _held_by_a_review(spec: str, reviewed: str, gus: Voice, eve: Voice) -> None:
    """Foundry's completion waits for the verdict that native gives."""
    named = {"spec_id": spec, "task_id": reviewed}
    gus.does(FOUNDRY, "task", action="start", **named)
    done = {"action": "complete", "completion_note": "Varnished", **named}
    handed_in = gus.does(FOUNDRY, "task", **done)
    assert handed_in["data"]["completed_at"] is None
    assert handed_in["meta"]["warnings"] == ["It was handed in, and awaits a verdict."]
    assert "CONFLICT" in gus.is_refused(FOUNDRY, "lifecycle", action="complete", spec_id=spec)
    judged = {"id": reviewed, "reason": "I looked"}
    assert "forbidden" in gus.is_refused(NATIVE, "review", verdict="approve", **judged)
    fixes = ["Two coats"]
    eve.does(NATIVE, "review", verdict="reject", fixes=fixes, **judged)
    again = gus.does(FOUNDRY, "task", action="info", **named)["data"]["task"]
    assert again["status"] == "pending"
    gus.does(FOUNDRY, "task", **done)
    eve.does(NATIVE, "review", verdict="approve", **judged)
    progress = gus.does(FOUNDRY, "task", action="progress", spec_id=spec)["data"]
    assert (progress["status"], progress["percentage"]) == ("completed", 100)


@pytest.mark.long
def test_a_token_that_reads_reads_specs_and_changes_none(
    repository: Path, token: Callable[..., str]
) -> None:
    """It is listed what reads of each tool, and what writes is refused before anything is done."""
    (repository / "specs/.plans").mkdir(parents=True)
    (repository / "specs/.plans/it.md").write_text("# It\n")
    let_run(repository)
    reader, writer = token("eye", "--scope", "read"), token("hand")
    with closing(Server(repository)) as server:
        eye, hand = (
            Sent(server, one, is_bare=is_bare) for one, is_bare in ((reader, True), (writer, False))
        )
        paths = {"plan_path": ".plans/it.md", "plan_review_path": ".plans/it.md"}
        asked = {"action": "spec-create", "name": "Sign", **paths}
        headers = {"authorization": f"Bearer {reader}"}
        question = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        _, listed = server.send(question, FOUNDRY, **headers)
        offered = {one["name"]: one["inputSchema"] for one in listed["result"]["tools"]}
        assert "spec-create" not in offered["authoring"]["properties"]["action"]["enum"]
        assert "risk-list" in offered["authoring"]["properties"]["action"]["enum"]
        assert "verification" not in offered
        wanted = {"name": "authoring", "arguments": asked}
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": wanted}
        _, refused = server.send(call, FOUNDRY, **headers)
        assert refused["error"] == "insufficient_scope"
        assert not (repository / "specs/pending").exists()
        spec = hand.does(FOUNDRY, "authoring", **asked)["data"]["spec_id"]
        found = eye.does(FOUNDRY, "spec", action="find", spec_id=spec)
        assert found["data"]["found"]
