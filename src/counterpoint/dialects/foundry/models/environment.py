"""What answers tell of the machine, the server and its errors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from counterpoint.kernel.canonical import Json

Preset = Literal["minimal", "standard", "full"]

MARKERS: Final[Mapping[str, tuple[str, ...]]] = {
    "python": ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"),
    "node": ("package.json",),
    "rust": ("Cargo.toml",),
    "go": ("go.mod",),
    "java": ("pom.xml", "build.gradle", "build.gradle.kts"),
    "ruby": ("Gemfile",),
    "php": ("composer.json",),
}
"""Files that say what a project is made with; the first kind that has one counts."""
UNKNOWN: Final = "unknown"
REQUIRED_TOOLS: Final = ("python", "git")
OPTIONAL_TOOLS: Final = ("grep", "cat", "find", "node", "npm")
SERVER: Final = "mcp__counterpoint"
"""How clients name the tools of this server in their permissions."""
_LOOKING: Final = ("health", "server", "plan", "error", "environment", "spec", "journal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """What runs the tests of a project, as far as its files say. confidence: from 0 to 1."""

    name: str
    project_type: str
    confidence: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """A program on the PATH; without a version it does not answer."""

    available: bool
    version: str = ""
    executable: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Folders that were made, and those that were there."""

    specs: str
    created: tuple[str, ...]
    existing: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetUp:
    """What was written for a client, or would be."""

    specs: str
    permissions: str
    config: str
    changes: tuple[str, ...]


def project_type(files: Collection[str]) -> str:
    """Return what a project with these files is made with."""
    for kind, markers in MARKERS.items():
        if any(marker in files for marker in markers):
            return kind
    return UNKNOWN


def runners(files: Collection[str], *, has_tests: bool, npm_test: str) -> list[Runner]:
    """Return what may run the tests, the surest first. files: of the top folder. npm_test: the script of that name."""
    runners: list[Runner] = []
    if "pytest.ini" in files or "conftest.py" in files:
        runners.append(
            Runner(name="pytest", project_type="python", confidence=0.95, reason="pytest.ini")
        )
    elif project_type(files) == "python":
        sure = 0.8 if has_tests else 0.5
        runners.append(
            Runner(name="pytest", project_type="python", confidence=sure, reason="a Python project")
        )
    if npm_test:
        runner = next((name for name in ("vitest", "jest", "mocha") if name in npm_test), "npm")
        runners.append(
            Runner(name=runner, project_type="node", confidence=0.9, reason="the script `test`")
        )
    for name, kind, marker in (("go", "go", "go.mod"), ("cargo", "rust", "Cargo.toml")):
        if marker in files:
            runners.append(Runner(name=name, project_type=kind, confidence=0.9, reason=marker))
    if "Makefile" in files and not runners:
        runners.append(Runner(name="make", project_type=UNKNOWN, confidence=0.3, reason="Makefile"))
    return sorted(runners, key=lambda candidate: -candidate.confidence)


def permissions(preset: Preset, tools: Collection[str]) -> list[str]:
    """Return the permissions of a client for tools of this server alone: it is let run nothing else by them."""
    if preset == "full":
        return [SERVER]
    chosen = [name for name in tools if preset == "standard" or name in _LOOKING]
    return [f"{SERVER}__{name}" for name in chosen]


AUTONOMY: Final[Mapping[str, Json]] = {
    "autonomy_sessions": True,
    "autonomy_fidelity_gates": True,
    "autonomy_gate_invariants": False,
}
"""Which parts of autonomous work there are: the one place where each is turned on."""
MOST_OF_A_BATCH: Final = 20
"""How many tasks one call of a batch may have."""
SCHEMA_VERSION: Final = "1.0.0"
API_VERSION: Final = "response-v2"
_PREFLIGHT: Final[Mapping[str, Json]] = {
    "recommended_call": {
        "tool": "task",
        "params": {"action": "session", "command": "list", "limit": 1},
    },
    "legacy_fallback": {"tool": "task", "params": {"action": "session-list", "limit": 1}},
    "fail_fast_on": ["AUTHORIZATION", "FEATURE_DISABLED"],
    "guidance": "Call this before a session is started; start none if it is refused with one of these.",
}


