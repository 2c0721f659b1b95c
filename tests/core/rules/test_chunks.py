"""Chunks of documents: nothing lost, nothing too long, every line where it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.rules.documents import cut

lines = st.sampled_from(
    [
        "",
        " ",
        "# Title",
        "## Part ##",
        "plain words here",
        "x" * 30,
        "word " * 12,
        "```",
        "===",
        "---",
    ]
)
documents = st.lists(lines, max_size=40).map("\n".join)
markups = st.sampled_from(["markdown", "rst", "plain"])


def words(text):
    """Answer what a text says, without its blanks."""
    return "".join(text.split())


@given(text=documents, markup=markups, size=st.integers(20, 90), share=st.integers(0, 2))
def test_every_chunk_fits_and_nothing_is_lost(text, markup, size, share):
    """Sizes hold, lines are counted right, and each line is in some chunk."""
    overlap = size * share // 5
    chunks = cut(text, markup=markup, size=size, overlap=overlap)
    whole = text.split("\n")
    covered: dict[int, str] = {}
    for chunk in chunks:
        assert 0 < len(chunk.text) <= size
        assert chunk.text.strip()
        meant = whole[chunk.first_line - 1 : chunk.last_line]
        assert words(chunk.text) in words("".join(meant))
        for number in range(chunk.first_line, chunk.last_line + 1):
            covered[number] = covered.get(number, "") + chunk.text
    for number, line in enumerate(whole, 1):
        for word in line.split():
            if len(word) < size - overlap - 1:
                assert word in covered[number]


@given(text=documents, size=st.integers(200, 400))
def test_whole_lines_stand_in_a_chunk_as_in_the_document(text, size):
    whole = [line.rstrip() for line in text.split("\n")]
    for chunk in cut(text, markup="markdown", size=size, overlap=50):
        assert chunk.text == "\n".join(whole[chunk.first_line - 1 : chunk.last_line])


@given(text=documents, other=documents)
def test_an_edit_elsewhere_leaves_the_chunks_of_a_section(text, other):
    section = "# Kept section of its own\n" + "kept words " * 5
    texts = {chunk.text for chunk in cut(section, markup="markdown")}
    text, other = (part.replace("```", "") for part in (text, other))
    for before in (text, other):
        found = {chunk.text for chunk in cut(f"{before}\n\n{section}", markup="markdown")}
        assert texts <= found


def present(text, markup):
    """Answer headings and first line of each chunk."""
    return [(chunk.headings, chunk.first_line) for chunk in cut(text, markup=markup)]


def test_a_markdown_document_is_cut_at_its_headings():
    """Titles above a row of signs count too; in a fence all is text."""
    text = (
        "intro\n\n# One\na\n## Two #\nb\n```\n# no\n```\n# Three\nc\n\nFour\n====\nd\n\nFive\n---\n"
        "e\nwords\n---\n#hash\n"
    )
    assert present(text, "markdown") == [
        ((), 1),
        (("One",), 3),
        (("One", "Two"), 5),
        (("Three",), 10),
        (("Four",), 13),
        (("Four", "Five"), 17),
    ]
    assert present(text, "plain") == [((), 1)]


def test_a_longer_fence_is_closed_by_its_like():
    """Three marks inside of four are text."""
    assert present("````\n```\n# no\n````\n# yes\n", "markdown") == [((), 1), (("yes",), 5)]


def test_a_rst_document_is_cut_at_its_rows_of_signs():
    """Their signs rank in the order they come; a row that is too short is none."""
    text = "=====\nTitle\n=====\n\nx\n\nPart\n----\ny\n\nNext\n----\nz\n\nLonger title\n---\nq\n"
    assert present(text, "rst") == [
        ((), 1),
        (("Title",), 2),
        (("Title", "Part"), 7),
        (("Title", "Next"), 11),
    ]


def test_chunks_end_at_paragraphs_and_overlap():
    """The cut is at the empty line of the second half; the next one repeats the last line."""
    text = "\n".join(["a" * 20, "b" * 20, "", "c" * 20, "d" * 20])
    chunks = cut(text, size=70, overlap=22)
    assert [(chunk.first_line, chunk.last_line) for chunk in chunks] == [(1, 2), (2, 5)]
    plain = cut("\n".join("x" * 20 for _ in range(5)), size=70, overlap=0)
    assert [(chunk.first_line, chunk.last_line) for chunk in plain] == [(1, 3), (4, 5)]


def test_a_chunk_never_repeats_all_of_the_one_before():
    """Even where the whole of it would fit into the overlap."""
    text = "a\nb\n\n" + "x" * 50 + "\n" + "y" * 50
    chunks = cut(text, size=60, overlap=5)
    assert [(chunk.first_line, chunk.last_line) for chunk in chunks] == [(1, 2), (2, 4), (5, 5)]


@pytest.mark.parametrize("text", ["", "\n\n", "  \n\t"])
def test_an_empty_document_has_no_chunks(text):
    assert cut(text) == []


def test_a_long_line_is_cut_at_its_blanks():
    """Or anywhere, if it has none; all parts carry its number."""
    chunks = cut("one two three four five " * 4, size=40, overlap=5)
    assert all(chunk.first_line == chunk.last_line == 1 for chunk in chunks)
    assert all(
        chunk.text.endswith(("one ", "two ", "three ", "four ", "five ", "five"))
        for chunk in chunks
    )
    assert [len(chunk.text) for chunk in cut("x" * 100, size=40, overlap=5)] == [34, 34, 32]
