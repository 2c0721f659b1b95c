"""What a profile of an agent may do with issues, beside which tools it has.

A caller without a profile serves every role: it may do what any profile may.
"""

from __future__ import annotations

from typing import Final

_JUDGES: Final = frozenset({"judge", ""})
_MOST_ISSUES: Final = {"intake": 20}


def may_send_back(profile: str) -> bool:
    """Return whether a profile judges what others have done, and may send it back from the review."""
    return profile in _JUDGES


def most_issues(profile: str) -> int | None:
    """Return how many issues one session of a profile may make; None: any number."""
    return _MOST_ISSUES.get(profile)
