"""Parts of a project's policy that an edit would relax."""

from __future__ import annotations

from collections.abc import Mapping

from counterpoint.dialects.symphony.nouns.policy import Policy, PolicyEdit
from counterpoint.dialects.symphony.rules.risk import THRESHOLDS, thresholds_of


def list_relaxed_parts(before: Policy, edit: PolicyEdit) -> list[str]:
    """Return the names of the parts that an edit relaxes.

    Relaxed is: a gate that is removed or optional, a path that is no longer sensitive, a higher threshold, a removed phase.
    Any other wording of the judges' instructions counts as relaxed, since no program can compare it.
    """
    less_by_part = {
        "gates": edit.gates is not None and not _gates(before) <= _demands_of(edit),
        "sensitive paths": edit.sensitive_paths is not None
        and not set(before.sensitive_paths) <= set(edit.sensitive_paths),
        "thresholds": edit.thresholds is not None
        and _is_higher(before.thresholds, edit.thresholds),
        "phases": edit.phases is not None and not set(before.phases) <= set(edit.phases),
        "instructions of judges": edit.instructions.get("judge", before.instructions.get("judge"))
        != before.instructions.get("judge"),
    }
    return [name for name, is_less in less_by_part.items() if is_less]


def _gates(policy: Policy) -> set[tuple[str, bool]]:
    return {(gate.command, gate.required) for gate in policy.gates}


def _demands_of(edit: PolicyEdit) -> set[tuple[str, bool]]:
    demands = {(gate.command, gate.required) for gate in edit.gates or ()}
    # A required gate also satisfies the demand for an optional one.
    return demands | {(command, False) for command, _ in demands}


def _is_higher(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    was, now = thresholds_of(dict(before)), thresholds_of(dict(after))
    return any(getattr(now, name) > getattr(was, name) for name in THRESHOLDS)
