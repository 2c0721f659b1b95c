"""The tools that report whether the server answers, and its health."""

from __future__ import annotations

import time
from typing import Final

from counterpoint import __version__
from counterpoint.dialects.call import Call
from counterpoint.dialects.colibri.envelope import success
from counterpoint.dialects.colibri.pipeline import ALWAYS, trouble
from counterpoint.dialects.colibri.verbs.actions import Health
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError
from counterpoint.kernel.plurals import agree
from counterpoint.protocol.surface import Unopened
from counterpoint.protocol.tools import Tool, tool

_BEGUN: Final = time.monotonic()
LEAST_FREE: Final = 200_000_000
"""Bytes of free disk below which the server is degraded."""
_NAMED: Final = 10


@tool(reads=True)
def server_ping(call: Call) -> Json:
    """Check that the server answers."""
    return _alive(call.settings.mode)


@tool(reads=True)
def server_health(call: Call) -> Json:
    """Report its health: `ok`, or `degraded` with every reason."""
    mode, refusal = call.settings.mode, trouble()
    try:
        condition = call.core.use(Health).look()
    except CounterpointError as fault:
        return _unhealthy(mode, fault)
    reasons = [f"nothing can be written: {refusal.message}"] if refusal else []
    reasons += [f"the database: {fault}" for fault in condition.faults[:_NAMED]]
    if condition.crashed:
        reasons.append(
            f"{agree(condition.crashed, 'call', 'was')} cut off when a process before this one ended"
        )
    if condition.skipped:
        sources = ", ".join(condition.skipped[:_NAMED])
        reasons.append(f"{agree(len(condition.skipped), 'skill', 'was')} skipped: {sources}")
    if 0 <= condition.free_bytes < LEAST_FREE:
        reasons.append(f"only {condition.free_bytes} bytes are free on the disk")
    return {
        "status": "degraded" if reasons else "ok",
        **_alive(mode),
        "db_tables": condition.tables,
        "phase": "phase2",
        "reasons": reasons,
        "ledger_entries": condition.entries,
        # This call itself has not ended yet.
        "running_calls": max(0, condition.running - 1),
        "open_sessions": condition.unsealed,
        "disk_free_bytes": condition.free_bytes,
    }


def unopened(mode: str) -> Unopened:
    """Return what answers calls while the ledger cannot be opened."""

    def answer(tool: Tool[Call], refusal: CounterpointError) -> Json:
        if tool.name not in ALWAYS:
            raise refusal
        return success(_alive(mode) if tool.name == "server_ping" else _unhealthy(mode, refusal))

    return answer


def _alive(mode: str) -> dict[str, Json]:
    uptime = int((time.monotonic() - _BEGUN) * 1000)
    return {"version": __version__, "mode": mode, "uptime_ms": uptime}


def _unhealthy(mode: str, refusal: CounterpointError) -> dict[str, Json]:
    return {
        "status": "degraded",
        **_alive(mode),
        "db_tables": 0,
        "phase": "phase1",
        "reasons": [f"{refusal.code}: {refusal.message}"],
        "hint": refusal.hint,
    }
