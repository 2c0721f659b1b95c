"""What makes two records of the outside comparable: labels, wording, expected differences."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "scripts" / "outside"
ROOT = "ab" * 31 + "c0"
OTHER = "cd" * 31 + "e1"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Give what imports a module of the program; it is forgotten with the test."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def labels(load: Any) -> Any:
    """Give the labels of a scene that was played in one folder."""
    return load("normal").Labels({"/somewhere/demo": "<repo>", "/somewhere": "<top>"})


@pytest.fixture
def comparing(load: Any) -> ModuleType:
    """Give the module that compares."""
    return load("comparing")


def test_the_same_value_has_the_same_label_everywhere(labels: Any) -> None:
    """Named for the place where it was met first, so that what is equal stays equal."""
    assert labels.normal({"root": ROOT, "leaf": OTHER}, "3") == {
        "leaf": "<hex 3.leaf>",
        "root": "<hex 3.root>",
    }
    assert labels.normal([f"root {ROOT}, leaf {OTHER}"], "4") == [
        "root <hex 3.root>, leaf <hex 3.leaf>"
    ]


def test_two_values_that_are_met_in_one_text_stay_apart(labels: Any) -> None:
    """The second one's label is numbered."""
    assert labels.normal(f"{ROOT} {OTHER} {ROOT}", "1") == "<hex 1> <hex 1/2> <hex 1>"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("at 2026-01-02T03:04:05.678Z", "at <time>"),
        ("the last 3 s ago, 12 min more", "the last <span>, <span> more"),
        ("0.6 MiB, 1,024 bytes", "<size>, <size>"),
        ("/somewhere/demo/a and /somewhere/b", "<repo>/a and <top>/b"),
        ('{"duration":3,"files":2}', '{"duration":<number>,"files":2}'),
        ("x" * 30_000, "<x × 30000>"),
        ("demo-3 waits for 12 items", "demo-3 waits for 12 items"),
        ("SYM-001 of src/importer/parse.py", "SYM-001 of src/importer/parse.py"),
    ],
)
def test_only_what_varies_is_put_aside(labels: Any, text: str, told: str) -> None:
    """Ids in order, counts, names and paths below the project are compared."""
    assert labels.normal(text, "1") == told


def test_what_chance_made_keeps_its_equality(labels: Any) -> None:
    """A cursor and a slug are known by their keys first, and then wherever they stand."""
    told = labels.normal({"next_cursor": "b3BhcXVl", "slug": "login-7c5nb5"}, "1")
    assert told == {"next_cursor": "<cursor 1.next_cursor>", "slug": "<slug 1.slug>"}
    assert labels.normal("plan login-7c5nb5 from b3BhcXVl", "2") == (
        "plan <slug 1.slug> from <cursor 1.next_cursor>"
    )
    assert labels.normal({"slug": "second-thing"}, "3") == {"slug": "second-thing"}


def test_measured_numbers_lose_their_value_and_counts_keep_it(labels: Any) -> None:
    """By the name of the key."""
    asked = {"uptime_ms": 12, "duration": 0.5, "count": 3, "done": True, "version": 2}
    assert labels.normal(asked, "1") == asked | {"uptime_ms": "<number>", "duration": "<number>"}


def test_wording_is_ignored_and_codes_are_not(comparing: ModuleType) -> None:
    """In the shapes of all dialects, and on the standard error of a command that failed."""
    plain = comparing.without_wording
    for first, second in (
        (
            {"error": "gone", "kind": "not_found", "message": "a", "hint": "b"},
            {"error": "gone", "kind": "not_found", "message": "c", "hint": "d"},
        ),
        (
            {"error": "a", "code": "X", "details": {"faults": ["b"]}},
            {"error": "c", "code": "X", "details": {"faults": ["d"]}},
        ),
        ({"exit": 1, "err": ["a", "b"], "out": []}, {"exit": 1, "err": ["c"], "out": []}),
    ):
        assert plain(first) == plain(second)
    for first, second in (
        ({"error": "gone", "kind": "a"}, {"error": "else", "kind": "a"}),
        ({"code": "X", "message": "a"}, {"code": "Y", "message": "a"}),
        ({"faults": ["a"]}, {"faults": ["a", "b"]}),
        ({"exit": 0, "err": ["a"], "out": []}, {"exit": 0, "err": ["b"], "out": []}),
        ({"description": "a"}, {"description": "b"}),
    ):
        assert plain(first) != plain(second)


def test_a_difference_is_told_by_scene_and_step(comparing: ModuleType) -> None:
    """Steps that came or went are told too."""
    before = {"native": {"ada: brief {}": {"a": 1}, "ada: list {}": 1}}
    after = {"native": {"ada: brief {}": {"a": 2}}, "workflow": {"lead leaves": 0}}
    found = dict(comparing.differences(before, after, ignore_wording=True))
    assert set(found) == {
        "native / ada: brief {}",
        "native / ada: list {}",
        "workflow / lead leaves",
    }
    assert {'- "a": 1', '+ "a": 2'} <= set(found["native / ada: brief {}"])


def test_each_expected_difference_has_a_reason(comparing: ModuleType) -> None:
    """And patterns that can be read."""
    expected = comparing.read_expected(comparing.EXPECTED)
    assert all(len(one.reason.split()) > 3 for one in expected)
