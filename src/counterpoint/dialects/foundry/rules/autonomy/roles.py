"""What each role of a process may call, and when it has to wait.

role             may call
maintainer       everything
autonomy_runner  what a run needs from its start to its end, each call that its instructions name included; what changes a
                 spec only with the `session_id` of its own run, while that goes on
observer         what only reads

A call is named as it is made: tool, action and command, `task session start`. A role narrows what a caller may do; it gives
nothing to whom the server gives nothing. Ten refusals within a minute close the door for five seconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from counterpoint.dialects.foundry.nouns.autonomy import ROLES, Role
from counterpoint.kernel.errors import Forbidden, RateLimited

UNKNOWN: Final[Role] = "observer"
"""The role of who names one that there is not."""
DENIALS: Final = 10
WINDOW_SECONDS: Final = 60.0
PENALTY_SECONDS: Final = 5.0


def _calls(text: str) -> frozenset[str]:
    return frozenset(" ".join(line.split()) for line in text.split(",") if line.strip())


_RUNNER: Final = _calls("""
    task session start, task session status, task session resume, task session rebase, task session list,
    task session heartbeat, task session-step next, task session-step report, task session-step replay,
    task session-step heartbeat, task session-events, task prepare, task info, task start, task update-status,
    task complete, task block, spec find, server capabilities, review fidelity, review fidelity-gate,
    verification execute
""")
_OBSERVER: Final = _calls("""
    task list, task info, task progress, task query, task prepare, task session status, task session list,
    task session-events, spec list, spec find, journal list, server capabilities, review list-tools,
    review list-plan-tools, health liveness, health readiness, health check
""")
ALLOWED: Final[Mapping[Role, frozenset[str] | None]] = {
    "maintainer": None,
    "autonomy_runner": _RUNNER,
    "observer": _OBSERVER,
}
"""The calls of each role; None: all."""

WIDENING: Final[tuple[Role, ...]] = ("observer", "autonomy_runner", "maintainer")
"""Roles, each of which may call more than the one before."""
BOUND: Final[frozenset[Role]] = frozenset({"autonomy_runner"})
"""Roles that change a spec only in their own run."""


def role_named(word: str) -> Role:
    """Return the role of a word, whatever its case; that of an observer for any other word."""
    key = word.strip().lower().replace("-", "_")
    roles: dict[str, Role] = {role: role for role in ROLES}
    return roles.get(key, UNKNOWN)


def call_name(tool: str, action: str, command: str = "") -> str:
    """Return what a call is named by; action: its present name, not a former one."""
    return " ".join(part for part in (tool, action, command) if part)


def may_call(role: Role, call: str) -> bool:
    """Whether a role may make a call."""
    allowed = ALLOWED[role]
    return allowed is None or call in allowed


def refuse_call(role: Role, call: str) -> None:
    """Raise Forbidden (AUTHORIZATION) unless a role may make a call."""
    if not may_call(role, call):
        raise Forbidden(
            f"the role {role} may not call `{call}`",
            hint="Have somebody with the role that may, or start the server with that role.",
            role=role,
            error_code="AUTHORIZATION",
        )


def refuse_edit(role: Role) -> None:
    """Raise Forbidden (AUTHORIZATION) for the edit of a file where a role only reads."""
    if role == UNKNOWN:
        raise Forbidden(
            f"with the role {role} nobody changes a spec, by its file either",
            hint="Have somebody with the role that may change it.",
            role=role,
            error_code="AUTHORIZATION",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Denials:
    """When a caller was refused lately, and until when it is not heard; in seconds of a clock that only rises."""

    times: tuple[float, ...] = ()
    closed_until: float = 0.0

    def denied(self, now: float) -> Denials:
        """Return the denials with one more; the last that is allowed closes the door, and the count begins anew."""
        times = (*(time for time in self.times if now - time < WINDOW_SECONDS), now)
        if len(times) < DENIALS:
            return Denials(times=times, closed_until=self.closed_until)
        return Denials(closed_until=now + PENALTY_SECONDS)

    def refuse(self, now: float) -> None:
        """Raise RateLimited while the door is closed."""
        seconds_left = self.closed_until - now
        if seconds_left > 0:
            raise RateLimited(
                f"{DENIALS} calls were refused within {WINDOW_SECONDS:.0f} s",
                retry_after=math.ceil(seconds_left),
                error_code="RATE_LIMITED",
            )
