"""Every command: its group in the help, its file, and what it is for in one line.

The help of all commands is written from this table alone, so that none of them is loaded for it. A line fits
80 columns, and is the first sentence of the command's own help: a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Command(NamedTuple):
    """Where a command is: the file below this folder; and what it is for, without a full stop."""

    file: str
    summary: str


HIDDEN: Final = ""
"""The group of what only other programs start."""

GROUPS: Final[Mapping[str, Mapping[str, Command]]] = {
    "Begin": {
        "init": Command(
            "clients.setup", "Set up this repository: its ledger and your agents' settings"
        ),
        "demo": Command("demo.command", "Watch agents work on one plan in a throwaway repository"),
        "doctor": Command("doctor", "Check that everything is in order"),
        "help": Command("helping", "Explain a command"),
        "completion": Command("helping", "Print a completion script for your shell"),
        "version": Command("helping", "Print the version"),
    },
    "Plan": {
        "plan": Command(
            "work.plans", "Make a tree of work from a Markdown file, JSON or a template"
        ),
        "add": Command("work.items", "Add one item"),
        "edit": Command("work.items", "Change an item: title, text, state, labels, order, checks"),
        "note": Command("work.journal", "Write down a decision, finding, blocker or comment"),
        "import": Command("importing.command", "Import work from other tools"),
        "export": Command(
            "importing.exporting", "Export work for other tools, or for another ledger"
        ),
    },
    "Look": {
        "board": Command("server.board", "Open the board in a browser, logged in"),
        "status": Command("work.lists", "Show how the project stands, and what waits for you"),
        "top": Command(
            "top.command", "Watch agents, claims, work and reviews as they change, and decide"
        ),
        "list": Command("work.lists", "List items"),
        "next": Command("work.lists", "Show what can be started now, most urgent first, and why"),
        "show": Command("work.show", "Show an item, record or other thing by its id"),
        "diff": Command("work.changes", "Show what a task changed in the code"),
        "log": Command("work.log", "Show what happened, by whom and when"),
        "find": Command("work.lists", "Search items, records, outcomes, handoffs and verdicts"),
    },
    "Work": {
        "start": Command("work.claims", "Start a task yourself, or take it over"),
        "check": Command("work.claims", "Run the checks of an item and keep signed receipts"),
        "finish": Command("work.claims", "End a task that you have started"),
        "release": Command("work.claims", "Free a task, or all that a session holds, for others"),
        "unblock": Command("work.journal", "Resolve a blocker, or all blockers of an item"),
        "handoff": Command("work.handoffs", "Read a session's handoff, or leave one"),
        "supervise": Command("supervise.command", "Have agents work on a spec, phase after phase"),
    },
    "Review": {
        "submit": Command("work.reviews", "Hand in a phase or task, with its artifact"),
        "approve": Command("work.reviews", "Approve submitted work, or let an item start"),
        "reject": Command("work.reviews", "Send work back, with what to fix"),
        "waive": Command("work.reviews", "Open a gate of an item although it is not met"),
        "reopen": Command("work.reviews", "Reopen an item that has ended"),
    },
    "Agents and servers": {
        "mcp": Command("server.connect", "Serve MCP on stdin and stdout, for an agent's settings"),
        "prime": Command("clients.priming", "Show an agent what it holds and what is ready"),
        "up": Command("server.up", "Serve agents over HTTP"),
        "serve": Command("server.serve", "Serve agents over a socket, as a service does"),
        "service": Command(
            "service.command",
            "Give the ledger an account of its own, or take it back",
        ),
        "down": Command("server.serve", "Stop the server of this ledger"),
        "tools": Command("server.connect", "List the tools that agents are offered"),
        "agent": Command("trust.agents", "Manage credentials that identify agents"),
        "token": Command("tokens", "Manage tokens for HTTP clients"),
        "provider": Command(
            "models.provider", "Show providers of models and searches, and keep their keys"
        ),
        "profile": Command("profiles", "Set which tools the agents of a role may call"),
    },
    "Prove": {
        "audit": Command("ledger", "Verify, prove, export or rebuild the ledger"),
        "verify": Command("ledger", "Verify an exported ledger or session, without a ledger"),
        "key": Command("trust.keys", "Manage the keys that people sign with"),
        "policy": Command("trust.policy", "Show or change who may review in this project"),
        "trust": Command(
            "trust.trusting", "Review counterpoint.toml and allow what it says to run"
        ),
        "signer": Command("trust.signers", "Sign for programs of other accounts or machines"),
        "witness": Command("trust.witness", "Run a witness of ledgers"),
    },
    "Keep": {
        "backup": Command("backup", "Write a copy of the database while it is in use"),
        "restore": Command("backup", "Replace the ledger by a backup"),
        "storage": Command("storage", "Move ledgers between databases"),
        "project": Command("trust.adopting", "Say which repository a project belongs to"),
        "plans": Command("work.plans", "Remove the texts of old plans"),
        "sessions": Command("work.plans", "List sessions, and end those that were forgotten"),
        "learning": Command("knowledge", "Find and judge what agents have learned"),
        "vault": Command("knowledge", "Keep documents that agents find again"),
        "runs": Command("runs", "Import event streams of agents' runs"),
    },
    "Boards of symphony": {
        "issue": Command("work.issues", "Set the size of an issue"),
        "phases": Command("work.issues", "Advance issues from phase to phase"),
        "workspace": Command(
            "work.issues", "Mark the working tree you are in as the one for an issue"
        ),
    },
    HIDDEN: {
        "event": Command(
            "clients.reporting",
            "Report one call of a tool that a client's hook tells of on standard input",
        ),
        "listings": Command("server.listings", "Work out what the dialects list"),
    },
}
"""The groups in the order of the help, and in each the commands."""

COMMANDS: Final[Mapping[str, Command]] = {
    name: command for group in GROUPS.values() for name, command in group.items()
}
