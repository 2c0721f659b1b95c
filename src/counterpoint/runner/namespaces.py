"""Namespaces of a command's own: it sees no other process, and folders are empty.

1. Who is not root becomes itself in a user namespace, for the right to do the rest. Root stays root, for files of others would not be its
   own there.
2. In a mount namespace that tells nobody outside, an empty folder that cannot be written covers each folder that is hidden, and
   an empty file each file. What is not to be moved or written is mounted over itself, the latter without the right to write. A mount goes when
   somebody outside removes or replaces what it lies over, and so a folder in which that happens is covered as a whole, and the other entries of it are mounted there again.
3. It has pseudo-terminals of its own: on those outside it could ask for a passphrase, or read what is typed.
4. In a PID namespace whose first process is ours, with a `/proc` of its own, nothing outside can be seen, signalled or read. When the
   first process ends, the kernel ends all in it.
5. Before the program starts, every right is given up that could undo this: no capability is left but those over files, users
   and processes that root has, none can be had again, and what is mounted here is locked in namespaces below.
   Sockets without a path (abstract ones) of programs outside cannot be reached, where the kernel can say so (Linux 6.12).
6. Without the network there is a network namespace with nothing in it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import signal
import stat
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final, NoReturn

    from counterpoint.runner.order import Confinement

_CLONE_NEWNS: Final = 0x0002_0000
_CLONE_NEWIPC: Final = 0x0800_0000
_CLONE_NEWUSER: Final = 0x1000_0000
_CLONE_NEWPID: Final = 0x2000_0000
_CLONE_NEWNET: Final = 0x4000_0000
_MS_RDONLY: Final = 1
_MS_NOSUID: Final = 2
_MS_NODEV: Final = 4
_MS_NOEXEC: Final = 8
_MS_REMOUNT: Final = 0x20
_MS_BIND: Final = 0x1000
_MS_REC: Final = 0x4000
_MS_PRIVATE_ALL: Final = 0x4_0000 | 0x4000
_EMPTY: Final = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC | _MS_RDONLY
_MS_RELATIME: Final = 1 << 21
_ST_RELATIME: Final = 4096
_KEPT_FLAGS: Final = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC | 1024 | 2048
"""The last two: no times of access are kept. These have the same numbers where they are asked for and where they are told."""
_CHANGED: Final = frozenset((errno.ENOENT, errno.ENOTDIR, errno.EINVAL, errno.ELOOP, errno.EISDIR))
"""What a mount answers where a path is another one than a moment ago."""
_ATTEMPTS: Final = 20
_PR_CAPBSET_DROP: Final = 24
_PR_SET_NO_NEW_PRIVS: Final = 38
_LANDLOCK_CREATE: Final = 444
_LANDLOCK_RESTRICT: Final = 446
_LANDLOCK_VERSION: Final = 1
_LANDLOCK_SCOPES: Final = 6
"""The first version that keeps processes to abstract sockets of their own."""
_LANDLOCK_ABSTRACT: Final = 1
_CAPABILITIES: Final = 64
"""More than there are; the kernel says where they end."""
_KEPT: Final = frozenset((0, 1, 3, 4, 5, 6, 7))
"""chown, dac_override, fowner, fsetid, kill, setgid, setuid: what root needs to work with files of others."""
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


class Refused(OSError):
    """The system does not let a namespace be made; `strerror` says which step it refused."""


class Unsettled(Refused):
    """What is to be hidden changes while it is covered: nothing weaker is tried then, since others may want just that."""


def enter(sandbox: Confinement) -> None:
    """Move this process into namespaces; its next child is the first process there. Refused."""
    flags = _CLONE_NEWNS | _CLONE_NEWIPC | _CLONE_NEWPID
    user, group = os.getuid(), os.getgid()
    flags |= 0 if user == 0 else _CLONE_NEWUSER
    flags |= 0 if sandbox["network"] else _CLONE_NEWNET
    _must(_LIBC.unshare(flags), "unshare")
    if user:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            _write(f"/proc/self/{name}", text)


def cover(sandbox: Confinement) -> None:
    """Hide folders and files, keep others as they are, and show the processes of this namespace alone. Refused."""
    _mount(None, "/", None, _MS_PRIVATE_ALL)
    for path in sandbox["fixed"]:
        _guard(path, 0)
    for path in sandbox["read_only"]:
        _guard(path, _MS_RDONLY)
    for folder, names in sandbox["partial"]:
        _show_only(folder, names)
    for path in sandbox["hidden"]:
        _hide(path)
    _replace_terminals()
    _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)


def give_up() -> None:
    """Lose what could undo it, for this process and whatever it starts."""
    capabilities = _KEPT if os.getuid() == 0 else frozenset[int]()
    for number in range(_CAPABILITIES):
        if number not in capabilities:
            _LIBC.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    _must(_LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    _leave_abstract_sockets()


def _leave_abstract_sockets() -> None:
    """Keep this process from abstract sockets that others made, as far as the kernel can do that."""
    if _LIBC.syscall(_LANDLOCK_CREATE, None, 0, _LANDLOCK_VERSION) < _LANDLOCK_SCOPES:
        return
    # No right over files, none over ports, and this scope.
    rules = (ctypes.c_uint64 * 3)(0, 0, _LANDLOCK_ABSTRACT)
    ruleset = _LIBC.syscall(
        _LANDLOCK_CREATE, rules, ctypes.c_size_t(ctypes.sizeof(rules)), ctypes.c_uint32(0)
    )
    if ruleset >= 0:
        _LIBC.syscall(_LANDLOCK_RESTRICT, ruleset, ctypes.c_uint32(0))
        os.close(ruleset)


def attend(leader: int, ended: int) -> NoReturn:
    """Be the first process: pass the wish to end on, collect whatever ends, and end with the command."""

    def pass_on(number: int, _frame: object) -> None:
        # It may not lead its group yet, or not be there any more.
        with suppress(ProcessLookupError):
            os.killpg(leader, number)

    signal.signal(signal.SIGTERM, pass_on)
    status = None
    while status is None:
        pid, wait_status = os.waitpid(-1, 0)
        if pid == leader:
            status = os.waitstatus_to_exitcode(wait_status)
    os.write(ended, str(status).encode())
    os._exit(0)


def _guard(path: str, flags: int) -> None:
    """Mount a file or folder over itself. One that is taken away or exchanged meanwhile is left: it is not what was to be kept."""
    try:
        _mount(path, path, None, _MS_BIND | _MS_REC)
        if flags:
            _mount(None, path, None, _MS_REMOUNT | _MS_BIND | flags | _flags_of(path))
    except OSError as fault:
        if fault.errno not in _CHANGED:
            raise


def _hide(path: str) -> None:
    """Cover a folder or a file that is there; Unsettled for one that keeps changing, Refused."""
    fault: OSError | None = None
    for _ in range(_ATTEMPTS):
        try:
            if os.path.isdir(path):
                _mount("tmpfs", path, "tmpfs", _EMPTY, "size=4k,mode=0755")
            elif os.path.lexists(path):
                _mount("/dev/null", path, None, _MS_BIND)
        except OSError as refusal:
            if refusal.errno not in _CHANGED:
                raise
            fault = refusal
        else:
            return
    raise Unsettled(errno.EBUSY, "it keeps changing", path) from fault


def _show_only(folder: str, names: Iterable[str]) -> None:
    """Cover a folder but for entries of it, and let none be made in it; Unsettled if it changes meanwhile, Refused."""
    entries: dict[str, int] = {}
    for name in names:
        with suppress(OSError):
            entries[f"{folder}/{name}"] = os.open(f"{folder}/{name}", os.O_PATH | os.O_NOFOLLOW)
    try:
        _mount("tmpfs", folder, "tmpfs", _EMPTY & ~_MS_RDONLY, "mode=0755")
    except OSError as fault:
        if fault.errno not in _CHANGED:
            raise
        raise Unsettled(errno.EBUSY, "it keeps changing", folder) from fault
    for path, descriptor in entries.items():
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISLNK(mode):
            os.symlink(os.readlink("", dir_fd=descriptor), path)
        else:
            os.mkdir(path) if stat.S_ISDIR(mode) else os.mknod(path)
            _mount(f"/proc/self/fd/{descriptor}", path, None, _MS_BIND | _MS_REC)
        os.close(descriptor)
    _mount("tmpfs", folder, "tmpfs", _MS_REMOUNT | _EMPTY, "mode=0755")


def _replace_terminals() -> None:
    """Show no terminal of others: new pseudo-terminals, or none where the system gives none, and no console. Refused."""
    try:
        options = "newinstance,ptmxmode=0666,mode=0620"
        _mount("devpts", "/dev/pts", "devpts", _MS_NOSUID | _MS_NOEXEC, options)
    except OSError:
        _hide("/dev/pts")
    # Who is logged in at the machine itself has the terminal there.
    own = [f"/dev/{name}" for name in os.listdir("/dev") if re.fullmatch(r"tty\d+", name)]
    for path in ("/dev/console", *own):
        if (
            os.path.lexists(path)
            and (os.getuid() or path == "/dev/console")
            and os.access(path, os.W_OK)
        ):
            _hide(path)


def _flags_of(path: str) -> int:
    """Return how the files of a path are mounted: what they are denied there cannot be given back below a user of its own."""
    flags = os.statvfs(path).f_flag
    return (flags & _KEPT_FLAGS) | (_MS_RELATIME if flags & _ST_RELATIME else 0)


def _mount(
    source: str | None, target: str, kind: str | None, flags: int, options: str | None = None
) -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    more = None if options is None else options.encode()
    result = _LIBC.mount(*words, ctypes.c_ulong(flags), more)
    _must(result, f"mount of {kind or 'files'}")


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    except OSError as fault:
        raise Refused(fault.errno, fault.strerror, path) from fault


def _must(result: int, step: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise Refused(number, os.strerror(number), step)
