"""Texts that are made to be slow: each takes a time that grows with it and no faster.

A text of so many letters would take hours with a time that grows with the square: the test would not end.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import pytest

from counterpoint.core.rules import areas, documents, outline, secrets
from counterpoint.core.rules.planning import markdown as markdown_lines
from counterpoint.core.rules.templating import filling
from counterpoint.dialects.colibri.rules import skills
from counterpoint.dialects.symphony.rules import contracts, diffs
from counterpoint.evidence import hashes, ignores
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import CounterpointError
from counterpoint.kernel.yamltext import read_front_matter

if TYPE_CHECKING:
    from collections.abc import Callable

LONG: Final = 100_000
MANY: Final = 25_000
UNITS: Final = (
    " ",
    "#",
    " #",
    "\\",
    "{#",
    "`",
    "*",
    "- ",
    "[",
    "(",
    '\\"',
    "<",
    "<a ",
    "<!--",
    "&#",
)

LINES: Final[dict[str, Callable[[str], object]]] = {
    "a heading of a plan": lambda text: outline.load(f"# a{text}b"),
    "an attribute of a plan": lambda text: outline.load(f"# a\n- after: x{text}b"),
    "a task of a plan": lambda text: outline.load(f"# a\n- [ ] a{text}b"),
    "a command": lambda text: outline.load(f"# a\n- verify: a{text}b"),
    "a text of a plan": lambda text: outline.plain(text + "b"),
    "a heading of a document": lambda text: documents.cut(f"# a{text}b", markup="markdown"),
    "a page": lambda text: documents.extract("a.html", f"<p>{text}b".encode()),
    "a contract's artifact": lambda text: list(contracts.headings(f"# a{text}b\n{text}b")),
    "a diff": lambda text: diffs.parse(f'diff --git "{text} b'),
    "a template": lambda text: filling.fill_markdown("{{ a=b }}" + text, {}),
    "Markdown": lambda text: markdown_lines.parse_markdown(f"{text}b\n" * 3),
    "comments in a line": lambda text: markdown_lines.without_comments(f"{text}<!-- a"),
    "a skill": lambda text: skills.load_skill(
        f"---\nname: a\nallowed-tools: a{text}\n---",
        folder="a",
        source="",
        digest="",
        loaded_at=Timestamp(""),
    ),
    "front matter": lambda text: read_front_matter(f"---\na: b{text}\n---\n{text}"),
    "an ignore file": lambda text: ignores.read(text).judge("a" * 200, folder=False),
    "masking": lambda text: secrets.mask(f"secret={text}", frozenset({"known-value"})),
}


@pytest.mark.parametrize("what", LINES)
def test_a_text_made_to_be_slow_is_read_before_the_test_ends(what: str) -> None:
    """Whatever it repeats: blanks, brackets, signs of headings, lists and quotes."""
    for unit in UNITS:
        with suppress(CounterpointError):
            LINES[what](unit * (LONG // len(unit)))


def test_many_lines_beside_each_other_are_read_before_the_test_ends() -> None:
    """Attributes, rows of a table, tags and parts of a long line are put together once."""
    found = outline.load("# a\n" + "- accept: x\n" * 20_000)
    assert len(found.acceptance) == 20_000
    assert documents.extract("a.csv", b"," * MANY + b"\n" + b"a\n" * MANY).text
    assert documents.extract("a.html", b"<b>x</b>" * MANY).text == "x" * MANY
    assert len(documents.cut("a" * 20 * MANY)) > MANY // 100
    assert filling.fill_markdown("{{ a=b }} " * MANY, {}).count("b") == MANY


def test_areas_made_to_be_slow_are_compared_before_the_test_ends() -> None:
    """As many stars as letters, as many folders as a path can have, on both sides."""
    assert not areas.overlaps("*a" * MANY + "c", "*b" * MANY)
    assert areas.overlaps("*a" * MANY, "*b" * MANY + "*")
    assert not areas.overlaps("*a" * (MANY // 10) + "b", "?a" * (MANY // 10))
    assert not areas.overlaps("a/" * MANY + "b", "a/" * MANY + "c/**")
    assert areas.covers("**/a/*/" * (MANY // 100) + "b", "a/" * MANY + "b")
    assert not areas.covers("*a" * (MANY // 10) + "b", "a" * MANY)


def test_an_ignore_file_made_to_be_slow_is_read_and_asked_before_the_test_ends() -> None:
    """Names and ways with many stars; what is beyond its limit is not heard, and that is known."""
    name = "a" * 255
    lines = ["*a" * 120 + "b", "**/" + "*a" * 120 + "b/**/x", "[!a]" * 200, "[" * MANY, "a" * 255]
    found = ignores.read("\n".join(lines * 10))
    assert found.judge(f"{name}/{name}", folder=False) is True
    assert found.judge("b" * 200, folder=False) is True
    assert found.judge("a/" * 2000 + "c", folder=False) is None
    assert found.is_whole
    assert not ignores.read("a*\n" * (ignores.MOST_WILD + 1)).is_whole


def test_equal_files_of_many_names_are_paired_before_the_test_ends() -> None:
    """None is looked for among all the others."""
    before = {f"a/{number}": "same" for number in range(20_000)}
    after = {f"b/{20_000 - number}": "same" for number in range(20_000)}
    assert len(hashes.renames(before, after)) == 20_000
