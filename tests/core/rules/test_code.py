"""Source code, cut where functions and classes begin."""

from __future__ import annotations

import pytest

from counterpoint.core.rules.documents import cut, extract, from_pages, is_pdf, suffix_of

PYTHON = """import os

LIMIT = 3


@cached
# Looks twice.
class Lamp:
    size = 1

    async def light(self) -> None:
        pass

    @property
    def colour(self) -> str:
        return "x"


def main():
    Lamp()
"""


def headings(path: str, text: str) -> list[tuple[str, ...]]:
    """Answer the headings of each chunk of a file."""
    read = extract(path, text.encode())
    return [one.headings for one in cut(read.text, markup=read.markup, suffix=suffix_of(path))]


def test_a_chunk_of_code_is_a_function_or_class_with_its_decorators() -> None:
    """Its headings say in what it stands, its lines where."""
    assert headings("src/lamp.py", PYTHON) == [
        (),
        ("class Lamp",),
        ("class Lamp", "async def light(self) -> None"),
        ("class Lamp", "def colour(self) -> str"),
        ("def main()",),
    ]
    read = extract("lamp.PY", PYTHON.encode())
    chunks = cut(read.text, markup=read.markup, suffix="py")
    assert [(one.first_line, one.last_line) for one in chunks] == [
        (1, 3),
        (6, 9),
        (11, 12),
        (14, 16),
        (19, 20),
    ]
    assert chunks[1].text.startswith("@cached\n# Looks twice.\nclass Lamp")


@pytest.mark.parametrize(
    ("name", "text", "first"),
    [
        (
            "a.ts",
            "const x = 1\nexport const add = (a: number) => {\n  return a\n}",
            "export const add = (a: number)",
        ),
        (
            "a.js",
            "x()\nexport default async function run() {\n}",
            "export default async function run()",
        ),
        ("a.go", "package a\nfunc (l *Lamp) Light() error {\n}", "func (l *Lamp) Light() error"),
        (
            "a.rs",
            "use x;\n#[test]\npub(crate) async fn light() {\n}",
            "pub(crate) async fn light()",
        ),
        ("A.java", "package a;\npublic final class Lamp {\n}", "public final class Lamp"),
        ("a.c", "#include <x>\nstatic int light(int a) {\n}", "static int light(int a)"),
        ("a.rb", "x = 1\nmodule Lamp\nend", "module Lamp"),
        ("a.sh", "set -e\nlight() {\n}", "light()"),
        ("a.sql", "-- x\n\ncreate table lamps (\n  id int\n)", "create table lamps"),
    ],
)
def test_definitions_of_many_languages_begin_a_chunk(name: str, text: str, first: str) -> None:
    """By the form of a line; nothing is parsed."""
    assert headings(name, text)[-1] == (first,)


def test_endless_lines_and_depths_take_no_time() -> None:
    """Only the first letters of a line are looked at."""
    assert len(headings("a.ts", "const " + "(" * 200_000)) > 1
    assert headings("a.py", " " * 90_000 + "def x():") == [()]


def test_pages_are_cut_apart_and_numbered() -> None:
    """A page that says the number of another does not count for it."""
    read = from_pages(["First [page 3]", "[page 1]\r\nSecond", ""])
    chunks = cut(read.text, markup=read.markup)
    assert [one.headings for one in chunks] == [("page 1",), ("page 2",), ("page 3",)]
    assert chunks[1].text == "[page 2]\n[page 1]\nSecond"
    assert is_pdf(b"%PDF-1.7 and more")
