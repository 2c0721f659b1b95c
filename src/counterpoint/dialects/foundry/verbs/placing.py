"""Paths of files that nodes name: in the worktree, and never outside of it."""

from __future__ import annotations

from collections.abc import Collection
from posixpath import normpath

from counterpoint.core.operations.recording.context import Context
from counterpoint.dialects.foundry.rules.importing.drafting import Place, as_written
from counterpoint.kernel.errors import InvalidInput


def placed(context: Context, path: str) -> str:
    """Return the path of a file in the worktree, links followed, whether or not it exists; PathOutside, InvalidInput."""
    if not path.strip():
        return path
    return context.ports.evidence.contain(context.caller.root, normpath(path))


def placing(context: Context, paths: Collection[str] | None = None) -> Place:
    """Return a function that maps paths of documents as `placed` does, and to nothing where that refuses.

    paths: those to resolve, all without any: each takes a while, and unchanged ones need none.
    """
    placed_paths: dict[str, str] = {}

    def place(path: str) -> str:
        if paths is not None and path not in paths:
            return as_written(path)
        if path not in placed_paths:
            try:
                placed_paths[path] = placed(context, path)
            except InvalidInput:
                placed_paths[path] = ""
        return placed_paths[path]

    return place
