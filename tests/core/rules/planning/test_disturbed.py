"""What disturbs a tree that is being closed."""

from __future__ import annotations

from counterpoint.core.model.work import Label
from counterpoint.core.rules.planning.ending import list_disturbed_items


def test_what_hangs_on_an_item_disturbs_no_end() -> None:
    assert list_disturbed_items(None, Label(project="demo", item="demo-1", name="red")) == ()
