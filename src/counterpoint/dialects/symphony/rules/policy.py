"""Which parts of what a project asks of work would be less after an edit."""

from __future__ import annotations

from collections.abc import Mapping

from counterpoint.dialects.symphony.nouns.policy import Policy, PolicyEdit
from counterpoint.dialects.symphony.rules.risk import THRESHOLDS, thresholds_of


def looser(before: Policy, edit: PolicyEdit) -> list[str]:
    """Return the parts of which an edit asks less, in words.

    A gate that is gone or need not pass any more, a path that is not sensitive any more, a change that may be
    larger before it counts as one. What judges are told is less with every other wording, for nobody can tell.
    """
    found = {
        "gates": edit.gates is not None and not _gates(before) <= _asked(edit),
        "sensitive paths": edit.sensitive_paths is not None
        and not set(before.sensitive_paths) <= set(edit.sensitive_paths),
        "thresholds": edit.thresholds is not None
        and _is_higher(before.thresholds, edit.thresholds),
        "phases": edit.phases is not None and not set(before.phases) <= set(edit.phases),
        "instructions of judges": edit.instructions.get("judge", before.instructions.get("judge"))
        != before.instructions.get("judge"),
    }
    return [name for name, is_less in found.items() if is_less]


def _gates(policy: Policy) -> set[tuple[str, bool]]:
    return {(gate.command, gate.required) for gate in policy.gates}


def _asked(edit: PolicyEdit) -> set[tuple[str, bool]]:
    asked = {(gate.command, gate.required) for gate in edit.gates or ()}
    # One that must pass asks more than one that need not.
    return asked | {(command, False) for command, _ in asked}


def _is_higher(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    was, now = thresholds_of(dict(before)), thresholds_of(dict(after))
    return any(getattr(now, name) > getattr(was, name) for name in THRESHOLDS)
