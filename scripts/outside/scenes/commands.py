"""The command line: the help of every command, and what each says, writes and refuses."""

from __future__ import annotations

import re
from typing import Any

from stage import Stage

SURFACES = ("native", "symphony", "workflow", "agentic", "colibri")
CLIENTS = ("claude", "codex", "cursor", "vscode", "gemini")
PLAN = "# Launch\n## Build\n- [ ] Parser {#parser}\n  - labels: core\n- [ ] Printer\n  - after: parser\n"
VIEWS = (
    ("status",),
    ("list",),
    ("show", "demo-1"),
    ("show", "demo-3"),
    ("next",),
    ("log", "--limit", "100000"),
    ("audit", "verify"),
    ("audit", "rebuild"),
)
"""What is read after each scene, as JSON, and once as text too."""
MORE = (
    ("list", "--category", "done"),
    ("list", "--ready"),
    ("show", "demo-999"),
    ("log", "--item", "demo-3"),
    ("find", "parser"),
    ("find", "nothing-of-the-kind"),
    ("token", "list"),
    ("vault", "list"),
)
"""What is read besides at the command line alone."""
REFUSED = (
    ("no-such-command",),
    ("status", "--no-such-flag"),
    ("list", "--limit", "0"),
    ("list", "--category", "lost"),
    ("list", "--status", "lost"),
    ("show",),
    ("show", "nonsense"),
    ("log", "--item", "demo-999"),
    ("find",),
    ("mcp", "--surface", "nativ"),
    ("mcp", "--mode", "SOME", "--surface", "colibri"),
    ("tools", "--surface", "nativ"),
    ("tools", "--where", "no_such_tool"),
    ("token", "create", "a", "--expires", "soon"),
    ("token", "create", "a", "--surface", "nativ"),
    ("token", "create", "a", "--ip", "nowhere"),
    ("token", "revoke", "nobody"),
    ("audit", "prove", "99999"),
    ("audit", "redact", "demo-999", "--reason", "x"),
    ("audit", "redact", "demo-3"),
    ("audit", "verify", "--bundle", "gone.jsonl"),
    ("verify", "gone.jsonl"),
    ("restore", "gone.db", "--yes"),
    ("storage", "move", "gone.db", "there.db"),
    ("profile", "set", "nobody", "--allow", "nothing"),
    ("profile", "tools", "nobody"),
    ("learning", "judge", "demo-999", "--verified"),
    ("issue", "size", "DEMO-999", "small"),
    ("issue", "size", "DEMO-001", "huge"),
    ("workspace", "open", "DEMO-999"),
    ("vault", "add", "gone.md"),
    ("vault", "remove", "gone.md"),
    ("runs", "ingest", "gone.jsonl"),
    ("status", "--db", "nowhere/else.db"),
    ("status", "--project", "nothing"),
    ("up", "--host", "example.org", "--port", "0"),
    ("up", "--port", "70000"),
    ("down",),
)
DONE = (
    ("token", "create", "reader", "--scope", "read", "--expires", "30d", "--rate", "5"),
    ("token", "list", "--json"),
    ("token", "revoke", "reader"),
    ("token", "list"),
    ("profile", "set", "worker", "--allow", "get_issue", "--deny", "create_pr"),
    ("profile", "tools", "worker"),
    ("profile", "set", "worker"),
    ("vault", "on"),
    ("vault", "add", "readme.txt"),
    ("vault", "list", "--json"),
    ("vault", "remove", "readme.txt"),
    ("phases", "advance", "--json"),
    ("plans", "prune", "--help"),
    ("plans", "prune"),
    ("sessions", "sweep"),
    ("workspace", "open", "demo-5"),
    ("issue", "size", "demo-5", "small", "--json"),
    ("learning", "find", "parser", "--json"),
    ("audit", "prove", "1", "--json"),
    ("audit", "prove", "--checkpoint"),
    ("audit", "prove", "--since", "1", "--json"),
    ("audit", "export", "bundle.jsonl"),
    ("audit", "verify", "--bundle", "bundle.jsonl"),
    ("verify", "bundle.jsonl", "--json"),
    ("audit", "redact", "demo-4", "--reason", "private"),
    ("audit", "verify", "--json"),
    ("backup", "copy.db"),
    ("restore", "copy.db", "--yes"),
    ("storage", "move", ".counterpoint/ledger.db", "moved.db", "--json"),
    ("status", "--db", "moved.db", "--json"),
    ("doctor", "--json"),
    ("doctor",),
    ("version",),
    ("version", "--json"),
)


def play(stage: Stage) -> None:
    """Play the whole scene."""
    _help(stage)
    for surface in SURFACES:
        stage.say("tools", "--surface", surface, "--json")
        stage.say("tools", "--surface", surface, "--sizes")
    stage.say("tools", "--where", "brief")
    for words in (*VIEWS, *MORE):
        stage.say(*words)
    stage.files()
    stage.say("init", "--dry-run")
    for client in CLIENTS:
        stage.say("init", "--dry-run", "--client", client)
    stage.say("init", "--yes", *(word for client in CLIENTS for word in ("--client", client)))
    stage.say("init", "--yes", "--client", "claude")
    stage.files()
    ada = stage.agent("ada")
    ada.call("plan", markdown=PLAN)
    token = ada.call("start", id="demo-3").get("claim", {}).get("token", 0)
    stage.say("status")
    ada.call("note", kind="blocker", text="No key", id="demo-4")
    ada.call("finish", id="demo-3", token=token, outcome="done", summary="It reads")
    boards = stage.agent("wizard", "--surface", "symphony")
    boards.call("create_issue", title="An issue")
    stage.leave()
    views(stage)
    for words in MORE:
        stage.say(*words)
        stage.say(*words, "--json")
    for words in (*REFUSED, *DONE):
        if words[0] == "doctor":
            stage.settle()
        stage.say(*words)


def views(stage: Stage) -> None:
    """Record what the command line shows of the ledger, as text and as JSON."""
    for words in VIEWS:
        stage.say(*words, "--json")
        if "--in-process" in stage.how or not stage.how:
            stage.say(*words)


def _help(stage: Stage, *words: str) -> None:
    told: Any = stage.say(*words, "--help")
    lines = told if isinstance(told, list) else []
    commands = False
    for line in lines:
        commands = commands or line == "Commands:"
        found = re.match(r"  ([a-z][\w-]*)(?:  |$)", line) if commands else None
        if found:
            _help(stage, *words, found[1])
