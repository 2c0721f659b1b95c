"""Runs parts of this program as other accounts, and hands files from one to another.

1. A part runs in a process of its own that has given up every right of root before it looks at anything: what it opens, makes and
   removes is what that account may, whatever names and links others have laid there meanwhile.
2. Files go through a pipe from a process of the one account to a process of the other. Only plain files of the giver go; the taker
   makes each anew, for itself alone, and accepts no name that leads out of its folder.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import stat
import sys
import tarfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple, NoReturn

from counterpoint.kernel.canonical import Json
from counterpoint.kernel.durable import sync
from counterpoint.kernel.errors import CounterpointError, Unavailable

_OWN_PREFIXES: Final = ("XDG_", "COUNTERPOINT_", "SUDO_")
"""How variables begin that say where the files of whoever called lie."""
_CHUNK: Final = 1 << 20


class Account(NamedTuple):
    """An account of this machine."""

    name: str
    uid: int
    gid: int
    home: str


class Part(NamedTuple):
    """A part that runs: its process, and where its answer comes."""

    pid: int
    answer: int


def find_account(name: str | int) -> Account | None:
    """Return an account by its name or number; None without one."""
    try:
        entry = pwd.getpwuid(name) if isinstance(name, int) else pwd.getpwnam(name)
    except KeyError:
        return None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, entry.pw_dir)


def run_as(account: Account, work: Callable[[], Json]) -> Json:
    """Return what a part answers that runs as another account; its refusals are raised here as Unavailable."""
    return _wait(_start_as(account, work))


def hand_files(
    giver: Account, source: Path, taker: Account, target: Path, names: Sequence[str]
) -> None:
    """Copy files and folders of one account's folder, by their names, into that of another; Unavailable.

    What has none of the names is left out; files that the target has already are replaced.
    """
    read, write = os.pipe()
    giving = _start_as(giver, lambda: _give(read, write, source, names))
    os.close(write)
    taking = _start_as(taker, lambda: _take(read, target))
    os.close(read)
    faults: list[Unavailable] = []
    for part in (giving, taking):
        try:
            _wait(part)
        except Unavailable as fault:
            faults.append(fault)
    if faults:
        # The one side hears of the other's fault as an early end.
        raise Unavailable("; ".join(fault.message for fault in faults), hint=faults[0].hint)


def _give(read: int, write: int, source: Path, names: Sequence[str]) -> Json:
    # The other end must be the taker's alone, so that this one hears of its end.
    os.close(read)
    with os.fdopen(write, "wb") as pipe, tarfile.open(fileobj=pipe, mode="w|") as archive:
        for path in _plain_files(source, names):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
                    raise Unavailable(
                        f"{path} is no plain file of {_own_name()}",
                        hint="Look who could have put it there, take it away, and repeat the command.",
                    )
                member = tarfile.TarInfo(str(path.relative_to(source)))
                member.size = status.st_size
                archive.addfile(member, file)
    return None


def _plain_files(source: Path, names: Sequence[str]) -> Iterator[Path]:
    for name in names:
        path = source / name
        if path.is_dir() and not path.is_symlink():
            for folder, _, files in os.walk(path):
                yield from (Path(folder) / file for file in sorted(files))
        elif os.path.lexists(path):
            yield path


def _take(read: int, target: Path) -> Json:
    with os.fdopen(read, "rb") as pipe, tarfile.open(fileobj=pipe, mode="r|") as archive:
        for member in archive:
            parts = Path(member.name).parts
            content = archive.extractfile(member) if member.isfile() else None
            if content is None or not parts or ".." in parts or parts[0] == "/":
                raise Unavailable(f"what was handed over holds {member.name!r}, which is no file")
            _write(target.joinpath(*parts), content)
    return None


def _write(path: Path, content: IO[bytes]) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        shutil.copyfileobj(content, file, _CHUNK)
    # A cut of power must not leave less than was verified.
    sync(path)
    sync(path.parent)


def _own_name() -> str:
    return pwd.getpwuid(os.getuid()).pw_name


def _start_as(account: Account, work: Callable[[], Json]) -> Part:
    read, write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if not pid:
        os.close(read)
        _answer_as(account, work, write)
    os.close(write)
    return Part(pid, read)


def _answer_as(account: Account, work: Callable[[], Json], answer: int) -> NoReturn:
    """Become another account for good, do its part, answer, and end."""
    try:
        become(account)
        try:
            words: dict[str, Json] = {"ok": work()}
        except CounterpointError as refusal:
            words = {"message": refusal.message, "hint": refusal.hint}
        except (OSError, tarfile.TarError) as fault:
            words = {"message": str(fault), "hint": ""}
        with os.fdopen(answer, "wb") as pipe:
            pipe.write(json.dumps(words).encode())
    finally:
        # This process must not go on as a second one that does the rest of the command.
        if sys.exc_info()[0] is not None:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(0)


def become(account: Account) -> None:
    """Have this process be of another account for good, with that one's home."""
    os.initgroups(account.name, account.gid)
    os.setgid(account.gid)
    os.setuid(account.uid)
    os.umask(0o077)
    # Whoever is at home elsewhere need not be able to look into the folder that this was called in.
    os.chdir("/")
    for name in [name for name in os.environ if name.startswith(_OWN_PREFIXES)]:
        del os.environ[name]
    os.environ.update(HOME=account.home, USER=account.name, LOGNAME=account.name)


def _wait(part: Part) -> Json:
    with os.fdopen(part.answer, "rb") as pipe:
        text = pipe.read()
    os.waitpid(part.pid, 0)
    if not text:
        raise Unavailable(
            "a part of the command that ran as another account ended without an answer"
        )
    words = json.loads(text)
    if "ok" in words:
        return words["ok"]
    raise Unavailable(words["message"], **({"hint": words["hint"]} if words["hint"] else {}))
