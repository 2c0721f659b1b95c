"""Runs one command in its own process group, within time and output.

1. The command is an argument list; no shell reads it. Its folder lies below the root.
2. It leads a session of its own, gets no input and only the variables that `environment` lets by.
3. Standard output and error are one pipe, read as they come, until the leader ends.
4. At the time limit the whole group is asked to end (SIGTERM), and two seconds later made to
   (SIGKILL). It counts as timed out whatever it answers then.
5. When the leader has ended, what is left of its group is killed. A descendant that moved to a
   session of its own is beyond reach; it cannot hold us up, since nobody waits for its output.
6. If the watcher raises, the group is killed and the exception goes on: that is how to cancel.
"""

from __future__ import annotations

import errno
import os
import selectors
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread
from time import monotonic

from counterpoint.core.model.evidence import Command, Execution
from counterpoint.core.ports.evidence import Watch
from counterpoint.evidence.paths import contain, real_root
from counterpoint.evidence.transcript import Transcript
from counterpoint.kernel.clock import Clock
from counterpoint.kernel.errors import InvalidInput, ProgramMissing

GRACE_SECONDS = 2.0

_LAST_SECONDS = 10.0
_TELL_SECONDS = 1.0
_CHUNK = 1 << 16
_LARGEST_PIPE = 1 << 20


def run(
    root: Path,
    command: Command,
    *,
    environ: Mapping[str, str],
    clock: Clock,
    watch: Watch | None = None,
) -> Execution:
    """Run a command to its end; ProgramMissing, PathOutside, InvalidInput."""
    folder = _check(root, command)
    transcript = Transcript(command.output_limit)
    started_at = clock.now()
    process = _start(command.argv, folder, environ)
    timed_out = _Attendance(process, transcript, watch).attend(command.limit_seconds)
    return Execution(
        argv=command.argv,
        # Nobody could wait for it: a process that the kernel cannot end hangs in a call of its own.
        exit_code=-signal.SIGKILL if process.returncode is None else process.returncode,
        output=transcript.text(),
        output_bytes=transcript.size,
        output_sha256=transcript.sha256,
        timed_out=timed_out,
        started_at=started_at,
        ended_at=clock.now(),
    )


def _check(root: Path, command: Command) -> Path:
    faults: list[str] = []
    if not command.argv or not command.argv[0]:
        faults.append("the argument list names no program")
    if any("\0" in word for word in command.argv):
        faults.append("an argument has a NUL character")
    if any(not _is_unicode(word) for word in command.argv):
        faults.append("an argument is not valid Unicode")
    if command.limit_seconds <= 0:
        faults.append("the time limit is not positive")
    if command.output_limit < 0:
        faults.append("the output limit is negative")
    if faults:
        raise InvalidInput("; ".join(faults))
    folder = real_root(root) / contain(root, command.folder)
    if not folder.is_dir():
        raise InvalidInput(f"`{command.folder}` is not a folder", hint="Name an existing folder.")
    return folder


def _is_unicode(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def _start(
    argv: tuple[str, ...], folder: Path, environ: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 - an argument list; whether to run it is the core's
            argv,
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # A group of its own, so that what the command starts can be ended with it.
            start_new_session=True,
        )
    except (FileNotFoundError, NotADirectoryError) as fault:
        raise ProgramMissing(
            f"the program `{argv[0]}`, or the interpreter it names, is not there",
            hint=f"Install `{argv[0]}` and make sure it is on the server's PATH, or mend the name.",
            program=argv[0],
        ) from fault
    except OSError as fault:
        # The program is there: it is the caller who has to change something.
        if fault.errno == errno.E2BIG:
            raise InvalidInput("the arguments are too long for this system") from fault
        raise ProgramMissing(
            f"the program `{argv[0]}` cannot be run: {fault.strerror}",
            hint="Make it executable (`chmod +x`) and name its interpreter in the first line.",
            program=argv[0],
        ) from fault


class _Attendance:
    """Reads one process to its end and ends it where it must."""

    def __init__(
        self, process: subprocess.Popen[bytes], transcript: Transcript, watch: Watch | None
    ) -> None:
        assert process.stdout is not None  # noqa: S101 - `_start` asked for the pipe
        self._process = process
        self._output = process.stdout
        self._transcript = transcript
        self._watch = watch
        self._selector = selectors.DefaultSelector()
        self._began = monotonic()
        self._next_told = self._began + _TELL_SECONDS

    def attend(self, limit_seconds: float) -> bool:
        """Return whether the time limit had to end the process."""
        # The end of the process becomes something that one can wait for together with its output.
        ended, ending = os.pipe()
        with self._selector, self._output, os.fdopen(ended, "rb") as ended_file:
            self._selector.register(ended_file, selectors.EVENT_READ)
            self._selector.register(self._output, selectors.EVENT_READ)
            waiter = Thread(target=_tell_end, args=(self._process, ending), daemon=True)
            waiter.start()
            try:
                in_time = self._ends_before(self._began + limit_seconds, ended_file.fileno())
                if not in_time:
                    self._end(ended_file.fileno())
            finally:
                self._signal(signal.SIGKILL)
                waiter.join(_LAST_SECONDS)
            self._drain()
        return not in_time

    def _end(self, ended: int) -> None:
        self._signal(signal.SIGTERM)
        if not self._ends_before(monotonic() + GRACE_SECONDS, ended):
            self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        """Signal the group; its number is not given away while a member is left."""
        # macOS answers with EPERM where only zombies are left in the group.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _ends_before(self, deadline: float, ended: int) -> bool:
        while (left := deadline - monotonic()) > 0:
            if self._watch is not None:
                left = min(left, self._tell(self._watch))
            ready = {key.fd for key, _ in self._selector.select(left)}
            if ended in ready:
                return True
            # The end of the output is not the end of the command, which may have closed it and go
            # on.
            if ready and not self._read():
                self._selector.unregister(self._output)
        return False

    def _tell(self, watch: Watch) -> float:
        """Say how far the command is once a second; answer the seconds to the next time."""
        present = monotonic()
        if present >= self._next_told:
            self._next_told = present + _TELL_SECONDS
            watch(f"{present - self._began:.0f} s, {self._transcript.size:,} bytes")
        return max(0.0, self._next_told - present)

    def _read(self) -> bool:
        chunk = os.read(self._output.fileno(), _CHUNK)
        self._transcript.hear(chunk)
        return bool(chunk)

    def _drain(self) -> None:
        """Read what stands in the pipe, no more than one can hold: an escaped writer goes on."""
        os.set_blocking(self._output.fileno(), False)
        most = self._transcript.size + _LARGEST_PIPE
        with suppress(BlockingIOError):
            while self._transcript.size < most and self._read():
                pass


def _tell_end(process: subprocess.Popen[bytes], ending: int) -> None:
    process.wait()
    os.close(ending)
