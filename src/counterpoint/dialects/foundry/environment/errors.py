"""Keeps and tells what went wrong.

Keeps the refused calls of a project in a file beside its ledger.
A line of JSON for each, appended in one write, so that any number of processes may. Rules: (1) Who appends holds the file
shared, and only while it is the one of that name; who puts it aside holds it alone. So no line goes into a file that was read already.
(2) Of a file with more than `FULL` bytes the former one is let go and it takes its place: two of them hold more than is
shown. (3) A line that cannot be read, such as one cut off by a full disk, is passed over. (4) To append waits for nobody: what cannot be written at once is not written, for no call fails or waits because of it.

Patterns of refusals: which are alike, which match, and which are old enough to go.
Two are of one sort if they are of the same action and code, and their messages differ in nothing but numbers and what is quoted.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, cast

import orjson

from counterpoint.core.operations.recording.context import Verbs
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.rules.secrets import mask
from counterpoint.dialects.foundry.models.environment import (
    DAYS,
    MOST,
    ErrorFilter,
    ErrorPattern,
    ErrorRecord,
    ErrorStatistics,
)
from counterpoint.kernel.canonical import sha256
from counterpoint.kernel.clock import later
from counterpoint.kernel.errors import CounterpointError, NotFound, Unavailable

Keep = Callable[[list[ErrorRecord]], list[ErrorRecord]]
"""(all that are kept) → those that stay."""

FOLDER: Final = "foundry"
FULL: Final = 4_000_000
"""Bytes of a file that is put aside: 10,000 lines have about 400 each."""
_TRIES: Final = 3
_NAME_LENGTH: Final = 16
_APPEND: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorLog:
    """The refused calls of the projects of a ledger.

    state: the folder of the ledger. full: bytes beyond which a file is put aside.
    """

    state: Path
    full: int = FULL

    def append(self, project: str, record: ErrorRecord) -> None:
        """Keep a refusal; OSError if that cannot be done at once."""
        path, size = self._path(project), 0
        line = _line(record)
        for _ in range(_TRIES):
            with _opened(path) as descriptor:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                if _is_named(descriptor, path):
                    os.write(descriptor, line)
                    size = os.fstat(descriptor).st_size
                    break
        if size > self.full:
            with _locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB):
                # Another process may have been faster.
                if path.stat().st_size > self.full:
                    _put_aside(path, _former(path))

    def read(self, project: str) -> list[ErrorRecord]:
        """Return what is kept, in the order in which it was written; OSError."""
        path = self._path(project)
        return [
            record
            for log_path in (_former(path), _aside(path), path)
            for record in _records(log_path)
        ]

    def clean(self, project: str, keep: Keep) -> tuple[int, int]:
        """Let go of all but what is to be kept; answer how many stay and how many go. OSError."""
        path = self._path(project)
        with _locked(path, fcntl.LOCK_EX):
            # One that ended in the middle of this has left what it put aside.
            remaining = list(_records(_aside(path)))
            _put_aside(path, _aside(path))
            seen = [*_records(_former(path)), *remaining, *_records(_aside(path))]
            recent = keep(seen)
            draft = path.with_suffix(".draft")
            draft.write_bytes(b"".join(map(_line, recent)))
            draft.replace(_former(path))
            _aside(path).unlink(missing_ok=True)
        return len(recent), len(seen) - len(recent)

    def _path(self, project: str) -> Path:
        name = sha256(project.encode())[:_NAME_LENGTH]
        return self.state / FOLDER / f"errors-{name}.jsonl"


def _line(record: ErrorRecord) -> bytes:
    return orjson.dumps(asdict(record)) + b"\n"


@contextmanager
def _opened(path: Path) -> Generator[int]:
    try:
        descriptor = os.open(path, _APPEND, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, _APPEND, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _locked(path: Path, how: int) -> Generator[None]:
    """Be the only one that puts anything aside; OSError if another one does and `how` does not wait."""
    with _opened(path.with_suffix(".lock")) as descriptor:
        fcntl.flock(descriptor, how)
        yield


def _put_aside(path: Path, to: Path) -> None:
    """Give the file another name, once nobody appends to it any more."""
    with _opened(path) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        path.replace(to)


def _is_named(descriptor: int, path: Path) -> bool:
    """Return whether the open file is still the one of this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _former(path: Path) -> Path:
    return path.with_suffix(".former")


def _aside(path: Path) -> Path:
    return path.with_suffix(".aside")


def _records(path: Path) -> Iterator[ErrorRecord]:
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        record = _record(line)
        if record is not None:
            yield record


def _record(line: bytes) -> ErrorRecord | None:
    """Return what a line says; None if it says nothing that can be read."""
    try:
        fields = cast("dict[str, str]", orjson.loads(line))
        return ErrorRecord(**fields)
    except (orjson.JSONDecodeError, TypeError):
        return None


