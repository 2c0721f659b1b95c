"""Labels of issues, and the profiles that may work on them.

What labels of an issue mean: its phase, what may be skipped, its origin.
phase:<name>        the phase it is in; an issue has exactly one, of those the project has
skip:<name>         this phase has its artifact already
moved-from:<id>     the name it had in another project
cross-project, multi-repo    it may be moved although it is in no phase

What a profile of an agent may do with issues, beside which tools it has.
A caller without a profile serves every role: it may do what any profile may.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from counterpoint.kernel.errors import InvalidInput

PHASE = "phase:"
SKIP = "skip:"
MOVED = "moved-from:"
MOVABLE = frozenset({"cross-project", "multi-repo"})
_PROTECTED = (SKIP, MOVED)


def phase_of(labels: Iterable[str]) -> str:
    """Return the phase that labels name; empty if they name none."""
    return next((name.removeprefix(PHASE) for name in labels if name.startswith(PHASE)), "")


def after_move(
    labels: Sequence[str], origin: str, phases: Sequence[str], written: Iterable[str]
) -> tuple[str, ...]:
    """Return the labels of an issue that was moved.

    origin: the name it had. phases: those of the project it goes to: one that it does not have gives
    way to its first. written: the phases that have their artifact already.
    """
    now = phase_of(labels)
    other_labels = [name for name in labels if not name.startswith((PHASE, SKIP))]
    skipped = [f"{SKIP}{name}" for name in phases if name in set(written)]
    phase = f"{PHASE}{now if now in phases else phases[0]}"
    return tuple(dict.fromkeys([*other_labels, phase, f"{MOVED}{origin}", *skipped]))


def may_move(labels: Iterable[str]) -> bool:
    """Return whether an issue with these labels may be moved to another project."""
    names = list(labels)
    return bool(phase_of(names)) or not MOVABLE.isdisjoint(names)


def with_phase(labels: Sequence[str], usual: str, phases: Sequence[str]) -> tuple[str, ...]:
    """Return labels with exactly one phase, the usual one if they name none; InvalidInput.

    phases: those that the project has. Labels that tell of a move are nobody's to give.
    """
    phase_labels = [name for name in dict.fromkeys(labels) if name.startswith(PHASE)]
    faults = [f"{name!r} is set by a move only" for name in labels if name.startswith(_PROTECTED)]
    if len(phase_labels) > 1:
        faults.append(f"there is more than one phase: {', '.join(phase_labels)}")
    faults += [
        f"{name!r} is no phase of this project"
        for name in phase_labels
        if name.removeprefix(PHASE) not in phases
    ]
    faults += [f"{name!r} is empty" for name in labels if not name.strip()]
    if faults:
        raise InvalidInput(
            "; ".join(faults), hint=f"Give at most one of: {', '.join(PHASE + p for p in phases)}."
        )
    return tuple(dict.fromkeys([*labels, *([] if phase_labels else [f"{PHASE}{usual}"])]))


_JUDGES: Final = frozenset({"judge", ""})
_MOST_ISSUES: Final = {"intake": 20}


def may_send_back(profile: str) -> bool:
    """Return whether a profile judges what others have done, and may send it back from the review."""
    return profile in _JUDGES


def most_issues(profile: str) -> int | None:
    """Return how many issues one session of a profile may make; None: any number."""
    return _MOST_ISSUES.get(profile)
