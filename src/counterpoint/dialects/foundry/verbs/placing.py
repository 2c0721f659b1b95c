"""Files that nodes name: by their path in the worktree, and never outside of it."""

from __future__ import annotations

from posixpath import normpath

from counterpoint.core.operations.recording.context import Context


def placed(context: Context, path: str) -> str:
    """Return the path of a file in the worktree, links followed, whether or not it is there; PathOutside, InvalidInput."""
    if not path.strip():
        return path
    return context.ports.evidence.contain(context.caller.root, normpath(path))
