"""Runs one command as a line of JSON says, and answers what came of it.

1. The server starts this process for one command. Descriptor 0 is its end of a socket pair, descriptor 1 the pipe that
   the command writes into; it has no other, so that no command can be given the ledger, a key or a socket.
2. It adopts whatever the command starts (descendants.py), so that all of it is below this process, and of this one command.
3. When the command has ended, when the socket ends because the server cancelled or is gone, or when a quota is passed,
   everything below is killed before the answer is given. At the time limit the command is asked first (SIGTERM), and so it
   is when a byte comes over the socket.
4. If this process is killed, the kernel kills the command. What that had started stays.

Standard library only, and little of that: each command pays for the start.
"""

from __future__ import annotations

import json
import os
import select
import signal
from contextlib import suppress
from time import monotonic

from counterpoint.runner.descendants import Family, adopt, below
from counterpoint.runner.starting import start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from counterpoint.runner.order import Order, Told

_CONTROL: Final = 0
_OUTPUT: Final = 1
_CHUNK: Final = 1 << 16
_LOOK_SECONDS: Final = 0.5
"""Between two looks at what the processes of the command take."""


def main() -> None:
    """Carry out the one order, and end."""
    order, is_asked = _order()
    if order is None:
        return
    adopt()
    woken = _woken_by_children()
    started = start(order, _OUTPUT)
    # Nobody else may hold the output open, or its end would never be seen.
    os.close(_OUTPUT)
    answer: Told = {"sandbox": started.sandbox, "refused": started.refused}
    if started.pid:
        family = Family(started.pid, woken)
        reason = "" if started.fault else _attend(family, order, is_asked=is_asked)
        family.end()
        status = started.status(family.status)
        answer["errno"], answer["exit_code"], answer["ended_for"] = started.fault, status, reason
    _answer(answer)


def _order() -> tuple[Order | None, bool]:
    """Return what is to be run, and whether it is to end already; None if the server went away before it had said it."""
    line = bytearray()
    while b"\n" not in line:
        piece = os.read(_CONTROL, _CHUNK)
        if not piece:
            return None, False
        line += piece
    order_line, _, more = line.partition(b"\n")
    return json.loads(order_line), bool(more)


def _woken_by_children() -> int:
    """Return a descriptor that can be read when a child has ended."""
    woken, waking = os.pipe()
    for descriptor in (woken, waking):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    # Only for what one has chosen to hear is anything written there.
    signal.signal(signal.SIGCHLD, _hear)
    return woken


def _hear(_number: int, _frame: object) -> None:
    """Take a signal, which the descriptor tells of."""


class _Deadline:
    """Until when a command may run, and what it was asked to end for; nothing yet."""

    def __init__(self, family: Family, order: Order, *, is_asked: bool) -> None:
        """Begin with all of its time, or with the moment that is left to who was asked to end before it began."""
        self._family, self._grace = family, order["grace"]
        self.at, self.reason = monotonic() + order["seconds"], ""
        if is_asked:
            self.ask("asked")

    def ask(self, reason: str) -> None:
        """Ask the command to end, once; it has a moment for that."""
        if self.reason:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._family.leader, signal.SIGTERM)
        self.at, self.reason = monotonic() + self._grace, reason


def _attend(family: Family, order: Order, *, is_asked: bool) -> str:
    """Wait until the command has ended or must; answer for what: nothing, a quota, `asked` or `cancelled`."""
    deadline = _Deadline(family, order, is_asked=is_asked)
    next_look = monotonic() + _LOOK_SECONDS
    while True:
        family.collect()
        if family.status is not None:
            return deadline.reason
        present = monotonic()
        if present >= next_look:
            if quota := _exceeded(order):
                return quota
            next_look = present + _LOOK_SECONDS
        if present >= deadline.at:
            if deadline.reason:
                return deadline.reason
            deadline.ask("time")
        patience = max(0.0, min(deadline.at, next_look) - present)
        ready = select.select([_CONTROL, family.woken], [], [], patience)[0]
        if _CONTROL in ready:
            if not os.read(_CONTROL, _CHUNK):
                return "cancelled"
            deadline.ask("asked")
        elif ready:
            family.hear()


def _exceeded(order: Order) -> str:
    """Return the quota that the processes of the command have passed together; empty if none."""
    memory_by_pid = below(os.getpid())
    if len(memory_by_pid) > order["processes"]:
        return "processes"
    return "memory" if sum(memory_by_pid.values()) > order["memory"] else ""


def _answer(answer: Told) -> None:
    # Whoever asked may be gone: then there is nobody to tell.
    with suppress(OSError):
        os.write(_CONTROL, json.dumps(answer).encode() + b"\n")
