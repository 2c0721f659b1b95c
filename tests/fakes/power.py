"""Files whose every change is written down, so that the power can be cut after any of them.

The disk that is played keeps these rules:

1. bytes of a file, and its length, are safe once the file was synced after they were written; a name in a folder once that folder was;
2. of what is not safe any part may be there when the power is back: of names each change by itself, a renaming whole or not at
   all; of bytes each sector by itself, or only the beginning of one; a length with the bytes that reach to it, zeros before them;
3. bytes beside those that were written are what they were. SQLite takes this for granted (POWERSAFE_OVERWRITE);
4. the index of SQLite's log is gone, like all memory, and so is every lock.

SQLite's files are watched from below (a VFS), all others through the calls of the system that change names or sync.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

import apsw
import pytest
from typing_extensions import Buffer

SECTOR: Final = 512
TORN: Final = 0.1
"""Of sectors that are being written, how many are there in part."""
_LOGS: Final = ("-wal", "-journal")
_INDEX: Final = "-shm"
_CALLS: Final = ("rename", "replace", "link", "unlink", "remove", "mkdir", "rmdir")
_FOLLOWED_BY_FOLDER: Final = (
    apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL
)
"""Files that SQLite makes: with their first sync it syncs the folder."""


@dataclass(eq=False, slots=True)
class Node:
    """A file or folder, whatever names it has."""

    is_folder: bool
    seen: tuple[int, int] = (0, 0)
    content: bytes = b""
    is_of_sqlite: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """Bytes that came into a file."""

    node: Node
    offset: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Resized:
    """A length that a file got."""

    node: Node
    size: int


Name = tuple[Node, str, Node]
"""A folder, a name in it, and what has that name."""


@dataclass(frozen=True, slots=True)
class Named:
    """Names that went and came in one step."""

    gone: tuple[Name, ...]
    come: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Synced:
    """A file whose bytes, or a folder whose names are on the disk."""

    node: Node


@dataclass(frozen=True, slots=True)
class Told:
    """What somebody was told is done."""

    text: str


Change = Written | Resized | Named | Synced | Told


@dataclass
class Left:
    """What a disk has when the power is back."""

    names: dict[Node, dict[str, Node]] = field(default_factory=dict)
    content: dict[Node, bytearray] = field(default_factory=dict)

    def rename(self, change: Named) -> None:
        """Let names go and come."""
        for folder, name, node in change.gone:
            here = self.names.setdefault(folder, {})
            if here.get(name) is node:
                del here[name]
        for folder, name, node in change.come:
            self.names.setdefault(folder, {})[name] = node

    def write(self, node: Node, offset: int, piece: bytes) -> None:
        """Put bytes into a file; zeros before them if it was shorter."""
        kept = self.content.setdefault(node, bytearray())
        kept.extend(bytes(max(0, offset - len(kept))))
        kept[offset : offset + len(piece)] = piece

    def resize(self, node: Node, size: int) -> None:
        """Give a file a length."""
        kept = self.content.setdefault(node, bytearray())
        del kept[size:]
        kept.extend(bytes(size - len(kept)))

    def lay(self, folder: Node, place: Path) -> None:
        """Write all of it below a path."""
        place.mkdir(mode=0o700)
        for name, node in self.names.get(folder, {}).items():
            if node.is_folder:
                self.lay(node, place / name)
            else:
                opened = os.open(place / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(opened, "wb") as file:
                    file.write(self.content.get(node, b""))


class Recording(apsw.VFS):
    """Everything that happens to the files below a folder, in order, from its making on."""

    def __init__(self, root: Path) -> None:
        """Take the folder as it is for safe, and the place of what SQLite uses by itself."""
        self.root = root
        self.top = Node(is_folder=True)
        self.log: list[Change] = []
        self.lock = threading.RLock()
        self._paths: dict[Path, tuple[int, Node]] = {}
        self.look()
        self._begin = len(self.log)
        super().__init__("recording", "unix", makedefault=True)

    def tell(self, text: str) -> None:
        """Write down that somebody was told something."""
        with self.lock:
            self.look()
            self.log.append(Told(text))

    def told(self, place: int) -> list[str]:
        """Answer what was told before a place of the log."""
        return [change.text for change in self.log[:place] if isinstance(change, Told)]

    def places(self) -> list[int]:
        """Answer where a cut makes a difference: before all but writing, for what is being written may be there in any part; and at the end."""
        whole = range(self._begin, len(self.log))
        dull = Written | Told
        return [n for n in whole if not isinstance(self.log[n], dull)] + [len(self.log)]

    def cut(self, place: int, draw: Random) -> Left:
        """Answer what is there if the power goes before a change: nothing that is not safe, all of it, or what is drawn."""
        share = draw.choice((0.0, 1.0, draw.random(), draw.random()))
        left, synced, safe = Left(), set[Node](), [False] * place
        for number in reversed(range(place)):
            change = self.log[number]
            if isinstance(change, Synced):
                synced.add(change.node)
            safe[number] = number < self._begin or is_safe(change, synced)
        for number in range(place):
            _apply(left, self.log[number], 1.0 if safe[number] else share, draw)
        return left

    def look(self) -> None:
        """Write down what is there now and was not at the last look."""
        with self.lock:
            before, found = self._paths, self._found()
            gone = [path for path, was in before.items() if found.get(path) != was]
            come = [path for path, now in found.items() if before.get(path) != now]
            if gone or come:
                names = tuple(
                    (self._folder(path, before), path.name, before[path][1]) for path in gone
                )
                new = tuple((self._folder(path, found), path.name, found[path][1]) for path in come)
                self.log.append(Named(gone=names, come=new))
            self._paths = found
            for path, (_, node) in found.items():
                if not node.is_folder and not node.is_of_sqlite:
                    self._read(path, node)

    def node(self, number: int) -> Node | None:
        """Answer what has a number on this disk."""
        if number == self.root.stat().st_ino:
            return self.top
        return next((node for one, node in self._paths.values() if one == number), None)

    def at(self, path: Path) -> Node:
        """Answer what has a path."""
        return self.top if path == self.root else self._paths[path][1]

    def has(self, path: Path) -> bool:
        """Tell whether a path is below the folder."""
        return self.root in path.parents

    def _found(self) -> dict[Path, tuple[int, Node]]:
        known = dict(self._paths.values())
        found: dict[Path, tuple[int, Node]] = {}
        for folder, folders, files in os.walk(self.root):
            for name in sorted(folders) + sorted(files):
                path = Path(folder, name)
                if not name.endswith(_INDEX) and (mark := _mark(path)) is not None:
                    number, is_folder = mark
                    node = known.setdefault(number, Node(is_folder=is_folder))
                    node.is_of_sqlite |= name.endswith(_LOGS)
                    found[path] = number, node
        return found

    def _folder(self, path: Path, known: dict[Path, tuple[int, Node]]) -> Node:
        return self.top if path.parent == self.root else known[path.parent][1]

    def _read(self, path: Path, node: Node) -> None:
        """Write down what came into a file that SQLite has not opened: closing it would free SQLite's locks."""
        now = path.stat()
        if node.seen == (seen := (now.st_size, now.st_mtime_ns)):
            return
        node.seen, before = seen, node.content
        node.content = path.read_bytes() if now.st_size else b""
        if not node.content.startswith(before):
            self.log += [Resized(node, 0), Written(node, 0, node.content)]
        elif len(node.content) > len(before):
            self.log.append(Written(node, len(before), node.content[len(before) :]))

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 -- SQLite's name
        """Open a file, and write down what becomes of it."""
        path = Path(name.filename() if isinstance(name, apsw.URIFilename) else name or "/")
        if not self.has(path):
            return apsw.VFSFile("unix", name, flags)
        with self.lock:
            self.look()
            asked = flags[0]
            file = _File(self, path, name, flags)
            self.look()
            file.node = self.at(path)
            file.node.is_of_sqlite = True
            if asked & apsw.SQLITE_OPEN_CREATE and asked & _FOLLOWED_BY_FOLDER:
                file.folder = self.at(path.parent)
            return file

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 -- SQLite's name
        """Delete a file."""
        super().xDelete(filename, syncdir)
        self.look()
        if syncdir and self.has(Path(filename)):
            self.log.append(Synced(self.at(Path(filename).parent)))


