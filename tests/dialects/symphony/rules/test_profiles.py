"""What a profile of an agent may do with issues."""

from __future__ import annotations

import pytest

from counterpoint.dialects.symphony.rules.issues import may_send_back, most_issues
from counterpoint.dialects.symphony.scope import AGENT_TYPES


def test_judges_send_work_back() -> None:
    """And a caller without a profile, which serves every role."""
    assert [one for one in ("", *AGENT_TYPES) if may_send_back(one)] == ["", "judge"]


@pytest.mark.parametrize("profile", ["", *AGENT_TYPES])
def test_only_an_intake_makes_a_limited_number_of_issues(profile: str) -> None:
    """So that one conversation with a person does not fill the board."""
    assert most_issues(profile) == (20 if profile == "intake" else None)
