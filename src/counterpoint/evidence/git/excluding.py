"""Has git pass over a file of a working tree that is no part of the work."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from counterpoint.evidence.git.call import GitCall, GitRefused
from counterpoint.evidence.git.tree import is_marked
from counterpoint.kernel.errors import Conflict


def keep_out(root: Path, path: str, environ: Mapping[str, str]) -> None:
    """Write a path into the repository's own list of what is ignored, once; Conflict if that cannot be.

    Nothing is done without a repository, or for what is ignored already.
    """
    git = GitCall(folder=root, environ=environ)
    if not is_marked(root) or git.agrees("check-ignore", "--quiet", "--", path):
        return
    try:
        listed = git.line("rev-parse", "--git-path", "info/exclude")
        prefix = git.line("rev-parse", "--show-prefix")
    except GitRefused:
        return
    file = root / listed
    try:
        file.parent.mkdir(exist_ok=True)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(file, flags, 0o644), "rb+") as list_:
            is_whole = list_.read()[-1:] in {b"", b"\n"}
            line = b"/" + os.fsencode(prefix + path) + b"\n"
            list_.write(line if is_whole else b"\n" + line)
    except OSError as fault:
        raise Conflict(
            f"{file} cannot be written: {fault.strerror}",
            hint=f"Write {path} into `.gitignore` instead, and commit that.",
        ) from fault
