"""Choosing tasks that can be worked on at the same time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.rules.areas import overlaps
from counterpoint.dialects.foundry.tasks.rules import (
    Candidate,
    choose,
    dependency_graph,
    token_estimate,
)


def one(name, path="", needs=(), letters=0):
    """Return a candidate."""
    return Candidate(id=name, file_path=path, needs=frozenset(needs), letters=letters)


@pytest.mark.parametrize(
    ("candidates", "chosen", "why"),
    [
        ([one("a", "a.py"), one("b", "b.py")], ["a", "b"], {}),
        ([one("a", "a.py"), one("b", "a.py")], ["a"], {"b": "overlap"}),
        ([one("a", "src/api"), one("b", "src/api/x.py")], ["a"], {"b": "overlap"}),
        ([one("a", "src/api"), one("b", "src/apis/x.py")], ["a", "b"], {}),
        ([one("a", "a.py"), one("b", "b.py", ["a"])], ["a"], {"b": "depend on each other"}),
        ([one("a", "a.py", ["b"]), one("b", "b.py")], ["a"], {"b": "depend on each other"}),
        ([one("a"), one("b", "b.py")], ["a"], {"b": "a names no file"}),
        ([one("a", "a.py"), one("b"), one("c", "c.py")], ["a", "c"], {"b": "b names no file"}),
        (
            [one(name, f"{name}.py") for name in "abcd"],
            ["a", "b", "c"],
            {"d": "has 3 tasks"},
        ),
        (
            [one("a", "a", letters=90_000), one("b", "b", letters=90_000), one("c", "c")],
            ["a", "c"],
            {"b": "budget of 50000"},
        ),
        ([one("a", "a", letters=900_000), one("b", "b")], ["a"], {"b": "budget"}),
        ([], [], {}),
    ],
)
def test_independent_tasks_are_chosen_in_their_order(candidates, chosen, why):
    """And each that is not has its reason."""
    batch = choose(candidates)
    assert [candidate.id for candidate in batch.chosen] == chosen
    assert list(batch.why) == list(why)
    assert all(said in batch.why[name] for name, said in why.items())


def test_the_limits_can_be_other_ones():
    """Tokens are a third of the letters and 15 percent."""
    candidates = [one(name, name, letters=3_000) for name in "abcdef"]
    batch = choose(candidates, max_tasks=6, token_budget=3_000)
    assert [candidate.id for candidate in batch.chosen] == ["a", "b"]
    assert batch.tokens == 2 * token_estimate(3_000) == 2_300
    assert token_estimate(1) == 1
    assert token_estimate(0) == 0


PATHS = st.sampled_from(["", "a", "a/b", "a/b/c.py", "a*", "b.py", "**/c.py"])


@given(
    st.lists(
        st.builds(one, st.sampled_from("abcdef"), PATHS, st.sets(st.sampled_from("abcdef"))),
        unique_by=lambda candidate: candidate.id,
    ),
    st.integers(1, 5),
)
def test_no_two_of_a_batch_are_in_each_others_way(candidates, max_tasks):
    """Each candidate is chosen or has a reason."""
    batch = choose(candidates, max_tasks)
    assert len(batch.chosen) <= max_tasks
    assert {candidate.id for candidate in batch.chosen}.isdisjoint(batch.why)
    assert len(batch.chosen) + len(batch.why) == len(candidates)
    for mine in batch.chosen:
        for other in batch.chosen:
            if mine is not other:
                assert other.id not in mine.needs
                assert not overlaps(mine.file_path, other.file_path)


def test_the_graph_tells_what_comes_first():
    """Edges lead between nodes that are told, each once."""
    nodes = [{"id": "a", "title": "A", "status": "completed"}, {"id": "b", "file_path": "b.py"}]
    found = dependency_graph(["b"], nodes, [("a", "b"), ("a", "b"), ("a", "gone")])
    assert found == {
        "nodes": [
            {"id": "a", "title": "A", "status": "completed", "file_path": None, "is_target": False},
            {"id": "b", "title": "", "status": "", "file_path": "b.py", "is_target": True},
        ],
        "edges": [{"from": "a", "to": "b"}],
    }
