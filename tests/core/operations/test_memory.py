"""Remembered values: put, got, listed, forgotten, by version."""

from __future__ import annotations

import pytest

from counterpoint.kernel import canonical
from counterpoint.kernel.errors import InvalidInput, NotFound, StaleVersion


def test_a_value_is_remembered_under_scope_and_name(studio, ada, bob):
    entry = ada.memory.put("project", "goal", {"ship": [1, 2.5, None]})
    assert canonical.load(entry.value) == {"ship": [1, 2.5, None]}
    assert bob.memory.get("project", "goal") == entry
    assert (entry.version, entry.agent) == (1, "ada")
    assert bob.memory.put("project", "goal", "other", 1).version == 2
    last = studio.last()
    assert (last.action, last.facts) == (
        "state.put", {"scope": "project", "name": "goal", "version": 2},
    )  # fmt: skip
    studio.refuses(NotFound, lambda: ada.memory.get("profile:judge", "goal"))


def test_the_same_value_again_writes_nothing(studio, ada):
    """Also if a secret in it was masked."""
    for value in ("plain", "key AKIAABCDEFGHIJKLMNOP"):
        ada.memory.put("project", "n", value)
        before = studio.image()
        ada.memory.put("project", "n", value)
        assert studio.image() == before


def test_names_are_listed_in_order_and_pages(ada):
    """Beyond a name, within a scope."""
    for name in ("b", "c", "a"):
        ada.memory.put("project", name, 1)
    ada.memory.put("other", "d", 1)
    assert [e.name for e in ada.memory.list("project", "", 2)] == ["a", "b"]
    assert [e.name for e in ada.memory.list("project", "b", 2)] == ["c"]


def test_forgetting_says_whether_it_was_there(studio, ada):
    """A second time nothing is written."""
    ada.memory.put("project", "n", 1)
    assert ada.memory.forget("project", "n", 1)
    assert studio.last().action == "state.forgotten"
    before = studio.image()
    assert not ada.memory.forget("project", "n")
    assert studio.image() == before
    assert ada.memory.put("project", "n", 2, 0).version == 1


@pytest.mark.parametrize("expected", [0, 2])
def test_a_stale_version_is_refused(studio, ada, expected):
    """Zero stands for: not there."""
    ada.memory.put("project", "n", 1)
    fault = studio.refuses(StaleVersion, lambda: ada.memory.put("project", "n", 2, expected))
    assert fault.facts == {"version": 1}
    studio.refuses(StaleVersion, lambda: ada.memory.forget("project", "n", expected))


def test_a_value_that_is_too_large_or_no_json_is_refused(studio, ada):
    """Large texts belong into files."""
    studio.refuses(InvalidInput, lambda: ada.memory.put("project", "n", "x" * 64_000))
    studio.refuses(InvalidInput, lambda: ada.memory.put("project", "n", {1: object()}))
