"""The head of a spec, read and changed."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent
from counterpoint.dialects.foundry.models.specs import (
    ASSUMPTIONS,
    CONSTRAINTS,
    LISTS,
    RISKS,
    SpecList,
)
from counterpoint.dialects.foundry.specs.operations import Frontmatter, Specs
from counterpoint.kernel.canonical import Json
from counterpoint.kernel.errors import Conflict, InvalidInput, NotFound

SPEC = "export-2026-01-02-001"


@pytest.fixture
def front(ada: Agent, root: str) -> Frontmatter:
    """Answer the verbs for the head of a spec."""
    assert root
    return ada.core.use(Frontmatter)


def _document(agent: Agent) -> dict[str, Any]:
    return agent.core.use(Specs).document(SPEC)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mission", "Another"),
        ("description", "All of it"),
        ("category", "decision"),
        ("objectives", ["One", {"text": "Two"}]),
        ("risks", [{"description": "It breaks", "impact": "low"}]),
        ("team", {"lead": "ada", "size": 3, "days": [1, 2.5, None, True]}),
        ("budget", 12.5),
    ],
)
def test_metadata_is_put_and_taken_away(
    front: Frontmatter, ada: Agent, key: str, value: Json
) -> None:
    """Any JSON under a key of its own is read back as it was given; what was there before is told."""
    before = _document(ada)["metadata"].get(key)
    assert front.put(SPEC, key, value, dry_run=True).before == before
    assert _document(ada)["metadata"].get(key) == before
    put = front.put(SPEC, key, value)
    assert (put.spec, put.before, put.value) == (SPEC, before, value)
    assert _document(ada)["metadata"][key] == value
    assert front.put(SPEC, key, None).before == value
    assert key not in _document(ada)["metadata"]


def test_the_title_of_a_spec_is_that_of_its_item(front: Frontmatter, ada: Agent, root: str) -> None:
    """Whoever looks in another dialect sees it too."""
    assert front.put(SPEC, "title", "Import").before == "Export"
    assert ada.core.items.get(root).title == _document(ada)["title"] == "Import"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("status", "bogus"),
        ("progress_percentage", 100),
        ("hierarchy", {}),
        ("spec_id", "other"),
        ("revision_history", []),
        ("depends", ["demo-1"]),
        ("title", None),
        ("title", " "),
        ("mission", 3),
        ("category", "fun"),
        ("template", "complex"),
        ("objectives", "one"),
        ("objectives", [""]),
        ("objectives", [3]),
        ("objectives", ["x"] * 1001),
        ("risks", ["one"]),
        ("risks", [{"impact": "low"}]),
        ("risks", [{"description": "It breaks", "impact": "huge"}]),
        ("team", [[[[[[[[[[[1]]]]]]]]]]]),
        ("team", {str(place): place for place in range(101)}),
        ("", "x"),
        ("k" * 101, "x"),
    ],
)
def test_what_is_worked_out_or_of_another_type_is_refused(
    front: Frontmatter, ada: Agent, key: str, value: Json
) -> None:
    """Nothing of the spec changes."""
    before = _document(ada)
    with pytest.raises(InvalidInput):
        front.put(SPEC, key, value)
    assert _document(ada) == before


def test_the_path_of_a_plan_is_one_of_a_file(front: Frontmatter) -> None:
    """As when the spec is made."""
    with pytest.raises(NotFound):
        front.put(SPEC, "plan_path", ".plans/none.md")


@pytest.mark.parametrize("kind", LISTS, ids=lambda kind: kind.key)
def test_entries_of_lists_are_numbered(front: Frontmatter, ada: Agent, kind: SpecList) -> None:
    """Their ids have the letter of the list; the words of one that is there are refused."""

    def entry(words: str) -> Json:
        return {"description": words} if kind is RISKS else words

    for words in ("One", "Two"):
        front.add(SPEC, kind, entry(words))
    assert front.add(SPEC, kind, entry("Three"), dry_run=True)[1]["index"] == 3
    assert front.entries(SPEC, kind)[1] == [
        {kind.text: "One", "id": f"{kind.letter}-1", "index": 1},
        {kind.text: "Two", "id": f"{kind.letter}-2", "index": 2},
    ]
    assert _document(ada)["metadata"][kind.key] == [entry("One"), entry("Two")]
    with pytest.raises(Conflict) as refusal:
        front.add(SPEC, kind, entry(" Two "))
    assert refusal.value.facts == {"error_code": "DUPLICATE_ENTRY", "id": f"{kind.letter}-2"}
    with pytest.raises(InvalidInput):
        front.add(SPEC, kind, entry("x" * 10_001))


def test_what_is_said_beside_an_entry_is_kept(front: Frontmatter) -> None:
    """The type and the author of an assumption are read back."""
    entry: Json = {"text": "It is small", "type": "requirement", "author": "eve"}
    front.add(SPEC, ASSUMPTIONS, entry)
    (found,) = front.entries(SPEC, ASSUMPTIONS)[1]
    assert found == {**entry, "id": "a-1", "index": 1}


def test_a_list_ends_somewhere(front: Frontmatter) -> None:
    """One that is as long as may be takes no more."""
    front.put(SPEC, "constraints", [f"c{place}" for place in range(1000)])
    with pytest.raises(InvalidInput):
        front.add(SPEC, CONSTRAINTS, "one more")


def test_revisions_are_told_with_their_changes(front: Frontmatter, ada: Agent) -> None:
    """By the caller, or by whoever is named; a version is told once."""
    spec, first = front.revise(SPEC, "1.1", "Two phases")
    assert (spec, first["author"]) == (SPEC, "ada")
    assert front.revise(SPEC, "1.2", "Three", "eve", dry_run=True)[1]["author"] == "eve"
    front.revise(SPEC, "1.2", "Three", "eve")
    history = _document(ada)["metadata"]["revision_history"]
    assert [(one["version"], one["changelog"], one["author"]) for one in history] == [
        ("1.1", "Two phases", "ada"),
        ("1.2", "Three", "eve"),
    ]
    with pytest.raises(Conflict):
        front.revise(SPEC, "1.1", "Again")
