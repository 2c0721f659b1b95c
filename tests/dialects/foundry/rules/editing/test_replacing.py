"""Find and replace over the titles and descriptions of a document."""

from __future__ import annotations

import copy
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.foundry.specs.rules.editing import replaced
from counterpoint.kernel.errors import CounterpointError, InvalidInput, NotFound
from fakes.spec_documents import ANY_JSON, document, edited, odd_documents

TASK = "hierarchy/task-1-1"


def title(made):
    """Return the title of the first task."""
    return made.document["hierarchy"]["task-1-1"]["title"]


def test_titles_and_descriptions_are_rewritten():
    """The rest of the document stays the same objects."""
    made = document()
    before = copy.deepcopy(made)
    found = replaced(made, "Build part 1.", "Make piece 1.")
    assert made == before
    assert title(found) == "Make piece 1.1"
    metadata = found.document["hierarchy"]["task-1-1"]["metadata"]
    assert metadata["description"] == "Do what Make piece 1.1 says."
    assert found.document["hierarchy"]["task-2-1"] is made["hierarchy"]["task-2-1"]
    told = found.as_json()
    assert (told["total_replacements"], told["nodes_affected"]) == (4, 2)
    assert (told["total_changes"], told["changes_truncated"]) == (4, False)
    assert told["changes"][0] == {
        "node_id": "task-1-1",
        "field": "title",
        "old": "Build part 1.1",
        "new": "Make piece 1.1",
        "replacement_count": 1,
    }


@pytest.mark.parametrize(
    ("scope", "fields"),
    [("titles", ["title"]), ("descriptions", ["description"]), ("all", ["title", "description"])],
)
def test_only_the_scope_is_searched(scope, fields):
    """Titles, descriptions or both."""
    found = replaced(document(), "Build part 1.1", "X", scope=scope)
    assert [one.field for one in found.changes] == fields


@pytest.mark.parametrize(
    ("find", "replace", "options", "made"),
    [
        ("PART", "X", {"case_sensitive": False}, "Build X 1.1"),
        (r"part (\d)\.(?P<minor>\d)", r"\g<minor>-\1", {"use_regex": True}, "Build 1-1"),
        (r"(p)art|(q)", r"<\1\2\g<0>>", {"use_regex": True}, "Build <ppart> 1.1"),
        (r"p\w+", r"a\tb\\\é", {"use_regex": True}, "Build a\tb\\é 1.1"),
        ("B", r"\1", {}, r"\1uild part 1.1"),
        (r"\bPART\b", "Ü", {"use_regex": True, "case_sensitive": False}, "Build Ü 1.1"),
        ("1.1", "(1.1)", {}, "Build part (1.1)"),
    ],
)
def test_texts_and_expressions_are_replaced(find, replace, options, made):
    assert title(replaced(document(), find, replace, scope="titles", **options)) == made


def test_what_the_spec_is_called_changes_with_its_root():
    """Both say it, and it counts once."""
    made = edited(
        {"metadata/description": "About Demo", f"{TASK}/metadata/details": ["Demo", 3, "x"]}
    )
    found = replaced(made, "Demo", "Real")
    assert found.document["title"] == found.document["hierarchy"]["spec-root"]["title"] == "Real"
    assert found.document["metadata"]["description"] == "About Real"
    details = found.document["hierarchy"]["task-1-1"]["metadata"]["details"]
    assert details == ["Real", 3, "x"]
    assert [(one.node_id, one.field) for one in found.changes] == [
        ("spec-root", "title"),
        ("spec-root", "description"),
        ("task-1-1", "details[0]"),
    ]


def test_half_a_character_is_left_as_it_is():
    """It cannot be searched, and the rest can."""
    made = edited({f"{TASK}/title": "part \ud800"})
    found = replaced(made, "part", "piece", scope="titles")
    assert title(found) == "part \ud800"
    assert found.changes


def test_only_some_changes_are_samples():
    """All are counted; long texts are cut."""
    made = edited({f"{TASK}/title": "part " * 100})
    assert len(replaced(document(5, 5), "part", "x").as_json()["changes"]) == 10
    told = replaced(made, "part", "piece", scope="titles").as_json()
    assert (told["total_replacements"], told["total_changes"]) == (103, 4)
    assert len(told["changes"][0]["old"]) == 201


