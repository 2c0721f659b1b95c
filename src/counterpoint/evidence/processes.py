"""Information of the kernel about a process and its ancestors.

    lineage   the process, its parent, the parent of that one … up to the first that has none or cannot be seen
    started   when a process began, as the kernel counts it: with its number it names the process, since a number
              is given again only after its process has ended
    boot      what the machine has been up since: numbers and starts are told apart by it
    namespace in which numbers are meant (pid_namespaces(7)): a process in another one than ours is not looked into

Linux is asked through /proc (proc(5)), macOS through sysctl and libproc. A process that ends while it is looked at,
or one that a parent's number names by accident, ends the lineage: no parent begins after its child. Whoever looks
at a peer of a socket looks at it again after the walk, for the number that the socket named may be another's by
then. Where /proc is that of another namespace, its numbers are not ours, and nobody is looked at.

A caller is foreign, and nothing is known of it, where something is mounted over a file of /proc that is read here (procfs.py),
and where it lives in another user or mount namespace than one of its ancestors: what it sees is then its own making.
The first process of all is left out if it is one that takes up orphans, for a service may have mounts of its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from counterpoint.core.model.identity import COVERED, Connection, Peer, Process
from counterpoint.core.model.presence import ProcessMark
from counterpoint.core.rules.identity import REAPERS
from counterpoint.evidence import procfs
from counterpoint.evidence.procfs import Covered

MOST: Final = 64
"""How many ancestors are looked at: more than any terminal, editor or launcher has above it."""

FEW: Final = 256
"""How many agents are known at least before it is looked which of them live."""

_GROUPS: Final = Path("/sys/fs/cgroup")
_AFTER_NAME: Final = b") "
_FIRST_MOUNT: Final = 4096
"""Bytes of a list of mounts that hold the number of the first."""
_INTERPRETERS: Final = ("bun", "deno", "node", "perl", "pypy", "python", "ruby")


class ConnectedAgents(Collection[str]):
    """The ids of agents' processes that were seen to connect; not of those that only did so with a credential.

    Those that have ended are forgotten whenever there are twice as many as lived at the last look: such a process is
    above nobody any more who connects from now on, since its number counts only with its start.
    """

    def __init__(self) -> None:
        """Know nobody."""
        self._known: dict[str, Connection] = {}
        self._hosts: dict[str, Connection] = {}
        self._most = FEW

    def add(self, agent: Connection, *, hosts: bool = False) -> None:
        """Know an agent. hosts: whether it brought a credential: then what it starts may be others."""
        (self._hosts if hosts else self._known)[agent.id] = agent
        if len(self._known) + len(self._hosts) > self._most:
            for agents in (self._known, self._hosts):
                for name, was in list(agents.items()):
                    if not _is_there(was):
                        agents.pop(name, None)
            self._most = max(FEW, 2 * (len(self._known) + len(self._hosts)))

    def agents(self) -> list[Connection]:
        """List all, those with a credential too."""
        return [*self._known.values(), *self._hosts.values()]

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        # Others may add to it meanwhile.
        return iter(list(self._known))

    def __len__(self) -> int:
        return len(self._known)


def lineage(pid: int) -> tuple[Process, ...]:
    """Return a process and its ancestors, the process first; nothing if it is not there."""
    processes: list[Process] = []
    while pid > 0 and len(processes) < MOST:
        process = look(pid)
        if process is None or (processes and process.started > processes[-1].started):
            break
        processes.append(process)
        pid = process.parent
    return tuple(processes)


def peer(pid: int, serves: Callable[[int], bool] = lambda _pid: False) -> Peer:
    """Return who is at the other end of a socket that names a process; without lineage if that has ended.

    After the walk everybody must still be who he was, and his parent the same. serves: answers whether a process is
    a server of the ledger; asked of all above.
    """
    try:
        if _is_foreign(pid):
            return Peer((), boot(), namespace(), is_foreign=True)
        ancestry = lineage(pid)
        is_covered = boot() == COVERED or _has_left(ancestry)
        is_same = all(_mark(look(process.pid)) == _mark(process) for process in ancestry)
        is_served = is_same and any(serves(process.pid) for process in ancestry[1:])
        # Above as many as are looked at there may be anybody.
        is_served = is_served or len(ancestry) == MOST
    except Covered:
        # Whether a server has started it cannot be told either; if one has, nobody's key may be used.
        is_covered, is_same, is_served, ancestry = True, False, True, ()
    if is_covered:
        return Peer((), boot(), namespace(), is_foreign=True, is_covered=True, is_served=is_served)
    return Peer(ancestry if is_same else (), boot(), namespace(), is_served=is_served)


def is_check(pid: int) -> bool:
    """Return whether a process lives in namespaces that a runner of this program made for a command."""
    if sys.platform == "darwin" or not pid:
        return False
    try:
        if not _is_foreign(pid):
            return False
        ancestry = lineage(pid)
        return len(ancestry) == MOST or any(_is_runner(process.pid) for process in ancestry)
    except Covered:
        return False


def _is_runner(pid: int) -> bool:
    # Only servers ask.
    from counterpoint.kernel.starting.programs import RUNNER

    try:
        return RUNNER.encode() in procfs.read(f"{pid}/cmdline").split(b"\0")
    except Covered:
        raise
    except OSError:
        return False


def mark_of(pid: int) -> ProcessMark:
    """Return what tells a process from all others; an empty mark for one that is not there, or cannot be seen."""
    try:
        process = look(pid) if pid else None
    except Covered:
        process = None
    if process is None:
        return ProcessMark()
    return marked(process, boot(), namespace())


def marked(process: Process, boot: str, namespace: str) -> ProcessMark:
    """Return the mark of a process that was looked at."""
    return ProcessMark(
        uid=process.uid,
        pid=process.pid,
        started=process.started,
        boot=boot,
        namespace=namespace,
    )


def has_ended(process: ProcessMark) -> bool | None:
    """Return whether a process has ended; None where the kernel would not show it here."""
    is_ours = process.uid == os.getuid() and (process.boot, process.namespace) == (
        boot(),
        namespace(),
    )
    if not (is_ours and process.pid) or process.boot in {"", COVERED}:
        return None
    try:
        current = look(process.pid)
        return current is None or current.started != process.started or _is_zombie(process.pid)
    except Covered:
        return None


def _is_zombie(pid: int) -> bool:
    """Return whether a process has ended and only waits for its parent to hear so; Covered."""
    try:
        fields = procfs.read(f"{pid}/stat").rpartition(_AFTER_NAME)[2].split()
    except Covered:
        raise
    except OSError:
        return False
    # The first thread of a process may have ended before the others.
    return fields[0] == b"Z" and fields[17] == b"1"


def _is_there(connection: Connection) -> bool:
    """Return whether the process of a connection lives, or nothing can be known of it."""
    try:
        process = look(connection.pid)
    except Covered:
        return True
    return process is not None and process.started == connection.started


def _mark(process: Process | None) -> tuple[int, int] | None:
    return None if process is None else (process.started, process.parent)


def look(pid: int) -> Process | None:
    """Return what the kernel says of a process; None if it is not there. Covered."""
    return _reader()(pid)


@cache
def boot() -> str:
    """Return what tells this boot of the machine from all others; COVERED if that cannot be believed."""
    if sys.platform == "darwin":
        from counterpoint.evidence import libproc

        return libproc.boot()
    try:
        return procfs.read("sys/kernel/random/boot_id").decode("ascii").strip() or COVERED
    except OSError:
        return COVERED


@cache
def namespace() -> str:
    """Return the number of the namespace of processes that this one lives in; empty if there is only one."""
    try:
        return procfs.read_link(f"{os.getpid()}/ns/pid").strip("pid:[]")
    except OSError:
        return ""


def _is_foreign(pid: int) -> bool:
    """Return whether a process lives in another namespace than this one, or /proc is that of another."""
    if not pid:
        return bool(namespace())
    try:
        if procfs.read_link("self") != str(os.getpid()) or not procfs.read(f"{os.getpid()}/status"):
            return True
        procfs.read_link(f"{os.getpid()}/ns/pid")
    except Covered:
        raise
    except OSError as fault:
        # Of itself every process can see these: somebody keeps it from that.
        raise Covered(fault.errno, "it cannot be read", procfs.PROC) from fault
    try:
        status = procfs.read(f"{pid}/status")
    except Covered:
        raise
    except OSError:
        # There is no such process, or none that can be seen: nothing is found of it either.
        return False
    # One number for each namespace from that of /proc down to its own.
    numbers = status.partition(b"\nNSpid:")[2].partition(b"\n")[0].split()
    return len(numbers) > 1


def _has_left(ancestry: tuple[Process, ...]) -> bool:
    """Return whether the first of a line lives in another user or mount namespace than one above it; Covered."""
    if sys.platform == "darwin" or not ancestry:
        return False
    own = _namespaces(ancestry[0].pid)
    above = ancestry[1:-1] if ancestry[-1].name in REAPERS else ancestry[1:]
    return own is None or any(
        other is not None and not own.is_shared_with(other)
        for other in (_namespaces(process.pid) for process in above)
    )


class _Namespaces(NamedTuple):
    """What tells the namespaces of a process from others.

    mount: the number of its root mount, which is given once in all namespaces. users: its map of users, as it reads from
    here: otherwise for each namespace around this one. link: the name of its user namespace; empty if that is hidden, as
    that of a process of another user is.
    """

    mount: bytes
    users: tuple[bytes, ...]
    link: str

    def is_shared_with(self, other: _Namespaces) -> bool:
        """Return whether two processes live in the same."""
        is_hidden = not (self.link and other.link)
        return self[:2] == other[:2] and (is_hidden or self.link == other.link)


def _namespaces(pid: int) -> _Namespaces | None:
    """Return the namespaces of a process; None if it has ended. Covered."""
    try:
        mounts, users = procfs.read(f"{pid}/mountinfo", _FIRST_MOUNT), procfs.read(f"{pid}/uid_map")
    except Covered:
        raise
    except OSError:
        return None
    try:
        link = procfs.read_link(f"{pid}/ns/user")
    except Covered:
        raise
    except OSError:
        link = ""
    return _Namespaces(mounts.partition(b" ")[0], (*users.split(),), link)


@cache
def _reader() -> Callable[[int], Process | None]:
    if sys.platform == "darwin":
        from counterpoint.evidence import libproc

        return libproc.look
    return _look_linux


def _look_linux(pid: int) -> Process | None:
    try:
        # The name in the second field may hold anything, brackets too: what counts comes after the last.
        name_part, _, field_part = procfs.read(f"{pid}/stat").rpartition(_AFTER_NAME)
        fields = field_part.split()
        uid = procfs.read_owner(str(pid))
    except Covered:
        raise
    except OSError:
        return None
    try:
        executable = procfs.read_link(f"{pid}/exe")
    except Covered:
        raise
    except OSError:
        executable = os.fsdecode(name_part.partition(b"(")[2])
    executable = executable.removesuffix(" (deleted)")
    return Process(
        pid=pid,
        parent=int(fields[1]),
        uid=uid,
        session=int(fields[3]),
        has_terminal=fields[4] != b"0",
        started=int(fields[19]),
        executable=executable,
        unit=_unit(pid, uid),
        script=_script(pid) if Path(executable).name.startswith(_INTERPRETERS) else "",
    )


def _unit(pid: int, uid: int) -> str:
    """Return the control group of a process, if nobody of its user can move one there; else nothing.

    To move a process takes the right to write both where it goes and above where it comes from (cgroups(7)).
    """
    # Who is root moves everything.
    if not uid:
        return ""
    try:
        lines = procfs.read(f"{pid}/cgroup").decode("utf-8").splitlines()
        group = next((line[3:] for line in lines if line.startswith("0::")), "/").strip("/")
        above = [*Path(group).parents][:-1]
        parts = [Path(group), *above] if group and ".." not in group else []
        owners = [(_GROUPS / part / "cgroup.procs").stat().st_uid for part in parts]
    except Covered:
        raise
    except (OSError, UnicodeDecodeError):
        return ""
    return group if owners and uid not in owners else ""


def _script(pid: int) -> str:
    """Return what an interpreter runs; empty if that cannot be told."""
    try:
        words = os.fsdecode(procfs.read(f"{pid}/cmdline")).split("\0")
    except Covered:
        raise
    except OSError:
        return ""
    # A program that calls itself otherwise, as npm does, has a sentence in place of its words.
    if " " in words[0]:
        return words[0].partition(" ")[0]
    after = words[1:]
    while after and after[0].startswith("-") and after[0] not in {"-m", "-c", "-e"}:
        after = after[1:]
    if after[:1] == ["-m"]:
        after = after[1:]
    return Path(after[0]).stem if after else ""


def variables_of(pid: int) -> dict[str, str]:
    """Return the variables that a process of this account was started with; none where nothing tells."""
    try:
        content = procfs.read(f"{pid}/environ")
    except OSError:
        return {}
    pairs = (os.fsdecode(pair).partition("=") for pair in content.split(b"\0") if pair)
    return {name: text for name, _, text in pairs}
