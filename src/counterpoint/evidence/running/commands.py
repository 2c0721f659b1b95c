"""Runs one command under a process of its own, within time, output and quotas.

1. The command is an argument list; no shell reads it. Its folder lies below the root.
2. It gets no input and only the variables that `environment` lets by; its program is looked for in the folders of their `PATH`.
3. A process of its own runs it (`runner/`) and answers when it has ended, with whatever it had started. That process is told to
   end everything at once by the end of its socket, which also comes when this process is killed.
4. Standard output and error are one pipe, read here as they come; nobody waits for what is written after the end.
5. At the time limit the command is asked to end (SIGTERM), and two seconds later made to (SIGKILL). It counts as timed
   out whatever it answers then. Who passes a quota is made to at once.
6. If the watcher raises, everything is ended and the exception goes on, with what came of the command as its cause (`CommandCancelled`): that is how
   to cancel. Who wants it to end as it would at
   the time limit says so when he is asked (`Attention.ends`).
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final

import counterpoint
from counterpoint.core.model.evidence import Command, Ending, Execution, Quotas, Sandbox
from counterpoint.core.ports.evidence import CommandCancelled, Watch
from counterpoint.evidence.paths import contain, real_root
from counterpoint.evidence.running.transcript import Transcript
from counterpoint.kernel.clock import Clock
from counterpoint.kernel.errors import InvalidInput, ProgramMissing, SandboxMissing, Unavailable
from counterpoint.kernel.starting.programs import RUNNER

GRACE_SECONDS = 2.0

_BUBBLEWRAP: Final = ("/usr/bin/bwrap", "/usr/local/bin/bwrap")

_LAST_SECONDS = 15.0
"""How long a runner may take to kill what is left, before it is killed itself."""
_TELL_SECONDS = 1.0
_ASKED: Final = b"."
"""What tells a runner to ask its command to end."""
_CHUNK = 1 << 16
_LARGEST_PIPE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """What the caller of a command hears of it while it runs, and says.

    watch: told once a second how it is getting on. heard: given what it writes, as it comes. ends: answers, at least once
    a second, whether the command is to be asked to end. grace: seconds from then, or from the time limit, until it is made to; None: the usual.
    """

    watch: Watch | None = None
    heard: Callable[[bytes], None] | None = None
    ends: Callable[[], bool] | None = None
    grace: float | None = None


def run(
    root: Path,
    command: Command,
    *,
    environ: Mapping[str, str],
    clock: Clock,
    attention: Attention,
    quotas: Quotas,
    sandbox: Sandbox,
) -> Execution:
    """Run a command to its end; ProgramMissing, PathOutside, InvalidInput, Unavailable."""
    folder = _check(root, command)
    program = find_program(command.argv[0], folder, environ)
    order = {
        "argv": command.argv,
        "program": str(program),
        "folder": str(folder),
        "environ": dict(environ),
        "seconds": command.limit_seconds,
        "grace": GRACE_SECONDS if attention.grace is None else attention.grace,
        "memory": quotas.memory_bytes,
        "processes": quotas.processes,
        "file_bytes": quotas.file_bytes,
        "sandbox": asdict(sandbox) | {"bubblewrap": _bubblewrap()},
    }
    transcript = Transcript(command.output_limit)
    started_at = clock.now()
    digest = _digest(program)

    def execution_of(answer: Mapping[str, Any], reason: Ending) -> Execution:
        status = answer.get("exit_code")
        return Execution(
            argv=command.argv,
            # Nobody could wait for it: a process that the kernel cannot end hangs in a call of its own.
            exit_code=-signal.SIGKILL if status is None else status,
            output=transcript.text(),
            output_bytes=transcript.size,
            output_sha256=transcript.sha256,
            timed_out=reason == "time",
            started_at=started_at,
            ended_at=clock.now(),
            ended_for=reason,
            program=str(program),
            program_sha256=digest,
            sandbox=answer.get("sandbox", "none"),
            unconfined=answer.get("refused", ""),
            network=sandbox.network or answer.get("sandbox", "none") == "none",
            quotas=quotas,
        )

    attendance = _Attendance(transcript, attention, quotas)
    try:
        answer = attendance.attend(order)
    except BaseException as fault:
        answer = attendance.answer()
        # One that never began has left nothing.
        if answer.get("sandbox", "refused") == "refused" or answer.get("errno"):
            raise
        raise fault from CommandCancelled(execution_of(answer, "cancelled"))
    if answer.get("sandbox") == "refused":
        raise SandboxMissing(f"no sandbox can be had here: {answer['refused']}")
    if number := answer.get("errno"):
        raise _not_run(command.argv[0], int(number))
    return execution_of(answer, answer["ended_for"])


def _bubblewrap() -> str:
    """Return where bubblewrap is installed, wherever else a PATH leads; empty if it is not."""
    return next((path for path in _BUBBLEWRAP if os.access(path, os.X_OK)), "")


def _digest(program: Path) -> str:
    """Return the SHA-256 of a program's file; empty if it may be run and not read."""
    try:
        with program.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


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


def find_program(name: str, folder: Path, environ: Mapping[str, str]) -> Path:
    """Return the file that a name stands for, as the system would look for it; ProgramMissing."""
    if "/" in name:
        # A path is meant from the folder that the command runs in.
        return Path(os.path.abspath(folder / name))  # noqa: PTH100 - `..` after a link means what the text says
    denied = False
    for entry in environ.get("PATH", os.defpath).split(os.pathsep):
        file = folder / entry / name
        # A folder that the account may not look into has no program for it.
        if os.path.isfile(file):  # noqa: PTH113 -- `is_file` raises there
            if os.access(file, os.X_OK):
                return file
            denied = True
    raise _not_run(name, errno.EACCES if denied else errno.ENOENT)


