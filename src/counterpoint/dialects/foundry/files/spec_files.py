"""The files of specs, and what this program wrote of them last.

A file is `specs/<folder>/<spec id>.json`. No link is followed from the folder of specs on, so that nothing is read or written
elsewhere. It is written under a passing name that nobody can guess, made durable, and then given its name: whoever reads it finds a whole
document at every moment. What was written last lies beside the ledger, and so does the lock by which one process at a time writes.

One project keeps the files of a folder: the first that reads or writes one there, as a file beside the project's ledger says
that nobody writes twice. For any other it is as if there were none.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from counterpoint.core.ports.evidence import Evidence
from counterpoint.dialects.foundry.documents.rules.importing import Record, dump_record, load_record
from counterpoint.dialects.foundry.nodes.rules.shape import FILE_LIMIT, is_safe_id
from counterpoint.dialects.foundry.places import FOLDERS
from counterpoint.kernel.canonical import text_digest
from counterpoint.kernel.errors import NotFound, Unavailable
from counterpoint.kernel.places import FOLDER

_SUFFIX: Final = ".json"
_RECORD_LIMIT: Final = 50_000_000
_NAME_LIMIT: Final = 5_000
_DOWN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: to open a pipe that nobody writes to would wait for ever.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FRESH: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class SpecFile:
    """A file of a spec as it lies there."""

    folder: str
    mtime: int
    size: int


class LastRecords:
    """What was written last of the files of projects, read again only where its file is another one."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[Path, tuple[tuple[int, int, int], Record]] = {}

    def get(self, state: Path, project: str, evidence: Evidence) -> Record:
        """Return what is kept beside a ledger of a project; of what is not there, or cannot be read, nothing is known."""
        path = state / _record_name(project)
        try:
            status = path.stat()
        except OSError:
            return Record()
        # It is put in its place whole, as another file.
        file = status.st_ino, status.st_mtime_ns, status.st_size
        cached = self._known.get(path)
        if cached is None or cached[0] != file:
            cached = self._known[path] = file, _load_record(state, project, evidence)
        return cached[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecFiles:
    """The folder of specs of a project.

    home: the main worktree. state: the folder of its ledger. project: its id. asks: whether the project asks for files; None: it says nothing.
    """

    specs: Path
    home: Path
    state: Path
    project: str
    evidence: Evidence
    asks: bool | None = None

    def open(self) -> bool:
        """Return whether there are to be files here: as `is_there`, and no other project keeps them; Unavailable."""
        return self.is_there() and not self.other_keeper()

    def is_there(self) -> bool:
        """Return whether the folder of specs is there and no link, or is asked for and made; Unavailable."""
        if self.asks:
            try:
                self.specs.mkdir(exist_ok=True)
            except OSError as fault:
                raise _unwritten(self.specs, fault) from fault
        is_wanted = self.asks is not False
        return is_wanted and self.specs.is_dir() and not self.specs.is_symlink()

    def other_keeper(self) -> str:
        """Return the project that keeps the files of this folder; empty if that is this one, or none does yet."""
        keeper = self._keeper() or self._former_keeper()
        return "" if keeper in {"", self._name} else keeper.partition(" ")[0]

    def claim(self) -> bool:
        """Return whether this project keeps the files of the folder, from now on if nobody did before; Unavailable."""
        if self._keeper() == self._name:
            return True
        if self.other_keeper():
            return False
        passing = self._marker.with_name(f".{self._marker.name}.{os.urandom(8).hex()}.part")
        try:
            passing.write_text(self._name, encoding="utf-8")
            try:
                # Only one of two who come at once gives it its name.
                with suppress(FileExistsError):
                    os.link(passing, self._marker)
            finally:
                passing.unlink()
        except OSError as fault:
            raise _unwritten(self._marker.parent, fault) from fault
        return self._keeper() == self._name

    @property
    def _name(self) -> str:
        """The project as the file says it: with its ledger, if that lies elsewhere than the project's own."""
        beside = self._marker.parent
        return self.project if self.state == beside else f"{self.project} {self.state}"

    @property
    def _marker(self) -> Path:
        # Also two ledgers may be of one folder: it lies beside that of the folder, where there is one.
        beside = self.home / FOLDER
        beside = beside if beside.is_dir() and not beside.is_symlink() else self.state
        link_target = os.path.relpath(self.specs, beside)
        return beside / f"mirror-{text_digest(link_target)[:16]}"

    def _keeper(self) -> str:
        try:
            return self._marker.read_text(encoding="utf-8")[:_NAME_LIMIT]
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as fault:
            raise Unavailable(
                f"{self._marker} cannot be read", hint="Take it away; it is written again."
            ) from fault

    def _former_keeper(self) -> str:
        """Return whose files these were before it was written down: of what has written some; empty for this one, or none."""
        if self.record().files:
            return ""
        for path in sorted(self.state.glob("specs-*.json")):
            project = path.name.removeprefix("specs-").removesuffix(".json")
            written = _load_record(self.state, project, self.evidence).files
            if any(self.look(file.folder, spec) is not None for spec, file in written.items()):
                return project
        return ""

    def links(self) -> tuple[str, ...]:
        """Return the links that stand where folders of specs are to be: nothing is kept or read through them."""
        if self.specs.is_symlink():
            return (self.specs.name,)
        return tuple(
            f"{self.specs.name}/{name}" for name in FOLDERS if (self.specs / name).is_symlink()
        )

    @contextmanager
    def turn(self, *, waits: bool = False) -> Generator[bool]:
        """Answer whether no other process has its turn, and keep it during the block. waits: until it is so."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(self.state / f"specs-{self.project}.lock", flags, 0o600)
        except OSError as fault:
            raise _unwritten(self.state, fault) from fault
        try:
            is_mine = True
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
            except BlockingIOError:
                is_mine = False
            yield is_mine
        finally:
            os.close(descriptor)

    def record(self) -> Record:
        """Return what was written last; of what cannot be read, nothing is known."""
        return _load_record(self.state, self.project, self.evidence)

    def keep(self, record: Record) -> None:
        """Keep what was written."""
        self.evidence.save(self.state, _record_name(self.project), dump_record(record))

    def listed(self) -> dict[str, list[SpecFile]]:
        """Return the files of specs by the id that each is named for; links and hidden files are none."""
        files: dict[str, list[SpecFile]] = {}
        for folder in FOLDERS:
            folder_path = self.specs / folder
            if folder_path.is_symlink() or not folder_path.is_dir():
                continue
            with os.scandir(folder_path) as entries:
                for entry in entries:
                    name = entry.name.removesuffix(_SUFFIX)
                    if name == entry.name or not is_safe_id(name):
                        continue
                    with suppress(FileNotFoundError):
                        status = entry.stat(follow_symlinks=False)
                        if stat.S_ISREG(status.st_mode):
                            file = SpecFile(folder, status.st_mtime_ns, status.st_size)
                            files.setdefault(name, []).append(file)
        return files

    def look(self, folder: str, spec: str) -> SpecFile | None:
        """Return the file of a spec in a folder; None if there is no plain file."""
        try:
            status = os.lstat(self.specs / folder / f"{spec}{_SUFFIX}")
        except OSError:
            return None
        return (
            SpecFile(folder, status.st_mtime_ns, status.st_size)
            if stat.S_ISREG(status.st_mode)
            else None
        )

    def read(self, folder: str, spec: str) -> bytes:
        """Return the bytes of a file, one more than may be if there are more; NotFound, Unavailable."""
        try:
            with self._folder(folder, make=False) as folder_descriptor:
                descriptor = os.open(f"{spec}{_SUFFIX}", _READ, dir_fd=folder_descriptor)
                with os.fdopen(descriptor, "rb") as file:
                    return file.read(FILE_LIMIT + 1)
        except FileNotFoundError as fault:
            raise NotFound(f"there is no file of {spec} in {folder}") from fault
        except OSError as fault:
            raise _unwritten(self.specs / folder, fault) from fault

    def write(self, folder: str, spec: str, content: bytes) -> SpecFile:
        """Put a file in its place, whole or not at all, durably; Unavailable."""
        try:
            with self._folder(folder, make=True) as folder_descriptor:
                passing = f".{spec}.{os.urandom(8).hex()}.part"
                descriptor = os.open(passing, _FRESH, 0o644, dir_fd=folder_descriptor)
                try:
                    with os.fdopen(descriptor, "wb") as file:
                        file.write(content)
                        file.flush()
                        os.fsync(file.fileno())
                        status = os.fstat(file.fileno())
                    os.rename(
                        passing,
                        f"{spec}{_SUFFIX}",
                        src_dir_fd=folder_descriptor,
                        dst_dir_fd=folder_descriptor,
                    )
                except OSError:
                    os.unlink(passing, dir_fd=folder_descriptor)
                    raise
                os.fsync(folder_descriptor)
        except OSError as fault:
            raise _unwritten(self.specs / folder, fault) from fault
        return SpecFile(folder, status.st_mtime_ns, status.st_size)

    def remove(self, folder: str, spec: str) -> None:
        """Take a file away, if it is there."""
        with suppress(OSError), self._folder(folder, make=False) as folder_descriptor:
            os.unlink(f"{spec}{_SUFFIX}", dir_fd=folder_descriptor)

    def tidy(self) -> None:
        """Take away what a process that was killed had begun to write."""
        for folder in FOLDERS:
            with suppress(OSError), self._folder(folder, make=False) as folder_descriptor:
                with os.scandir(folder_descriptor) as entries:
                    names = [entry.name for entry in entries]
                for name in names:
                    if name.startswith(".") and name.endswith(".part"):
                        os.unlink(name, dir_fd=folder_descriptor)

    @contextmanager
    def _folder(self, folder: str, *, make: bool) -> Generator[int]:
        top = os.open(self.specs, _DOWN)
        try:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(folder, dir_fd=top)
            folder_descriptor = os.open(folder, _DOWN, dir_fd=top)
        finally:
            os.close(top)
        try:
            yield folder_descriptor
        finally:
            os.close(folder_descriptor)


def _record_name(project: str) -> str:
    return f"specs-{project}.json"


def _load_record(state: Path, project: str, evidence: Evidence) -> Record:
    try:
        return load_record(evidence.load(state, _record_name(project), _RECORD_LIMIT))
    except NotFound:
        return Record()


def dump_document(document: object) -> bytes:
    """Return a document as its file holds it."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _unwritten(path: Path, fault: OSError) -> Unavailable:
    return Unavailable(
        f"{path} cannot be read or written ({fault.strerror})",
        hint="See that it is a folder of this account, and no link.",
    )
