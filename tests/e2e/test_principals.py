"""Who is who on every surface, by credential, token and issuer: nobody judges or ends what is not his to."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519

from builders import (
    AGENTIC,
    COLIBRI,
    NATIVE,
    SYMPHONY,
    WORKFLOW,
    Opened,
    Window,
    commit,
    git,
)
from counterpoint.app import App
from fakes.callers import Caller, Server

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

ISSUER, AUDIENCE = "https://login.example.org", "https://plan.example.org/mcp"
APPROVES = {"verdict": "approve", "reason": "it stands"}
LOOSENS: tuple[dict[str, Any], ...] = (
    {"waive": ["check-1"], "reason": "so"},
    {"verify": []},
    {"status": "skipped", "reason": "so"},
)
HELD = "held by claude-code"


class Agent(Protocol):
    """Whoever calls native tools, over whatever."""

    def does(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed."""
        ...

    def is_refused(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must be refused; answer what is said of it."""
        ...


class Seat:
    """A connection of a window."""

    def __init__(self, window: Window, name: str = NATIVE) -> None:
        """Take the one of a name."""
        self._window, self._name = window, name

    def does(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed."""
        return self._window.does(self._name, tool, **arguments)

    def is_refused(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must be refused; answer what is said of it."""
        return self._window.is_refused(self._name, tool, **arguments)


class Door:
    """A server over HTTP that takes tokens of its own and of an issuer."""

    def __init__(self, repository: Path, keys: Path) -> None:
        """Start it, with the issuer's keys in a file."""
        self._key = ed25519.Ed25519PrivateKey.generate()
        listed = json.loads(jwt.get_algorithm_by_name("EdDSA").to_jwk(self._key.public_key()))
        keys.write_text(json.dumps({"keys": [{**listed, "kid": "one"}]}))
        issuer = ("--oauth-issuer", ISSUER, "--oauth-audience", AUDIENCE, "--jwks", str(keys))
        self.server = Server(repository, *issuer)

    def token(self, secret: str) -> Caller:
        """Answer a caller with a token of the server."""
        return Caller(self.server, secret)

    def subject(self, name: str, scope: str = "write") -> Caller:
        """Answer a caller whom the issuer calls so."""
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": name,
            "exp": int(time.time()) + 600,
            "scope": f"counterpoint:{scope}",
        }
        return Caller(self.server, jwt.encode(claims, self._key, "EdDSA", headers={"kid": "one"}))


@pytest.fixture
def door(where: str, repository: Path, tmp_path: Path, app: App) -> Iterator[Door]:
    """Give the server, before any relay has started one."""
    del where
    assert app.ports
    made = Door(repository, tmp_path / "keys.json")
    yield made
    made.server.close()


@pytest.fixture
def give(counterpoint: Callable[..., Any], repository: Path) -> Callable[..., str]:
    """Give what has a person make a credential or a token at the command line."""

    def given(*words: str) -> str:
        ran = counterpoint(*words, cwd=repository)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip()

    return given


def begin(who: Agent, item: str, outcome: str = "done") -> None:
    """Let somebody take a task up and end his claim."""
    token = who.does("start", id=item)["claim"]["token"]
    who.does("finish", id=item, token=token, outcome=outcome, summary="It stands")


def test_who_worked_on_any_surface_judges_it_on_none(
    window: Opened, door: Door, give: Callable[..., str], repository: Path, app: App
) -> None:
    """Neither in native words, nor in symphony's, nor at the command line; another window of the client does.

    Plans and workflows stand below no issue, so that symphony has no verdict on what is done in them.
    """
    judge = window()
    flow = judge.does(WORKFLOW, "start_workflow", name="Orchard", objective="It bears")
    tree = {"kind": "phase", "title": "Planting", "review": True}
    phase = judge.does(NATIVE, "plan", parent=flow["workflow_id"], tree=tree)["root"]
    issue = judge.does(SYMPHONY, "create_issue", title="Plant", labels=["phase:ready"])
    judge.does(NATIVE, "edit", id=issue["id"], parent=phase, status="open")
    mine, far = (
        judge.does(NATIVE, "plan", parent=issue["id"], tree={"kind": "task", "title": title})[
            "root"
        ]
        for title in ("Walnut", "Pear")
    )
    phases = [{"name": "Pour", "tasks": [{"name": "Once"}]}]
    judge.does(AGENTIC, "plan_create", title="Water", slug="water", phases=phases)
    water = app.person().items.find("water")
    assert water is not None
    judge.does(NATIVE, "edit", id=water.id, parent=phase)
    strict = judge.does(COLIBRI, "task_create", title="Prune")["data"]["native_id"]
    judge.does(NATIVE, "edit", id=strict, parent=issue["id"])

    native, flowing, planning, proving, proposing = (window() for _ in range(5))
    over_http = door.token(give("token", "create", "ci"))
    begin(Seat(native), mine)
    begin(over_http, far)
    _weed(flowing, flow["workflow_id"], phase)
    planning.does(AGENTIC, "plan_update_status", slug="water", status="active")
    pour = {"plan_slug": "water", "phase_order": 1, "task_identifier": 0}
    for status in ("in_progress", "completed"):
        planning.does(AGENTIC, "task_update", **pour, status=status)
    del pour["task_identifier"]
    planning.does(AGENTIC, "phase_update_status", **pour, status="completed")
    _prune(proving, strict)
    git(repository, "switch", "-q", "-c", "work")
    commit(repository, "boat.txt", "afloat")
    give("workspace", "open", issue["identifier"])
    bound = f"{SYMPHONY} --issue-id {issue['identifier']}"
    branch = {"diff": "", "branch_name": "work", "base_branch": "main"}
    proposing.does(bound, "create_pr", **branch)

    for worker in (native, flowing, planning, proving, proposing):
        assert "worked on" in worker.is_refused(NATIVE, "review", id=phase, **APPROVES)
        ran = worker.runs("approve", phase)
        assert (ran["code"], "worked on" in ran["err"]) == (1, True), ran
    for worker in (native, proving, proposing):
        assert "worked on" in worker.is_refused(bound, "approve_pr", reason="fine")
        assert "worked on" in worker.is_refused(NATIVE, "edit", id=issue["id"], status="done")
    for item in (phase, issue["id"]):
        assert "worked on" in over_http.is_refused("review", id=item, **APPROVES)

    judge.does(bound, "get_issue")
    assert judge.does(bound, "approve_pr", reason="fine")["independence"] == "attested"
    judge.does(NATIVE, "edit", id=issue["id"], status="done")
    ran = judge.runs("approve", phase)
    assert ran["code"] == 0, ran
    assert app.person().items.get(phase).status == "done"
    assert app.person().audit.rebuild().differences == ()


def _weed(worker: Window, flow: str, phase: str) -> None:
    """Do a task in the words of workflows."""
    asked = {"workflow_id": flow, "phase_id": phase, "caller_type": "subagent", "agent_name": "a"}
    task = worker.does(WORKFLOW, "start_task", **asked, name="Weed", goal="None is left")["task_id"]
    ended = {"task_id": task, "status": "success", "outcome": {"summary": "so"}}
    worker.does(WORKFLOW, "complete_task", **ended)


def _prune(worker: Window, item: str) -> None:
    """Do a strict task, from its first state to its last."""
    for state in ("GATHER", "ANALYZE", "PLAN", "APPLY", "VERIFY"):
        worker.does(COLIBRI, "task_update", id=item, status=state)
    thought = {"task_id": item, "agent_id": "a", "type": "reflection", "content": "It holds"}
    worker.does(COLIBRI, "thought_record", **thought)
    assert worker.does(COLIBRI, "task_update", id=item, status="DONE")["data"]["status"] == "DONE"


def test_nobody_ends_what_another_works_on_in_any_words(window: Opened, app: App) -> None:
    """Neither completes, nor skips, nor cancels, nor gives back; the one who is at it goes on."""
    holder, other = window(), window()
    holder.does(NATIVE, "plan", markdown="# Orchard\n## Planting\n- [ ] Walnut\n")
    plan, walnut = (f"{app.person().items.project().prefix}-{number}" for number in (1, 3))
    token = holder.does(NATIVE, "start", id=walnut)["claim"]["token"]
    strict = holder.does(COLIBRI, "task_create", title="Prune")["data"]["native_id"]
    holder.does(NATIVE, "start", id=strict)
    flow = holder.does(WORKFLOW, "start_workflow", name="Ship", objective="It floats")
    asked = {"workflow_id": flow["workflow_id"]}
    asked["phase_id"] = holder.does(WORKFLOW, "start_phase", **asked, number=1, name="Build")[
        "phase_id"
    ]
    asked |= {"caller_type": "subagent", "agent_name": "a", "name": "Hull", "goal": "It holds"}
    task = holder.does(WORKFLOW, "start_task", **asked)["task_id"]
    issue = holder.does(SYMPHONY, "create_issue", title="Make it float", labels=["phase:ready"])
    holder.does(NATIVE, "edit", id=issue["id"], status="open")
    bound = f"{SYMPHONY} --issue-id {issue['identifier']}"
    holder.does(bound, "add_finding", category="bug", summary="It leaks")

    step = {"plan_slug": plan, "phase_order": 1}
    for status in ("completed", "skipped"):
        words = {**step, "status": status}
        assert HELD in other.is_refused(AGENTIC, "task_update", **words, task_identifier=0)
        assert HELD in other.is_refused(AGENTIC, "phase_update_status", **words)
    assert HELD in other.is_refused(AGENTIC, "plan_update_status", slug=plan, status="completed")
    for status in ("ANALYZE", "CANCELLED"):
        words = {"id": strict, "status": status, "reason": "mine"}
        told = other.does(COLIBRI, "task_update", **words)["data"]["error"]
        assert (told["code"], HELD in told["message"]) == ("ERR_TASK_CLAIMED", True)
    for status in ("success", "failed"):
        ended = {"task_id": task, "status": status, "outcome": {"summary": "mine"}}
        assert HELD in other.is_refused(WORKFLOW, "complete_task", **ended)
    for status in ("review", "todo", "blocked"):
        assert HELD in other.is_refused(bound, "update_issue_status", status=status, reason="mine")
    for item in (walnut, strict, task, issue["id"]):
        words = {"id": item, "status": "cancelled", "reason": "mine"}
        assert HELD in other.is_refused(NATIVE, "edit", **words)

    done = {"id": walnut, "token": token, "outcome": "done", "summary": "Planted"}
    assert holder.does(NATIVE, "finish", **done)["item"]["status"] == "done"
    assert holder.does(NATIVE, "start", id=strict)["claim"]["token"] == 1
    ended = {"task_id": task, "status": "success", "outcome": {"summary": "so"}}
    assert holder.does(WORKFLOW, "complete_task", **ended)["status"] == "SUCCESS"
    handed = holder.does(bound, "update_issue_status", status="review")
    assert handed["status"] == "review"


@pytest.mark.long
def test_a_maintainer_loosens_what_others_began_and_not_his_own(
    window: Opened, door: Door, give: Callable[..., str], app: App
) -> None:
    """By a credential, a token or a scope of the issuer; who has one of these only to work does not."""
    host, worker = window(), window()
    host.bears("plain", give("agent", "create", "plain"))
    host.bears("keeper", give("agent", "create", "keeper", "--maintain"))
    pairs: list[tuple[Agent, Agent]] = [
        (Seat(host, "plain"), Seat(host, "keeper")),
        (
            door.token(give("token", "create", "plain")),
            door.token(give("token", "create", "keeper", "--scope", "maintain")),
        ),
        (door.subject("plain"), door.subject("keeper", "maintain")),
    ]
    tasks = "".join(f"- [ ] Task {number}\n  - verify: false\n" for number in range(12))
    worker.does(NATIVE, "plan", markdown=f"# Orchard\n{tasks}")
    prefix = app.person().items.project().prefix
    items = [f"{prefix}-{number}" for number in range(2, 14)]
    for item in items[:9]:
        begin(Seat(worker), item, "partial")
    for place, (plain, keeper) in enumerate(pairs):
        own = items[9 + place]
        keeper.does("start", id=own)
        for act, item in zip(LOOSENS, items[3 * place : 3 * place + 3], strict=True):
            assert "has begun" in plain.is_refused("edit", id=item, **act)
            assert "worked on" in keeper.is_refused("edit", id=own, **act)
            keeper.does("edit", id=item, **act)
    assert app.person().audit.rebuild().differences == ()


@pytest.mark.long
def test_a_token_a_credential_and_a_subject_of_one_name_are_three(
    window: Opened, door: Door, give: Callable[..., str], app: App
) -> None:
    """Each judges what another did, and nothing of its own; entries tell them apart."""
    host = window()
    host.bears("ada", give("agent", "create", "ada"))
    three: list[Agent] = [
        Seat(host, "ada"),
        door.token(give("token", "create", "ada")),
        door.subject("ada"),
    ]
    phases = "".join(f"## Phase {one}\n- review: yes\n- [ ] Task {one}\n" for one in range(3))
    three[0].does("plan", markdown=f"# Orchard\n{phases}")
    prefix = app.person().items.project().prefix
    for place, who in enumerate(three):
        begin(who, f"{prefix}-{5 + place}")
        judged = {"id": f"{prefix}-{2 + place}", **APPROVES}
        assert "worked on" in who.is_refused("review", **judged)
        assert three[place - 1].does("review", **judged)["item"]["status"] == "done"
    entries = json.loads(host.runs("log", "--json", "--limit", "100")["out"])["entries"]
    for action in ("task.finished", "item.approved"):
        found = [one["actor"] for one in entries if one["action"] == action]
        # The issuer's is not shown under the name of a token.
        names = sorted(actor["name"] for actor in found)
        assert names[:2] == ["ada", "ada"]
        assert names[2].startswith("oauth-")
        ids = sorted(one["principal"]["id"][:4] for one in found)
        assert ids == ["agt_", "oaut", "tok_"]
        assert {one["principal"]["strength"] for one in found} == {"credential"}


@pytest.mark.long
def test_a_subject_is_never_shown_under_the_name_of_a_token(
    door: Door, give: Callable[..., str], counterpoint: Callable[..., Any], repository: Path, app: App
) -> None:  # fmt: skip
    token = door.token(give("token", "create", "bob"))
    for name in ("oauth-1", "oauth-0123456789ab"):
        ran = counterpoint("token", "create", name, cwd=repository)
        assert ran.returncode == 2, ran.stderr
    token.does("note", kind="finding", text="mine")
    for name in ("bob", "eve"):
        door.subject(name).does("note", kind="finding", text="other")
    entries = app.person().audit.log(limit=50)
    wrote = [entry.actor for entry in entries if entry.action == "finding.recorded"]
    kinds = {actor.name: actor.principal.id.partition(":")[0] for actor in wrote if actor.principal}
    marks = {name for name in kinds if name.startswith("oauth-")}
    assert {*kinds} - marks == {"bob", "eve"}
    assert kinds["eve"] == kinds[marks.pop()] == "oauth"
    assert kinds["bob"].startswith("tok_")
    assert not marks
