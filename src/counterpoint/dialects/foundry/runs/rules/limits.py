"""The limits of a run, and what each role may.

The limits, policies and postures of an unattended run, and marks for what models are asked.
What is given wins in this order: the arguments of the call, the configuration, the posture, the default. Every
fault of both is told at once, each as `{path, problem}`.

What each role of a process may call, and when it has to wait.
role             may call
maintainer       everything
autonomy_runner  what a run needs from its start to its end, each call that its instructions name included; what changes a
                 spec only with the `session_id` of its own run, while that goes on
observer         what only reads

A call is named as it is made: tool, action and command, `task session start`. A role narrows what a caller may do; it gives
nothing to whom the server gives nothing. Ten refusals within a minute close the door for five seconds.

What the settings and the file of a project define for unattended runs.
`foundry-mcp.toml` has `profile` in [autonomy_posture], what runs begin with in [autonomy_session_defaults], and `role`,
`allow_lock_bypass` and `allow_gate_waiver` in [autonomy_security]. Variables `FOUNDRY_MCP_AUTONOMY_DEFAULT_…` and
`FOUNDRY_MCP_AUTONOMY_SECURITY_…` go before it, and what a connection was started with before both. A role or a posture that there is not gives the least.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Final, cast

from counterpoint.dialects.foundry.models.runs import (
    GATE_POLICIES,
    POSTURES,
    ROLES,
    GatePolicy,
    Limits,
    Posture,
    Role,
    StopConditions,
)
from counterpoint.dialects.foundry.nodes.rules.shape import is_count, is_one_of, quoted
from counterpoint.kernel.canonical import Json, object_of
from counterpoint.kernel.errors import Forbidden, InvalidInput, RateLimited

POLICY: Final = "gate_policy"
POSTURE: Final = "posture_profile"
LOCKING: Final = "enforce_write_lock"
SPELLINGS: Final[Mapping[str, str]] = {"enforce_autonomy_write_lock": LOCKING}
"""Other names of what a run is held to, which calls and configurations may use."""
BYPASS: Final = "allow_lock_bypass"
WAIVING: Final = "allow_gate_waiver"
MINUTES_LIMIT: Final = 7 * 24 * 60
RANGES: Final[Mapping[str, range]] = {
    "max_tasks_per_session": range(1, 10_001),
    "max_consecutive_errors": range(1, 101),
    "context_threshold_pct": range(1, 101),
    "heartbeat_stale_minutes": range(1, MINUTES_LIMIT + 1),
    "heartbeat_grace_minutes": range(MINUTES_LIMIT),
    "step_stale_minutes": range(1, MINUTES_LIMIT + 1),
    "max_fidelity_review_cycles_per_phase": range(1, 101),
    "avg_pct_per_step": range(101),
    "context_staleness_threshold": range(1, 1_001),
    "context_staleness_penalty_pct": range(101),
    "context_reset_threshold_pct": range(1, 101),
    "sidecar_max_age_seconds": range(1, 86_401),
}
"""What each limit may be."""
FLAGS: Final = ("stop_on_phase_completion", "auto_retry_fidelity_gate", LOCKING, BYPASS, WAIVING)
MAX_CONSULTATIONS: Final = 50
MAX_CONTEXT_TOKENS: Final = 100_000
WARN_AT: Final = 0.8
"""The share of a mark from which on it is told that it comes near."""
PERMISSIONS: Final = frozenset({BYPASS, WAIVING})
"""What only the configuration of the server gives: no caller gives himself more than he has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a posture stands for: the role it is meant for, and what it sets."""

    role: Role
    given: Mapping[str, Json]


PROFILES: Final[Mapping[Posture, Profile]] = {
    "unattended": Profile(
        role="autonomy_runner",
        given={POLICY: "strict", "stop_on_phase_completion": True, BYPASS: False, WAIVING: False},
    ),
    "supervised": Profile(
        role="maintainer",
        given={
            POLICY: "strict",
            "stop_on_phase_completion": True,
            "max_consecutive_errors": 5,
            BYPASS: True,
            WAIVING: True,
        },
    ),
    "debug": Profile(
        role="maintainer",
        given={
            POLICY: "manual",
            "stop_on_phase_completion": False,
            "max_tasks_per_session": 250,
            "max_consecutive_errors": 20,
            "max_fidelity_review_cycles_per_phase": 10,
            BYPASS: True,
            WAIVING: True,
        },
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What one run is held to.

    is_locking: whether what changes its spec needs its id. may_bypass, may_waive: what a maintainer may do about the lock
    and about gates.
    """

    limits: Limits = field(default_factory=Limits)
    stop: StopConditions = field(default_factory=StopConditions)
    policy: GatePolicy = "strict"
    posture: Posture | None = None
    is_locking: bool = True
    may_bypass: bool = False
    may_waive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Consultations:
    """How often models were asked, and the tokens that went in and came out."""

    consultations: int = 0
    tokens: int = 0

    @property
    def consultations_left(self) -> int:
        """How many there are until the mark."""
        return max(0, MAX_CONSULTATIONS - self.consultations)

    @property
    def tokens_left(self) -> int:
        """How many there are until the mark."""
        return max(0, MAX_CONTEXT_TOKENS - self.tokens)

    @property
    def consultations_percentage(self) -> float:
        """The used part of a hundred, to one digit."""
        return round(100 * self.consultations / MAX_CONSULTATIONS, 1)

    @property
    def tokens_percentage(self) -> float:
        """The used part of a hundred, to one digit."""
        return round(100 * self.tokens / MAX_CONTEXT_TOKENS, 1)

    @property
    def should_warn(self) -> bool:
        """Whether one of the marks is near."""
        return max(self.consultations_percentage, self.tokens_percentage) >= 100 * WARN_AT

    @property
    def is_at_limit(self) -> bool:
        """Whether one of the marks is reached."""
        return not (self.consultations_left and self.tokens_left)


