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
    found = verified(call)
    return {
        "valid": True,
        "path": found.path,
        "issue": found.identifier,
        "branch": found.branch,
        "message": "Workspace verified: you are in the right worktree.",
    }


def verified(call: Call) -> Workspace:
    """Return the worktree of the current issue; a refusal with the way back if this is not it."""
    return call.core.use(Workspaces).verify(MARKER, bound(call))
