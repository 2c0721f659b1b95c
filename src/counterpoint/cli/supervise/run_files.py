"""Stores the output of supervised agents, and the lock of their supervisor.

In `supervised/<spec>-<8 digits>` beside the ledger: `lock`, which the supervisor holds as long as it lives, and a file for each round,
`<time>-<round>.log`. The digits are of the SHA-256 of the spec's id, so that two specs never share a folder. Of the logs the latest are
kept.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from counterpoint.evidence.places import slug
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import Conflict, Unavailable

FOLDER: Final = "supervised"
KEPT: Final = 50
"""Logs that are kept of a spec."""
LOG_LIMIT: Final = 64 << 20
"""Bytes that are kept of what the agent of one round says."""
_DIGITS: Final = 8
_RESULTS: Final = (b'"result"', b'"turn.completed"', b'"turn.failed"')
"""The types of events with totals: of Claude Code, and of Codex."""
_RESULT_BYTES: Final = 1 << 20
_USAGE: Final = (
    "type",
    "subtype",
    "is_error",
    "total_cost_usd",
    "duration_ms",
    "num_turns",
    "usage",
)
_FLAGS: Final = os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_CUT: Final = b"\n[the rest is not kept]\n"


def folder_of(state: Path, spec: str) -> Path:
    """Return the folder of a spec, below that of the ledger."""
    return state / FOLDER / f"{slug(spec)}-{sha256(spec.encode()).hexdigest()[:_DIGITS]}"


@contextmanager
def lock_spec(folder: Path, spec: str) -> Generator[None]:
    """Supervise a spec alone; Conflict if somebody else does, Unavailable if the folder cannot be used."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | _FLAGS, 0o600)
    except OSError as fault:
        raise _unusable(folder, fault) from fault
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(lock, 32, 0).decode("ascii", "replace").strip()
            raise Conflict(
                f"{spec} is supervised already, by process {holder}",
                hint="Wait until it has ended, or end it with Ctrl-C where it runs.",
            ) from None
        os.ftruncate(lock, os.pwrite(lock, str(os.getpid()).encode(), 0))
        yield
    finally:
        os.close(lock)


@dataclass(slots=True, kw_only=True)
class Log:
    """The file that takes what one agent says, up to a limit."""

    path: Path
    file: BinaryIO = field(repr=False)
    size: int = 0

    def write(self, chunk: bytes) -> None:
        """Keep the next bytes, as far as there is room for them; a full disk does not end the agent."""
        space = LOG_LIMIT - self.size
        if space <= 0:
            return
        self.size += len(chunk)
        with suppress(OSError):
            self.file.write(chunk[:space])
            if len(chunk) > space:
                self.file.write(_CUT)


@contextmanager
def open_log(folder: Path, number: int, now: Timestamp) -> Generator[Log]:
    """Open the log of a round, and close it; the oldest beyond those that are kept go. Unavailable."""
    digits = "".join(sign for sign in now.partition(".")[0] if sign.isdigit())
    path = folder / f"{digits}-{number:03}.log"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | _FLAGS, 0o600)
    except OSError as fault:
        raise _unusable(folder, fault) from fault
    with os.fdopen(descriptor, "ab", buffering=0) as file:
        for old in sorted(folder.glob("*.log"))[:-KEPT]:
            old.unlink(missing_ok=True)
        yield Log(path=path, file=file)


def read_results(log: Path) -> list[str]:
    """Return the lines of a log by which a client's JSON stream says what its work took; none for another kind of output.

    What an agent said besides stays in the log: the ledger gets money and tokens alone.
    """
    results: list[str] = []
    with suppress(OSError), log.open("rb") as file:
        for line in file:
            if not any(kind in line for kind in _RESULTS) or len(line) > _RESULT_BYTES:
                continue
            with suppress(ValueError):
                document: Any = json.loads(line)
                if isinstance(document, dict):
                    parts = cast("dict[str, Any]", document)
                    results.append(json.dumps({key: parts[key] for key in _USAGE if key in parts}))
    return results


def _unusable(folder: Path, fault: OSError) -> Unavailable:
    return Unavailable(
        f"{folder} cannot be used ({fault.strerror})",
        hint="What agents say is kept there: see that this account may write it.",
    )
