"""What the agents of the demonstration do, each over its own MCP connection.

A worker goes round: `next` (what is ready) → its tree catches up with `main` → `start` (only one
of several that try gets the claim) → write and commit files → `verify` → `note` → `finish`. It
lands its work before it finishes: what `next` offers afterwards needs it. For the same reason it
catches up between the offer and the claim, and does not take both at once with `claim`: the tree
that the claim begins from then has all that the task waited for, and the evidence nothing else.

A reviewer looks at what was handed in, and either approves it, bound to the hash of what it read,
or rejects it, which makes a task that repairs it.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from counterpoint.cli.demo.pipes import WakeSignal, tell
from counterpoint.cli.demo.recipes import Recipe, load_recipes
from counterpoint.cli.demo.repository import Tree
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Unavailable
from counterpoint.kernel.plurals import counted
from counterpoint.protocol.client import Connection, ToolRefused

GUIDE = "docs/guide.md"
REPAIR = "Name every function in the guide"
_REPAIRS = "Mend "
"""How the title of a task begins that a rejection makes."""
_GUIDE_TEST = ("discover", "-q", "-t", ".", "-s", "tests", "-p", "test_guide.py")

_LOST_RACE = frozenset({"already_claimed", "not_ready"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """An agent that takes tasks until it is told to leave; `is_killed`: one that never finishes."""

    name: str
    connection: Connection
    tree: Tree
    wakes: WakeSignal
    is_killed: bool = False
    recipes: Mapping[str, Recipe] = field(default_factory=load_recipes, repr=False)

    def work(self) -> None:
        """Do what is ready, wait while nothing is, and end the session when told to leave."""
        self.connection.call("brief")
        tell("is here", here=True)
        while self._takes() or self.wakes.wait():
            continue
        self.connection.call("handoff", action="end", summary=f"{self.name} leaves: all is done.")

    def _takes(self) -> bool:
        """Take one of the tasks on offer and do it; answer whether there was one to take."""
        offers = self.connection.call("next", limit=5)["ready"]
        if not offers:
            tell("waits for work")
            return False
        self.tree.catch_up()
        for offer in offers:
            try:
                started = self.connection.call("start", id=offer["id"])
            except ToolRefused as refusal:
                if refusal.code not in _LOST_RACE:
                    raise
                tell(f"was too late for {offer['id']}", raced=True)
            else:
                self._do(started)
                return True
        return False

    def _do(self, started: dict[str, Json]) -> None:
        title = started["item"]["title"]
        is_repair = title.startswith(_REPAIRS)
        task = _Task(
            id=started["item"]["id"],
            token=started["claim"]["token"],
            recipe=self.recipes[REPAIR if is_repair else title],
            check={"command": [sys.executable, "-P", "-m", "unittest", *_GUIDE_TEST]}
            if is_repair
            else {},
            phase=started["item"]["parent"],
            met=[sentence["n"] for sentence in started["item"].get("accept", [])],
        )
        tell(f"{task.id} {task.recipe.title}")
        if self.is_killed:
            self._stop_halfway(task)
            return
        lost = started.get("taken_over_from")
        if lost:
            self._note(task, "finding", f"{lost} had left nothing on main; begun again from there.")
        commits = self._attempt(task)
        for kind, text in task.recipe.notes:
            self._note(task, kind, text)
        self.tree.land(f"Land {task.id}: {task.recipe.title}")
        self._finish(task, commits)

    def _stop_halfway(self, task: _Task) -> None:
        path, text = task.recipe.first_half
        self.tree.write({path: text})
        self._note(task, "comment", f"Half of {path} is written.")
        tell(f"{task.id} is half done", halfway=task.id)
        self.wakes.wait_for_the_end()

    def _attempt(self, task: _Task) -> list[str]:
        """Write, commit and verify until the checks pass; answer the commits."""
        commits: list[str] = []
        receipts: list[Json] = []
        for files in task.recipe.attempts:
            self.tree.write(files)
            message = f"{task.recipe.title} ({task.id})"
            if commits:
                message = f"Repair: {message}"
            commits.append(self.tree.commit(files, message, self.name))
            checked = self.connection.call("verify", id=task.id, token=task.token, **task.check)
            if checked["passed"]:
                return commits
            receipts = checked["receipts"]
            tell(f"{task.id} failed its check; repairs it")
        raise Unavailable(f"{task.id} fails its check: {receipts}")

    def _note(self, task: _Task, kind: str, text: str) -> None:
        self.connection.call("note", kind=kind, text=text, id=task.id, token=task.token)

    def _finish(self, task: _Task, commits: list[str]) -> None:
        summary = f"{task.recipe.title}: done in {counted(len(commits), 'commit')}, verified."
        self.connection.call(
            "finish",
            id=task.id,
            token=task.token,
            outcome="done",
            summary=summary,
            achievements=[f"{path} is there" for path in task.recipe.files],
            met=task.met,
        )
        tell(f"has finished {task.id}", finished=task.id)
        if task.recipe.hands_in:
            path = task.recipe.hands_in
            words = f"Every task is done; {path} shows it."
            self.connection.call("submit", id=task.phase, path=path, summary=words)
            tell(f"has handed in {task.phase}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """A task in hand; check: what it is verified by besides its own checks."""

    id: str
    token: int
    recipe: Recipe
    check: Mapping[str, Any]
    phase: str
    met: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    """An agent that judges what is handed in."""

    name: str
    connection: Connection
    tree: Tree
    wakes: WakeSignal

    def work(self) -> None:
        """Judge what waits for it until it is told to leave."""
        self.connection.call("brief")
        tell("is here", here=True)
        while True:
            waiting = self.connection.call("list", status="review", kind="phase")["items"]
            for phase in waiting:
                self._judge(phase["id"])
            if not waiting:
                tell("waits for what is handed in")
                if not self.wakes.wait():
                    break
        words = f"{self.name} leaves: all is judged."
        self.connection.call("handoff", action="end", summary=words)

    def _judge(self, phase: str) -> None:
        tell(f"reads {phase}")
        view = self.connection.call("show", id=phase, include=["submissions"])
        path = view["submissions"][-1]["path"]
        self.tree.catch_up()
        read = hashlib.sha256((self.tree.folder / path).read_bytes()).hexdigest()
        suite = [sys.executable, "-P", "-m", "unittest", "-q"]
        checked = self.connection.call("verify", id=phase, command=suite)
        missing = sorted(self._undescribed())
        if missing or not checked["passed"]:
            self._reject(phase, missing, read)
        else:
            self.connection.call(
                "review",
                id=phase,
                verdict="approve",
                reason=f"Read {path}; the suite passes and the guide names every function.",
                subject=read,
            )
            tell(f"has approved {phase}")

    def _undescribed(self) -> Iterator[str]:
        """Return the public functions that the guide does not name."""
        guide = (self.tree.folder / GUIDE).read_text(encoding="utf-8")
        for path in sorted(self.tree.folder.glob("quill/[a-z]*.py")):
            for part in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(part, ast.FunctionDef) and f"`{part.name}`" not in guide:
                    yield part.name

    def _reject(self, phase: str, missing: list[str], read: str) -> None:
        names = ", ".join(f"`{name}`" for name in missing)
        fix = f"Describe {names} in {GUIDE}, and test that the guide names every function."
        reason = f"{GUIDE} does not name {names or 'what fails'}."
        self.connection.call(
            "review", id=phase, verdict="reject", reason=reason, fixes=[fix], subject=read
        )
        tell(f"has rejected {phase}: {reason}")


def write_too_late(connection: Connection, item: str, token: int) -> None:
    """Try to finish a task with the token of a claim that others have taken over; say how it went."""
    try:
        connection.call("finish", id=item, token=token, outcome="done", summary="Late.")
    except ToolRefused as refusal:
        words = cast("str", refusal.envelope.get("message", ""))
        tell(f"comes back and is refused: {words}", refused=refusal.code)
    else:
        tell("wrote after its claim was lost", refused="")
