"""A real repository of a test's own, and git's own word on what changed in it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from counterpoint.core.model.evidence import FileChange
from counterpoint.evidence.local import LocalEvidence
from counterpoint.kernel.clock import SystemClock

_KINDS = {"A": "added", "M": "modified", "T": "modified", "D": "deleted", "R": "renamed"}


@dataclass(slots=True)
class Repo:
    """A working tree, driven with shell and asked with git."""

    root: Path
    environ: dict[str, str]
    folder: str = ""
    evidence: LocalEvidence = field(init=False)

    def __post_init__(self) -> None:
        self.evidence = LocalEvidence(clock=SystemClock(), environ=self.environ)

    def sh(self, script: str, **extra: str) -> str:
        """Run a script in the tree; answer what it wrote."""
        done = subprocess.run(
            ["sh", "-e", "-c", script],
            cwd=self.root,
            env=self.environ | extra,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return os.fsdecode(done.stdout)

    def tree(self) -> str:
        """Answer the id of a tree of everything on disk that git does not ignore."""
        index = self.root / ".git-index-of-the-test"
        self.sh(
            'cp -p "$(git rev-parse --git-path index)" "$GIT_INDEX_FILE" 2>/dev/null || true',
            GIT_INDEX_FILE=str(index),
        )
        script = "git add -A -- . ':!.git-index-of-the-test' ':!.counterpoint'; git write-tree"
        try:
            return self.sh(script, GIT_INDEX_FILE=str(index)).strip()
        finally:
            index.unlink(missing_ok=True)

    def head(self) -> str:
        """Answer the commit of HEAD, or the empty tree."""
        script = "git rev-parse -q --verify HEAD || git hash-object -t tree /dev/null"
        return self.sh(script).strip()

    def diff(self, older: str, newer: str, *, renames: bool = True) -> dict[str, FileChange]:
        """Answer what git's plumbing says differs between two trees, without our own files."""
        how = "-M" if renames else "--no-renames"
        only = f"{self.folder or '.'} ':!.counterpoint'"
        ask = f"git diff-tree -r -z {how} %s {older} {newer} -- {only}"
        parts = iter(self.sh(ask % "--name-status").split("\0")[:-1])
        found: dict[str, FileChange] = {}
        for letter in parts:
            previous = next(parts)
            path = next(parts) if letter[0] == "R" else previous
            found[self.below(path)] = FileChange(
                path=self.below(path),
                kind=_KINDS[letter[0]],
                previous=self.below(previous) if letter[0] == "R" else "",
            )
        return found

    def counts(self, older: str, newer: str) -> dict[str, tuple[int, int]]:
        """Answer git's insertions and deletions by path, renames off."""
        only = f"{self.folder or '.'} ':!.counterpoint'"
        answer = self.sh(f"git diff-tree -r -z --numstat --no-renames {older} {newer} -- {only}")
        found: dict[str, tuple[int, int]] = {}
        for part in answer.split("\0")[:-1]:
            more, less, path = part.split("\t", 2)
            found[self.below(path)] = (int(more.strip("-") or 0), int(less.strip("-") or 0))
        return found

    def below(self, path: str) -> str:
        """Answer a path of the repository relative to the folder looked at."""
        return path.removeprefix(self.folder + "/") if self.folder else path
