"""A real repository for each test, and git's own word on what changed in it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from fakes.repositories import Repo

_SEED = """
git init -q -b main --template= .
mkdir dir
seq 1 20 > a.txt; seq 30 50 > b.txt; seq 60 80 > dir/c.txt; echo one > dir/d.txt
printf 'a\\0b' > blob.bin; ln -s a.txt link; echo '*.log' > .gitignore
git add -A; git commit -qm seed
"""


@pytest.fixture(scope="session")
def git_environ() -> dict[str, str]:
    """An environment in which git knows nobody's configuration."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
    }


@pytest.fixture(scope="session")
def seeded(git_environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One repository with a commit, to be copied."""
    root = tmp_path_factory.mktemp("seed")
    Repo(root=root, environ=git_environ).sh(_SEED)
    return root


@pytest.fixture
def repo(seeded: Path, git_environ: dict[str, str], tmp_path: Path) -> Repo:
    """A fresh repository with one commit."""
    root = tmp_path / "repo"
    shutil.copytree(seeded, root, symlinks=True)
    own = tmp_path / "own.gitconfig"
    own.touch()
    return Repo(root=root, environ={**git_environ, "GIT_CONFIG_GLOBAL": str(own)})


@pytest.fixture
def bare_folder(git_environ: dict[str, str], tmp_path: Path) -> Repo:
    """An empty folder that is no repository."""
    root = tmp_path / "folder"
    root.mkdir()
    return Repo(root=root, environ=git_environ)
