"""Whether the files and listeners beside a database belong to the right account.

1. The folder of a database is a folder and no link, belongs to this account, and nobody else can write it; one in which everybody may lay
   files is no place for a ledger, however sticky.
2. The database, and what lies beside it under its name, are plain files or sockets of this account, and no links. Where others can enter
   the folder they cannot write them.
3. What is not there is not judged: whoever makes it makes it anew, and follows no link.
4. The server of another account is met in a folder that belongs to that account: it says whose answer is awaited. Neither that folder nor
   one above it can be changed by anybody but that account, this one and root.
5. Whoever answers is of the account that is awaited, by the kernel's word, before anything is said to him.

The relay imports this, so it is the standard library only, and little of that.
"""

from __future__ import annotations

import _socket
import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

BESIDE: Final = (
    *("", "-wal", "-shm", "-journal", "-queue"),
    *("-server.json", "-server.sock", "-server.lock", "-server.starting", "-server.log"),
    "-server.lost",
)
"""What ends the names of files that are a database's own."""
_WRITE_FOR_OTHERS: Final = 0o022
_ANYTHING_FOR_OTHERS: Final = 0o077
_LOCAL_PEERCRED: Final = 1


class Untrusted(Exception):
    """What is there is not this account's alone; `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        """Say what is wrong."""
        super().__init__(message)
        self.message, self.hint = message, hint


IN_FOLDER: Final = (
    *("checkpoints/*.note", "trusted/*/counterpoint.toml", "private/*/without-a-key"),
    *("running/*.lock", "supervised/*/lock", "foundry/errors-*", "backups/ledger-*.db"),
    *("reads/recording", "reads/anchored*", "reads/*.jsonl", "cursors"),
    *("specs-*.json", "specs-*.lock", "roles-*.lock", ".restore-*/*"),
)
"""Patterns of what this program makes in the folder of a database under other names; a star is a part of one name."""


def is_of_database(name: str, database: str) -> bool:
    """Return whether a name is that of a database or of a file of its own beside it, also of one that was put aside there."""
    name, database = name.casefold(), database.casefold()
    return name.startswith(database) and name[len(database) :].partition(".left-")[0] in BESIDE


def check_folder(database: str) -> None:
    """Pass if folder and files of a database are this account's alone, as rules 1 and 2 say; Untrusted."""
    folder = os.path.dirname(database)
    try:
        status = os.lstat(folder)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(status.st_mode):
        if not stat.S_ISLNK(status.st_mode):
            raise Untrusted(
                f"{folder} is a file, where a folder is meant",
                "Look what it is, and take it away; or name another place: `--db PATH`.",
            )
        raise Untrusted(
            f"{folder} is a link, and no folder",
            f"Take it away if it is not yours; else name what it leads to: `--db {os.path.realpath(database)}`.",
        )
    if status.st_uid != os.getuid():
        raise Untrusted(
            f"{folder} belongs to another account (uid {status.st_uid})",
            "Run this under that account, or use a ledger of your own: `--db PATH`.",
        )
    if status.st_mode & stat.S_ISVTX and status.st_mode & _WRITE_FOR_OTHERS:
        raise Untrusted(
            f"everybody may lay files into {folder}",
            "Give the ledger a folder of its own: `--db FOLDER/ledger.db`.",
        )
    if status.st_mode & _WRITE_FOR_OTHERS:
        raise Untrusted(
            f"others can write {folder}",
            f"Look whether what is in it is yours, then run `chmod go-w {folder}`.",
        )
    is_closed = not status.st_mode & _ANYTHING_FOR_OTHERS
    for ending in BESIDE:
        _check_file(database + ending, is_closed=is_closed)


def _check_file(path: str, *, is_closed: bool) -> None:
    try:
        status = os.lstat(path)
    except OSError:
        return
    is_plain = stat.S_ISREG(status.st_mode) or stat.S_ISSOCK(status.st_mode)
    if not is_plain and not stat.S_ISLNK(status.st_mode):
        sort = "a folder" if stat.S_ISDIR(status.st_mode) else "no file"
        raise Untrusted(
            f"{path} is {sort}, where a file is meant",
            "Look what is in it, and take it away; or name another place: `--db PATH`.",
        )
    if not is_plain or status.st_uid != os.getuid():
        raise Untrusted(
            f"{path} is a link, or belongs to another account",
            "Look who could have put it there, and take it away.",
        )
    if status.st_mode & _WRITE_FOR_OTHERS and not is_closed:
        raise Untrusted(
            f"others can write {path}",
            f"Look whether it is still yours, then run `chmod go-w {path}`.",
        )


def awaited_at(socket: str) -> int:
    """Return the account whose answer is awaited at a socket, as rule 4 says; Untrusted, OSError."""
    folder = os.path.dirname(os.path.realpath(socket))
    owner = os.stat(folder).st_uid
    if os.stat(folder).st_mode & _WRITE_FOR_OTHERS:
        raise Untrusted(
            f"others than uid {owner} can write {folder}, where the server's socket lies",
            f"Have whoever runs the server put it into a folder of its own: `chmod go-w {folder}`.",
        )
    above = folder
    while above != os.path.dirname(above):
        above = os.path.dirname(above)
        status = os.stat(above)
        is_shared = status.st_mode & _WRITE_FOR_OTHERS and not status.st_mode & stat.S_ISVTX
        if is_shared or status.st_uid not in {0, owner, os.getuid()}:
            raise Untrusted(
                f"others can exchange {folder}, since they can write {above}",
                "Have whoever runs the server put its socket below folders of root, such as /run.",
            )
    return owner


def check_peer(to: _socket.socket, awaited: int) -> None:
    """Pass if whoever listens at the other end is of an account; Untrusted."""
    user = _user_of(to)
    if user not in {awaited, None}:
        raise Untrusted(
            f"what listens there is of another account (uid {user}, not {awaited})",
            "Nothing was said to it. Look whose process that is, and who could have put its socket there.",
        )


def is_peer_alive(to: _socket.socket) -> bool:
    """Return whether the process that listened at the other end still runs; no on systems that do not tell."""
    if not sys.platform.startswith("linux"):
        return False
    credentials = to.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    pid = int.from_bytes(credentials[:4], sys.byteorder)
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # One that has ended and that nobody has waited for yet is there as Z.
            return file.read().rpartition(b") ")[2][:1] not in {b"Z", b"X"}
    except OSError:
        return False


def _user_of(to: _socket.socket) -> int | None:
    """Return the account at the other end; None on systems that do not tell."""
    if sys.platform == "darwin":
        return int.from_bytes(to.getsockopt(0, _LOCAL_PEERCRED, 76)[4:8], sys.byteorder)
    if sys.platform.startswith("linux"):
        credentials = to.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        return int.from_bytes(credentials[4:8], sys.byteorder)
    return None
