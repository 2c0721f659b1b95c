"""The capabilities that the server reports, and the settings behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from counterpoint.kernel.canonical import Json

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
