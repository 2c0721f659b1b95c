"""Every code that a refusal of foundry has, with the type of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

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
