"""People add and change single items."""

from __future__ import annotations

import shlex

import pytest


def test_an_item_is_added_with_all_that_can_be_asked_of_it(call, ledger):
    """Below another, after another, with labels, areas, sentences, checks and gates."""
    said = call(
        *("add", "Caulk the seams", "--parent", "2", "--after", "#4", "--label", "wet"),
        *("--area", "hull", "--accept", "No water comes in.", "--verify", "sh -c 'exit 0'"),
        *("--priority", "1", "--description", "With oakum.", "--review", "--json"),
    )
    assert said.code == 0, said.err
    item = said.json["item"]["id"]
    shown = call("show", item, "--json").json
    assert shown["item"]["description"] == "With oakum."
    assert (shown["item"]["parent"], shown["item"]["priority"]) == ("harbour-2", 1)
    assert [one["id"] for one in shown["after"]] == ["harbour-4"]
    assert (shown["labels"], shown["areas"]) == (["wet"], ["hull"])
    assert [one["text"] for one in shown["accept"]] == ["No water comes in."]
    assert {gate["kind"] for gate in shown["gates"]} == {"check", "review"}
    assert said.json["ready"] is False
    assert "counterpoint trust" in said.err


@pytest.mark.parametrize(
    ("check", "sign"),
    [
        ("a && b", "&&"),
        ("cd x && make", "&&"),
        ("a || b", "||"),
        ("a ; b", ";"),
        ("a; b", ";"),
        ("a | b", "|"),
        ("a > b", ">"),
        ("make $(nproc)", "$("),
        ("grep 'it is' \"a\" | wc", "|"),
    ],
)
def test_a_check_that_needs_a_shell_is_refused_with_the_words_that_work(call, ledger, check, sign):
    for item, *words in (("5", "edit", "5"), ("8", "add", "Row")):
        said = call(*words, "--check", check)
        assert (said.code, f"'{sign}' needs a shell" in said.err) == (2, True), said.err
        option = said.err[said.err.index("Have a shell run it: ") :].partition(": ")[2]
        assert call(*words, *shlex.split(option)).code == 0, option
        assert f"sh -c '{check}'" in call("show", item).out.replace("'\"'\"'", "'")


def test_an_item_without_more_stands_alone(call, ledger):
    said = call("add", "Sweep the deck")
    assert said.out == "harbour-8 is open: Sweep the deck (it can be started now)\n"
    assert call("add", "Later", "--kind", "phase").code == 2


def test_what_is_added_under_a_key_is_added_once(call, ledger):
    """The same call hears the same answer; another one under that key is refused."""
    first = call("add", "Sweep", "--idempotency-key", "k", "--json")
    again = call("add", "Sweep", "--idempotency-key", "k", "--json")
    assert first.json == again.json
    assert call("list", "--json").json["items"][-1]["id"] == first.json["item"]["id"]
    assert call("add", "Mop", "--idempotency-key", "k").code == 1


def test_an_item_is_changed_in_what_was_named(call, ledger):
    said = call(
        *("edit", "raise", "--title", "Step the mast", "--priority", "0", "--add-label", "tall"),
        *("--not-after", "4", "--after", "paint", "--assignee", "bob", "--reason", "the crane"),
    )
    assert (said.code, said.out) == (0, "harbour-5 is open: Step the mast\n")
    shown = call("show", "5", "--json").json
    assert shown["item"]["assignee"] == "bob"
    assert [one["id"] for one in shown["after"]] == ["harbour-6"]
    assert shown["labels"] == ["tall"]
    assert shown["item"]["description"] == ""
    version = shown["item"]["version"]
    assert call("edit", "5", "--title", "x", "--expect-version", str(version - 1)).code == 1


@pytest.mark.parametrize(
    "words",
    [
        ["edit", "5"],
        ["edit", "5", "--priority", "9"],
        ["edit", "5", "--verify", "sh -c 'open"],
        ["edit", "5", "--accept", " "],
        ["edit", "5", "--add-label", ""],
        ["add", ""],
        ["add", "x", "--verify", ""],
        ["add", "x", "--area", ""],
        ["add", "x", "--label", "two\nlines"],
        ["note", ""],
        ["add", "x", "--kind", "nonsense"],
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(call, ledger, words):
    before = call("log", "--json").json["entries"][-1]["sequence"]
    assert call(*words).code == 2
    assert call("log", "--json").json["entries"][-1]["sequence"] == before


def test_a_state_is_moved_by_the_rules(call, ledger):
    assert call("edit", "5", "--status", "skipped", "--reason", "no wind").code == 0
    assert call("show", "5", "--json").json["item"]["status"] == "skipped"
    said = call("edit", "6", "--status", "flying")
    assert (said.code, "flying" in said.err) == (2, True)


@pytest.mark.parametrize("area", ["../..", "/etc", "src/../../x", "~/x"])
def test_an_area_outside_of_the_project_is_refused(call, ledger, area):
    for words in (("add", "Paint the mast"), ("edit", "6")):
        said = call(*words, "--area", area)
        assert said.code == 2
        assert f"the area {area!r} leads out of the project" in said.err


@pytest.mark.parametrize(("title", "why"), [("", "there is no title"), ("a\nb", "one line")])
def test_an_item_that_cannot_be_added_is_no_plan(call, ledger, title, why):
    said = call("add", title)
    assert said.code == 2
    assert "the item cannot be made: " in said.err
    assert why in said.err
    assert "lines" not in said.err
