"""Memory files: names, sizes and the budget of what is offered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.rules.notebooks import Page, check, newest_first, select_pages
from counterpoint.kernel.errors import InvalidInput

pages = st.lists(
    st.builds(
        Page,
        scope=st.sampled_from(["project", "global"]),
        name=st.from_regex(r"[a-z]{1,3}\.md", fullmatch=True),
        content=st.integers(0, 40).map(lambda n: "x" * n),
        updated_at=st.sampled_from(["2026-01-01", "2026-01-02", "2026-01-03"]),
    ),
    max_size=8,
)


@pytest.mark.parametrize("name", ["codebase-notes.md", "A_1.md", "-.md", "x" * 97 + ".md"])
def test_plain_names_are_accepted(name):
    """Letters, digits, hyphens and underscores, then .md; 10,000 characters of content."""
    check(name, "x" * 10_000)


@pytest.mark.parametrize(
    "name",
    [
        "../x.md", "x.txt", "x.md\n", ".md", "", "a b.md", "x.MD", "é.md", "a/b.md", "x.md.md",
        "x" * 98 + ".md", "x\0.md", "..md",
    ],
)  # fmt: skip
def test_other_names_are_refused(name):
    """No way out of the folder, no other kind of file."""
    with pytest.raises(InvalidInput):
        check(name, "")


def test_a_long_content_is_refused_with_the_name():
    with pytest.raises(InvalidInput) as refusal:
        check("../" + "x" * 100, "x" * 10_001)
    assert refusal.value.message.count(";") == 2
    assert "has 10001 characters" in refusal.value.message


@given(pages=pages, files=st.integers(0, 4), room=st.integers(0, 80))
def test_an_offer_keeps_its_budget_and_names_the_rest(pages, files, room):
    """Newest first; what was left out did not fit when its turn came."""
    made = select_pages(pages, files=files, characters=room)
    assert len(made.pages) <= files
    assert sum(len(page.content) for page in made.pages) <= room
    ordered = newest_first(pages)
    assert sorted([*made.pages, *made.left_out], key=ordered.index) == sorted(
        pages, key=ordered.index
    )
    assert [page.updated_at for page in ordered] == sorted(
        (page.updated_at for page in pages), reverse=True
    )
    left = room
    given_ = 0
    for page in ordered:
        fits = given_ < files and len(page.content) <= left
        assert page in (made.pages if fits else made.left_out)
        left -= len(page.content) * fits
        given_ += fits


def test_the_usual_budget_is_twenty_files_and_fifty_thousand_characters():
    def many(size):
        return [
            Page(scope="project", name=f"n{n}.md", content="x" * size, updated_at=f"{n:03}")
            for n in range(30)
        ]

    assert len(select_pages(many(10_000)).pages) == 5
    assert [page.name for page in select_pages(many(10)).pages] == [
        f"n{n}.md" for n in range(29, 9, -1)
    ]
    assert select_pages([]).pages == ()
