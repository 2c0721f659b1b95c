"""The course of the demonstration: who does what when, and what is watched.

This process reads the ledger as it grows and wakes the agents when something may have
become ready: the ledger wakes nobody in another process, so one looks for all. It starts all agents, so
it gives each a credential: by their processes they would be one. Three
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
from counterpoint.cli.demo.processes import AgentProcesses, Message
from counterpoint.cli.demo.recipes import load_plan
from counterpoint.cli.demo.repository import Tree, create_linked_tree
from counterpoint.cli.demo.worker import server_argv
from counterpoint.core.coordinator import Core
from counterpoint.core.ledger.entry import Entry
from counterpoint.core.model.access import WORKS, TokenRequest
from counterpoint.kernel.client_session import CREDENTIAL
from counterpoint.kernel.errors import Unavailable

LEAD = "lead"
ROLES_BY_AGENT = {
    "dee": "killed",
    "ada": "worker",
    "bob": "worker",
    "cy": "worker",
    "rae": "reviewer",
}
"""Who plays, and which role; the one that is killed comes first."""
KILLED_AGENT = "dee"
LATE_AGENT = "dee's return"

SHORT_LEASE_SECONDS = 3
LONGEST = 180.0
"""Seconds after which the demonstration gives up."""

_POLL_SECONDS = 0.1
_PAGE = 500
_WAKING_ACTIONS = ("plan.", "task.", "item.", "phase.")
"""What actions of the ledger begin with after which something may be ready."""


@dataclass(kw_only=True)
class Scenario:
    """One run of the demonstration."""

    app: App
    main: Tree
    trees: Path
    agents: AgentProcesses
    screen: Screen
    root: str = ""
    last: int = -1
    claims: dict[str, Entry] = field(default_factory=dict[str, Entry])
    here: set[str] = field(default_factory=set[str])
    credentials: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    refused: str = ""
    races: int = 0

    @property
    def core(self) -> Core:
        """The core, to look at."""
        return self.app.person()

    def perform(self) -> None:
        """Run everything from the first plan to the last handoff; Unavailable if it halts."""
        self.core.projects.find()  # makes the ledger before everybody wants to
        for name in (LEAD, *ROLES_BY_AGENT):
            request = TokenRequest(name=name, kind="agent", scopes=WORKS)
            self.credentials[name] = self.core.tokens.create(request).secret
        for name, role in ROLES_BY_AGENT.items():
            context = create_linked_tree(self.main, self.trees / name).folder
            lease = (
                {"COUNTERPOINT_LEASE_SECONDS": str(SHORT_LEASE_SECONDS)}
                if name == KILLED_AGENT
                else {}
            )
            self.agents.start(name, role, context, **self._credential(name), **lease)
            self.screen.said(name, "starts")
        # The SDK loads while the agents start.
        from counterpoint.protocol.client import connect

        argv = server_argv(LEAD)
        folder, environ = self.main.folder, {**self.main.environ, **self._credential(LEAD)}
        errors = self.agents.logs / f"{LEAD}.log"
        with connect(argv, folder=folder, environ=environ, errors=errors) as lead:
            self._watch(self._is_everybody_here)
            plan = lead.call("plan", markdown=load_plan(sys.executable))
            self.root = plan["root"]
            self._watch(self._is_over)
            self.agents.dismiss()
            lead.call("handoff", action="end", summary="The plan is done and proved.")
        self._read_ledger()

    def _credential(self, name: str) -> dict[str, str]:
        return {CREDENTIAL: self.credentials[name]}

    def _watch(self, is_reached: Callable[[], bool]) -> None:
        """Follow agents and ledger until something is reached; Unavailable if it never is."""
        deadline = monotonic() + LONGEST
        while not is_reached():
            for message in self.agents.receive(_POLL_SECONDS):
                self._take_message(message)
            self._read_ledger()
            self.agents.require_alive()
            if monotonic() > deadline:
                raise Unavailable(f"nothing more happened within {LONGEST:.0f} seconds")

    def _is_everybody_here(self) -> bool:
        return self.here == ROLES_BY_AGENT.keys()

    def _is_over(self) -> bool:
        """Whether the plan is done, and the killed agent, if there is one, called again."""
        awaited = bool(self.agents.killed) and not self.refused
        return not awaited and self.core.items.get(self.root).category == "done"

    def _take_message(self, message: Message) -> None:
        """Take in what an agent says."""
        name, facts = message
        self.screen.said(name, facts["doing"])
        self.races += "raced" in facts
        if "here" in facts:
            self.here.add(name)
        if "refused" in facts:
            self.refused = facts["refused"] or "nothing"
        if "halfway" in facts and name not in self.agents.killed:
            self.agents.kill(name)
            self.screen.said(name, "was killed with SIGKILL, and its relay with it")

    def _read_ledger(self) -> None:
        """Take in what the ledger says."""
        entries = self.core.audit.log(after=self.last, limit=_PAGE)
        for entry in entries:
            self.last = entry.sequence
            self.screen.wrote(entry)
            if entry.action == "task.taken_over":
                self._start_late_agent(entry)
            if entry.action == "task.started":
                self.claims[entry.subject] = entry
        if any(entry.action.startswith(_WAKING_ACTIONS) for entry in entries):
            self.agents.wake()
            counts = self.core.overview.state().counts["task"]
            self.screen.counted(counts.get("done", 0), sum(counts.values()))

    def _start_late_agent(self, entry: Entry) -> None:
        """Let the agent whose claim was lost come back with its session and its token."""
        lost = self.claims[entry.subject]
        words = ("--session", lost.actor.session, "--item", entry.subject)
        token = ("--token", str(lost.facts["token"]))
        agent = lost.actor.name
        own = self._credential(agent)
        self.agents.start(
            LATE_AGENT, "late", self.trees / agent, *words, *token, agent=agent, **own
        )
