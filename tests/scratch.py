"""The folder that all files of one run of the tests lie in: in memory where there is room, and gone with the run.

    memory    /dev/shm (tmpfs(5)), if it has room and programs may be run from it: no write waits for a disk
    disk      the folder for temporary files; also for tests marked `durable`, which are about what a disk does

A run locks its folders (flock(2)). A lock ends with the process that has it, so the next run removes what one that
was killed has left. `--basetemp` chooses another place, where everything stays to be looked at.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Final

MEMORY: Final = Path("/dev/shm")  # noqa: S108 -- what is made in it is for this account only
ROOM: Final = 3 << 30
"""Bytes that must be free in memory: several times what two workers have at once."""
_FOREIGN: Final = (
    "ANTHROPIC_",
    "COUNTERPOINT_",
    "GEMINI_",
    "GIT_",
    "GOOGLE_",
    "OPENAI_",
    "XDG_",
)
"""How names of variables begin that say whose account this is, and what it has set."""
_OWN: Final = {"COUNTERPOINT_LONG", "COUNTERPOINT_SEED"}
_GIT: Final = (
    "[user]\n\tname = Tests\n\temail = tests@example.org\n[init]\n\tdefaultBranch = main\n"
)
PREFIX: Final = "cp"  # short, since the paths of sockets may have 107 bytes


def restore_signals() -> None:
    """Let signals do here what they do in a terminal: `nohup` and jobs in the background ignore some, and so would every child."""
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def leave_agents() -> None:
    """Go on as a child of a process that nobody above has started, if an agent that uses this program has started this one.

    Else whatever a test starts is that agent, and no person. This process waits, and ends as the tests do; the group of
    processes stays the same, so that Ctrl-C reaches all of them.
    """
    if not _has_agent_above():
        return
    sys.stdout.flush()
    ends, tells = os.pipe()
    if starter := os.fork():
        os.close(tells)
        os.waitpid(starter, 0)
        code = os.read(ends, 1)
        os._exit(code[0] if code else 1)
    os.close(ends)
    started, starts = os.pipe()
    starter = os.getpid()
    if os.fork():
        os._exit(0)
    # What takes up orphans has taken this one up when its parent is another.
    os.close(starts)
    while os.getppid() == starter:
        os.read(started, 1)
    os.close(started)
    if tests := os.fork():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        code = os.waitstatus_to_exitcode(os.waitpid(tests, 0)[1])
        os.write(tells, bytes([code if code >= 0 else 128 - code]))
        os._exit(0)
    os.close(tells)


def _has_agent_above() -> bool:
    """Tell whether an ancestor of this process is connected to any ledger of the account."""
    from counterpoint.evidence.trust.connected import connected_agents
    from counterpoint.kernel.clock import SystemClock

    nowhere = MEMORY / "no ledger.db"
    return bool(connected_agents(nowhere, str(nowhere), SystemClock().now()))


class Scratch:
    """The folders of one run, which go with it."""

    def __init__(self) -> None:
        """Make them, and remove those of runs that have ended."""
        disk = Path(tempfile.gettempdir())
        self._locks: list[int] = []
        self.disk = self._open(disk)
        self.main = self._open(MEMORY) if _has_room(MEMORY) else self.disk

    def close(self) -> None:
        """Remove them."""
        for folder in {self.main, self.disk}:
            remove(folder)
        for lock in self._locks:
            os.close(lock)

    def settle(self, *ceilings: Path) -> None:
        """Let this process, and all that it starts, find nothing of whoever runs the tests.

        No home, no settings of this program or of git, no folder for temporary files but the one of this run, and
        no repository or ledger above. ceilings: other folders that tests lie in.
        """
        for name in list(os.environ):
            if name.startswith(_FOREIGN) and name not in _OWN:
                del os.environ[name]
        home = self.main / "home"
        home.mkdir()
        temporary = self.main / "tmp"
        temporary.mkdir()
        temporary.chmod(0o1777)  # as /tmp is
        (home / ".gitconfig").write_text(_GIT)
        os.environ |= {
            # Neither a repository nor a ledger above belongs to a test. Behind an empty part no links are followed.
            "GIT_CEILING_DIRECTORIES": os.pathsep.join(
                ["", *{str(folder.resolve()) for folder in (self.main, self.disk, *ceilings)}]
            ),
            "GIT_CONFIG_NOSYSTEM": "1",
            "HOME": str(home),
            "TMPDIR": str(temporary),
            "XDG_CACHE_HOME": str(self.main / "cache"),
        }
        tempfile.tempdir = None

    def _open(self, root: Path) -> Path:
        account = f"{PREFIX}{os.getuid()}-"
        # One run at a time: until its folder is locked, another would take it for one that was left.
        turn = os.open(root, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(turn, fcntl.LOCK_EX)
        try:
            for folder in root.glob(f"{account}*"):
                if folder.is_dir() and not folder.is_symlink() and _is_abandoned(folder):
                    remove(folder)
            made = Path(tempfile.mkdtemp(prefix=account, dir=root))
            made.chmod(0o711)  # tests look at folders as an account without rights, too
            self._locks.append(os.open(made, os.O_RDONLY | os.O_CLOEXEC))
            fcntl.flock(self._locks[-1], fcntl.LOCK_SH)
        finally:
            os.close(turn)
        return made


def _has_room(root: Path) -> bool:
    """Tell whether a folder in memory has room, and lets programs run from it."""
    try:
        state = os.statvfs(root)
    except OSError:
        return False
    is_open = os.access(root, os.W_OK | os.X_OK) and not state.f_flag & os.ST_NOEXEC
    return is_open and state.f_bavail * state.f_frsize >= ROOM


def _is_abandoned(folder: Path) -> bool:
    """Tell whether no run has a folder any more."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def remove(folder: Path) -> None:
    """Remove a folder, also where a test has left one inside that may not be changed."""
    for top, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(top, name)
            if not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
