"""The record of reads of this machine: a line for each, in a file beside the database.

Layout, in the folder `reads` beside the database:

    recording    is there while reads of any project are recorded, and says the log's id and the policy of each, by the id of its ledger;
                 `policy` is that of all others (marks of before named none). A look for it is all that an unrecorded call costs
    <log>.jsonl  a line for each read, canonical JSON: {"by", "entrance", "ids", "number", "previous", "time"}, with "all" if the ledger
                 was read as a whole, and with "lost" the count of reads since the line before that could not be recorded
    anchored-<ledger>  how many lines that ledger knows of, and since when

1. `previous` is the SHA-256 of the line before it, of the first line that of the log's id. So no line can be changed, taken out or put in
   without all later ones being written anew, and these are held against the anchors in the ledger.
2. A line is appended under the lock of the file. What a killed process left unfinished is cut off by the next one.
3. Lines name ids and the keys of rows, never texts, titles or arguments: what is redacted in the ledger is in no line.
4. Where a read that cannot be recorded is refused, a line is on the disk before the answer leaves. Else the system writes it in its own time.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, cast, get_args

from counterpoint.core.model.access import Actor
from counterpoint.core.ports.reads import ReadHead, ReadPolicy
from counterpoint.kernel import canonical
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Clock
from counterpoint.kernel.durable import make_folder
from counterpoint.kernel.errors import CounterpointError, LedgerBroken, Unavailable
from counterpoint.kernel.frozen import mutable

FOLDER: Final = "reads"
_RECORDING: Final = "recording"
_ANCHORED: Final = "anchored"
_BATCH_LINES: Final = 256
_BATCH_SECONDS: Final = 600.0
_MAX_IDS: Final = 2_000
"""Ids that a line has at most; of more it has the number."""
_TAIL: Final = 262_144
_STRICTNESS: Final[dict[ReadPolicy, int]] = {"off": 0, "on": 1, "required": 2}
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


@mutable
class FileReadLog:
    """The record of this machine. is_required: whether a read that cannot be recorded is refused. ledger: that of the project.

    project: its name, where it is another one than the caller's.
    """

    folder: Path
    log: str
    clock: Clock
    is_required: bool = False
    ledger: str = ""
    project: str = ""
    _lost: int = field(init=False, default=0)
    _anchored: int = field(init=False, default=-1)
    _since: float = field(init=False, default=0.0)
    _end: tuple[int, int, str] = field(init=False, default=(0, 0, ""))
    """How many bytes the file had after the last line that is known, its number and hash."""
    _turn: threading.Lock = field(init=False, default_factory=threading.Lock)

    @property
    def file(self) -> Path:
        """The file of the lines."""
        return self.folder / f"{self.log}.jsonl"

    def append(
        self, actor: Actor, entrance: str, subjects: Collection[str], *, is_all: bool = False
    ) -> None:
        """Write down one read; Unavailable where it is required and cannot be."""
        with self._turn:
            try:
                line = _line_of(actor, entrance, subjects, is_all=is_all)
                # Whoever works in the project of a record reads what needs no name.
                self._append(line | ({"ledger": self.ledger} if self.project else {}))
            except (OSError, LedgerBroken) as fault:
                if self.is_required:
                    name = f" {self.project!r}" if self.project else ""
                    option = f" --project {shlex.quote(self.project)}" if self.project else ""
                    raise Unavailable(
                        f"this read cannot be recorded, and the project{name} asks for that: {fault}",
                        hint=f"See that {self.folder} can be written; a person lets reads go on unrecorded with"
                        f" `counterpoint policy --reads on{option}`.",
                    ) from fault
                self._lost += 1

    def _append(self, line: dict[str, Json]) -> None:
        descriptor = os.open(self.file, _FLAGS, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            size, number, last = self._last(descriptor)
            line |= {"number": number + 1, "previous": last, "time": self.clock.now()}
            if self._lost:
                line["lost"] = self._lost
            content = canonical.dump(line)
            os.ftruncate(descriptor, size)
            # A disk that is full may take a part of it: the next one cuts that off.
            if os.pwrite(descriptor, content + b"\n", size) <= len(content):
                os.ftruncate(descriptor, size)
                raise OSError("the disk is full")
            if self.is_required:
                os.fsync(descriptor)
            self._end = size + len(content) + 1, number + 1, sha256(content).hexdigest()
            self._lost = 0
        finally:
            os.close(descriptor)

    def _last(self, descriptor: int) -> tuple[int, int, str]:
        """Return the size, the number and the hash of the last whole line, read anew only if others wrote one."""
        size = os.fstat(descriptor).st_size
        if size and size == self._end[0]:
            return self._end
        start = max(0, size - _TAIL)
        content = os.pread(descriptor, size - start, start)
        whole = content[: content.rfind(b"\n") + 1]
        if not whole:
            return (0, 0, _begin(self.log)) if not start else _refuse(self.file)
        line = whole[:-1].rpartition(b"\n")[2]
        value = _load(line)
        if value is None:
            return _refuse(self.file)
        return start + len(whole), int(value["number"]), sha256(line).hexdigest()

    def head(self) -> ReadHead | None:
        """Return the end of the record; None while it has no lines."""
        try:
            descriptor = os.open(self.file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            _, number, last = self._last(descriptor)
        finally:
            os.close(descriptor)
        return ReadHead(log=self.log, lines=number, hash=last) if number else None

    def due(self) -> ReadHead | None:
        """Return the end of the record if enough lines, or old ones, are not anchored yet."""
        if self._anchored < 0:
            self._load_anchored()
        pending = self._end[1] - self._anchored
        is_old = time.time() - self._since > _BATCH_SECONDS
        if pending >= _BATCH_LINES or (pending > 0 and is_old):
            return ReadHead(log=self.log, lines=self._end[1], hash=self._end[2])
        return None

    def anchored(self, head: ReadHead) -> None:
        """Know that this end stands in the ledger."""
        self._anchored, self._since = head.lines, time.time()
        _write(self._anchored_file, {"lines": head.lines, "since": int(self._since)})

    @property
    def _anchored_file(self) -> Path:
        return self.folder / (f"{_ANCHORED}-{self.ledger}" if self.ledger else _ANCHORED)

    def _load_anchored(self) -> None:
        value = _load_file(self._anchored_file)
        self._anchored = int(value.get("lines", 0))
        self._since = float(value.get("since", 0))
        if not self._end[1] and (head := self.head()):
            # What other processes left to be anchored; the size is not compared with one of them.
            self._end = -1, head.lines, head.hash


@mutable
class FileReadLogs:
    """The records that reads of each project of a database go to. folder: that of the database."""

    folder: Path
    clock: Clock
    _logs: dict[str, tuple[tuple[int, int], FileReadLog | None]] = field(
        init=False, default_factory=dict[str, tuple[tuple[int, int], FileReadLog | None]]
    )

    def find(self, ledger: Callable[[], str], project: str = "") -> FileReadLog | None:
        """Return the record of a project; None while none is kept. ledger: answers the id of its ledger, asked if any is."""
        try:
            status = mark_of(self.folder).stat()
        except OSError:
            return None
        mark = status.st_ino, status.st_mtime_ns
        marked = self._logs.get(project)
        if marked is None or marked[0] != mark:
            log = find_log(self.folder, self.clock, ledger(), project)
            marked = self._logs[project] = mark, log
        return marked[1]

    def follow(self, ledger: str, policy: ReadPolicy, project: str = "") -> FileReadLog | None:
        """Return the same, after what the ledger asks for is marked here too if it is not; a stricter mark stays.

        Several folders use a database on a server, and a person has switched the record on in one of them.
        """
        if _STRICTNESS[policy] > _STRICTNESS[find_mark(self.folder, ledger)]:
            try:
                switch_log(self.folder, policy, token_hex(8), ledger)
            except Unavailable:
                if policy == "required":
                    raise
        return self.find(lambda: ledger, project)


def mark_of(folder: Path) -> Path:
    """Return the file that is there while reads of a database are recorded."""
    return folder / FOLDER / _RECORDING


def find_log(folder: Path, clock: Clock, ledger: str = "", project: str = "") -> FileReadLog | None:
    """Return the record that reads of a project go to; None while none are recorded here. folder: that of the database."""
    path = mark_of(folder)
    if not path.exists():
        return None
    value = _load_file(path)
    policy = _policy_in(value, ledger)
    if policy == "off" and value:
        return None
    log = str(value.get("log", ""))
    if not log.isalnum():
        # A mark that says nothing is one all the same: what it was is in the ledger, and `audit reads` compares.
        log = next(iter(logs_of(folder)), "unnamed")
    is_required = policy == "required"
    return FileReadLog(
        folder=path.parent,
        log=log,
        clock=clock,
        is_required=is_required,
        ledger=ledger,
        project=project,
    )


def switch_log(
    folder: Path,
    policy: ReadPolicy,
    fresh: str,
    ledger: str = "",
    ledgers: Collection[str] = (),
) -> None:
    """Have reads of a project recorded from now on, or no more; Unavailable. fresh: the id of a record that begins.

    ledger: that of the project; empty for all of the database. ledgers: those of all projects of the database.
    """
    path = mark_of(folder)
    if policy == "off" and not path.exists():
        return
    try:
        make_folder(path.parent)
        with (path.parent / f".{_RECORDING}.turn").open("ab") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            _mark(path, policy, fresh, ledger, ledgers)
    except OSError as fault:
        raise Unavailable(f"{path.parent} cannot be written: {fault.strerror}") from fault


def _mark(
    path: Path, policy: ReadPolicy, fresh: str, ledger: str, ledgers: Collection[str]
) -> None:
    """Write which projects are recorded; OSError."""
    value = _load_file(path)
    others = _policy_in(value, "") if value or not path.exists() else "on"
    projects: dict[str, Json] = {}
    if ledger:
        # What stood for all stands for each of those that there are, so that the others stay as they were.
        projects = dict.fromkeys(ledgers, others) | _projects_in(value) | {ledger: policy}
        projects = {name: mode for name, mode in projects.items() if mode != "off"}
        others = "off"
    else:
        others = policy
    if others == "off" and not projects:
        path.unlink(missing_ok=True)
        return
    logs = sorted(path.parent.glob("*.jsonl"))
    log = str(value.get("log", "")) or (logs[-1].stem if logs else fresh)
    _write(path, {"log": log, "policy": others} | ({"projects": projects} if projects else {}))


def _policy_in(value: Mapping[str, Any], ledger: str) -> ReadPolicy:
    policy = _projects_in(value).get(ledger, value.get("policy", "off"))
    return cast("ReadPolicy", policy) if policy in get_args(ReadPolicy) else "on"


def _projects_in(value: Mapping[str, Any]) -> dict[str, Any]:
    projects = value.get("projects", {})
    return dict(cast("dict[str, Any]", projects)) if isinstance(projects, dict) else {}


def find_mark(folder: Path, ledger: str = "") -> ReadPolicy:
    """Return what processes on this machine go by for a project."""
    return _policy_in(_load_file(mark_of(folder)), ledger)


def find_marked_log(folder: Path) -> str:
    """Return the id of the record that this machine writes; empty while it writes none."""
    return str(_load_file(mark_of(folder)).get("log", ""))


def last_time(folder: Path) -> str:
    """Return when a read of a database was recorded here last; empty if none was."""
    times: list[str] = []
    for file in (folder / FOLDER).glob("*.jsonl"):
        with file.open("rb") as lines:
            lines.seek(max(0, file.stat().st_size - _TAIL))
            last = _load(lines.read().rstrip(b"\n").rpartition(b"\n")[2])
        times.append(str(last["time"]) if last else "")
    return max(times, default="")


def logs_of(folder: Path) -> list[str]:
    """Return the ids of the records that are here."""
    return sorted(path.stem for path in (folder / FOLDER).glob("*.jsonl"))


def read_lines(folder: Path, log: str) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    """Return each line of a record with its hash, in order; None for one that does not go on from the line before it."""
    previous = _begin(log)
    if log not in logs_of(folder):
        return
    with (folder / FOLDER / f"{log}.jsonl").open("rb") as file:
        for number, content in enumerate(file, 1):
            line = content.removesuffix(b"\n")
            value = _load(line)
            is_next = value is not None and (value["number"], value["previous"]) == (
                number,
                previous,
            )
            previous = sha256(line).hexdigest()
            yield previous, value if is_next else None


def _line_of(
    actor: Actor, entrance: str, subjects: Collection[str], *, is_all: bool
) -> dict[str, Json]:
    ids = sorted(subjects)
    by: dict[str, Json] = {"kind": actor.kind, "name": actor.name, "session": actor.session}
    if actor.principal is not None:
        by["principal"] = actor.principal.id
    line: dict[str, Json] = {"by": by, "entrance": entrance, "ids": [*ids[:_MAX_IDS]]}
    if len(ids) > _MAX_IDS:
        line["more"] = len(ids) - _MAX_IDS
    return line | ({"all": True} if is_all else {})


def _begin(log: str) -> str:
    return sha256(log.encode()).hexdigest()


def _load(line: bytes) -> dict[str, Any] | None:
    """Return a line that is one of a record; None for any other."""
    try:
        value = canonical.object_of(canonical.load(line))
    except CounterpointError:
        return None
    sorts = {"by": dict, "ids": list, "number": int, "previous": str, "time": str}
    return value if all(type(value.get(name)) is sort for name, sort in sorts.items()) else None


def _load_file(path: Path) -> dict[str, Any]:
    try:
        return canonical.object_of(canonical.load(path.read_bytes()))
    except (OSError, CounterpointError):
        return {}


def _write(path: Path, value: dict[str, Json]) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_bytes(canonical.dump(value))
    draft.replace(path)


def _refuse(file: Path) -> tuple[int, int, str]:
    raise LedgerBroken(f"{file} does not end with a line of its own")