@pytest.mark.parametrize(
    ("find", "options", "error_code"),
    [
        ("(", {"use_regex": True}, "INVALID_REGEX_PATTERN"),
        (r"(?=x)", {"use_regex": True}, "INVALID_REGEX_PATTERN"),
        (r"(a)\1", {"use_regex": True}, "INVALID_REGEX_PATTERN"),
        ("((a{100}){10})", {"use_regex": True}, "INVALID_REGEX_PATTERN"),
        ("\ud800", {}, "INVALID_REGEX_PATTERN"),
        ("a*", {"use_regex": True}, "PATTERN_TOO_BROAD"),
        (r"\b", {"use_regex": True}, "PATTERN_TOO_BROAD"),
        ("absent", {}, "NO_MATCHES_FOUND"),
        ("build", {}, "NO_MATCHES_FOUND"),
    ],
)
def test_what_cannot_be_replaced_is_refused_by_its_code(find, options, error_code):
    """And nothing is changed."""
    with pytest.raises((InvalidInput, NotFound)) as refused:
        replaced(document(), find, "x", **options)
    assert refused.value.facts["error_code"] == error_code


@pytest.mark.parametrize("replace", [r"\2", r"\g<nobody>", r"\g<99>"])
def test_a_group_that_there_is_not_is_refused(replace):
    """By its name."""
    with pytest.raises(InvalidInput, match="names the group") as refused:
        replaced(document(), "(B)", replace, use_regex=True)
    assert refused.value.facts["error_code"] == "INVALID_REGEX_PATTERN"


@pytest.mark.parametrize(
    ("find", "replace", "scope", "said"),
    [
        ("", "x", "all", "find has"),
        ("x" * 257, "x", "all", "find has"),
        ("x", "x" * 10_001, "all", "replace has"),
        ("x", "y", "notes", "scope is one of"),
        ("Build part 1.1", " ", "titles", "without a title"),
        ("Do", "y" * 10_000, "descriptions", "more than"),
    ],
)
def test_arguments_out_of_bounds_are_refused(find, replace, scope, said):
    """Also where a title would be empty or a text too long."""
    made = edited({f"{TASK}/metadata/description": "Do " * 20})
    with pytest.raises(InvalidInput, match=said):
        replaced(made, find, replace, scope=scope)


@pytest.mark.parametrize(
    ("find", "letters"),
    [
        ("e", "e" * 20_000),
        (r"a(?s:.*b)?", "a" * 9_000 + "c" * 90_000),
        (r"[ab]*a[ab]{400}c", "ab" * 400_000),
        (r"(a|b|ab)*(bc|c)(x+x+)+y", "ab" * 400_000),
    ],
)
def test_an_expression_that_is_made_to_hang_is_refused(find, letters):
    """After a fixed amount of work."""
    made = edited({f"{TASK}/metadata/description": letters})
    with pytest.raises(CounterpointError) as refused:
        replaced(made, find, "x", use_regex=True)
    assert refused.value.facts["error_code"] in {"PATTERN_TOO_BROAD", "NO_MATCHES_FOUND"}


@given(
    st.one_of(odd_documents(), ANY_JSON),
    st.sampled_from(["B", "e", "é", "(.)", "[a-z]+", ".", "e|", "$"]),
    st.booleans(),
    st.text(max_size=5),
)
def test_any_json_can_be_searched_for_anything(made, find, use_regex, replace):
    """Only the errors that are documented are raised."""
    try:
        found = replaced(made, find, replace, use_regex=use_regex)
    except CounterpointError:
        return
    assert found.as_json()["total_replacements"] > 0


@given(st.text(alphabet="aAbB.\\1", min_size=1, max_size=4), st.text(alphabet="ab\\1", max_size=3))
def test_a_text_is_replaced_as_python_replaces_it(find, replace):
    """Nothing in it is special."""
    said = "aAbB.\\1 abab a.b\\1"
    made = edited({f"{TASK}/metadata/description": said})
    wanted = said.replace(find, replace)
    folded = re.sub(re.escape(find), lambda _: replace, said, flags=re.IGNORECASE)
    for is_exact, expected in ((True, wanted), (False, folded)):
        try:
            found = replaced(made, find, replace, scope="descriptions", case_sensitive=is_exact)
        except NotFound:
            assert expected == said
            continue
        metadata = found.document["hierarchy"]["task-1-1"]["metadata"]
        assert metadata["description"] == expected
