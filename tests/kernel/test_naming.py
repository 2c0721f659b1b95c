"""The names of projects."""

from __future__ import annotations

import pytest

from counterpoint.kernel.naming import is_project_name, project_name_of


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("Web Shop.git", "web-shop"),
        ("Donne\u0301es", "donn\u00e9es"),
        ("\u5e33\u7c3f 2", "\u5e33\u7c3f-2"),
        ("a\u2014b", "a-b"),
        ("\u2026", "project"),
        ("._-", "project"),
        ("\u5e33" * 90, "\u5e33" * 60),
    ],
)
def test_a_project_is_called_after_its_folder(folder: str, name: str) -> None:
    """In its own script; what is neither letter, mark, digit nor symbol parts words."""
    assert project_name_of(folder) == name
    assert is_project_name(name)
    assert name == folder or not is_project_name(folder)
