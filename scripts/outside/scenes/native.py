"""The native surface: a plan from its first word to its review, and a ledger that is proved."""

from __future__ import annotations

from drill import drill, listed
from stage import Agent, Stage

PLAN = """# Launch
All that must be there on the first day.
## Build {#build}
- [ ] Parser {#parser}
  - areas: src/parser
  - accept: it reads numbers
  - accept: it names the line of a fault
  - verify: git status --short
  - labels: core
  - priority: 1
  Reads the text of a plan.
- [ ] Printer
  - after: parser
- [ ] Notes
## Ship
- review: yes
- artifact: yes
- [ ] Package
"""
TREE = {
    "title": "Later",
    "items": [
        {"title": "Think", "items": [{"title": "Read", "name": "read"}]},
        {"title": "Ship it", "review": True, "kind": "phase"},
    ],
}
PARTS = [
    "children",
    "records",
    "outcomes",
    "receipts",
    "verdicts",
    "submissions",
    "handoffs",
    "log",
    "markdown",
]


def play(stage: Stage) -> None:
    """Play the whole scene."""
    ada, bob = stage.agent("ada"), stage.agent("bob")
    tools = listed(ada)
    _plan(ada)
    token = _work(stage, ada, bob)
    _refuse(ada, bob, token)
    _journal(ada, bob)
    _ship(stage, ada, bob)
    _handoff(ada, bob)
    _remember(stage.agent("carl"), stage.agent("dora", "--profile", "coder"))
    for one in ("verify", "checkpoint"):
        ada.call("prove", what=one)
    ada.call("prove", what="inclusion", sequence=1)
    ada.call("prove", what="consistency", first_size=3)
    ada.call("prove", what="inclusion", sequence=99_999)
    drill(stage.agent("eve"), tools)


def _plan(ada: Agent) -> None:
    ada.call("brief")
    ada.call("plan", markdown=PLAN, dry_run=True)
    ada.call("plan", markdown=PLAN, idempotency_key="first")
    ada.call("plan", markdown=PLAN, idempotency_key="first")
    ada.call("plan", markdown="# Another", idempotency_key="first")
    ada.call("plan", tree=TREE)
    ada.call("plan", template="feature-development", variables={"FEATURE_NAME": "Search"})
    ada.call("plan", template="feature-development", variables={"NAME": "Search"})
    ada.call("plan", template="no-such-template")
    ada.call("plan", markdown="no heading")
    ada.call("plan", markdown="# P\n- [ ] A {#a}\n  - after: b\n- [ ] B {#b}\n  - after: a\n")
    ada.call("list")
    ada.call("list", ready=True, limit=2)
    ada.call("list", root="demo-1", kind="task", label="core")
    ada.call("list", limit=2)


def _work(stage: Stage, ada: Agent, bob: Agent) -> int:
    ada.call("next")
    ada.call("start", id="demo-5")
    token = ada.call("start", id="demo-4", lease_minutes=60).get("claim", {}).get("token", 0)
    bob.call("start", id="demo-4")
    bob.call("next", claim=True)
    bob.call("brief")
    ada.call("brief", item="demo-4", budget_tokens=400)
    ada.call("finish", id="demo-4", token=token, outcome="done", summary="too early")
    stage.commit("src/parser/parser.py", "a = 1\n")
    stage.let_run()
    ada.call("verify", id="demo-4", token=token)
    ada.call("verify", id="demo-4", token=token, gates=["lint"])
    ada.call("verify", command=["git", "log", "--oneline"], folder="src")
    ada.call("verify", command=["sh", "-c", "echo seen; exit 3"])
    ada.call("verify", command=["no-such-program-here"])
    ada.call("verify", command=["git"], folder="..")
    return token


def _refuse(ada: Agent, bob: Agent, token: int) -> None:
    done = {"id": "demo-4", "outcome": "done", "summary": "It reads"}
    bob.call("finish", **done, token=token)
    ada.call("finish", **done, token=token + 7)
    ada.call("edit", id="demo-4", title="Reader", expected_version=77)
    ada.call("edit", id="demo-4", status="done")
    ada.call("edit", id="demo-4", status="no-such-state")
    ada.call("edit", id="demo-4", parent="demo-4")
    ada.call("edit", id="demo-4", add_after=["demo-5"])
    ada.call("edit", id="demo-7", waive=["review"], reason="for once")
    ada.call("edit", id="demo-6", add_labels=["docs"], areas=["docs"], priority=0, reason="soon")
    ada.call("edit", id="demo-6", description="Write them", accept=["they are read"])
    ada.call("finish", **done, token=token, met=[1, 2], achievements=["numbers"])
    ada.call("finish", **done, token=token, met=[1, 2])
    ada.call("edit", id="demo-4", status="cancelled")
    for include in PARTS:
        ada.call("show", id="demo-4", include=[include])
    for name in ("demo-1", "#1", "demo-999", "r-1", "", "nonsense"):
        ada.call("show", id=name, include=["children"])