HIDDEN: Final = "…"
_LONGEST: Final = 400
_FINGERPRINT: Final = 16
# What is quoted may have the same quotation mark in it, behind a backslash.
_QUOTED: Final = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|`([^`]*)`", re.DOTALL)
_A_NAME: Final = re.compile(r"[\w./:-]{1,80}")
_VARIES: Final = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\d+")


def without_texts(message: str) -> str:
    """Return a message without the texts that it quotes: names and ids stay."""

    def hide_text(match: re.Match[str]) -> str:
        inside = next((part for part in match.groups() if part is not None), "")
        return match[0] if _A_NAME.fullmatch(inside) else f"{match[0][0]}{HIDDEN}{match[0][-1]}"

    # Cut before too: what is never shown need not be searched.
    return _QUOTED.sub(hide_text, message[: 4 * _LONGEST])[:_LONGEST]


def fingerprint_of(call: str, code: str, message: str) -> str:
    """Return what refusals of one sort have in common."""
    return sha256(f"{call}\0{code}\0{_VARIES.sub('', message)}".encode())[:_FINGERPRINT]


def select_records(records: Iterable[ErrorRecord], selection: ErrorFilter) -> Iterator[ErrorRecord]:
    """Yield the records that match, in their order."""
    same = ("tool_name", "error_code", "error_type", "fingerprint", "provider_id")
    wanted_values = [(name, getattr(selection, name)) for name in same if getattr(selection, name)]
    for record in records:
        in_time = selection.since <= record.timestamp and (
            not selection.until or record.timestamp <= selection.until
        )
        if in_time and all(getattr(record, name) == value for name, value in wanted_values):
            yield record


def patterns(records: Iterable[ErrorRecord], least: int = 1) -> list[ErrorPattern]:
    """Return the patterns with so many refusals at least, the most frequent first. records: by time."""
    sorts: dict[str, list[ErrorRecord]] = {}
    for record in records:
        sorts.setdefault(record.fingerprint, []).append(record)
    many = [some for some in sorts.values() if len(some) >= least]
    many.sort(key=lambda some: (-len(some), some[-1].fingerprint))
    return [
        ErrorPattern(last=some[-1], count=len(some), first_seen=some[0].timestamp) for some in many
    ]


def statistics(records: Sequence[ErrorRecord]) -> ErrorStatistics:
    """Count refusals by kind."""
    return ErrorStatistics(
        total=len(records),
        by_tool=dict(Counter(record.tool_name for record in records).most_common()),
        by_code=dict(Counter(record.error_code for record in records).most_common()),
        patterns=tuple(patterns(records)),
    )


def keep_recent(records: Sequence[ErrorRecord], since: str, most: int) -> list[ErrorRecord]:
    """Return the records that are not too old, the newest of them; by time."""
    young = sorted(
        (record for record in records if record.timestamp >= since),
        key=lambda record: (record.timestamp, record.id),
    )
    return young[-most:] if most else []


_A_DAY = 86_400


@contextmanager
def _readable() -> Generator[None]:
    """Report a log that cannot be used; Unavailable."""
    try:
        yield
    except OSError as fault:
        raise Unavailable(f"the errors that are kept cannot be used: {fault.strerror}") from fault


class Errors(Verbs):
    """Verbs for refused calls."""

    def note(
        self, tool: str, action: str, code: str, type_: str, refusal: CounterpointError
    ) -> None:
        """Log a refusal, if that can be done at once: no call fails because of it."""
        with suppress(OSError, CounterpointError):
            ports = self._context.ports
            message = mask(without_texts(refusal.message), ports.secrets)
            provider = refusal.facts.get("provider_id", "")
            record = ErrorRecord(
                # In the order of the calls, since several have one timestamp.
                id=f"err_{time.time_ns():016x}{secrets.token_hex(2)}",
                timestamp=ports.clock.now(),
                fingerprint=fingerprint_of(f"{tool} {action}", code, message),
                tool_name=tool,
                action=action,
                error_code=code,
                error_type=type_,
                message=message,
                provider_id=provider if isinstance(provider, str) else "",
            )
            self._log.append(self._context.project, record)

    def find(self, selection: ErrorFilter) -> list[ErrorRecord]:
        """List the selected refusals, the newest first."""
        return list(select_records(reversed(self._load()), selection))

    def get(self, id_: str) -> ErrorRecord:
        """Return one refusal; NotFound."""
        matches = (record for record in self._load() if record.id == id_)
        record = next(matches, None)
        if record is None:
            raise NotFound(
                f"there is no error {id_!r}", hint="Its id stands in the list of errors."
            )
        return record

    def statistics(self) -> ErrorStatistics:
        """Count the refusals by kind."""
        return statistics(self._load())

    def patterns(self, least: int) -> list[ErrorPattern]:
        """List the patterns with so many refusals at least."""
        return patterns(self._load(), least)

    def clean(self, days: int, most: int, *, dry_run: bool) -> tuple[int, int]:
        """Remove refusals older than so many days, and beyond so many; return how many stay and go."""
        since = self._since(days)

        def keep(records: list[ErrorRecord]) -> list[ErrorRecord]:
            return keep_recent(records, since, most)

        if not dry_run:
            with _readable(), recording(self._context, "errors.cleaned") as change:
                stay, go = self._log.clean(self._context.project, keep)
                change.add_facts(stay=stay, go=go)
            return stay, go
        with _readable():
            seen = self._log.read(self._context.project)
        return len(keep(seen)), len(seen) - len(keep(seen))

    def forget(self, words: Collection[str]) -> None:
        """Remove refusals that contain redacted words; Unavailable."""

        def keep(records: list[ErrorRecord]) -> list[ErrorRecord]:
            return [
                record for record in records if not any(word in record.message for word in words)
            ]

        with _readable():
            seen = self._log.read(self._context.project)
            if len(keep(seen)) < len(seen):
                self._log.clean(self._context.project, keep)

    def now(self) -> str:
        """Return the present moment."""
        return self._context.ports.clock.now()

    def _load(self) -> list[ErrorRecord]:
        with _readable():
            seen = self._log.read(self._context.project)
        return keep_recent(seen, self._since(DAYS), MOST)

    def _since(self, days: int) -> str:
        return later(self._context.ports.clock.now(), -days * _A_DAY)

    @property
    def _log(self) -> ErrorLog:
        return self._context.ports.get(ErrorLog)
