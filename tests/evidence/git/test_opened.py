"""Trees that are known: who shares one, and what becomes of its looks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import pytest

from counterpoint.evidence.git.opened import OpenTrees
from counterpoint.evidence.git.shared import SharedLook
from counterpoint.evidence.git.tree import GitTree
from counterpoint.evidence.local import LocalEvidence
from counterpoint.kernel.clock import SystemClock

if TYPE_CHECKING:
    from tests.evidence.conftest import Repo

T = TypeVar("T")


@pytest.mark.parametrize("folder", ["", "dir"])
def test_callers_from_different_terminals_share_a_tree(repo: Repo, folder: str) -> None:
    """What says only where a program was started does not part them; another home does."""
    trees, root = OpenTrees(), repo.root / folder
    here = trees.find(root, repo.environ | {"TERM": "a"})
    assert isinstance(here, GitTree)
    assert trees.find(root, repo.environ | {"TERM": "b", "PWD": "/"}) is here
    assert trees.find(root, repo.environ | {"HOME": str(repo.root)}) is not here


def test_threads_that_open_a_tree_at_once_get_the_same(repo: Repo) -> None:
    """Each asks git about it; one answer stays, so that their looks are shared."""
    trees = OpenTrees()
    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(trees.find, repo.root, repo.environ) for _ in range(4)]
    assert len({id(one.result()) for one in asked}) == 1


def test_starts_and_ends_share_their_looks(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot and a comparison take the look that all share, whoever asks."""
    taken: list[object] = []
    real = SharedLook.take

    def take(look: SharedLook[T]) -> T:
        taken.append(look)
        return real(look)

    monkeypatch.setattr(SharedLook, "take", take)
    trees = OpenTrees()
    one, other = (
        LocalEvidence(clock=SystemClock(), environ=repo.environ, trees=trees) for _ in range(2)
    )
    other.compare(repo.root, one.snapshot(repo.root))
    assert len(taken) == 2
    assert taken[0] is taken[1]