def _journal(ada: Agent, bob: Agent) -> None:
    for kind in ("decision", "finding", "learning", "milestone", "comment", "thought"):
        ada.call("note", kind=kind, text=f"A {kind} about parsing", title=kind, tags=["t"])
    ada.call("note", kind="finding", text="Seen", id="demo-5", files=["readme.txt"])
    ada.call("note", kind="finding", text="Seen", files=["../outside"])
    told = ada.call("note", kind="blocker", text="No key", id="demo-5")
    blocker = told.get("record", {}).get("id", "none")
    ada.call("start", id="demo-5")
    ada.call("note", kind="blocker", text="Here it is", resolves=blocker)
    ada.call("note", kind="blocker", text="Again", resolves=blocker)
    ada.call("show", id=blocker)
    bob.call("find", query="parsing")
    bob.call("find", query="parser", kinds=["task"], limit=1)
    bob.call("find", query="?!")
    bob.call("find", query="x", kinds=["no-such-kind"])


def _ship(stage: Stage, ada: Agent, bob: Agent) -> None:
    ada.call("submit", id="demo-3", summary="too early")
    for agent, name in ((ada, "demo-5"), (ada, "demo-6"), (bob, "demo-6"), (ada, "demo-7")):
        token = agent.call("start", id=name).get("claim", {}).get("token", 1)
        agent.call("finish", id=name, token=token, outcome="done", summary=name)
    stage.commit("dist/notes.md", "notes\n")
    ada.call("submit", id="demo-3", summary="ready", path="gone.md")
    ada.call("submit", id="demo-3", summary="ready", path="../outside")
    handed = ada.call("submit", id="demo-3", summary="ready", path="dist/notes.md")
    ada.call("review", id="demo-3", verdict="approve", reason="mine")
    bob.call("review", id="demo-3", verdict="reject", reason="thin", fixes=["add more"])
    bob.call("review", id="demo-3", verdict="approve", reason="too early")
    stage.commit("dist/notes.md", "more notes\n")
    bob.call("review", id="demo-3", verdict="approve", reason="old", subject="0" * 64)
    handed = ada.call("submit", id="demo-3", summary="ready again", path="dist/notes.md")
    subject = handed.get("sha256", "none")
    told = bob.call("review", id="demo-3", verdict="approve", reason="good", subject=subject)
    bob.call("show", id=told.get("verdict", "none"))
    bob.call("show", id="demo-3", include=["submissions", "verdicts"])
    ada.call("submit", id="demo-3", summary="once more", path="dist/notes.md")
    ada.call("submit", id="demo-1", summary="all of it")


def _handoff(ada: Agent, bob: Agent) -> None:
    ada.call("start", id="demo-11")
    ada.call("handoff", action="resume")
    paused = ada.call(
        "handoff", action="pause", summary="half", next_steps=["floats"], blockers=["no key"]
    )
    session = paused.get("session", {}).get("id", "none")
    ada.call("note", kind="comment", text="while paused")
    ada.call("handoff", action="resume")
    for action in ("pause", "resume", "pause"):
        ada.call("handoff", action=action, summary="lunch")
    bob.call("handoff", action="continue", session=session)
    bob.call("handoff", action="continue", session="none")
    bob.call("show", id=session)
    ada.call("note", kind="comment", text="after it was taken over")
    bob.call("handoff", action="end", summary="gone")
    bob.call("note", kind="comment", text="one more")


def _remember(plain: Agent, coder: Agent) -> None:
    for agent in (plain, coder):
        agent.call("remember", action="set", key="colour", value={"deep": ["red", 1, None]})
        agent.call("remember", action="set", key="colour", value=2, expected_version=9)
        agent.call("remember", action="get", key="colour")
        agent.call("remember", action="list")
        agent.call("remember", action="forget", key="colour")
        agent.call("remember", action="get", key="colour")
        agent.call("remember", action="set", key="k", value=1, scope="profile")
