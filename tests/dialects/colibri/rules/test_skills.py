"""One skill: what the format allows is read, and all that is wrong is said by line."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.core.rules.frontmatter import TextFault
from counterpoint.dialects.colibri.rules.skills import CAPABILITIES, LETTERS, Skill, load_skill
from counterpoint.kernel.clock import Timestamp

NOW = Timestamp("2026-01-02T03:04:05.000Z")
FULL = """---
name: code-review
description: "Reviews changes: use it before a merge."
license: MIT
compatibility: Needs git
metadata: {author: ada, rounds: 1.10}
allowed-tools: Read Grep Bash(git add:*)
version: 1.10
entrypoint: scripts/run.py
capabilities: [read, audit]
greekLetter: ζ
tier: 2
invokable_by:
  - planner
---
# Review

Look twice.
"""
PARTS = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=15)
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("-".join)
LINES = st.text(
    st.characters(codec="ascii", categories=["L", "N", "P", "Z"]), min_size=1, max_size=200
).filter(str.strip)


def read(text: str, folder: str = "code-review") -> Skill | tuple[TextFault, ...]:
    """Read a skill of a folder."""
    return load_skill(
        text, folder=folder, source=f"skills/{folder}/SKILL.md", digest="d", loaded_at=NOW
    )


def faults(*lines: str, folder: str = "code-review") -> list[str]:
    """Answer what is wrong with front matter, in words."""
    found = read("\n".join(["---", *lines, "---", "Body"]), folder)
    assert isinstance(found, tuple)
    return [str(fault) for fault in found]


def test_a_skill_says_all_that_the_format_knows() -> None:
    """Texts stay texts, lists are lists, and strange keys are kept as they were written."""
    skill = read(FULL)
    assert isinstance(skill, Skill)
    assert skill == Skill(
        name="code-review",
        description="Reviews changes: use it before a merge.",
        source="skills/code-review/SKILL.md",
        body="# Review\n\nLook twice.\n",
        digest="d",
        loaded_at=NOW,
        license="MIT",
        compatibility="Needs git",
        allowed_tools=("Read", "Grep", "Bash(git add:*)"),
        metadata={"author": "ada", "rounds": "1.10"},
        version="1.10",
        entrypoint="scripts/run.py",
        capabilities=("read", "audit"),
        letter="ζ",
        front_matter=skill.front_matter,
    )
    assert skill.front_matter["tier"] == "2"
    assert skill.front_matter["invokable_by"] == ["planner"]
    assert next(iter(skill.front_matter)) == "name"


@given(NAMES.filter(lambda name: len(name) <= 64), LINES)
def test_every_skill_of_the_format_is_read(name: str, description: str) -> None:
    """A name of parts between hyphens and any line that describes it."""
    skill = read(f"---\nname: {name}\ndescription: {json.dumps(description)}\n---\n", name)
    assert isinstance(skill, Skill)
    assert (skill.name, skill.description) == (name, description.strip())


@given(st.text(max_size=80))
def test_no_other_name_is_read(name: str) -> None:
    """A name is taken if and only if it has the form and is that of its folder."""
    text = f"---\nname: {json.dumps(name)}\ndescription: x\n---\n"
    parts = name.strip().split("-")
    letters = set(string.ascii_lowercase + string.digits)
    is_right = all(part and set(part) <= letters for part in parts) and len(name.strip()) <= 64
    assert isinstance(read(text, name.strip()), Skill) == is_right
    assert isinstance(read(text, "other-folder"), tuple)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], "there is no front matter"),
        (["name: [a"], "line 3: did not find expected ',' or ']'"),
        (["name: code-review"], "line 1: 'description' is missing"),
        (["name: Code", "description: x"], "line 2: 'name' is 'Code', not lower-case letters"),
        (["name: a--b", "description: x"], "line 2: 'name' is 'a--b', not lower-case letters"),
        (["name: other", "description: x"], "line 2: 'name' is 'other', not 'code-review'"),
        (["name: ''", "description: x"], "line 2: 'name' has 0 characters, not 1 to 64"),
        (["name: [a]", "description: x"], "line 2: 'name' is a list, not one text"),
        (["name: code-review", "description: {a: b}"], "line 3: 'description' is a mapping"),
        (["name: code-review", "description: "], "line 3: 'description' has 0 characters"),
        (["name: code-review", f"description: {'x' * 1025}"], "1025 characters, not 1 to 1024"),
        (["compatibility: " + "x" * 501], "line 2: 'compatibility' has 501 characters, not 0"),
        (["metadata: a"], "line 2: 'metadata' is not a mapping of texts to texts"),
        (["metadata: {a: [b]}"], "line 2: 'metadata' is not a mapping of texts to texts"),
        (["allowed-tools: {a: b}"], "line 2: 'allowed-tools' is a mapping, not a list of texts"),
        (["version: [1]"], "line 2: 'version' is a list, not one text"),
        (["capabilities: [read, fly]"], "line 2: 'capabilities' has 'fly'; there are read, write"),
        (["greekLetter: ω"], "line 2: 'greekLetter' is 'ω', not one of "),
        (["greekLetter: αβ"], "line 2: 'greekLetter' is 'αβ', not one of "),
    ],
)
def test_what_is_wrong_is_said_with_its_line(lines: list[str], expected: str) -> None:
    """The line, the key, what stands there and what should."""
    assert any(expected in fault for fault in faults(*lines)), faults(*lines)


def test_all_that_is_wrong_is_said_at_once() -> None:
    """One look at the report is enough to mend a file; faults come by line."""
    found = read(
        "---\nname: Wrong\nversion: [1]\ngreekLetter: q\ncapabilities: [x]\nmetadata: no\n---\n"
    )
    assert isinstance(found, tuple)
    assert [fault.line for fault in found] == [1, 2, 2, 3, 4, 5, 6]


def test_an_unquoted_colon_is_explained() -> None:
    """The fault that is made most often comes with its remedy."""
    (fault,) = faults("name: code-review", "description: Reviews: everything")
    assert fault == (
        "line 3: mapping values are not allowed in this context "
        "(Put a value that contains `: ` in quotes)"
    )


@pytest.mark.parametrize(
    ("written", "tools"),
    [
        ("Read Grep", ("Read", "Grep")),
        ("Read, Bash(git log:*), Grep", ("Read", "Bash(git log:*)", "Grep")),
        ("[Read, 'Bash(git log:*)']", ("Read", "Bash(git log:*)")),
        ("", ()),
        ("Bash(git", ("Bash(git",)),
    ],
)
def test_tools_are_written_in_several_ways(written: str, tools: tuple[str, ...]) -> None:
    """Between blanks, between commas, or as a list."""
    skill = read(f"---\nname: code-review\ndescription: x\nallowed-tools: {written}\n---\n")
    assert isinstance(skill, Skill)
    assert skill.allowed_tools == tools


@pytest.mark.parametrize("letter", LETTERS)
def test_each_letter_is_known(letter: str) -> None:
    """There are fifteen of them."""
    skill = read(f"---\nname: code-review\ndescription: x\ngreekLetter: {letter}\n---\n")
    assert isinstance(skill, Skill)
    assert skill.letter == letter
    assert len(LETTERS) == 15


@given(st.lists(st.sampled_from(CAPABILITIES)))
def test_capabilities_are_a_set_in_the_order_written(words: list[str]) -> None:
    """A word that is written twice counts once."""
    text = f"---\nname: code-review\ndescription: x\ncapabilities: {json.dumps(words)}\n---\n"
    skill: Any = read(text)
    assert skill.capabilities == tuple(dict.fromkeys(words))


@given(st.text())
def test_any_text_is_a_skill_or_has_faults(text: str) -> None:
    """Reading never fails in another way."""
    for whole in (text, f"---\n{text}\n---\n"):
        assert read(whole)