class _File(apsw.VFSFile):
    node: Node
    folder: Node | None = None

    def __init__(
        self, disk: Recording, path: Path, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self._disk = disk
        super().__init__("unix", name, flags)

    def xWrite(self, data: Buffer, offset: int) -> None:  # noqa: N802 -- SQLite's name
        super().xWrite(data, offset)
        with self._disk.lock:
            self._disk.log.append(Written(self.node, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 -- SQLite's name
        super().xTruncate(newsize)
        with self._disk.lock:
            self._disk.log.append(Resized(self.node, newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802 -- SQLite's name
        # What is written down is enough: the disk below need not be waited for.
        with self._disk.lock:
            self._disk.log.append(Synced(self.node))
            if self.folder is not None:
                self._disk.log.append(Synced(self.folder))
                self.folder = None


def is_safe(change: Change, synced: set[Node]) -> bool:
    """Tell whether a change is on the disk for certain once these were synced after it."""
    match change:
        case Named(gone, come):
            return any(folder in synced for folder, _, _ in come or gone)
        case Written(node) | Resized(node):
            return node in synced
        case _:
            return True


def _apply(left: Left, change: Change, share: float, draw: Random) -> None:
    match change:
        case Named() if draw.random() < share:
            left.rename(change)
        case Resized(node, size) if draw.random() < share:
            left.resize(node, size)
        case Written(node, offset, content) if share == 1:
            left.write(node, offset, content)
        case Written(node, offset, content):
            for start, piece in _sectors(offset, content):
                chance = draw.random()
                if chance < share:
                    left.write(node, start, piece)
                elif share > 0 and chance < share + TORN:
                    left.write(node, start, piece[: draw.randrange(len(piece))])
        case _:
            pass


def _sectors(offset: int, content: bytes) -> Generator[tuple[int, bytes]]:
    """Answer what was written, cut where sectors end."""
    start = 0
    while start < len(content):
        end = start + SECTOR - (offset + start) % SECTOR
        yield offset + start, content[start:end]
        start = end


def _mark(path: Path) -> tuple[int, bool] | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return found.st_ino, stat.S_ISDIR(found.st_mode)


@contextmanager
def recorded(root: Path) -> Generator[Recording]:
    """Write down all that happens to the files below a folder during the block."""
    disk = Recording(root)
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name in _CALLS:
                patch.setattr(os, name, _watched(disk, getattr(os, name)))
            patch.setattr(os, "open", _watched_open(disk, os.open))
            patch.setattr(os, "fsync", _watched_sync(disk))
            yield disk
            disk.look()
    finally:
        apsw.set_default_vfs("unix")
        disk.unregister()


def _watched(disk: Recording, call: Callable[..., Any]) -> Callable[..., Any]:
    def watched(*words: Any, **more: Any) -> Any:
        with disk.lock:
            disk.look()
            try:
                return call(*words, **more)
            finally:
                disk.look()

    return watched


def _watched_open(disk: Recording, call: Callable[..., int]) -> Callable[..., int]:
    watched = _watched(disk, call)

    def opened(path: Any, flags: int, *words: Any, **more: Any) -> int:
        return (watched if flags & os.O_CREAT else call)(path, flags, *words, **more)

    return opened


def _watched_sync(disk: Recording) -> Callable[[int], None]:
    def sync(descriptor: int) -> None:
        with disk.lock:
            disk.look()
            node = disk.node(os.fstat(descriptor).st_ino)
            if node is not None:
                disk.log.append(Synced(node))

    return sync
