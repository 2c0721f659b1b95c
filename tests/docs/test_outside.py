"""What makes two records of the outside comparable: labels, wording, expected differences."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
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
def differing(load: Any, tmp_path: Path) -> Callable[..., dict[str, list[str]]]:
    """Give what tells the steps that differ between two scenes, by rules if any are given."""
    file = tmp_path / "expected.toml"

    def differ(before: Any, after: Any, rules: str = "") -> dict[str, list[str]]:
        file.write_text(rules, "utf-8")
        compared = load("comparing").differences(
            {"native": before},
            {"native": after},
            load("expecting").Rules(file),
            ignore_wording=True,
        )
        return dict(compared)

    return differ


def test_the_same_value_has_the_same_label_everywhere(labels: Any) -> None:
    """Numbered by kind in the order in which values are met, so that what is equal stays equal."""
    assert labels.normal({"root": ROOT, "leaf": OTHER}) == {"leaf": "<hex 1>", "root": "<hex 2>"}
    assert labels.normal([f"root {ROOT}, leaf {OTHER}"]) == ["root <hex 2>, leaf <hex 1>"]


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
        ("listings-0.1.0-009011cc/native.json", "listings-0.1.0-<source 1>/native.json"),
        ("SYM-001 of src/importer/parse.py", "SYM-001 of src/importer/parse.py"),
    ],
)
def test_only_what_varies_is_put_aside(labels: Any, text: str, told: str) -> None:
    """Ids in order, counts, names and paths below the project are compared."""
    assert labels.normal(text) == told


def test_what_chance_made_keeps_its_equality(labels: Any) -> None:
    """A cursor and a slug are known by their keys first, and then wherever they stand."""
    told = labels.normal({"next_cursor": "b3BhcXVl", "slug": "login-7c5nb5"})
    assert told == {"next_cursor": "<cursor 1>", "slug": "<slug 1>"}
    assert labels.normal("plan login-7c5nb5 from b3BhcXVl") == "plan <slug 1> from <cursor 1>"
    assert labels.normal({"slug": "second-thing"}) == {"slug": "second-thing"}


def test_measured_numbers_lose_their_value_and_counts_keep_it(labels: Any) -> None:
    """By the name of the key."""
    asked = {"uptime_ms": 12, "duration": 0.5, "count": 3, "done": True, "version": 2}
    assert labels.normal(asked) == asked | {"uptime_ms": "<number>", "duration": "<number>"}


def test_wording_is_ignored_and_codes_are_not(load: Any) -> None:
    """In the shapes of all dialects, and on the standard error of a command that failed."""
    plain = load("telling").without_wording
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


def test_a_difference_is_told_by_scene_and_step(differing: Any) -> None:
    assert differing(
        {"ada: brief {}": {"a": 1}, "ada: list {}": 1, "ada: next {}": 1},
        {"ada: brief {}": {"a": 2}, "lead leaves": 0, "ada: next {}": 1},
    ) == {
        "native / ada: brief {}": ["@@ -1 +1 @@", "-.a = 1", "+.a = 2"],
        "native / lead leaves": ["@@ -0,0 +1 @@", "+ = 0"],
        "native / ada: list {}": ["@@ -1 +0,0 @@", "- = 1"],
    }


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([{"a": 1}, {"b": 2}], [{"a": 1, "b": 2}]),
        ([[1], [2]], [[1, 2]]),
        ([], {}),
        ("a\nb", ["a\n", "b"]),
        (["a", "b"], ["b", "a"]),
        (1, "1"),
    ],
)
def test_no_two_answers_are_told_alike(differing: Any, first: Any, second: Any) -> None:
    """Though each line tells only a part."""
    assert differing({"ada: show {}": first}, {"ada: show {}": second})


def test_what_comes_between_renames_nothing_after_it(differing: Any) -> None:
    """A label of the later record is that of the earlier one which stands in its place."""
    before = {
        "ada: start {}": {"session": "<id 1>"},
        'ada: show {"id": "<id 1>"}': {"session": "<id 1>", "claim": "<id 2>"},
    }
    after = {
        "ada: start {}": {"claim": "<id 1>", "session": "<id 2>"},
        "bob: start {}": {"session": "<id 3>"},
        'ada: show {"id": "<id 2>"}': {"session": "<id 2>", "claim": "<id 1>"},
    }
    found = differing(before, after)
    assert set(found) == {"native / ada: start {}", "native / bob: start {}"}
    assert '+.session = "<new id 3>"' in found["native / bob: start {}"]


def test_a_step_is_found_by_what_its_title_says_of_new_things(differing: Any) -> None:
    """An argument that no answer told before is paired by its place in the title."""
    before = {'ada: approve {"hash": "<hex 1>"}': {"hash": "<hex 1>"}}
    after = {'ada: approve {"hash": "<hex 2>"}': {"hash": "<hex 2>"}}
    assert not differing(before, after)
    assert differing(before, {'ada: reject {"hash": "<hex 2>"}': {"hash": "<hex 2>"}})


def test_what_was_equal_and_is_not_any_more_differs(differing: Any) -> None:
    """And the other way round: a label is paired once."""
    same, apart = {"a": "<id 1>", "b": "<id 1>"}, {"a": "<id 1>", "b": "<id 2>"}
    assert differing({"ada: show {}": same}, {"ada: show {}": apart})
    assert differing({"ada: show {}": apart}, {"ada: show {}": same})


def test_only_the_lines_of_a_rule_are_let_through(differing: Any) -> None:
    """In the steps that it names; any other line of the step makes it differ."""
    rule = "[[expected]]\nstep = 'ada: show'\nline = '^\\+\\.session = '\nreason = 'x'\n"
    plain, named = {"a": 1}, {"a": 1, "session": "<id 1>"}
    assert not differing({"ada: show {}": plain}, {"ada: show {}": named}, rule)
    assert differing({"ada: show {}": named}, {"ada: show {}": plain}, rule)
    assert differing({"ada: show {}": plain}, {"ada: show {}": named | {"a": 2}}, rule)
    assert differing({"bob: show {}": plain}, {"bob: show {}": named}, rule)


def test_what_is_said_alike_is_compared_but_for_that(differing: Any) -> None:
    """A member that has another name now stands in its new place, with the value that it had."""
    rule = "[[alike]]\nstep = 'show'\nfind = '^\\.needs'\nput = '.after'\nreason = 'x'\n"
    before, after = {"id": "a", "needs": ["b"]}, {"after": ["b"], "id": "a"}
    assert differing({"ada: show {}": before}, {"ada: show {}": after})
    assert not differing({"ada: show {}": before}, {"ada: show {}": after}, rule)
    assert differing({"ada: show {}": before}, {"ada: show {}": after | {"after": ["c"]}}, rule)


def test_a_step_that_is_named_alike_is_one_step(differing: Any) -> None:
    """Where an id in its arguments is another one now."""
    rule = "[[alike]]\nstep = 'show'\nfind = 'demo-p1'\nput = 'demo-s1'\nreason = 'x'\n"
    before, after = {"ada: show demo-p1": "demo-p1"}, {"ada: show demo-s1": "demo-s1"}
    assert set(differing(before, after)) == {
        "native / ada: show demo-p1",
        "native / ada: show demo-s1",
    }
    assert not differing(before, after, rule)
    with pytest.raises(ValueError, match="two steps the name native / ada: show demo-s1"):
        differing(before | after, after, rule)


def test_a_rule_that_nothing_meets_is_told(load: Any, tmp_path: Path) -> None:
    """So that it goes when what it is about is in both records."""
    file = tmp_path / "expected.toml"
    file.write_text(
        "[[expected]]\nstep = 'x'\nline = '^-.a = 1'\nreason = 'first'\n"
        "[[alike]]\nstep = 'x'\nfind = 'b'\nput = 'c'\nreason = 'second'\n"
    )
    rules = load("expecting").Rules(file)
    assert rules.unmet() == ["first", "second"]
    assert rules.unexpected("x", ["-.a = 1", "+.a = 2"]) == ["+.a = 2"]
    assert rules.rewording("x")("abc") == "acc"
    assert rules.unmet() == []


def test_each_expected_difference_has_a_reason(load: Any) -> None:
    """And patterns that can be read and that do not match everything."""
    rules = load("expecting").Rules()
    assert rules.expected
    assert rules.alike
    assert all(len(one.reason.split()) > 3 for one in (*rules.expected, *rules.alike))
    assert not any(one.line.search("+") for one in rules.expected)
