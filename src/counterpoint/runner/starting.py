"""The start of a program: what it gets, what it may take, why it does not run.

1. It leads a session and a group of its own, reads nothing, and writes both streams into one pipe.
2. It has three descriptors and the variables that were asked for; nothing else of this process.
3. The kernel kills it when this process ends, holds its files to a size and lets it dump no core.
4. It runs in namespaces of its own, else below bubblewrap, else as it is, as far as it was asked for and the system lets it.
5. Why its program could not be started, or a namespace not be made, comes back in words.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from contextlib import suppress

from counterpoint.runner.descendants import die_with_parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, NoReturn

    from counterpoint.runner.order import Confinement, Order

_FAILED: Final = 127
_KINDNESS: Final = 5
"""How much later its turn comes than that of the server, which answers others meanwhile."""
_CHUNK: Final = 4096
_WAYS: Final = ("namespaces", "bubblewrap", "none")


class Started:
    """A program that was started, or why not.

    pid: its process, or the one that waits for it. fault: the number of the fault; 0 if it runs. sandbox: how it is confined.
    refused: why it is no better confined. ended: where its status is told, if not by the end of that process.
    """

    def __init__(self, pid: int, report: str, sandbox: str, ended: int) -> None:
        """Take what was told before the program ran: nothing, `E` and a number, or `N` and a reason, `U` and one for which no weaker way is tried."""
        self.pid, self.sandbox = pid, sandbox
        self.fault = int(report[1:]) if report.startswith("E") else 0
        self.refused = report[1:] if report[:1] in {"N", "U"} else ""
        self.is_final = report.startswith("U")
        self._ended = ended

    def status(self, own: int | None) -> int | None:
        """Return how the program ended; own: how the process did that was started."""
        with os.fdopen(self._ended, "rb") as file:
            text = file.read(_CHUNK)
        if self.sandbox != "namespaces":
            return own
        return int(text) if text else None


def start(order: Order, output: int) -> Started:
    """Start the program of an order, confined as well as the system allows."""
    mode, reasons = order["sandbox"]["mode"], list[str]()
    ways = _WAYS if mode == "auto" else _WAYS[:-1] if mode == "require" else _WAYS[-1:]
    for method in ways:
        if method == "bubblewrap" and not order["sandbox"]["bubblewrap"]:
            reasons.append("bubblewrap is not installed")
            continue
        if method == "bubblewrap" and (fault := _bubblewrap_fault(order)):
            reasons.append(fault)
            continue
        started = _start(order, output, method)
        if not started.refused:
            started.refused = "; ".join(reasons)
            return started
        os.waitpid(started.pid, 0)
        reasons.append(started.refused)
        if started.is_final:
            break
    started = Started(0, "", "refused", os.open(os.devnull, os.O_RDONLY))
    started.refused = "; ".join(reasons)
    return started


def _start(order: Order, output: int, method: str) -> Started:
    report_reader, report_writer = os.pipe()
    ended, ending = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(order, output, parent, (report_writer, ending), method)
    os.close(report_writer)
    os.close(ending)
    report = b""
    while piece := os.read(report_reader, _CHUNK):
        report += piece
    os.close(report_reader)
    return Started(pid, report.decode(), method, ended)


def _become(
    order: Order, output: int, parent: int, pipes: tuple[int, int], method: str
) -> NoReturn:
    """Become the program; if that fails tell why, and end."""
    report_writer, ending = pipes
    try:
        os.setsid()
        die_with_parent(parent)
        _take_only(output, pipes)
        if method == "namespaces":
            _go_inside(order["sandbox"], pipes)
        os.close(ending)
        _limit(order)
        os.chdir(order["folder"])
        program, argv = order["program"], order["argv"]
        if method == "bubblewrap":
            argv = [*_bubblewrap(order), "--", program, *argv[1:]]
            program = argv[0]
        os.execve(program, argv, order["environ"])  # noqa: S606 - an argument list, asked for by the server
    except OSError as fault:
        os.write(report_writer, f"E{fault.errno}".encode())
    finally:
        os._exit(_FAILED)


def _go_inside(sandbox: Confinement, pipes: tuple[int, int]) -> None:
    """Return in the namespaces, as a child of their first process; tell why not, and end."""
    from counterpoint.runner import namespaces

    report_writer, ending = pipes
    if sys.platform != "linux":
        os.write(report_writer, b"Nthis system has no namespaces")
        os._exit(_FAILED)
    try:
        namespaces.enter(sandbox)
        first = os.fork()
        if first:
            _wait(first, pipes)
        die_with_parent()
        namespaces.cover(sandbox)
        namespaces.give_up()
    except OSError as fault:
        sort = "U" if isinstance(fault, namespaces.Unsettled) else "N"
        os.write(
            report_writer, f"{sort}{fault.filename or 'namespaces'}: {fault.strerror}".encode()
        )
        os._exit(_FAILED)
    leader = os.fork()
    if leader:
        os.close(report_writer)
        namespaces.attend(leader, ending)
    os.setsid()
    die_with_parent()


def _wait(first: int, pipes: tuple[int, int]) -> NoReturn:
    """Wait outside for the first process of the namespaces, and end with it."""
    for descriptor in pipes:
        os.close(descriptor)
    # What it is told by is told to the whole group; the first process passes it on.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.waitpid(first, 0)
    os._exit(0)


def _bubblewrap(order: Order) -> list[str]:
    """Return the words that confine a program by bubblewrap."""
    sandbox = order["sandbox"]
    words = [sandbox["bubblewrap"], "--die-with-parent", "--unshare-pid", "--unshare-ipc"]
    words += [] if sandbox["network"] else ["--unshare-net"]
    words += ["--dev-bind", "/", "/", "--proc", "/proc", "--tmpfs", "/dev/pts"]
    for kind, paths in (("--dev-bind", sandbox["fixed"]), ("--ro-bind", sandbox["read_only"])):
        for path in paths:
            words += [kind, path, path] if os.path.exists(path) else []
    for folder, names in sandbox["partial"]:
        words += ["--tmpfs", folder]
        for name in names:
            path = f"{folder}/{name}"
            is_link = os.path.islink(path)
            words += (
                ["--symlink", os.readlink(path), path]
                if is_link
                else ["--dev-bind-try", path, path]
            )
        words += ["--remount-ro", folder]
    for path in sandbox["hidden"]:
        if os.path.isdir(path):
            words += ["--tmpfs", path, "--remount-ro", path]
        elif os.path.exists(path):
            words += ["--ro-bind", "/dev/null", path]
    return words


def _bubblewrap_fault(order: Order) -> str:
    """Return why bubblewrap does not work here; empty if it does."""
    pid = os.fork()
    if pid == 0:
        with suppress(OSError):
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(nothing, stream)
            words = [*_bubblewrap(order), "--", sys.executable, "-I", "-S", "-c", ""]
            os.execve(words[0], words, {})  # noqa: S606 - the words of `_bubblewrap`, and this interpreter
        os._exit(_FAILED)
    return "" if os.waitpid(pid, 0)[1] == 0 else "bubblewrap: it does not work here"


def _take_only(output: int, pipes: tuple[int, int]) -> None:
    """Keep the three streams, and until the program runs what tells of it."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(nothing, 0)
    # What Python opened is closed by the start of the program; this is for what it was given.
    before = 3
    for descriptor in sorted(pipes):
        os.closerange(before, descriptor)
        before = descriptor + 1
    os.closerange(before, os.sysconf("SC_OPEN_MAX"))
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def _limit(order: Order) -> None:
    os.nice(_KINDNESS)
    for kind, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, order["file_bytes"])):
        # A lower limit that it was started with stays.
        hard = resource.getrlimit(kind)[1]
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with suppress(ValueError):
            resource.setrlimit(kind, (bound, bound))
