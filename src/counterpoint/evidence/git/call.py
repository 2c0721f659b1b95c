"""Runs git as a program, so that nothing but git's own answer comes back.

Each call: an argument list, never a shell; no pager, no terminal, no input but what is given; no
optional locks; objects as they are, not what a repository says to read in their place; plain English messages; names as they are, ended by NUL; a time limit that ends the
whole process group, and no wait for a pipe that lies where it reads a file (waiting.py). A repository starts nothing through it: what its configuration names is put back before each call
(settings.py), objects that are missing are not fetched, nothing is signed, checked or cleaned up by the way, and no other machine is spoken with unless the
caller says by which protocols. Filters of the user's own files do run, since they say what counts as content; they see
no variable that looks like a secret.

Not closed: who changes the configuration between the look at it and the call, some milliseconds, has it read as it is then.
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

from counterpoint.evidence.environment import deciding_for_git, for_git
from counterpoint.evidence.git import settings, waiting
from counterpoint.kernel.errors import ProgramMissing, Unavailable
from counterpoint.kernel.starting.programs import search_path

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
    "-c",
    "log.showSignature=false",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "push.gpgSign=false",
    "-c",
    "push.recurseSubmodules=no",
    "-c",
    "submodule.recurse=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
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
        output, errors = self._run(arguments, stdin, self._settings() | dict(extra or {}))
        if remarks is not None:
            remarks += os.fsdecode(errors).splitlines()
        return output

    def read_settings(self) -> settings.Found:
        """Return what the settings of the repository and the user say; GitRefused, ProgramMissing, Unavailable."""
        self._settings()
        return settings.KNOWN[self.folder, deciding_for_git(self.environ)].found

    def _settings(self) -> dict[str, str]:
        """Return the variables that put back what the repository's configuration would start."""
        key = (self.folder, deciding_for_git(self.environ))
        cached = settings.KNOWN.get(key)
        if (
            cached is None
            or cached.found.files is None
            or cached.trace != self._trace(cached.found)
        ):
            began = time.time_ns()
            listed, _ = self._run(settings.LISTING, b"", settings.variables([settings.MARK]))
            listing = settings.read_listing(listed)
            if not listing.is_heard:
                raise ProgramMissing(
                    "this git does not take settings by its environment, so that a repository could"
                    " start programs by it",
                    hint="Install git 2.31 or newer.",
                )
            seen = self._trace(listing)
            # What was written while it was read may have been read as it was before.
            cached = settings.Known(
                found=listing, trace=seen if settings.is_settled(seen, began) else ()
            )
            settings.remember(key, cached)
        for path in cached.found.reads:
            waiting.refuse(self.folder / Path(path).expanduser())
        return settings.variables(cached.found.told)

    def _trace(self, listing: settings.Found) -> tuple[object, ...]:
        return settings.trace(self.folder, listing.files or ())

    def _run(
        self, arguments: Sequence[str], stdin: bytes, extra: Mapping[str, str]
    ) -> tuple[bytes, bytes]:
        argv = ("git", *_FIXED, *arguments)
        waiting.refuse_waiting(self.folder)
        variables = for_git(self.environ) | dict(extra)
        # Git finds its filters on its own.
        variables["PATH"] = search_path(self.environ.get("PATH"), os.fspath(self.folder))
        process = _start(argv, self.folder, variables)
        with process:
            try:
                output, errors = self._hear(process, stdin)
            except BaseException as fault:
                # The whole group: git starts filters and the like, which would go on without it.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                if not isinstance(fault, subprocess.TimeoutExpired):
                    raise
                limit = waiting.limit(self.folder, self.limit_seconds)
                waiting.was_late(self.folder)
                raise Unavailable(
                    f"git did not answer `{arguments[0]}` in {limit:g} seconds",
                    hint="See what keeps the disk or the repository busy, then try again.",
                ) from fault
        if process.returncode:
            raise GitRefused(errors.decode("utf-8", "replace").strip())
        return output, errors

    def _hear(self, process: _Git, stdin: bytes) -> tuple[bytes, bytes]:
        limit = waiting.limit(self.folder, self.limit_seconds)
        first = min(limit, waiting.PATIENCE)
        try:
            output = process.communicate(stdin, timeout=first)
        except subprocess.TimeoutExpired:
            waiting.refuse_below(self.folder)
            output = process.communicate(timeout=limit - first)
        waiting.LATE.pop(self.folder, None)
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
