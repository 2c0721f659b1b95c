"""Whether a verdict is of what lies there, and of what its author can have read.

Rule 1: a hash or commit that somebody names is one that is there now, whole or in its first letters. Rule 2: an approval that names none is of
what was handed in, and not if that came after its author last looked. Where no look is known nothing is refused.
"""

from __future__ import annotations

from typing import Final

from counterpoint.core.model.journal import Submission
from counterpoint.kernel.acts import Act
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import InvalidInput, StaleVersion

SHORTEST: Final = 7
"""Letters of a hash or a commit that are enough to name it."""


def refuse_unseen(on: Submission, looked: Timestamp | None) -> None:
    """Raise StaleVersion if what stands came after the author of an approval that names nothing last looked."""
    if looked is not None and on.updated_at > looked:
        raise StaleVersion(
            f"{on.item} was handed in anew since you last looked",
            hint=f"{Act.READ_AGAIN}, then repeat the call.",
            submission=on.id,
        )


def refuse_stale(subject: str, current: tuple[str, ...], submission: Submission | None) -> None:
    """Refuse a verdict on something else than what lies there now."""
    if subject and len(subject) < SHORTEST:
        raise InvalidInput(f"{subject!r} is too short to name a hash or a commit")
    marks = [mark for mark in current if mark]
    kind = submission.of if submission is not None else "artifact"
    if kind == "branch" and submission is not None:
        subject = subject or submission.commit
    if subject and not any(mark.startswith(subject.lower()) for mark in marks):
        facts_by_kind: dict[str, dict[str, Json]] = {
            "artifact": {"current": list[Json](marks)},
            "phase": {"actual_hash": current[0]},
            "branch": {"head": current[0]},
        }
        raise StaleVersion(
            f"you reviewed {subject[:12]}, but now there is {' and '.join(m[:12] for m in marks)}",
            hint="Look at it again and pass the hash or commit that is there now.",
            **facts_by_kind[kind],
        )
