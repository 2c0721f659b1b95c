"""Reads a branch: its commits and its difference from where it began.

The difference is that of the last common commit and the head, as `git diff` prints it in its own way:
no colours, no programs of the repository, names with `a/` and `b/`, renames found. What is not
committed does not count; it is named in `dirty`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from counterpoint.core.model.evidence import Branch
from counterpoint.evidence.git.call import GitCall, GitRefused
from counterpoint.evidence.paths import real_root
from counterpoint.kernel.errors import InvalidInput, NotFound

USUAL_BASES = ("main", "master")
_DIFF = (
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--find-renames",
    # Given, because the configuration of a user may say otherwise.
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--submodule=short",
)
_MOST_COMMITS = 100


def read_branch(
    root: Path, name: str, base: str, *, environ: Mapping[str, str], limit: int
) -> Branch:
    """Return a branch of the repository at the root, the one it is on without a name.

    NotFound without a repository, branch or base; InvalidInput if the difference has more bytes.
    """
    git = GitCall(folder=real_root(root), environ=environ)
    head, label = _head(git, name)
    below = next(
        (candidate for candidate in ([base] if base else USUAL_BASES) if _commit(git, candidate)),
        "",
    )
    if not below:
        raise NotFound(
            f"there is no branch {base or ' or '.join(USUAL_BASES)!r} to compare with",
            hint="Name the branch that the work began from.",
        )
    try:
        start = git.line("merge-base", _commit(git, below), head)
    except GitRefused as fault:
        raise NotFound(f"{label} and {below} have no commit in common") from fault
    diff = git.ask(*_DIFF, start, head, "--")
    if len(diff) > limit:
        raise InvalidInput(
            f"the difference of {label} from {below} has {len(diff)} bytes; {limit} is the most",
            hint="Split the work, or keep what is generated out of the repository.",
        )
    listed = git.line(
        "log",
        "--reverse",
        f"--max-count={_MOST_COMMITS}",
        "--format=%h %s",
        f"{start}..{head}",
        "--",
    )
    return Branch(
        name=label,
        base=below,
        head=head,
        base_commit=start,
        commits=tuple(listed.splitlines()),
        dirty=() if name else tuple(_dirty(git)),
        diff=diff.decode("utf-8", "replace"),
    )


def read_head(root: Path, name: str, *, environ: Mapping[str, str]) -> str:
    """Return the commit a branch is on; NotFound."""
    return _head(GitCall(folder=real_root(root), environ=environ), name)[0]


def _head(git: GitCall, name: str) -> tuple[str, str]:
    """Return the commit of a branch (or of HEAD) and what it is called; NotFound."""
    if name:
        head, label = _commit(git, name), name
    else:
        head = _commit(git, "HEAD")
        label = git.line("rev-parse", "--abbrev-ref", "HEAD") if head else ""
    if not head:
        raise NotFound(
            f"there is no branch {name!r} here" if name else "there is no commit here",
            hint="Check the name with `git branch`; a branch begins with its first commit.",
        )
    return head, label


def _commit(git: GitCall, name: str) -> str:
    """Return the commit of a branch; empty if there is none. A name is never an option."""
    # A name of a caller may look like an option, or mean a tag or a commit.
    whole = name if name == "HEAD" else f"refs/heads/{name}"
    try:
        return git.line("rev-parse", "--verify", "--quiet", f"{whole}^{{commit}}")
    except GitRefused:
        return ""


def _dirty(git: GitCall) -> list[str]:
    changed = git.parts(["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"])
    return [entry[3:] for entry in changed]