def read_terms(
    arguments: Mapping[str, Json], configured: Mapping[str, Json] | None = None
) -> Terms:
    """Return what a run is held to; InvalidInput with every fault of arguments and configuration.

    A value that is None counts as not given.
    """
    settled = _given(configured or {})
    given_values = _given(arguments)
    faults = [*_faults(settled, "configuration."), *_faults(given_values)]
    faults += [
        _fault(name, "is for the configuration of the server to give")
        for name in sorted(PERMISSIONS & given_values.keys())
    ]
    profile_name = given_values.get(POSTURE, settled.get(POSTURE))
    posture = cast("Posture", profile_name) if is_one_of(profile_name, POSTURES) else None
    chosen = {**(PROFILES[posture].given if posture else {}), **settled, **given_values}
    wrong = {cast("str", fault["path"]).removeprefix("configuration.") for fault in faults}
    terms = _terms({name: value for name, value in chosen.items() if name not in wrong}, posture)
    faults += _grace_faults(terms.limits)
    if faults:
        message = "; ".join(f"`{fault['path']}` {fault['problem']}" for fault in faults)
        raise InvalidInput(message, hint="Correct these; nothing was changed.", faults=faults)
    return terms


def limits_text(terms: Terms) -> dict[str, Json]:
    """Return what a row keeps of the terms of a run; `terms_of` reads it back."""
    return {
        **asdict(terms.limits),
        **asdict(terms.stop),
        BYPASS: terms.may_bypass,
        WAIVING: terms.may_waive,
    }


def terms_of(stored: Json, policy: str, posture: str, *, is_locking: bool) -> Terms:
    """Return the terms that a row keeps; InvalidInput if they are none."""
    whole = {
        **object_of(stored),
        POLICY: policy,
        POSTURE: posture or None,
        LOCKING: is_locking,
    }
    return read_terms({}, whole)


def _given(values: Mapping[str, Json]) -> dict[str, Json]:
    present = {name: value for name, value in values.items() if value is not None}
    spelled = {SPELLINGS[name]: present.pop(name) for name in SPELLINGS.keys() & present.keys()}
    return {**spelled, **present}


def _fault(path: str, problem: str) -> dict[str, Json]:
    return {"path": path, "problem": problem}


def _faults(values: Mapping[str, Json], where: str = "") -> list[dict[str, Json]]:
    problems = [(name, _problem(name, value)) for name, value in values.items()]
    return [_fault(f"{where}{name}", problem) for name, problem in problems if problem]


def _problem(name: str, value: Json) -> str:
    """Return what is wrong with one value; empty if nothing is."""
    if name in RANGES:
        allowed = RANGES[name]
        if is_count(value) and value in allowed:
            return ""
        return f"is a whole number from {allowed[0]} to {allowed[-1]}, not {_shown(value)}"
    if name in FLAGS:
        return "" if isinstance(value, bool) else f"is true or false, not {_shown(value)}"
    words: Sequence[str] = {POLICY: GATE_POLICIES, POSTURE: POSTURES}.get(name, ())
    if not words:
        return "is nothing that a run is held to"
    if is_one_of(value, words):
        return ""
    return f"is one of {', '.join(words)}, not {_shown(value)}"


