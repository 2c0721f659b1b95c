"""A throwaway git repository, with a working tree for each agent.

Every agent works in a linked tree of its own, on no branch. `land` puts its commit on `main`
without touching the tree: a fast-forward where that is possible, else a merge made in an index of
its own; then `main` is moved only if nobody else has moved it since, or all is done again. So the
evidence of a task holds just what its agent did, and `main` holds everybody's work.

Nothing is read from the person's own git configuration, and no hook is run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import counterpoint
from counterpoint.cli.clients.toml import set_table
from counterpoint.evidence.running.configuration import NAME, TABLE
from counterpoint.kernel.errors import ProgramMissing, Unavailable
from counterpoint.kernel.starting.programs import search_path

MAIN = "refs/heads/main"
MOST_TRIES = 50

_CHECKS = ((sys.executable, "-P", "-m", "unittest", "*"), ("git", "cat-file", "-e", "*"))
_FIRST_FILES = {
    ".gitignore": "__pycache__/\n",
    NAME: set_table("", (TABLE,), {"commands": [[*words] for words in _CHECKS]}),
    "quill/__init__.py": '"""Quill: a small library for plain text."""\n',
    "tests/__init__.py": "",
}
_SETTINGS = {
    "commit.gpgsign": "false",
    "core.autocrlf": "false",
    "core.hooksPath": os.devnull,
    "gc.auto": "0",
    "user.email": "demo@example.invalid",
    "user.name": "Counterpoint demo",
}


def child_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of every process of the demonstration.

    Without what would point git or Counterpoint elsewhere, and with this Counterpoint to import.
    """
    variables = {
        name: value
        for name, value in environ.items()
        if not name.startswith(("GIT_", "COUNTERPOINT_"))
    }
    source = str(Path(counterpoint.__file__).parents[1])
    search_paths = [str(Path(path).resolve()) for path in sys.path if path]
    if source in search_paths:
        others = variables.get("PYTHONPATH", "")
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, (source, others)))
    # The server that all share leaves with the last of them, whatever happens to this process.
    leaves = {"COUNTERPOINT_IDLE_MINUTES": "0"}
    # Its agents work elsewhere, where nothing would tell that an entry lies in the tree of whoever began it.
    leaves["PATH"] = search_path(environ.get("PATH"))
    return variables | leaves | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A working tree, as its agent uses it."""

    folder: Path
    environ: Mapping[str, str] = field(repr=False)

    def git(self, *arguments: str, **extra: str) -> str:
        """Return what git says; Unavailable if it refuses. extra: variables for this call."""
        done = self._run(arguments, extra)
        if done.returncode:
            raise Unavailable(f"git {arguments[0]} failed: {done.stderr.strip()}")
        return done.stdout.strip()

    def _run(
        self, arguments: Iterable[str], extra: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(  # noqa: S603 - an argument list of our own
                ["git", *arguments],  # noqa: S607 - git is found on the PATH, as everywhere
                cwd=self.folder,
                env={**self.environ, **extra, "PATH": search_path(self.environ.get("PATH"))},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
        except FileNotFoundError as fault:
            raise ProgramMissing("git is not installed") from fault

    def agrees(self, *arguments: str) -> bool:
        """Return whether git ends with 0."""
        return self._run(arguments, {}).returncode == 0

    def catch_up(self) -> None:
        """Go on from what is on `main` now."""
        self.git("checkout", "--quiet", "--force", "--detach", MAIN)

    def write(self, files: Mapping[str, str]) -> None:
        """Write files."""
        for path, text in files.items():
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")

    def commit(self, paths: Iterable[str], message: str, author: str) -> str:
        """Commit just these files; answer the commit."""
        files = list(paths)
        self.git("add", "--", *files)
        who = f"{author} <{author}@example.invalid>"
        self.git("commit", "--quiet", f"--author={who}", "-m", message, "--", *files)
        return self.git("rev-parse", "HEAD")

    def land(self, message: str) -> None:
        """Put the commit of this tree on `main`; Unavailable if that does not succeed."""
        own = self.git("rev-parse", "HEAD")
        for _ in range(MOST_TRIES):
            main = self.git("rev-parse", MAIN)
            goal = own if self.agrees("merge-base", "--is-ancestor", main, own) else ""
            goal = goal or self._joined(main, own, message)
            if self.agrees("update-ref", MAIN, goal, main):
                return
        raise Unavailable("main was moved by others again and again")

    def _joined(self, main: str, own: str, message: str) -> str:
        """Return a merge of two commits that touch different files."""
        index = Path(self.git("rev-parse", "--absolute-git-dir")) / "landing"
        start = self.git("merge-base", main, own)
        extra = {"GIT_INDEX_FILE": str(index)}
        index.unlink(missing_ok=True)
        self.git("read-tree", "-i", "-m", "--aggressive", start, main, own, **extra)
        tree = self.git("write-tree", **extra)
        return self.git("commit-tree", tree, "-p", main, "-p", own, "-m", message)


def create_repository(folder: Path, environ: Mapping[str, str]) -> Tree:
    """Make a repository with a first commit; answer its main tree. ProgramMissing."""
    folder.mkdir(parents=True)
    tree = Tree(folder=folder, environ=environ)
    tree.git("init", "--quiet", "--template=")
    tree.git("symbolic-ref", "HEAD", MAIN)
    for name, value in _SETTINGS.items():
        tree.git("config", name, value)
    tree.write(_FIRST_FILES)
    tree.commit(_FIRST_FILES, "Begin the library", "lead")
    return tree


def create_linked_tree(main: Tree, folder: Path) -> Tree:
    """Make a linked working tree; answer it."""
    main.git("worktree", "add", "--quiet", "--detach", str(folder), MAIN)
    return Tree(folder=folder, environ=main.environ)
