"""The tree that the nodes of a document make, and the circles of a graph."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.foundry.nodes.rules.tree import (
    CYCLES_LIMIT,
    Tree,
    cycles,
    hard_edges,
    parent_of,
    soft_edges,
)
from fakes.spec_documents import document, edited, link


def test_the_order_of_children_is_the_order_of_the_tree():
    """Every node comes after its owner in one order, and after its children in the other."""
    made = document(2, 1)
    tree = Tree(made)
    assert tree.reachable == list(made["hierarchy"])
    assert tree.upwards[-1] == "spec-root"
    assert tree.phases() == ["phase-1", "phase-2"]
    assert tree.below("phase-2") == ["phase-2", "task-2-1", "verify-2-1"]
    assert tree.phase_of("task-2-1") == "phase-2"
    assert tree.phase_of("spec-root") == ""
    assert tree.depths()["task-1-1"] == 2


def test_a_node_that_two_list_belongs_to_its_parent():
    tree = Tree(edited({"hierarchy/phase-1/children": ["task-2-1", "task-1-1", "task-1-1"]}))
    assert tree.owner["task-2-1"] == "phase-2"
    assert tree.kids["phase-1"] == ["task-1-1"]
    assert tree.orphans == ["task-1-2", "verify-1-1"]


def test_nodes_in_a_circle_are_apart():
    """Nothing walks in circles; what hangs below one is apart too."""
    tree = Tree(
        edited(
            {
                "hierarchy/spec-root/children": ["phase-1"],
                "hierarchy/phase-2/parent": "task-2-1",
                "hierarchy/task-2-1/children": ["phase-2"],
            }
        )
    )
    assert "phase-2" not in {*tree.upwards, *tree.reachable, *tree.orphans}
    assert "task-2-2" not in tree.upwards
    assert tree.phase_of("task-2-2") == "phase-2"
    assert sorted(tree.below("task-2-1")) == ["phase-2", "task-2-1", "task-2-2", "verify-2-1"]
    assert Tree(edited({"hierarchy/phase-1/type": "group"})).phase_of("task-1-1") == ""


def test_a_document_without_nodes_has_an_empty_tree():
    """There is no root and nothing to reach."""
    tree = Tree([])
    assert (tree.root, tree.reachable, tree.upwards, tree.phases()) == (None, [], [], [])
    assert parent_of({"parent": 3}) == ""


def test_dependencies_are_edges_whichever_side_tells_them():
    """Each is one edge, and only between nodes that there are."""
    made = edited({"hierarchy/task-1-2/dependencies/blocked_by": ["task-1-1", "gone"]})
    made["hierarchy"]["task-1-1"]["dependencies"]["blocks"] = ["task-1-2", "task-1-2", "gone"]
    made["hierarchy"]["task-1-1"]["dependencies"]["depends"] = ["task-2-1", "gone"]
    made["hierarchy"]["task-2-2"]["dependencies"]["blocked_by"] = ["task-2-1"]
    tree = Tree(made)
    edges = hard_edges(tree.nodes)
    assert edges["task-1-1"] == ["task-1-2"]
    assert edges["phase-1"] == ["phase-2"]
    assert edges["task-2-1"] == ["task-2-2"]
    assert soft_edges(tree.nodes)["task-1-1"] == ["task-2-1"]


@pytest.mark.parametrize(
    ("graph", "found"),
    [
        ({"a": ["b"], "b": []}, []),
        ({"a": ["a"]}, [["a", "a"]]),
        ({"c": ["a"], "a": ["b"], "b": ["c"]}, [["a", "b", "c", "a"]]),
        ({"t-10": ["t-2"], "t-2": ["t-10"]}, [["t-2", "t-10", "t-2"]]),
        (
            {"a": ["b"], "b": ["a", "c"], "c": ["b"]},
            [["a", "b", "a"], ["b", "c", "b"]],
        ),
        ({"a": ["gone"]}, []),
    ],
)
def test_each_circle_is_told_once(graph, found):
    """From its first node on and back to it."""
    assert cycles(graph) == found


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), unique=True)))
def test_without_the_closing_edges_no_circle_is_left(graph):
    """Each that is told goes along edges, and no two are the same."""
    whole = {name: graph.get(name, []) for name in "abcdef"}
    found = cycles(whole)
    assert len({tuple(way) for way in found}) == len(found)
    assert all(after in whole[before] for way in found for before, after in pairwise(way))
    assert bool(found) == _has_circle(whole)


def _has_circle(graph):
    """Tell by taking away, again and again, what leads nowhere."""
    left = dict(graph)
    while ends := [name for name in left if not any(other in left for other in left[name])]:
        for name in ends:
            del left[name]
    return bool(left)


def test_a_large_graph_takes_no_longer_than_it_is_large():
    """One circle of all nodes is told whole; of very many only some."""
    size = 30_000
    ring = {str(n): [str((n + 1) % size)] for n in range(size)}
    assert len(cycles(ring)[0]) == size + 1
    names = [str(n) for n in range(300)]
    assert len(cycles(dict.fromkeys(names, names))) == CYCLES_LIMIT


def test_a_chain_of_very_many_nodes_is_walked():
    """Depth is no way to stop the server."""
    made = document(0, 0)
    nodes = made["hierarchy"]
    last = "spec-root"
    for number in range(20_000):
        name = f"task-1-{number}"
        nodes[name] = {"parent": last, "children": []}
        nodes[last]["children"] = [name]
        last = name
    tree = Tree(made)
    assert len(tree.upwards) == 20_001
    assert tree.depths()[last] == 20_000
    nodes[last]["dependencies"] = {"blocks": [], "blocked_by": []}
    nodes["task-1-0"]["dependencies"] = {"blocks": [], "blocked_by": []}
    link(nodes, "task-1-0", last)
    assert hard_edges(tree.nodes)["task-1-0"] == [last]