def _shown(value: Json) -> str:
    return str(value) if is_count(value) and abs(value) < 10**9 else quoted(value)


def _terms(chosen: Mapping[str, Json], posture: Posture | None) -> Terms:
    def of(kind: type[Limits | StopConditions]) -> dict[str, Json]:
        names = {limit.name for limit in fields(kind)}
        return {name: value for name, value in chosen.items() if name in names}

    return Terms(
        limits=Limits(**of(Limits)),
        stop=StopConditions(**of(StopConditions)),
        policy=chosen.get(POLICY, "strict"),
        posture=posture,
        is_locking=chosen.get(LOCKING, True),
        may_bypass=chosen.get(BYPASS, False),
        may_waive=chosen.get(WAIVING, False),
    )


def _grace_faults(limits: Limits) -> list[dict[str, Json]]:
    stale, grace = limits.heartbeat_stale_minutes, limits.heartbeat_grace_minutes
    if grace < stale:
        return []
    problem = f"is {grace}; it has to be smaller than heartbeat_stale_minutes, which is {stale}"
    return [_fault("heartbeat_grace_minutes", problem)]


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


SECURITY: Final = "autonomy_security"
DEFAULTS: Final = "autonomy_session_defaults"
PROFILE: Final = "autonomy_posture"
FREE: Final[Role] = "maintainer"
"""The role of a connection that nothing narrows."""
_VARIABLES: Final[Mapping[str, str]] = {
    DEFAULTS: "FOUNDRY_MCP_AUTONOMY_DEFAULT_",
    SECURITY: "FOUNDRY_MCP_AUTONOMY_SECURITY_",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """What is configured for one connection. given: the values that runs are held to, by name."""

    role: Role = FREE
    settings: Mapping[str, Json] = field(default_factory=dict[str, Json])

    def terms(self, **arguments: Json) -> Terms:
        """Return the terms of a run of this connection; InvalidInput with every fault. arguments: None counts as not given."""
        return read_terms(arguments, self.settings)


def configured(
    file: Mapping[str, Json], environ: Mapping[str, str], role: str = "", posture: str = ""
) -> Configured:
    """Return what is configured. file: what the file of the project says; role, posture: of the connection, empty without one."""
    security = object_of(file.get(SECURITY)) | _set(environ, SECURITY)
    settings: dict[str, Json] = object_of(file.get(DEFAULTS)) | _set(environ, DEFAULTS)
    settings |= {name: security[name] for name in (BYPASS, WAIVING) if name in security}
    profile = posture or object_of(file.get(PROFILE)).get("profile")
    if profile is not None:
        settings[POSTURE] = profile
    return Configured(role=_role(role or security.get("role"), profile), settings=settings)


def is_started_as_maintainer(role: str, posture: str) -> bool:
    """Whether a connection was started with the role of a maintainer, or with a posture that is meant for one.

    What files of the project say does not count: those whom it would free can write them.
    """
    return bool(role or posture) and configured({}, {}, role, posture).role == "maintainer"


def _set(environ: Mapping[str, str], section: str) -> dict[str, Json]:
    """Return what variables say of a section."""
    start = _VARIABLES[section]
    return {
        name.removeprefix(start).lower(): _value(text)
        for name, text in environ.items()
        if name.startswith(start) and text
    }


def _value(text: str) -> Json:
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    return int(text) if text.isdecimal() and text.isascii() else text


def _role(word: Json, profile: Json) -> Role:
    if word is not None and word != "":
        return role_named(word) if isinstance(word, str) else UNKNOWN
    if profile is None:
        return FREE
    for name, posture in PROFILES.items():
        if name == profile:
            return posture.role
    return UNKNOWN


_TOOLS: Final = frozenset({"task", "authoring", "lifecycle", "spec", "verification", "research"})
_FREE: Final = ("task session", "task gate-waiver")
"""The beginnings of those that are about a run itself: they have rules of their own."""


def is_locked(call: str) -> bool:
    """Whether a call that writes needs the session of the run that works on its spec. call: tool, action and command."""
    tool, _, _ = call.partition(" ")
    return tool in _TOOLS and not call.startswith(_FREE)
