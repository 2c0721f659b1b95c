"""Runs git as a program, so that nothing but git's own answer comes back.

Each call: an argument list, never a shell; no pager, no terminal, no input but what is given; no
optional locks; objects as they are, not what a repository says to read in their place; plain English messages; names as they are, ended by NUL; a time limit that ends the
whole process group. A repository cannot run a stranger's program through it: no file system
monitor, no hooks, no external diff or text conversion. Clean filters do run where attributes and
configuration agree on them (large file storage, for one), since they say what counts as content;
they see no variable that looks like a secret.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from counterpoint.evidence.environment import for_git
from counterpoint.kernel.errors import ProgramMissing, Unavailable

LIMIT_SECONDS = 120.0

# What a repository or a user has configured must neither run programs nor change the form of
# answers.
_FIXED = (
    "--no-pager",
    "--no-replace-objects",
    "-c",
    "core.quotepath=off",
    "-c",
    "core.fsmonitor=false",
    "-c",
    f"core.hooksPath={os.devnull}",
    "-c",
    "diff.relative=false",
    "-c",
    "diff.autoRefreshIndex=true",
    "-c",
    f"diff.orderFile={os.devnull}",
    "-c",
    "sparse.expectFilesOutsideOfPatterns=false",
    "-c",
    "color.ui=false",
)


class GitRefused(Exception):
    """Git did not end with 0; the message is what it said. It never leaves this package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitCall:
    """Git in one folder under one environment."""

    folder: Path
    environ: Mapping[str, str] = field(repr=False, compare=False)
    limit_seconds: float = LIMIT_SECONDS

    def ask(
        self,
        *arguments: str,
        stdin: bytes = b"",
        extra: Mapping[str, str] | None = None,
        remarks: list[str] | None = None,
    ) -> bytes:
        """Return git's standard output; GitRefused, ProgramMissing, Unavailable when too slow.

        remarks: takes the lines of the standard error of a git that ended well.
        """
        argv = ("git", *_FIXED, *arguments)
        process = _start(argv, self.folder, for_git(self.environ) | dict(extra or {}))
        with process:
            try:
                output, errors = process.communicate(stdin, timeout=self.limit_seconds)
            except BaseException as fault:
                # The whole group: git starts filters and the like, which would go on without it.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                if not isinstance(fault, subprocess.TimeoutExpired):
                    raise
                raise Unavailable(
                    f"git did not answer `{arguments[0]}` in {self.limit_seconds:g} seconds",
                    hint="See what keeps the disk or the repository busy, then try again.",
                ) from fault
        if process.returncode:
            raise GitRefused(errors.decode("utf-8", "replace").strip())
        if remarks is not None:
            remarks += os.fsdecode(errors).splitlines()
        return output

    def agrees(self, *arguments: str) -> bool:
        """Return whether git ends with 0."""
        try:
            self.ask(*arguments)
        except GitRefused:
            return False
        return True

    def line(self, *arguments: str) -> str:
        """Return the output without the newline at its end."""
        return os.fsdecode(self.ask(*arguments)).removesuffix("\n")

    def parts(
        self, arguments: Sequence[str], *, extra: Mapping[str, str] | None = None
    ) -> list[str]:
        """Return the NUL-ended parts of the output."""
        return os.fsdecode(self.ask(*arguments, extra=extra)).split("\0")[:-1]


class _Git(subprocess.Popen[bytes]):
    """A process whose end the kernel reports; the standard library would nap and look."""

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code; subprocess.TimeoutExpired."""
        if timeout is None or self.returncode is not None:
            return super().wait(timeout)
        until = time.monotonic() + timeout
        # Where there is no such descriptor, or no room for one, the naps do.
        with suppress(OSError, AttributeError):
            descriptor = os.pidfd_open(self.pid)
            try:
                ended = select.poll()
                ended.register(descriptor, select.POLLIN)
                ended.poll(max(0.0, timeout) * 1000)
            finally:
                os.close(descriptor)
        return super().wait(max(0.0, until - time.monotonic()))


def _start(argv: Sequence[str], folder: Path, environ: Mapping[str, str]) -> _Git:
    try:
        return _Git(
            argv,
            cwd=folder,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError as fault:
        raise ProgramMissing(
            "git is not installed", hint="Install git and make sure it is on the PATH."
        ) from fault
