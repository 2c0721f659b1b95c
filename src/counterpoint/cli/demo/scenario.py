"""The course of the demonstration: who does what when, and what is watched.

One process, the stage, reads the ledger as it grows and wakes the agents when something may have
become ready: the ledger wakes nobody in another process, so one looks for all. Three
things happen on purpose. The agent `dee` is killed together with its relay in the middle of its
first task; it was started with a lease of a few seconds (`COUNTERPOINT_LEASE_SECONDS`), so others
take the task over soon, and then a process with the dead agent's session and token tries to write.
A recipe has a first try that fails its check. The guide that is handed in first leaves something
out, which the reviewer finds by reading it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from counterpoint.app import App
from counterpoint.cli.demo.display import Screen
from counterpoint.cli.demo.processes import AgentProcesses, Said
from counterpoint.cli.demo.recipes import load_plan
from counterpoint.cli.demo.repository import Tree, create_linked_tree
from counterpoint.cli.demo.worker import server_argv
from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.entry import Entry
from counterpoint.kernel.errors import Unavailable

LEAD = "lead"
CAST = {"dee": "perishing", "ada": "worker", "bob": "worker", "cy": "worker", "rae": "reviewer"}
"""Who plays, and which role; the one that is killed comes first."""
DOOMED = "dee"
GHOST = "dee's return"

DOOMED_LEASE = 3
LONGEST = 180.0
"""Seconds after which the demonstration gives up."""

_GLANCE = 0.1
_PAGE = 500
_RINGS = ("plan.", "task.", "item.", "phase.")
"""What actions of the ledger begin with after which something may be ready."""


@dataclass(kw_only=True)
class Scenario:
    """One performance."""

    app: App
    main: Tree
    desks: Path
    stage: AgentProcesses
    screen: Screen
    root: str = ""
    last: int = -1
    claims: dict[str, Entry] = field(default_factory=dict[str, Entry])
    here: set[str] = field(default_factory=set[str])
    refused: str = ""
    races: int = 0

    @property
    def core(self) -> Core:
        """The core, to look at."""
        return self.app.person()

    def perform(self) -> None:
        """Scenario from the first plan to the last handoff; Unavailable if it comes to a halt."""
        self.core.projects.find()  # makes the ledger before everybody wants to
        for name, role in CAST.items():
            context = create_linked_tree(self.main, self.desks / name).folder
            lease = {"COUNTERPOINT_LEASE_SECONDS": str(DOOMED_LEASE)} if name == DOOMED else {}
            self.stage.start(name, role, context, **lease)
            self.screen.said(name, "starts")
        # The SDK loads while the agents start.
        from counterpoint.protocol.client import connect

        argv = server_argv(LEAD)
        folder, environ = self.main.folder, self.main.environ
        errors = self.stage.logs / f"{LEAD}.log"
        with connect(argv, folder=folder, environ=environ, errors=errors) as lead:
            self._watch(self._is_everybody_here)
            made = lead.call("plan", markdown=load_plan(sys.executable))
            self.root = made["root"]
            self._watch(self._is_over)
            self.stage.dismiss()
            lead.call("handoff", action="end", summary="The plan is done and proved.")
        self._look()

    def _watch(self, is_reached: Callable[[], bool]) -> None:
        """Follow agents and ledger until something is reached; Unavailable if it never is."""
        deadline = monotonic() + LONGEST
        while not is_reached():
            for said in self.stage.hear(_GLANCE):
                self._hear(said)
            self._look()
            self.stage.require_alive()
            if monotonic() > deadline:
                raise Unavailable(f"nothing more happened within {LONGEST:.0f} seconds")

    def _is_everybody_here(self) -> bool:
        return self.here == CAST.keys()

    def _is_over(self) -> bool:
        """Whether the plan is done, and the killed agent, if there is one, called again."""
        awaited = bool(self.stage.killed) and not self.refused
        return not awaited and self.core.items.get(self.root).category == "done"

    def _hear(self, said: Said) -> None:
        """Take in what an agent says."""
        name, facts = said
        self.screen.said(name, facts["doing"])
        self.races += "raced" in facts
        if "here" in facts:
            self.here.add(name)
        if "refused" in facts:
            self.refused = facts["refused"] or "nothing"
        if "halfway" in facts and name not in self.stage.killed:
            self.stage.kill(name)
            self.screen.said(name, "was killed with SIGKILL, and its relay with it")

    def _look(self) -> None:
        """Take in what the ledger says."""
        entries = self.core.audit.log(after=self.last, limit=_PAGE)
        for entry in entries:
            self.last = entry.sequence
            self.screen.wrote(entry)
            if entry.action == "task.taken_over":
                self._send_ghost(entry)
            if entry.action == "task.started":
                self.claims[entry.subject] = entry
        if any(entry.action.startswith(_RINGS) for entry in entries):
            self.stage.ring()
            counts = self.core.overview.state().counts["task"]
            self.screen.counted(counts.get("done", 0), sum(counts.values()))

    def _send_ghost(self, entry: Entry) -> None:
        """Let the agent whose claim was lost come back with its session and its token."""
        lost = self.claims[entry.subject]
        words = ("--session", lost.actor.session, "--item", entry.subject)
        token = ("--token", str(lost.facts["token"]))
        agent = lost.actor.name
        self.stage.start(GHOST, "late", self.desks / agent, *words, *token, agent=agent)
