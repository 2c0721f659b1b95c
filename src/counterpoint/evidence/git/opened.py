"""The working trees that this process has looked at, for all who look at them.

A tree is asked about itself once, and again only when its `.git` or its configuration is another.
Callers whose variables lead git to the same answers get the same tree, and so share its looks. What
speaks with git is imported by the first look: a server is asked other things first.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from counterpoint.evidence.environment import deciding_for_git
from counterpoint.kernel.errors import ProgramMissing

if TYPE_CHECKING:
    from counterpoint.evidence.git.tree import GitTree

_Key = tuple[Path, tuple[str, ...]]


class OpenTrees:
    """Trees by their folder; safe to use from several threads."""

    def __init__(self) -> None:
        """Know no tree."""
        self._lock = threading.Lock()
        self._known: dict[_Key, tuple[tuple[int, ...] | None, GitTree]] = {}

    def find(self, top: Path, environ: Mapping[str, str]) -> GitTree | str:
        """Return the tree at a folder, or in words why git says nothing about it."""
        from counterpoint.evidence.git.call import GitCall
        from counterpoint.evidence.git.tree import is_marked, open_tree, standing

        key, now = (top, deciding_for_git(environ)), standing(top)
        # Without the lock: of a tree that two make at once `_keep` lets one stand.
        cached = self._known.get(key)
        if cached is not None and now is not None and cached[0] == now:
            return cached[1]
        # What was read of the index is handed on: it may still be the same index.
        before = cached[1].hidden if cached is not None else None
        try:
            tree = open_tree(GitCall(folder=top, environ=environ), before)
        except ProgramMissing:
            inside = is_marked(top)
            return "there is a repository, but git is not installed" if inside else ""
        return tree if isinstance(tree, str) else self._keep(key, now, tree)

    def _keep(self, key: _Key, now: tuple[int, ...] | None, tree: GitTree) -> GitTree:
        """Return the tree that all share: the one that is known already if it is the same."""
        with self._lock:
            cached = self._known.get(key)
            same = cached[1] if cached is not None and cached[1] == tree else tree
            self._known[key] = (now, same)
            return same
