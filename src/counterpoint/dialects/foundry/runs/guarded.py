"""What is asked of a call before it runs: its role, and who works on its spec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from counterpoint.dialects.call import Call
from counterpoint.dialects.foundry.envelope import code_of
from counterpoint.dialects.foundry.runs.door import Door
from counterpoint.dialects.foundry.runs.locking import Locking
from counterpoint.dialects.foundry.runs.rules.limits import BOUND
from counterpoint.dialects.foundry.runs.rules.signals import (
    Place,
    Standing,
    loop_signal,
    recommended_actions,
)
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import CounterpointError, Forbidden
from counterpoint.protocol.actions import Action
from counterpoint.protocol.surface import Run
from counterpoint.protocol.tools import Tool

STEPS: Final = "session-step"
"""The action whose refusals tell a supervisor what to do."""


def admit(call: Call, tool: Tool[Call], arguments: Mapping[str, Json]) -> None:
    """Let a call of an action through if its role may make it; Forbidden, RateLimited, MalformedDocument."""
    part = tool.meant(arguments)
    if not isinstance(part, Action):
        return
    settings = call.settings
    try:
        door_of(call).admit(call.core.caller.own_seat, part.name, settings.role, settings.posture)
        if settings.role or settings.posture:
            # Other processes read files of specs too, and judge them by it.
            call.core.use(Locking).publish_role()
    except Forbidden as refusal:
        if part.action == STEPS:
            refusal.facts = {**refusal.facts, **signalled(refusal)}
        raise


def signalled(refusal: CounterpointError, session: str = "") -> dict[str, Json]:
    """Return what a supervisor is told with a refusal of a step. session: of the run, which the calls name that are recommended."""
    code = code_of(refusal)
    standing = Standing(error_code=code)
    return {
        "loop_signal": loop_signal(standing),
        "recommended_actions": recommended_actions(standing, Place(session=session)),
    }


def locked(call: Call, arguments: Mapping[str, Json], run: Run) -> Run:
    """Return what runs a call that changes a spec, unless a run works on that; the arguments say of which it is.

    Some roles change a spec in their own run only.
    """
    spec, session = arguments.get("spec_id"), str(arguments.get("session_id", ""))
    if not isinstance(spec, str):
        return run

    def held() -> Json:
        locking = call.core.use(Locking)
        configured = door_of(call).configured(call.settings.role, call.settings.posture)
        if not arguments.get("bypass_autonomy_lock"):
            bound = configured.role if configured.role in BOUND else None
            with locking.held(spec, session, bound):
                return run()
        reason = str(arguments.get("bypass_reason", ""))
        with locking.bypassed(spec, session, configured, reason):
            return run()

    return held


def door_of(call: Call) -> Door:
    """Return what lets the calls of a connection through."""
    return call.core.use(lambda context: context.ports.get(Door))
