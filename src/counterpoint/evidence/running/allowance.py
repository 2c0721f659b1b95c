"""What one command may take on this machine.

A command that takes all memory ends others with it, the server among them: so all its processes together have half of what the
machine has, or of what the control group of this process may have, and never more than `Quotas` says.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from counterpoint.core.model.evidence import Quotas

_GROUP: Final = Path("/sys/fs/cgroup/memory.max")
"""Where a container says what it may have; `max` where it has no limit, and no such file elsewhere."""


def quotas_here(group: Path = _GROUP) -> Quotas:
    """Return what a command may take here."""
    usual = Quotas()
    return Quotas(memory_bytes=min(usual.memory_bytes, _memory(group) // 2))


def _memory(group: Path) -> int:
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError):
        return min(whole, int(group.read_text()))
    return whole
