"""Markdown as lines: what each is, what holds it, and what never ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.rules.planning.markdown import (
    NESTING_LIMIT,
    escape_comments,
    parse_markdown,
    split_lines,
    task_in,
    without_comments,
)

PIECES = [
    "# T", "- [ ] a", "  - [x] b", "    - [~] c", "\t- [ ] d", "- e", "1. [ ] f", "```", "~~~", "````", "<!--", "-->",
    "<!-- g -->", "    h", "", "> - [ ] i", "---", "===", "<details>", "- - [ ] j", "-     [ ] k", "\u3000- [ ] l", "words",
    "- <!--", "* [\u00a0] m", "[x] n", "- ```", "<pre>", "- [] o",
]  # fmt: skip


def kinds_of(text):
    """Answer what each line is."""
    return [line.kind for line in parse_markdown(text).lines]


def boxes_of(text):
    """Answer the mark, the words and the depth of each box."""
    return [
        (line.mark, line.words, line.depth) for line in parse_markdown(text).lines if line.is_box
    ]


def like_tasks(text):
    """Answer the numbers of the lines that look like tasks and are none."""
    return [line.number for line in parse_markdown(text).lines if line.is_like_task]


@given(text=st.text(max_size=200))
def test_no_text_breaks_it_and_no_line_is_lost(text):
    lines = parse_markdown(text).lines
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))
    assert len(lines) == len(split_lines(text.removeprefix("\ufeff")))


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=9))
def test_what_has_a_box_is_a_box_or_looks_like_a_task_unless_nobody_sees_it(pieces):
    """In every mixture of blocks: only a fence or a comment that ends hides one."""
    for line in parse_markdown("\n".join(pieces)).lines:
        if "[ ] " in line.text or "[x] " in line.text:
            is_hidden = line.kind in {"fence", "comment"} and not line.is_unfinished
            nested = line.text.startswith("- - ")
            assert line.is_box or line.is_like_task or is_hidden or nested


@pytest.mark.parametrize(
    ("text", "boxes"),
    [
        ("- [ ] a\n* [x] b\n+ [X] c", [(" ", "a", 1), ("x", "b", 1), ("X", "c", 1)]),
        ("1. [-] a\n2) [?] b", [("-", "a", 1), ("?", "b", 1)]),
        ("- [~] a\n- [/] b\n- [>] c", [("~", "a", 1), ("/", "b", 1), (">", "c", 1)]),
        ("- [写] a\n- [✔️] b", [("写", "a", 1), ("✔️", "b", 1)]),
        ("- [\u00a0] a\n-\u3000[ ] b\n- [x]\u2003c", [(" ", "a", 1), (" ", "b", 1), ("x", "c", 1)]),
        ("- [ ] a\n\u00a0\u00a0- [ ] b", [(" ", "a", 1), (" ", "b", 2)]),
        ("- [ ] a\n\t- [ ] b\n\t\t- [ ] c", [(" ", "a", 1), (" ", "b", 2), (" ", "c", 3)]),
        ("- [ ] a\n\n    - [ ] b", [(" ", "a", 1), (" ", "b", 2)]),
        ("- group\n  - [ ] a", [(" ", "a", 2)]),
        ("- - [x] a", [("x", "a", 2)]),
        ("- [ ]\n- [x]", [(" ", "", 1), ("x", "", 1)]),
        ("- [ab] a\n- [x](y)\n- [x]: y\n- \\[ ] a\n\\- [ ] b", []),
        ("\ufeff- [ ] a\r\n- [ ] b\r- [ ] c", [(" ", "a", 1), (" ", "b", 1), (" ", "c", 1)]),
    ],
)
def test_a_box_begins_a_list_item(text, boxes):
    assert boxes_of(text) == boxes


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("- [] a", [1]),
        ("-[ ] a", [1]),
        ("- [x]a", [1]),
        ("- [  ] a", [1]),
        ("[ ] a\n\n[x] b", [1, 3]),
        ("• [ ] a\n\n– [ ] b\n\na) [x] c", [1, 3, 5]),
        ("- ☐ a\n- ☑ b", [1, 2]),
        ("-\u200b[ ] a", [1]),
        ("words\n\n    - [ ] a", [3]),
        ("-     [ ] a", [1]),
        ("- [ ] a\n        - [ ] b", [2]),
        ("text\n2. [ ] a", [2]),
        ("> - [ ] a\n> > * [x] b", [1, 2]),
        ("<details>\n- [ ] a\n</details>", [2]),
        ("<pre>\n\n- [ ] a\n", [3]),
        ("<!-- a --> - [ ] b", [1]),
        ("```\n- [ ] a\n", [2]),
        ("<!--\n- [ ] a\n", [2]),
        ("- [ ] a\n  ```\nx\n  ```\n- [ ] b", [5]),
        ("```\n- [ ] a\n```", []),
        ("````\n```\n- [ ] a\n````", []),
        ("```\n~~~\n- [ ] a\n```", []),
        ("<!--\n\n- [ ] a\n\n-->", []),
        ("- [x](y)\n- [a]: b\n[a]: b\n- [ab] c\n\\- [ ] d\n- \\[ ] e\n[1] f", []),
    ],
)
def test_what_only_looks_like_a_task_is_told_apart(text, numbers):
    """A wrong form, a place where none can stand, and what never ends; not what is an example."""
    assert like_tasks(text) == numbers


def test_a_task_is_read_from_what_looks_like_one():
    assert task_in("  -[x] a b") == ("x", "a b")
    assert task_in("• ☑ a") == ("x", "a")
    assert task_in("[ ] a") == ("", "a")
    assert task_in("words") == ("", "")


def test_headings_have_both_forms():
    """With closing signs or without, and words on several lines above an underline; never within a list."""
    document = parse_markdown("# A ##\n#B\nC\nD\n===\nE\n---\n- ## F\n#\n## C#")
    heads = [(line.number, line.level, line.words) for line in document.headings]
    assert heads == [(1, 1, "A"), (2, 1, "#B C D"), (6, 2, "E"), (9, 1, ""), (10, 2, "C#")]
    assert [line.kind for line in document.lines][2:5] == ["underline"] * 3


@pytest.mark.parametrize(
    ("text", "unfinished"),
    [
        ("a\n```\nb", [(2, "fence")]),
        ("```\na\n~~~", [(1, "fence")]),
        ("````\na\n```", [(1, "fence")]),
        ("```\n    ```", [(1, "fence")]),
        ("- a\n  ```\n  b\nc", [(2, "fence")]),
        ("<!-- a\n- [ ] b", [(1, "comment")]),
        ("- a\n  <!--\nb -->", [(2, "comment")]),
        ("- ```", [(1, "fence")]),
        ("```\na\n```\n- a\n\n  ~~~\n  b\n  ~~~~\n<!-- a\n\nb -->", []),
    ],
)
def test_what_never_ends_is_told_with_its_first_line(text, unfinished):
    assert [(one.line, one.what) for one in parse_markdown(text).unfinished] == unfinished


def test_each_line_is_of_a_kind():
    text = "a\n\n    b\n\n> c\n\n<!-- d --> e\n***\n<div>\n\n- f\n  ```\n  g\n  ```"
    assert kinds_of(text) == [
        "text", "blank", "code", "blank", "quote", "blank", "text", "rule", "html", "blank", "item", "fence", "fence", "fence",
    ]  # fmt: skip
    assert parse_markdown(text).lines[6].text == "e"
    assert parse_markdown("<div>\n## a").lines[1].is_hidden_heading


def test_a_line_knows_the_list_items_around_it():
    """By their lines and the columns of their text; lines are counted from where the text begins."""
    document = parse_markdown("-   a\n    - b\n      c\n", first_line=11)
    assert [[(one.line, one.column) for one in line.holders] for line in document.lines] == [
        [(11, 4)],
        [(11, 4), (12, 6)],
        [(11, 4), (12, 6)],
    ]
    assert document.lines[2].text_from(6) == "c"
    assert document.lines[2].text_from(2) == "    c"


def test_lists_that_lie_too_deep_are_text_that_looks_like_tasks():
    count = NESTING_LIMIT + 20
    text = "\n".join(f"{'  ' * depth}- [ ] a" for depth in range(count))
    lines = parse_markdown(text).lines
    assert all(line.is_box or line.is_like_task for line in lines)
    assert sum(line.is_box for line in lines) >= NESTING_LIMIT


@pytest.mark.parametrize(
    ("text", "seen", "is_open"),
    [
        ("a <!-- b --> c", "a  c", False),
        ("a `<!-- b -->` c <!--d-->", "a `<!-- b -->` c ", False),
        ("a ``<!-- ` -->`` b", "a ``<!-- ` -->`` b", False),
        ("a \\<!-- b", "a <!-- b", False),
        ("a <!-- b", "a <!-- b", True),
        ("a ` <!-- b -->", "a ` ", False),
        ("plain", "plain", False),
    ],
)
def test_comments_within_a_line_are_taken_out(text, seen, is_open):
    assert without_comments(text) == (seen, is_open)


@given(text=st.text(st.sampled_from("<!->`\\ a")))
def test_a_text_without_comments_is_read_back(text):
    assert without_comments(escape_comments(text)) == (text, False)
