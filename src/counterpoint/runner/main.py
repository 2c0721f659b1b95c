"""Runs one command as a line of JSON says, and answers what came of it.

1. The server starts this process for one command. Descriptor 0 is its end of a socket pair, descriptor 1 the pipe that
   the command writes into; it has no other, so that no command can be given the ledger, a key or a socket.
2. It adopts whatever the command starts (descendants.py), so that all of it is below this process, and of this one command.
3. When the command has ended, when the socket ends because the server cancelled or is gone, or when a quota is passed,
   everything below is killed before the answer is given. At the time limit the command is asked first (SIGTERM).
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
    order = _order()
    if order is None:
        return
    adopt()
    woken = _woken_by_children()
    started = start(order, _OUTPUT)
    # Nobody else may hold the output open, or its end would never be seen.
    os.close(_OUTPUT)
    told: Told = {"sandbox": started.sandbox, "refused": started.refused}
    if started.pid:
        family = Family(started.pid, woken)
        reason = "" if started.fault else _attend(family, order)
        family.end()
        status = started.status(family.status)
        told["errno"], told["exit_code"], told["ended_for"] = started.fault, status, reason
    _answer(told)


def _order() -> Order | None:
    """Return what is to be run; None if the server went away before it had said it."""
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = os.read(_CONTROL, _CHUNK)
        if not piece:
            return None
        line += piece
    return json.loads(line)


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


def _attend(family: Family, order: Order) -> str:
    """Wait until the command has ended or must; answer for what: nothing, a quota, or `cancelled`."""
    deadline, is_asked = monotonic() + order["seconds"], False
    next_look = monotonic() + _LOOK_SECONDS
    while True:
        family.collect()
        if family.status is not None:
            return "time" if is_asked else ""
        present = monotonic()
        if present >= next_look:
            if quota := _exceeded(order):
                return quota
            next_look = present + _LOOK_SECONDS
        left = deadline - present
        if left <= 0 and is_asked:
            return "time"
        if left <= 0:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(family.leader, signal.SIGTERM)
            deadline, is_asked = monotonic() + order["grace"], True
            continue
        patience = max(0.0, min(left, next_look - present))
        ready = select.select([_CONTROL, family.woken], [], [], patience)[0]
        if _CONTROL in ready:
            return "cancelled"
        if ready:
            family.hear()


def _exceeded(order: Order) -> str:
    """Return the quota that the processes of the command have passed together; empty if none."""
    found = below(os.getpid())
    if len(found) > order["processes"]:
        return "processes"
    return "memory" if sum(found.values()) > order["memory"] else ""


def _answer(said: Told) -> None:
    # Whoever asked may be gone: then there is nobody to tell.
    with suppress(OSError):
        os.write(_CONTROL, json.dumps(said).encode() + b"\n")
