"""Tasks that say nearly the same."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.foundry.specs.rules.analysis import duplicates, similarity
from counterpoint.kernel.errors import InvalidInput
from fakes.spec_documents import ANY_JSON, node, odd_documents


def spec(*titles, kind="task"):
    """Return a document of tasks with these titles."""
    nodes = {
        f"task-1-{number}": node(kind, title, "phase-1", metadata={"description": f"d {title}"})
        for number, title in enumerate(titles, 1)
    }
    return {"hierarchy": nodes}


def pairs(found):
    """Return who is like whom."""
    return [(one["node_a"], one["node_b"]) for one in found["duplicates"]]


def test_titles_that_say_nearly_the_same_are_a_pair():
    """Case and blanks make no difference; the most alike come first."""
    found = duplicates(
        spec("Add the user login page", "Write docs", "Add the user log-in page", "write  DOCS")
    )
    assert pairs(found) == [("task-1-2", "task-1-4"), ("task-1-1", "task-1-3")]
    assert [one["similarity"] for one in found["duplicates"]] == [1.0, 0.89]
    assert found["duplicate_count"] == 2
    assert (found["nodes_checked"], found["scope"], found["threshold"]) == (4, "titles", 0.8)
    assert "truncated" not in found


def test_descriptions_are_compared_where_they_are_asked_for():
    """With both, the more alike of the two counts."""
    made = spec("Alpha", "Beta")
    for one in made["hierarchy"].values():
        one["metadata"] = {"details": ["Read the file", "and parse it"]}
    assert duplicates(made)["duplicates"] == []
    assert duplicates(made, "descriptions")["duplicates"][0]["similarity"] == 1.0
    [found] = duplicates(made, "both")["duplicates"]
    assert (found["similarity"], found["scope"]) == (1.0, "both")


def test_verify_nodes_and_empty_texts_are_no_duplicates():
    assert duplicates(spec("Run tests", "Run tests", kind="verify"))["nodes_checked"] == 0
    assert duplicates(spec("", " "))["duplicates"] == []
    assert similarity("", "") == 0.0
    assert similarity("a", "A") == 1.0


def test_only_so_many_pairs_are_told():
    """And that there are more."""
    found = duplicates(spec(*["Same"] * 10), max_pairs=3)
    assert found["duplicate_count"] == len(found["duplicates"]) == 3
    assert found["truncated"]
    assert "truncated" not in duplicates(spec(*["Same"] * 3), max_pairs=3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"scope": "all"}, "scope"),
        ({"threshold": 0}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
        ({"max_pairs": 0}, "max_pairs"),
        ({"max_pairs": 10_000}, "max_pairs"),
    ],
)
def test_options_out_of_bounds_are_refused(arguments, said):
    """By their name."""
    with pytest.raises(InvalidInput, match=said):
        duplicates({}, **arguments)


@given(
    st.lists(st.text(alphabet="abc ", max_size=12), max_size=8),
    st.sampled_from([0.2, 0.5, 2 / 3, 0.8, 1]),
)
def test_the_search_finds_what_comparing_all_pairs_finds(titles, threshold):
    """No pair that is alike enough is passed over."""
    found = duplicates(spec(*titles), threshold=threshold)
    names = [f"task-1-{number}" for number in range(1, len(titles) + 1)]
    wanted = {
        (names[one], names[other])
        for one, other in combinations(range(len(titles)), 2)
        if similarity(titles[one], titles[other]) >= threshold - 1e-9
    }
    assert set(pairs(found)) == wanted


@given(st.one_of(odd_documents(), ANY_JSON))
def test_any_json_can_be_searched(made):
    """Without an error."""
    assert duplicates(made, "both")["pairs_compared"] >= 0


WORDS = [f"{number * 104_729:o}"[:6] for number in range(1, 500)]


def test_thousands_of_tasks_are_searched_to_the_end():
    """Where they are written in words, of which many are in many titles."""
    titles = [
        " ".join(WORDS[number * prime % len(WORDS)] for prime in (1, 7, 11, 31))
        for number in range(2_000)
    ]
    found = duplicates(spec(*titles), threshold=0.9, max_pairs=1_000)
    assert all(one["similarity"] >= 0.9 for one in found["duplicates"])
    assert found["pairs_compared"] < 200_000


COMMON = " ".join(f"{number:03}" for number in range(35))


def own_letters(number):
    """Return sixty letters that no other number has."""
    return "".join(chr(0x4E00 + number * 6 + place % 6) * (place % 3 + 1) for place in range(30))


def test_titles_that_share_a_little_are_not_compared():
    """Looking them up is work too, and it is bounded as well."""
    titles = [f"{own_letters(number)} abcd" for number in range(4_000)]
    found = duplicates(spec(*titles), threshold=0.2)
    assert (found["truncated"], found["pairs_compared"]) == (True, 0)


def test_a_short_title_in_a_long_one_is_no_duplicate():
    """However much of it is there."""
    long = f"{COMMON} {own_letters(1)} {own_letters(2)}"
    found = duplicates(spec(COMMON, long), threshold=0.8)
    assert (found["duplicates"], found["pairs_compared"]) == ([], 0)


@pytest.mark.parametrize(
    "titles",
    [
        [COMMON + own_letters(number) for number in range(3_000)],
        [f"{chr(97 + number % 26) * 700} {number}" for number in range(2_000)],
        [f"{'a' * (number % 900)}b{'a' * 900}" for number in range(3_000)],
    ],
)
def test_a_search_that_is_made_hard_is_cut(titles):
    """After a fixed amount of work, and says so."""
    found = duplicates(spec(*titles), threshold=0.8)
    assert found["truncated"]
    assert found["pairs_compared"] < 500_000
