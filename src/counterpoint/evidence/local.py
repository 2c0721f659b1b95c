"""Evidence from this machine's disk: git where there is one, else hashes.

What measures and what runs is imported by the first call that needs it: a server that was just started
is asked other things first, and its client waits.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterpoint.core.model.evidence import (
    Branch,
    Command,
    CommitFiles,
    Comparison,
    Execution,
    Quotas,
    Sandbox,
    Snapshot,
)
from counterpoint.core.model.trust.checking import Checking
from counterpoint.core.ports.evidence import READING, CommandCancelled, Watch
from counterpoint.evidence import paths
from counterpoint.evidence.environment import for_command
from counterpoint.evidence.git.opened import OpenTrees
from counterpoint.evidence.mirrored import without_ledger, without_own
from counterpoint.kernel.clock import Clock
from counterpoint.kernel.errors import NotFound
from counterpoint.kernel.frozen import frozen

if TYPE_CHECKING:
    from counterpoint.evidence.running.guarding import Guarded
    from counterpoint.evidence.running.restoring import Restored

_SLACK: Final = 1.0
"""Seconds by which the times of files may be behind the clock."""


@frozen
class LocalEvidence:
    """Measures working trees and runs commands here; implements the core's Evidence.

    passed: names of variables that commands may see besides the usual ones; never secrets.
    environ: the caller's variables. serving: those that git gets, and that commands get theirs of; None: the same.
    quotas: what one command may take; None: what this machine has for it. checking: what the project says of commands, asked for each. database: that of
    the ledger, which a sandbox hides.
    trees: what is known of working trees; who shares it shares looks at a tree too. remarks: what each snapshot tells besides.
    """

    clock: Clock
    passed: Collection[str] = ()
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    serving: Mapping[str, str] | None = field(default=None, repr=False)
    quotas: Quotas | None = None
    checking: Callable[[], Checking] = lambda: Checking(sandbox="off")
    database: Path | None = None
    trees: OpenTrees = field(default_factory=OpenTrees, repr=False, compare=False)
    remarks: Sequence[str] = ()

    @property
    def _serving(self) -> Mapping[str, str]:
        # Whoever calls must not choose which git answers, nor by which configuration.
        return self.environ if self.serving is None else self.serving

    def snapshot(self, root: Path) -> Snapshot:
        """Return the state of the tree at this moment; NotFound without a root."""
        from counterpoint.evidence import hashes

        top = paths.real_root(root)
        tree = self.trees.find(top, self._serving)
        if not isinstance(tree, str):
            snapshot = without_ledger(tree.snapshot(), top, self.database)
            return replace(snapshot, warnings=(*self.remarks, *snapshot.warnings))
        snapshot = without_ledger(hashes.snapshot(top), top, self.database)
        reasons = (*self.remarks, *([tree] if tree else []))
        return replace(snapshot, warnings=(*reasons, *snapshot.warnings))

    def compare(self, root: Path, start: Snapshot) -> Comparison:
        """Return what changed in the tree since the start, measured as the start was.

        A tree that is gone answers nothing but a warning: what was done there cannot be known.
        """
        from counterpoint.evidence import hashes

        try:
            top = paths.real_root(root)
        except NotFound:
            warning = "what changed since the start is not known: the working tree is gone"
            return Comparison(start=start, end=start, warnings=(warning,))
        # Two states are comparable only if they were measured in the same way, also where git was
        # set up since.
        tree = self.trees.find(top, self._serving)
        if start.method == "hash":
            compared = hashes.compare(top, start)
            if isinstance(tree, str) and tree:
                # Said again although the start said it: whoever reads the outcome reads no start.
                compared = replace(compared, warnings=(tree, *compared.warnings))
            return without_own(compared, top, self.database)
        if not isinstance(tree, str):
            return without_own(tree.compare(start), top, self.database)
        reason = tree or "the repository is no longer there"
        return Comparison(
            start=start,
            end=hashes.snapshot(top),
            warnings=(f"what changed since the start is not known: {reason}",),
        )

    def commit_files(self, root: Path, commits: Sequence[str]) -> list[CommitFiles]:
        """Return the files of commits of the tree, those below the root; none where git cannot say."""
        tree = self.trees.find(paths.real_root(root), self._serving)
        return [] if isinstance(tree, str) else tree.commit_files(commits)

    def run(self, root: Path, command: Command, watch: Watch | None = None) -> Execution:
        """Run a command below the root; ProgramMissing, PathOutside, InvalidInput."""
        from counterpoint.evidence.running import commands
        from counterpoint.evidence.running.allowance import quotas_here

        settings = self.checking()
        environ = for_command(self._serving, self.passed, settings.sockets)
        environ |= {"PATH": command.search_path} if command.search_path else {}
        from counterpoint.evidence.running.guarding import (
            Guarded,
            guarded_paths,
            with_restored,
        )
        from counterpoint.evidence.running.hidden import (
            absent_ledgers,
            hidden_logins,
            hidden_paths,
            missed_logins,
            missed_sockets,
            partial_folders,
        )

        started = time.time() - _SLACK
        top = paths.real_root(root)
        environs = self.environ, self._serving
        hidden = hidden_paths(
            self.database, top, *environs, exposed=settings.home, sockets=settings.sockets
        )
        logins = hidden_logins(top, *environs, exposed=settings.home)
        ledgers = absent_ledgers(self.database, top, *environs)
        guarded = Guarded(absent=tuple(map(os.path.realpath, ledgers)))
        if settings.sandbox != "off":
            guarded = guarded_paths(top, self._serving, (*logins, *ledgers), hidden)
        restore_paths = partial(_restore_paths, guarded, started, environs)
        try:
            execution = commands.run(
                root,
                command,
                environ=environ,
                clock=self.clock,
                attention=commands.Attention(watch=watch),
                quotas=self.quotas or quotas_here(),
                sandbox=Sandbox(
                    mode=settings.sandbox,
                    network=settings.network,
                    hidden=hidden,
                    fixed=guarded.fixed,
                    read_only=guarded.read_only,
                    partial=partial_folders(self.database, top, *environs),
                ),
            )
        except BaseException as fault:
            # Whoever cancels a command leaves as little behind.
            restored = restore_paths()
            if isinstance(cause := fault.__cause__, CommandCancelled):
                cause.execution = with_restored(cause.execution, guarded, restored, top)
            raise
        restored = restore_paths()
        missed = missed_logins(execution, self._serving, settings.home)
        missed += missed_sockets(execution, settings.sockets)
        return replace(with_restored(execution, guarded, restored, top), missed=missed)

    def contain(self, root: Path, path: str) -> str:
        """Return the path relative to the root, links followed; PathOutside if it leaves it."""
        return paths.contain(root, path)

    def digest(self, root: Path, path: str) -> tuple[str, int]:
        """Return SHA-256 and size of a file below the root; NotFound, PathOutside."""
        return paths.digest(root, path)

    def load(self, root: Path, path: str, limit: int) -> bytes:
        """Return a file below the root; NotFound, PathOutside, InvalidInput above the limit."""
        return paths.load(root, path, limit)

    def pages(
        self, content: bytes, watch: Watch | None = None, seconds: float = READING
    ) -> list[str]:
        """Return the text of each page of a PDF; InvalidInput if it cannot be read, Unavailable without its library."""
        from counterpoint.evidence.documents import pdf

        return pdf.read(content, watch, seconds)

    def below(self, root: Path, folder: str, limit: int) -> list[str]:
        """Return the files below a folder by path; PathOutside, InvalidInput above the limit."""
        return paths.below(root, folder, limit)

    def save(self, root: Path, path: str, content: bytes | None) -> None:
        """Write a file below the root, whole or not at all; None takes it away. PathOutside."""
        paths.save(root, path, content)

    def keep_out(self, root: Path, path: str) -> None:
        """Have git pass over a file of the tree; nothing without a repository. Conflict."""
        from counterpoint.evidence.git import excluding

        excluding.keep_out(root, [path], self.environ)

    def branch(self, root: Path, name: str, base: str, limit: int) -> Branch:
        """Return a branch and its difference; NotFound, InvalidInput."""
        from counterpoint.evidence.git import branches

        return branches.read_branch(root, name, base, environ=self._serving, limit=limit)

    def head(self, root: Path, name: str) -> str:
        """Return the commit a branch is on; NotFound."""
        from counterpoint.evidence.git import branches

        return branches.read_head(root, name, environ=self._serving)


def _restore_paths(
    guarded: Guarded, started: float, environs: Sequence[Mapping[str, str]]
) -> Restored:
    """Put back what a command has changed that was started at a time, but for what others have come to use or begun."""
    from counterpoint.evidence.running.guarding import put_back
    from counterpoint.evidence.running.hidden import users_of, without_begun

    absent = without_begun(guarded.absent, started, *environs)
    return put_back(guarded._replace(absent=absent), users_of(absent, started))
