"""Files that nodes name: by their path in the worktree, and never outside of it."""

from __future__ import annotations

from collections.abc import Collection
from posixpath import normpath

from counterpoint.core.operations.recording.context import Context
from counterpoint.dialects.foundry.rules.importing.drafting import Place, as_written
from counterpoint.kernel.errors import InvalidInput


def placed(context: Context, path: str) -> str:
    """Return the path of a file in the worktree, links followed, whether or not it is there; PathOutside, InvalidInput."""
    if not path.strip():
        return path
    return context.ports.evidence.contain(context.caller.root, normpath(path))


def placing(context: Context, paths: Collection[str] | None = None) -> Place:
    """Return what answers paths of documents as `placed` does, and nothing for those that it refuses.

    paths: those that are looked at, all of them without any: each look takes a while, and one that stays as it is needs none.
    """
    known: dict[str, str] = {}

    def place(path: str) -> str:
        if paths is not None and path not in paths:
            return as_written(path)
        if path not in known:
            try:
                known[path] = placed(context, path)
            except InvalidInput:
                known[path] = ""
        return known[path]

    return place