def _not_run(name: str, fault: int) -> InvalidInput | ProgramMissing:
    """Return the refusal for a program that could not be started."""
    if fault in {errno.ENOENT, errno.ENOTDIR}:
        return ProgramMissing(
            f"the program `{name}`, or the interpreter it names, is not there",
            hint=f"Install `{name}` and make sure it is on the server's PATH, or mend the name.",
            program=name,
        )
    # The program is there: it is the caller who has to change something.
    if fault == errno.E2BIG:
        return InvalidInput("the arguments are too long for this system")
    return ProgramMissing(
        f"the program `{name}` cannot be run: {os.strerror(fault)}",
        hint="Make it executable (`chmod +x`) and name its interpreter in the first line.",
        program=name,
    )


class _Attendance:
    """Reads what one command writes, until its runner says that it has ended."""

    def __init__(self, transcript: Transcript, attention: Attention, quotas: Quotas) -> None:
        self._transcript = transcript
        self._attention = attention
        self._quotas = quotas
        self._began = monotonic()
        self._next_told = self._began + _TELL_SECONDS
        self._answer = bytearray()

    def attend(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the runner says of a command; Unavailable if it could not begin."""
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        with ours, os.fdopen(reading, "rb", buffering=0) as output:
            with theirs, os.fdopen(writing, "wb", buffering=0) as end:
                runner = _start(theirs.fileno(), end.fileno())
            try:
                return self._hear(order, ours, output.fileno())
            except BaseException:
                self._end(ours)
                raise
            finally:
                # The end of the socket is the order to end everything.
                ours.close()
                _wait(runner)

    def answer(self) -> dict[str, Any]:
        """Return what the runner has said of the command; nothing if it has not."""
        return json.loads(self._answer) if self._answer.endswith(b"\n") else {}

    def _end(self, ours: socket.socket) -> None:
        """Have everything ended, and hear what the runner says of that."""
        with suppress(OSError):
            ours.shutdown(socket.SHUT_WR)
            ours.settimeout(_LAST_SECONDS)
            while not self._answer.endswith(b"\n") and self._listen(ours):
                pass

    def _hear(self, order: Mapping[str, Any], ours: socket.socket, output: int) -> dict[str, Any]:
        ours.sendall(json.dumps(order).encode() + b"\n")
        latest = self._began + order["seconds"] + order["grace"] + _LAST_SECONDS
        reason: Ending = ""
        is_asked = False
        with selectors.DefaultSelector() as selector:
            selector.register(ours, selectors.EVENT_READ)
            selector.register(output, selectors.EVENT_READ)
            while not self._answer.endswith(b"\n") and monotonic() < latest:
                for key, _ in selector.select(self._tell(latest)):
                    if key.fd == output:
                        # The end of the output is not the end of the command, which may have closed it and go on.
                        if not self._read(output):
                            selector.unregister(output)
                    elif not self._listen(ours):
                        latest = 0.0
                if not is_asked and self._attention.ends is not None and self._attention.ends():
                    is_asked = True
                    # It may have ended meanwhile.
                    with suppress(OSError):
                        ours.sendall(_ASKED)
                if self._transcript.size > self._quotas.output_bytes and not reason:
                    reason = "output"
                    ours.shutdown(socket.SHUT_WR)
        self._drain(output)
        if not self._answer:
            # It was killed, or cannot kill what it is to end: what came of the command is not known.
            return {"exit_code": None, "ended_for": "time" if latest else ""}
        return self.answer() | ({"ended_for": reason} if reason else {})

    def _listen(self, ours: socket.socket) -> bool:
        piece = ours.recv(_CHUNK)
        self._answer += piece
        return bool(piece)

    def _tell(self, latest: float) -> float:
        """Say how far the command is once a second; answer the seconds to wait at most."""
        present = monotonic()
        if self._attention.watch is None and self._attention.ends is None:
            return max(0.0, latest - present)
        if present >= self._next_told:
            self._next_told = present + _TELL_SECONDS
            if self._attention.watch is not None:
                self._attention.watch(
                    f"{present - self._began:.0f} s, {self._transcript.size:,} bytes"
                )
        return max(0.0, min(latest, self._next_told) - present)

    def _read(self, output: int) -> bool:
        chunk = os.read(output, _CHUNK)
        self._transcript.hear(chunk)
        if self._attention.heard is not None:
            self._attention.heard(chunk)
        return bool(chunk)

    def _drain(self, output: int) -> None:
        """Read what stands in the pipe, no more than one can hold: who has escaped may write on."""
        os.set_blocking(output, False)
        most = self._transcript.size + _LARGEST_PIPE
        with suppress(BlockingIOError):
            while self._transcript.size < most and self._read(output):
                pass


def _start(control: int, output: int) -> subprocess.Popen[bytes]:
    """Start a runner, which has these two and nothing else of ours; Unavailable."""
    # Two levels above this package is what it is imported from.
    package_root = str(Path(counterpoint.__file__).parents[1])
    try:
        return subprocess.Popen(  # noqa: S603 - this interpreter, and a text that stands above
            [sys.executable, "-I", "-S", "-c", RUNNER, package_root],
            cwd="/",
            env={},
            stdin=control,
            stdout=output,
            stderr=subprocess.DEVNULL,
            # What is sent to the group of the server, as Ctrl-C is, ends the server; the runner hears of that.
            start_new_session=True,
        )
    except OSError as fault:
        raise Unavailable(f"no process can be started for a command: {fault.strerror}") from fault


def _wait(runner: subprocess.Popen[bytes]) -> None:
    """Collect a runner that was told to end, or make it."""
    try:
        runner.wait(_LAST_SECONDS)
    except subprocess.TimeoutExpired:
        runner.kill()
        runner.wait()
