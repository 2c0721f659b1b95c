"""Where the files of foundry lie: specs, and what a caller names in the project.

The folder of specs is `specs` in the main worktree, or the one that `FOUNDRY_MCP_SPECS_DIR` names. Both count only if they,
with every link followed, lie in the project: a variable or a link that came with a repository must not have files written elsewhere.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from counterpoint.kernel.errors import InvalidInput, PathOutside

SPECS: Final = "specs"
FOLDERS: Final = ("pending", "active", "completed", "archived")
"""The folders of specs, in the order in which a spec is looked for."""
PLANS: Final = ".plans"
PLAN_REVIEWS: Final = ".plan-reviews"


def specs_dir(home: Path, setting: str = "") -> Path:
    """Return the folder of specs of a project, whether or not it is there; PathOutside, InvalidInput.

    home: the main worktree. setting: where else it is to be, from the home on; empty: nowhere.
    """
    chosen = home / (_expanded(setting) if setting else SPECS)
    if not is_below(home, chosen):
        raise PathOutside(
            f"the folder of specs {str(chosen)[:200]!r} lies outside the project",
            hint="Let FOUNDRY_MCP_SPECS_DIR name a folder of this project, or take it away."
            if setting
            else f"Put a folder in the place of the link `{SPECS}`, or take it away.",
        )
    return chosen


def _expanded(path: str) -> Path:
    """Return a path as it was said, `~` with the home that it means; InvalidInput where it means none."""
    if "\0" in path:
        raise InvalidInput("a path has a NUL character", hint="Name a folder without it.")
    try:
        return Path(path).expanduser()
    except RuntimeError as fault:
        raise InvalidInput(
            f"`{path[:200]}` begins with a user that there is not", hint="Name the folder itself."
        ) from fault


def is_below(root: Path, path: Path) -> bool:
    """Return whether a path, links followed, lies at or below a root."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecsPlaces:
    """The places of one connection.

    tree: the worktree it works in. home: the main one. state: the folder of the ledger. said: where the folder of specs is to be.
    """

    tree: Path
    home: Path
    state: Path
    said: str = ""

    @property
    def specs(self) -> Path:
        """The folder of specs, whether or not it is there; PathOutside, InvalidInput."""
        return specs_dir(self.home, self.said)

    def within(self, path: str) -> Path:
        """Return a folder or file that a caller names, of the worktree or the main one; PathOutside, InvalidInput.

        It is taken from the worktree on, and may be absolute or begin with `~`.
        """
        target = self.tree / _expanded(path)
        if not any(is_below(root, target) for root in (self.tree, self.home)):
            raise PathOutside(f"`{path[:200]}` leads outside the project")
        return Path(os.path.realpath(target))
