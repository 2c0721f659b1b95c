"""The text of what changed in some files, as git prints it for people.

From one commit to another it is what was committed. What was not is compared with the files on disk, through a copy of the index in
a temporary folder in which new files are entered, so that the repository's own index is neither locked nor written.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from counterpoint.evidence.git.call import GitCall, GitRefused
from counterpoint.evidence.git.diff import EMPTY_TREES
from counterpoint.evidence.passing import passing_folder
from counterpoint.evidence.paths import real_root
from counterpoint.kernel.errors import NotFound

_DIFF: Final = (
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--find-renames",
    # Given, because the configuration of a user may say otherwise.
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--submodule=short",
)


class Patches:
    """Differences of the repository that a folder is in."""

    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        """Look at the working tree of a folder."""
        self._git = GitCall(folder=real_root(root), environ=environ)

    def committed(
        self, start: str, end: str, paths: Sequence[str], *, colour: bool = False
    ) -> tuple[str, tuple[str, ...]]:
        """Return the text of what differs between two commits in some files, and which of these differ.

        start: empty for before the first commit. NotFound for a commit that is not there.
        """
        ends = (self._known(start), self._known(end))
        pathspecs = [f":(top,literal){path}" for path in paths]
        if not pathspecs:
            return "", ()
        text = self._ask(*_DIFF, _colour(colour), *ends, "--", *pathspecs)
        differ = self._ask(*_DIFF, "--no-renames", "--name-only", "-z", *ends, "--", *pathspecs)
        return text, tuple(differ.split("\0")[:-1])

    def on_disk(self, start: str, paths: Sequence[str], *, colour: bool = False) -> str:
        """Return the text of what differs from a commit to the files on disk; NotFound for no such commit."""
        begin = self._known(start)
        pathspecs = [f":(top,literal){path}" for path in paths]
        if not pathspecs:
            return ""
        index = Path(self._git.line("rev-parse", "--git-path", "index"))
        index = self._git.folder / index
        size = index.stat().st_size if index.exists() else 0
        with passing_folder("counterpoint-", size) as folder:
            copy = folder / "index"
            if size:
                shutil.copy2(index, copy)
            extra = {"GIT_INDEX_FILE": str(copy)}
            present = [
                spec
                for spec, path in zip(pathspecs, paths, strict=True)
                if (self._top / path).is_symlink() or (self._top / path).exists()
            ]
            if present:
                self._ask("add", "--intent-to-add", "--force", "--", *present, extra=extra)
            return self._ask(*_DIFF, _colour(colour), begin, "--", *pathspecs, extra=extra)

    @property
    def _top(self) -> Path:
        return Path(self._git.line("rev-parse", "--show-toplevel"))

    def _ask(self, *words: str, extra: Mapping[str, str] | None = None) -> str:
        return self._git.ask(*words, extra=extra).decode("utf-8", "replace")

    def _known(self, commit: str) -> str:
        """Return a commit that the repository has, or the empty tree for none; NotFound."""
        try:
            if not commit:
                return EMPTY_TREES[self._git.line("rev-parse", "--show-object-format")]
            return self._git.line("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
        except GitRefused as fault:
            raise NotFound(
                f"the commit {commit[:12]} is not in this repository, or no repository is here",
                hint="Fetch the branch that had it; `counterpoint show ID` names the files that changed.",
            ) from fault


def _colour(colour: bool) -> str:
    return "--color=always" if colour else "--color=never"
