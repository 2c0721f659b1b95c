"""What was measured on disk: snapshots, comparisons and executed commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from counterpoint.core.model.trust.checking import Sandboxing
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.frozen import frozen

Method = Literal["git", "hash"]
ChangeKind = Literal["added", "modified", "deleted", "renamed"]


@frozen
class Snapshot:
    """The state of a working tree at one moment.

    method: `git`, or `hash` where there is no repository.
    commit: the full id of HEAD; empty without a commit or without git.
    branch: the short branch name; empty when detached or without git.
    files: path → SHA-256 of the content (empty text: the path is deleted), for every path that is
        dirty or untracked (git) or for every file that is not ignored (hash). Paths are relative to
        the tree's root, with `/`.
    warnings: what could not be read, in words.
    """

    method: Method
    commit: str = ""
    branch: str = ""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    warnings: tuple[str, ...] = ()


@frozen
class FileChange:
    """One path that differs between two snapshots; `previous` is the old name of a rename."""

    path: str
    kind: ChangeKind
    previous: str = ""
    insertions: int = 0
    deletions: int = 0


@frozen
class Comparison:
    """What changed between a start snapshot and now, commits oldest first."""

    start: Snapshot
    end: Snapshot
    changes: tuple[FileChange, ...] = ()
    commits: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@frozen
class Apart:
    """Changed files that do not count as the work of a claim.

    by: the agent they lie with. reason: `held_meanwhile`: they lie in areas that it held while this work went on;
    `left_before`: they changed after it had begun, before the item was taken over from it. commits: full ids of those
    that have nothing but such files.
    """

    by: str
    reason: Literal["held_meanwhile", "left_before"]
    paths: tuple[str, ...]
    commits: tuple[str, ...] = ()


@frozen
class CommitFiles:
    """A commit by its full id, its author's name, its message, and the paths that differ from its first parent."""

    id: str
    author: str
    message: str
    paths: tuple[str, ...]


@frozen
class Branch:
    """A branch and how it differs from where it left its base.

    head, base_commit: full ids. commits: short id and first line of each since, oldest first, at most
    100. dirty: paths that are not committed, if it is the branch the tree is on. diff: as git prints it.
    """

    name: str
    base: str
    head: str
    base_commit: str
    commits: tuple[str, ...]
    dirty: tuple[str, ...]
    diff: str


@frozen
class Command:
    """A command to run: an argument list (never shell text), a folder below the root, a limit.

    search_path: the folders its programs are found in; empty: as those of the server are.
    """

    argv: tuple[str, ...]
    folder: str = "."
    limit_seconds: int = 600
    output_limit: int = 1_000_000
    search_path: str = ""


Ending = Literal["", "time", "memory", "processes", "output", "asked", "cancelled"]


@frozen
class Quotas:
    """What one command may take, with whatever it starts, beside its time.

    memory_bytes, processes: of all its processes together. file_bytes: of one file that it writes.
    output_bytes: what it may write to its output.
    """

    memory_bytes: int = 8 << 30
    processes: int = 2_000
    file_bytes: int = 8 << 30
    output_bytes: int = 1 << 30


@frozen
class Sandbox:
    """How one command is to be confined.

    hidden: folders and files that it must not see. fixed: folders that it must not move, the outermost first.
    read_only: folders and files that it must not write. network: whether it reaches others.
    partial: folders of which it sees the entries with these names alone, and in which it makes none.
    """

    mode: Sandboxing = "off"
    hidden: tuple[str, ...] = ()
    network: bool = True
    fixed: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    partial: tuple[tuple[str, tuple[str, ...]], ...] = ()


@frozen
class Execution:
    """What came of a command.

    exit_code: as the process gave it; minus the signal's number if a signal ended it.
    output_sha256: over all bytes of stdout and stderr as they came, also beyond the cap.
    output_bytes: how many bytes came in all; `output` holds the first and last parts of them within
        the cap, decoded with replacement, secrets not yet masked.
    ended_for: the quota that it was ended for, or its time, or `asked` by its caller, or `cancelled`; empty if it ended by itself.
    program: the file that was run, by its whole path, and its SHA-256 before; that is empty if it cannot be read.
    sandbox: what confined it: `namespaces`, `bubblewrap` or `none`. unconfined: why no better one did.
    network: whether it reached others. missed: hidden logins that it seems to have failed for, by their paths in the home, and
    variables that lead to hidden sockets.
    protected: read-only files that it could not write, and what was put back after it. put_aside: where that is now.
    leftovers: what could not be put back, each with the reason and what to do.
    """

    argv: tuple[str, ...]
    exit_code: int
    output: str
    output_bytes: int
    output_sha256: str
    timed_out: bool
    started_at: Timestamp
    ended_at: Timestamp
    ended_for: Ending = ""
    program: str = ""
    program_sha256: str = ""
    sandbox: str = "none"
    unconfined: str = ""
    network: bool = True
    missed: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    put_aside: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()
    quotas: Quotas = field(default_factory=Quotas)
