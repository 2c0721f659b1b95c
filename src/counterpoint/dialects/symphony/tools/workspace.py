"""The tool `verify_workspace`, and the marker that it and others look at."""

from __future__ import annotations

from counterpoint.dialects.call import Call
from counterpoint.dialects.symphony.nouns.phases import MARKER, Workspace
from counterpoint.dialects.symphony.verbs.workspaces import Workspaces
from counterpoint.dialects.symphony.words import bound
from counterpoint.kernel.canonical import Json
from counterpoint.protocol.tools import tool


@tool(reads=True)
def verify_workspace(call: Call) -> Json:
    """Verify that this is the worktree of the current issue; do this first."""
    workspace = require_workspace(call)
    return {
        "valid": True,
        "path": workspace.path,
        "issue": workspace.identifier,
        "branch": workspace.branch,
        "message": "Workspace verified: you are in the right worktree.",
    }


def require_workspace(call: Call) -> Workspace:
    """Return the worktree of the current issue; Conflict with the way back if this is another."""
    return call.core.use(Workspaces).verify(MARKER, bound(call))
