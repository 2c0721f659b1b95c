"""Which signals end a server or a relay politely: what is under way is answered first.

The relay imports this, so it is the standard library only.
"""

from __future__ import annotations

import signal


def ending_signals() -> tuple[signal.Signals, ...]:
    """Return the signals that end this process: a terminal's end too, unless it was started to outlive that."""
    ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return ending[: 2 if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else 3]
