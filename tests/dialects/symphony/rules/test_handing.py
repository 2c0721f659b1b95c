"""When a claim needs a verdict, where texts may lie, which phases are passed over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from counterpoint.dialects.symphony.rules.contracts import (
    Contract,
    chain,
    needs_verdict,
    place_faults,
    promotion_faults,
    text_faults,
    word_faults,
)

CONTRACT = Contract(
    phase="research",
    version=2,
    profile="researcher",
    instructions="Look.",
    source="",
    digest="",
    artifact="docs/tickets/{identifier}/research.md",
    judge_labels=("api",),
    next_phase="grooming",
)


def test_a_plain_claim_needs_no_verdict() -> None:
    """Structure is enough for it."""
    assert needs_verdict(CONTRACT, ["ui"], "medium", 0) == ()


@pytest.mark.parametrize(
    ("contract", "labels", "confidence", "questions", "word"),
    [
        (replace(CONTRACT, validation="judge"), [], "high", 0, "asks for a verdict"),
        (CONTRACT, ["api"], "high", 0, "labelled api"),
        (CONTRACT, [], "low", 0, "confidence is low"),
        (CONTRACT, [], "high", 2, "2 questions"),
    ],
)
def test_each_reason_for_a_verdict_is_told(
    contract: Contract, labels: list[str], confidence: str, questions: int, word: str
) -> None:
    (reason,) = needs_verdict(contract, labels, confidence, questions)
    assert word in reason


def test_commits_need_no_verdict_here() -> None:
    """The change they make is judged as a whole."""
    assert needs_verdict(replace(CONTRACT, artifact=""), ["api"], "low", 3) == ()


@pytest.mark.parametrize(
    ("path", "is_right"),
    [
        ("docs/tickets/D-001/research.md", True),
        ("docs/tickets/D-001/other.md", True),
        ("docs/tickets/D-0012/research.md", False),
        ("docs/tickets/research.md", False),
        ("src/research.md", False),
    ],
)
def test_a_text_lies_in_the_folder_of_its_item(path: str, is_right: bool) -> None:
    """That of the contract's own path."""
    assert (place_faults(CONTRACT, "D-001", path) == []) is is_right


def test_a_contract_without_a_folder_wants_its_very_path() -> None:
    """The whole tree is no folder of one item."""
    contract = replace(CONTRACT, artifact="{identifier}.md")
    assert place_faults(contract, "D-001", "D-001.md") == []
    assert place_faults(contract, "D-001", "D-002.md") != []


@pytest.mark.parametrize(
    ("path", "is_right"),
    [("docs/a.md", True), ("docs/tickets/a.md", False), ("doc/a.md", False), ("docs", False)],
)
def test_a_text_is_promoted_into_the_documents_only(path: str, is_right: bool) -> None:
    """Ports of the folder for what is handed over."""
    assert (promotion_faults(path) == []) is is_right


def test_bytes_that_are_no_text_are_told() -> None:
    """And a text is held against its contract."""
    assert text_faults(CONTRACT, b"\xff") == ["the artifact is not text in UTF-8"]
    assert any("characters" in fault for fault in text_faults(CONTRACT, b"# Short"))
    assert text_faults(CONTRACT, b"\xef\xbb\xbf# Long\n" + b"word " * 30) == []


def test_version_and_next_phase_are_those_of_the_contract() -> None:
    """Each difference is told with both sides."""
    assert word_faults(CONTRACT, 2, "grooming") == []
    assert len(word_faults(CONTRACT, 1, "ready")) == 2
    assert "'nothing'" in word_faults(replace(CONTRACT, next_phase=""), 2, "ready")[0]


def test_phases_that_need_not_be_gone_through_are_passed_over() -> None:
    """Up to the first that must, and never in a circle or past the end."""
    following = {"a": "b", "b": "c", "c": "", "x": "y", "y": "x"}
    assert chain("a", following, []) == ("a",)
    assert chain("a", following, ["a"]) == ("a", "b")
    assert chain("a", following, ["a", "b", "c"]) == ("a", "b", "c")
    assert chain("x", following, ["x", "y"]) == ("x", "y")
