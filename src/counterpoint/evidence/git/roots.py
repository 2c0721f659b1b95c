"""Tells repositories apart by their first commits, apart so that few commands ask git."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from counterpoint.evidence.git.call import GitCall, GitRefused
from counterpoint.evidence.git.tree import is_marked
from counterpoint.kernel.errors import CounterpointError
from counterpoint.kernel.frozen import frozen


@frozen
class Sighting:
    """What git tells of a repository.

    roots: the commits without parents that HEAD comes from. why: in words why they are not known.
    is_repository: whether there is one, readable or not.
    """

    git: GitCall
    is_repository: bool
    roots: tuple[str, ...] = ()
    why: str = ""

    def branch_roots(self) -> tuple[str, ...]:
        """Return the commits without parents that any branch here comes from; none if git cannot tell.

        A branch that begins anew, as that of published pages, is of the same repository.
        """
        try:
            return _root_commits(self.git, "--branches")
        except (GitRefused, CounterpointError):
            return ()


def sight_repository(folder: Path, environ: Mapping[str, str]) -> Sighting:
    """Return what git tells of the repository of a folder; nothing is raised."""
    git = GitCall(folder=folder, environ=environ)
    if not is_marked(folder):
        return Sighting(git=git, is_repository=False, why="there is no repository here")
    why = "git cannot read the repository here"
    try:
        if git.line("rev-parse", "--is-shallow-repository") == "true":
            # The last commit that it has has parents that it does not have.
            why = "this clone is shallow"
        elif not git.line("rev-list", "--max-count=1", "--all"):
            why = "this repository has no commit yet"
        else:
            return Sighting(git=git, is_repository=True, roots=_root_commits(git, "HEAD"))
    except (GitRefused, CounterpointError):
        # Without HEAD, as on a new branch, or because git refuses.
        return Sighting(git=git, is_repository=True, why=why)
    return Sighting(git=git, is_repository=True, why=why)


def _root_commits(git: GitCall, start: str) -> tuple[str, ...]:
    return tuple(sorted(git.ask("rev-list", "--max-parents=0", start).decode("ascii").split()))