def capabilities(version: str, holdings: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """Return what the server can do, and what of it is turned on.

    holdings: what runs of the caller are held to, with `posture_profile`, `security` and `session_defaults`; None: they are left out.
    """
    autonomy: dict[str, Json] = {
        "supported_by_binary": dict(AUTONOMY),
        "enabled_now": dict(AUTONOMY),
    }
    conventions: dict[str, Json] = {
        "discovery_as_hints": True,
        "responses_as_truth": True,
        "description": "What is listed is a hint; what an answer says holds.",
    }
    if holdings is not None:
        autonomy |= holdings
        conventions["role_preflight"] = dict(_PREFLIGHT)
    return {
        "schema_version": SCHEMA_VERSION,
        "capabilities": {
            "response_version": API_VERSION,
            "streaming": False,
            "batch_operations": True,
            "pagination": True,
            "max_batch_size": MOST_OF_A_BATCH,
            "rate_limit_headers": False,
            "formats": ["json"],
            **AUTONOMY,
            "gate_enforcement_default": "strict",
        },
        "runtime": {"autonomy": autonomy, "conventions": conventions},
        "server_version": version,
        "api_version": API_VERSION,
    }


Grade = Literal["healthy", "degraded", "unhealthy"]
_WORST: Final[tuple[Grade, ...]] = ("unhealthy", "degraded", "healthy")

LEAST_FREE_MB: Final = 100
"""Free disk below which the server is unhealthy."""
LOW_FREE_MB: Final = 500
"""Free disk below which it is degraded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """One thing that was looked at, in milliseconds."""

    name: str
    grade: Grade
    message: str
    latency_ms: float = 0.0
    details: Mapping[str, Json] = field(default_factory=dict[str, Json])


def overall(dependencies: Sequence[Dependency]) -> Grade:
    """Return the grade of the whole: that of the worst."""
    grades = {dependency.grade for dependency in dependencies}
    for grade in _WORST:
        if grade in grades:
            return grade
    return "healthy"


def grade_of_disk(free_mb: float) -> Grade:
    """Return how good so much free disk is."""
    if free_mb < LEAST_FREE_MB:
        return "unhealthy"
    return "degraded" if free_mb < LOW_FREE_MB else "healthy"


MOST: Final = 10_000
"""How many refusals are kept."""
DAYS: Final = 30
"""For how many days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRecord:
    """One refused call, in no text of the caller's.

    tool, action: what was called; an action that there is not is empty. provider_id: whose answer it was, if a model's was asked.
    """

    id: str
    timestamp: str
    fingerprint: str
    tool_name: str
    action: str
    error_code: str
    error_type: str
    message: str
    provider_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorFilter:
    """Which refusals are asked for; what is empty does not matter. since, until: moments, both included."""

    tool_name: str = ""
    error_code: str = ""
    error_type: str = ""
    fingerprint: str = ""
    provider_id: str = ""
    since: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPattern:
    """Refusals of one sort: how many, and the first and the last of them."""

    last: ErrorRecord
    count: int
    first_seen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorStatistics:
    """All refusals by what was called and by code, and the sorts that come most often."""

    total: int
    by_tool: Mapping[str, int]
    by_code: Mapping[str, int]
    patterns: tuple[ErrorPattern, ...]


ErrorType = Literal[
    "validation",
    "authentication",
    "authorization",
    "not_found",
    "conflict",
    "rate_limit",
    "internal",
    "unavailable",
    "ai_provider",
    "feature_flag",
]

_BY_TYPE: Final[Mapping[ErrorType, str]] = {
    "validation": """
        VALIDATION_ERROR INVALID_FORMAT MISSING_REQUIRED INVALID_PARENT INVALID_POSITION
        INVALID_REGEX_PATTERN PATTERN_TOO_BROAD SELF_REFERENCE OPERATION_FAILED INVALID_CURSOR
        INVALID_STATE_TRANSITION REBASE_COMPLETED_TASKS_REMOVED AMBIGUOUS_ACTIVE_SESSION
        STEP_RESULT_REQUIRED STEP_MISMATCH STEP_STALE STEP_PROOF_MISSING STEP_PROOF_MISMATCH
        STEP_PROOF_CONFLICT STEP_PROOF_EXPIRED INVALID_GATE_EVIDENCE GATE_INTEGRITY_CHECKSUM
        GATE_AUDIT_FAILURE REQUIRED_GATE_UNSATISFIED MANUAL_GATE_ACK_REQUIRED INVALID_GATE_ACK
        GATE_BLOCKED ALL_TASKS_BLOCKED VERIFICATION_RECEIPT_MISSING VERIFICATION_RECEIPT_INVALID
        AUTO_MODE_SPEC_REQUIRED HEARTBEAT_STALE INVALID_URL BLOCKED_HOST
        """,
    "authentication": "UNAUTHORIZED",
    "authorization": "FORBIDDEN AUTHORIZATION",
    "feature_flag": "FEATURE_DISABLED",
    "not_found": """
        NOT_FOUND SPEC_NOT_FOUND TASK_NOT_FOUND PHASE_NOT_FOUND DEPENDENCY_NOT_FOUND
        BACKUP_NOT_FOUND NO_MATCHES_FOUND NO_ACTIVE_SESSION REBASE_BACKUP_MISSING
        """,
    "conflict": """
        DUPLICATE_ENTRY CONFLICT CIRCULAR_DEPENDENCY SPEC_SESSION_EXISTS SPEC_REBASE_REQUIRED
        VERSION_CONFLICT AUTONOMY_WRITE_LOCK_ACTIVE
        """,
    "rate_limit": "RATE_LIMIT_EXCEEDED RATE_LIMITED",
    "internal": """
        INTERNAL_ERROR BACKUP_CORRUPTED ROLLBACK_FAILED COMPARISON_FAILED SESSION_UNRECOVERABLE
        """,
    "unavailable": "UNAVAILABLE RESOURCE_BUSY LOCK_TIMEOUT TIMEOUT EXTRACT_FAILED",
    "ai_provider": """
        AI_NO_PROVIDER AI_PROVIDER_TIMEOUT AI_PROVIDER_ERROR AI_CONTEXT_TOO_LARGE
        AI_PROMPT_NOT_FOUND AI_CACHE_STALE
        """,
}

TYPES: Final[Mapping[str, ErrorType]] = {
    code: type_ for type_, codes in _BY_TYPE.items() for code in codes.split()
}
"""The type of each code; there are no others."""
