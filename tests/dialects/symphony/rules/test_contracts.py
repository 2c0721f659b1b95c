"""Contracts of phases: read strictly, and held against artifacts."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint.dialects.symphony.rules.contracts import (
    Contract,
    artifact_faults,
    artifact_place,
    headings,
    is_phase,
    load_contract,
    missing_sections,
    stray_writes,
)

FULL = """---
version: 3
phase: design
dispatch_profile: architect
artifact_path: docs/tickets/{identifier}/design.md
required_sections: [Current State, Risks]
min_chars: 40
validation: judge
judge_labels: security, api
next_phase: build
allowed_write_globs: ["docs/{identifier}/**"]
max_revisions: 5
---

Design it.
"""
CONTRACT = Contract(
    phase="design",
    version=3,
    profile="architect",
    instructions="Design it.",
    source="design.md",
    digest="d",
    artifact="docs/tickets/{identifier}/design.md",
    sections=("Current State", "Risks"),
    least_characters=40,
    validation="judge",
    judge_labels=("security", "api"),
    next_phase="build",
    write_areas=("docs/{identifier}/**",),
    most_revisions=5,
)
ARTIFACT = "# Design\n\nWhat it is about.\n\n## Current State\n\nAs it is.\n\n## Risks\n\nFew.\n"


def faults(text: str) -> list[str]:
    """Answer what is wrong with a contract, in words."""
    found = load_contract(text, phase="design", source="design.md", digest="d")
    assert isinstance(found, tuple)
    return [str(fault) for fault in found]


def changed(key: str, value: str) -> str:
    """Answer the full contract with another value of a key."""
    return "".join(
        f"{key}: {value}\n" if line.startswith(f"{key}:") else line
        for line in FULL.splitlines(keepends=True)
    )


def test_a_contract_says_all_that_is_asked_for() -> None:
    """Every key has its place; numbers are numbers."""
    assert load_contract(FULL, phase="design", source="design.md", digest="d") == CONTRACT


def test_what_is_not_said_has_a_default() -> None:
    """A version, a role, a path and instructions are enough."""
    text = "---\nversion: 1\ndispatch_profile: a\nartifact_path: '{identifier}.md'\n---\nGo."
    assert load_contract(text, phase="design", source="s", digest="d") == Contract(
        phase="design",
        version=1,
        profile="a",
        instructions="Go.",
        source="s",
        digest="d",
        artifact="{identifier}.md",
        least_characters=100,
        validation="structural",
        most_revisions=3,
    )


@pytest.mark.parametrize("word", ["", "null", "~", "''"])
def test_the_last_phase_leads_nowhere(word: str) -> None:
    """Nothing can be written in several ways."""
    found = load_contract(changed("next_phase", word), phase="design", source="s", digest="d")
    assert isinstance(found, Contract)
    assert found.next_phase == ""


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("version", "'0'", "line 2: 'version' is '0', not a whole number from 1 to 1000000"),
        ("version", "1.0", "line 2: 'version' is '1.0'"),
        ("phase", "build", "line 3: 'phase' is 'build', not 'design' as its file is named"),
        ("phase", "[build]", "line 3: 'phase' is a list"),
        ("dispatch_profile", "", "line 4: 'dispatch_profile' has 0 characters, not 1 to 500"),
        ("artifact_path", "", "line 5: 'artifact_path' has 0 characters"),
        ("artifact_path", "docs/design.md", "line 5: 'artifact_path' is 'docs/design.md', not a"),
        ("artifact_path", "/{identifier}.md", "line 5: 'artifact_path' is '/{identifier}.md'"),
        ("artifact_path", "../{identifier}.md", "line 5: 'artifact_path'"),
        ("artifact_path", "docs//{identifier}.md", "line 5: 'artifact_path'"),
        ("artifact_path", "docs/{identifier}/{name}.md", "line 5: 'artifact_path'"),
        ("artifact_path", "'{identifier}/*.md'", "line 5: 'artifact_path'"),
        ("required_sections", "{a: b}", "line 6: 'required_sections' is a mapping"),
        ("min_chars", "'-1'", "line 7: 'min_chars' is '-1', not a whole number from 0 to 1000000"),
        ("validation", "strict", "line 8: 'validation' is 'strict', not one of structural, judge"),
        ("judge_labels", "[[a]]", "line 9: 'judge_labels' is a list, not a list of texts"),
        ("next_phase", "design", "line 10: 'next_phase' is 'design', not the name of another"),
        ("next_phase", "Build it", "line 10: 'next_phase' is 'Build it', not the name of another"),
        ("max_revisions", "many", "line 12: 'max_revisions' is 'many', not a whole number from 0"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(key: str, value: str, expected: str) -> None:
    """The line, the key, what stands there and what should."""
    (fault,) = faults(changed(key, value))
    assert fault.startswith(expected)


def test_a_key_that_is_misspelled_is_not_passed_over() -> None:
    """It would make the contract weaker than its author thinks; the nearest key is named."""
    found = faults(FULL.replace("required_sections", "required_section").replace("min_", "mute_"))
    assert found[0] == "line 6: 'required_section' is not a key; did you mean 'required_sections'?"
    assert found[1].startswith("line 7: 'mute_chars' is not a key")
    assert faults(FULL.replace("phase: design", "qqqq: design")) == ["line 3: 'qqqq' is not a key"]


def test_what_is_missing_is_named() -> None:
    """A version, a role, a path, instructions; a path is not needed where no form is asked for."""
    assert faults("---\nmin_chars: 1\n---\n") == [
        "there are no instructions below the front matter",
        "line 1: 'version' is missing",
        "line 1: 'dispatch_profile' is missing",
        "line 1: 'artifact_path' is missing",
    ]
    (nothing,) = faults("Design it.")
    assert nothing.startswith("line 1: there is no front matter (begin the file with")
    (unread,) = faults("---\na: b: c\n---\nGo.")
    assert unread.startswith("line 2: mapping values are not allowed")
    text = "---\nversion: 1\ndispatch_profile: a\nvalidation: none\n---\nGo."
    found = load_contract(text, phase="design", source="s", digest="d")
    assert isinstance(found, Contract)
    assert artifact_place(found, "DEM-1") == ""
    assert artifact_faults(found, "") == []


@given(st.text())
def test_any_text_is_a_contract_or_has_faults(text: str) -> None:
    """Reading never fails in another way."""
    for whole in (text, f"---\n{text}\n---\nGo."):
        assert load_contract(whole, phase="design", source="s", digest="d")


@pytest.mark.parametrize("name", ["", "Design", "1st", "a b", "../a", "a" * 65, "a/b"])
def test_a_phase_has_a_plain_name(name: str) -> None:
    assert is_phase("design-2_b")
    assert not is_phase(name)


def test_an_artifact_lies_where_its_item_says() -> None:
    """The identifier of the item stands in the path."""
    assert artifact_place(CONTRACT, "DEM-7") == "docs/tickets/DEM-7/design.md"


def test_only_the_artifact_and_the_areas_may_be_written() -> None:
    """Everything else is stray, and so are the files of other items."""
    wanted = ["docs/tickets/DEM-7/design.md", "docs/DEM-7/a/b.png"]
    stray = ["src/a.py", "docs/DEM-8/a.png", "docs/tickets/DEM-7/design.md.bak"]
    assert stray_writes(CONTRACT, "DEM-7", wanted + stray) == stray
    open_to_all = replace(CONTRACT, write_areas=("**",))
    assert stray_writes(open_to_all, "DEM-7", stray) == []
    closed = replace(CONTRACT, write_areas=())
    assert stray_writes(closed, "DEM-7", wanted) == ["docs/DEM-7/a/b.png"]


def test_an_artifact_of_the_right_form_has_no_faults() -> None:
    """Titles are compared without letter case, blanks, hyphens and underscores."""
    assert artifact_faults(CONTRACT, ARTIFACT) == []
    assert artifact_faults(CONTRACT, ARTIFACT.replace("Current State", "current-STATE_")) == []
    assert artifact_faults(replace(CONTRACT, sections=("current_state", "RISKS")), ARTIFACT) == []


def test_all_that_an_artifact_lacks_is_said_at_once() -> None:
    """Both lengths, the headings, and the names of the sections as the contract writes them."""
    assert artifact_faults(CONTRACT, "  short\n\n") == [
        "the artifact has 5 characters, at least 40 are needed",
        "the artifact has no Markdown heading (# or ##)",
        "the artifact has no section (##) for: Current State, Risks",
    ]


@given(st.integers(0, 60), st.text(" \n\t", max_size=9))
def test_length_counts_without_the_blanks_around(length: int, blanks: str) -> None:
    """One character more or less decides."""
    text = blanks + ("# " + "x" * length)[:length].strip() + blanks
    real = len(text.strip())
    contract = replace(CONTRACT, least_characters=real + 1, sections=())
    assert f"has {real} characters, at least {real + 1}" in artifact_faults(contract, text)[0]
    exact = artifact_faults(replace(contract, least_characters=real), text)
    assert not any("characters" in fault for fault in exact)


@pytest.mark.parametrize("level", ["#", "###", "####"])
def test_a_section_is_a_heading_of_the_second_level(level: str) -> None:
    """A title or a part of a section is none."""
    found = artifact_faults(CONTRACT, ARTIFACT.replace("## Risks", f"{level} Risks"))
    assert found == ["the artifact has no section (##) for: Risks"]


def test_deep_headings_alone_are_not_enough() -> None:
    """A text has a title or sections."""
    contract = replace(CONTRACT, sections=(), least_characters=0)
    assert artifact_faults(contract, "### Deep") == [
        "the artifact has no Markdown heading (# or ##)"
    ]
    assert artifact_faults(contract, "## Section") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# One\n## Two ##\n### Three #\n", [(1, "One"), (2, "Two"), (3, "Three")]),
        ("   # In\n    # Code\n", [(1, "In")]),
        ("#No\n#\n## \n# #\n####### Seven\n", [(1, ""), (2, ""), (1, "")]),
        ("# C# and F#\n#\tTab\r\n", [(1, "C# and F#"), (1, "Tab")]),
        ("```\n# no\n```\n# yes\n", [(1, "yes")]),
        ("~~~ python\n# no\n```\n# no\n~~~~\n# yes\n", [(1, "yes")]),
        ("````\n# no\n```\n# no\n```` x\n# no\n````\n# yes", [(1, "yes")]),
        ("``` a`b\n# yes\n", [(1, "yes")]),
        ("```\n# never ends\n", []),
        ("<!--\n# no\n```\n-->\n# yes\n", [(1, "yes")]),
        ("<!-- one line -->\n# yes\n", [(1, "yes")]),
        ("```\n<!--\n```\n# yes\n", [(1, "yes")]),
    ],
)
def test_headings_are_those_that_a_reader_sees(text: str, found: list[tuple[int, str]]) -> None:
    """What stands in code or in a comment is none."""
    assert list(headings(text)) == found


@given(st.lists(st.text("ab c-_", min_size=1).filter(lambda text: text.strip(" -_")), max_size=5))
def test_sections_that_are_there_are_never_missing(sections: list[str]) -> None:
    """Whatever their names, and in whatever order."""
    found = [(2, section.upper()) for section in reversed(sections)]
    assert missing_sections(sections, found) == []
    assert missing_sections(sections, []) == sections


@pytest.mark.parametrize("line", ["#" + " " * 200_000 + "x", "# " + "# " * 100_000, "`" * 200_000])
def test_a_long_line_is_looked_at_once(line: str) -> None:
    """A text that is made to be slow is not."""
    begun = time.monotonic()
    assert len(list(headings(line))) < 2
    assert time.monotonic() - begun < 1
