"""Write the plugin folder for Claude Code from the tables that `counterpoint init` writes from."""

from __future__ import annotations

import json
from pathlib import Path

from counterpoint import __version__
from counterpoint.cli.clients.hooks import HOOKS
from counterpoint.cli.clients.known import CLIENTS, SERVER

FOLDER = Path(__file__).parent.parent / "integrations" / "claude-code"
_ABOUT = "Plans, decisions and evidence of coding agents, in one ledger that can be verified."


def documents() -> dict[str, object]:
    """Return what each file of the plugin says, by its path in the folder."""
    (client,) = (one for one in CLIENTS if one.name == "claude")
    (hooks,) = (one for one in HOOKS if one.client == "claude")
    plugin = {
        "name": SERVER,
        "version": __version__,
        "description": _ABOUT,
        "author": {"name": "Counterpoint contributors"},
        "license": "MIT",
    }
    server = {name: value for name, value in client.wanted().items() if name != "type"}
    return {
        ".claude-plugin/plugin.json": plugin,
        ".mcp.json": {"mcpServers": {SERVER: server}},
        "hooks/hooks.json": {"hooks": {event: [hooks.entry()] for event in hooks.events}},
    }


def main() -> None:
    """Write every file."""
    for name, document in documents().items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
