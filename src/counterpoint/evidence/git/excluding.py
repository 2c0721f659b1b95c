"""Has git pass over a file of a working tree that is no part of the work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from counterpoint.evidence.git.call import GitCall, GitRefused
from counterpoint.evidence.git.tree import is_marked
from counterpoint.kernel.errors import Conflict


def keep_out(root: Path, paths: Iterable[str], environ: Mapping[str, str]) -> None:
    """Write paths into the repository's own list of what is ignored, each once; Conflict if that cannot be.

    Nothing is done without a repository, or for what is ignored already.
    """
    git = GitCall(folder=root, environ=environ)
    if not is_marked(root):
        return
    paths = [path for path in paths if not git.agrees("check-ignore", "--quiet", "--", path)]
    if not paths:
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
            content = list_.read()
            lines = [os.fsencode(f"/{prefix}{path}") for path in paths]
            new = [line + b"\n" for line in lines if line not in content.splitlines()]
            list_.write(b"".join(new if content[-1:] in {b"", b"\n"} else [b"\n", *new]))
    except OSError as fault:
        raise Conflict(
            f"{file} cannot be written: {fault.strerror}",
            hint=f"Write {' '.join(paths)} into `.gitignore` instead, and commit that.",
        ) from fault
