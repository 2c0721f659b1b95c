"""The tool `plan`: Markdown, trees, templates."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent, Workshop
from fakes.plans import Plan

TREE = {
    "title": "Launch",
    "description": "All of it",
    "items": [
        {
            "title": "Build",
            "items": [
                {
                    "title": "Parser",
                    "name": "parser",
                    "areas": ["src"],
                    "accept": ["it reads"],
                    "verify": [["git", "status"]],
                    "labels": ["core"],
                    "priority": 0,
                    "profile": "coder",
                    "items": [{"title": "Numbers"}],
                },
                {"title": "Printer", "after": ["parser"]},
            ],
        },
        {"title": "Ship", "review": True, "artifact": True, "kind": "phase"},
    ],
}


def test_a_tree_becomes_items_in_one_entry(ada: Agent) -> None:
    before = ada.ledger_size
    made = ada.does("plan", tree=TREE)
    kinds = {item["title"]: item["kind"] for item in made["items"]}
    assert kinds == {
        "Launch": "plan",
        "Build": "phase",
        "Ship": "phase",
        "Parser": "task",
        "Printer": "task",
        "Numbers": "task",
    }
    assert (made["count"], made["ready_count"]) == (6, 1)
    ids = {item["title"]: item["id"] for item in made["items"]}
    shown = ada.does("show", id=ids["Parser"])
    assert shown["areas"] == ["src"]
    assert shown["accept"][0]["text"] == "it reads"
    assert shown["gates"][0]["command"] == "git status"
    assert (shown["labels"], shown["priority"], shown["profile"]) == (["core"], 0, "coder")
    assert [one["id"] for one in ada.does("show", id=ids["Printer"])["after"]] == [ids["Parser"]]
    gates = ada.does("show", id=ids["Ship"])["gates"]
    assert {gate["kind"] for gate in gates} == {"review", "artifact"}
    assert ada.ledger_size == before + 1
    assert (ada.last_entry.action, ada.last_entry.subject) == ("plan.created", made["root"])


def test_markdown_and_back(ada: Agent) -> None:
    made = ada.does("plan", markdown="# P\n## One\n- [ ] A\n  - priority: 0\n- [x] B\n")
    text = ada.does("show", id=made["root"], include=["markdown"])["markdown"]
    assert "- [ ] A" in text
    assert "- [x] B" in text


def test_a_template_is_filled(ada: Agent) -> None:
    refusal = ada.is_refused("plan", template="bugfix", variables={"colour": "red"})
    assert "colour" in refusal["message"]
    needed = [
        word.strip("'")
        for word in refusal["message"].replace(";", " ").split()
        if word.startswith("'") and "colour" not in word
    ]
    made = ada.does("plan", template="bugfix", variables=dict.fromkeys(needed, "Tabs"))
    assert made["count"] > 1


def test_a_template_in_yaml_is_filled_like_one_in_markdown(ada: Agent) -> None:
    """Those that ship; what must be given is asked for, and a dry run shows what will be made."""
    refusal = ada.is_refused("plan", template="feature-development", variables={"NAME": "x"})
    assert "did you mean 'FEATURE_NAME'" in refusal["message"]
    assert (refusal["missing"], refusal["unknown"]) == (["FEATURE_NAME"], ["NAME"])
    said = {"template": "feature-development", "variables": {"FEATURE_NAME": "Search"}}
    shown = ada.does("plan", **said, dry_run=True)
    made = ada.does("plan", **said)
    assert made["count"] == shown["count"] == 19
    assert [one["title"] for one in made["items"]] == [one["title"] for one in shown["items"]]
    assert made["items"][0]["title"] == "Feature: Search"


def test_a_dry_run_writes_nothing(ada: Agent) -> None:
    before = ada.ledger_size
    answer = ada.does("plan", tree=TREE, dry_run=True)
    assert (answer["dry_run"], answer["count"]) == (True, 6)
    assert answer["items"][0] == {"n": 0, "kind": "plan", "title": "Launch"}
    assert ada.ledger_size == before
    assert ada.does("list")["items"] == []


def test_work_is_put_below_an_item(ada: Agent, plan: Plan) -> None:
    made = ada.does("plan", tree={"title": "More", "kind": "task"}, parent=plan["Build"])
    shown = ada.does("show", id=made["root"])
    assert (shown["parent"], shown["root"]) == (plan["Build"], plan["Launch"])


def test_a_large_plan_answers_a_page(ada: Agent) -> None:
    tasks = "".join(f"- [ ] Task {number}\n" for number in range(400))
    reply = ada.call("plan", {"markdown": f"# Large\n{tasks}"})
    assert len(reply.text.encode()) <= 10_000
    assert reply.answer["count"] == 401
    assert reply.answer["ready_count"] == 400
    assert f"root={reply.answer['root']}" in reply.answer["rest"]
    dry = ada.call("plan", {"markdown": f"# Large\n{tasks}", "dry_run": True})
    assert len(dry.text.encode()) <= 10_000


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"markdown": "# A\n", "tree": {"title": "A"}},
        {"markdown": "# A\n", "template": "bugfix"},
        {"markdown": "# A\n", "variables": {"a": "b"}},
        {"variables": {"a": "b"}},
    ],
)
def test_exactly_one_source_is_needed(ada: Agent, arguments: dict[str, Any]) -> None:
    assert ada.is_refused("plan", **arguments)["error"] == "invalid_input"


def test_faults_of_a_document_name_their_lines(ada: Agent) -> None:
    refusal = ada.is_refused("plan", markdown="# P\n- [ ] A\n  - priority: 9\n  - aftr: b\n")
    assert refusal["error"] == "malformed_document"
    assert [fault["line"] for fault in refusal["faults"]] == [3, 4]


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(
    ("markdown", "error"),
    [
        ("# P\n- [ ] A {#a}\n  - after: b\n- [ ] B {#b}\n  - after: a\n", "cyclic_dependency"),
        ("# P\n- [ ] A\n  - after: nowhere\n", "malformed_document"),
        ("# P\n- [ ] A\n- [ ] A\n- [ ] B\n  - after: A\n", "malformed_document"),
        ("no heading", "malformed_document"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(
    ada: Agent, markdown: str, error: str, dry_run: bool
) -> None:
    """Circles, unknown and ambiguous names; a dry run says the same."""
    assert ada.is_refused("plan", markdown=markdown, dry_run=dry_run)["error"] == error


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"titel": "A", "title": "B"}, "did you mean title"),
        ({"title": ""}, "tree.title"),
        ({}, "tree.title"),
        ({"title": "A", "items": [{"title": "B", "priority": 7}]}, "tree.items[0].priority"),
        ({"title": "A", "items": [{"title": "B", "verify": ["git"]}]}, "tree.items[0].verify[0]"),
        ({"title": "A", "kind": "epic"}, "epic"),
        ({"title": "A", "labels": "x"}, "must be a list"),
        ([], "must be an object"),
        ("# P", "must be an object"),
    ],
)
def test_faults_of_a_tree_name_their_places(ada: Agent, tree: Any, words: str) -> None:
    refusal = ada.is_refused("plan", tree=tree)
    assert refusal["kind"] == "invalid"
    assert words in refusal["message"]


def test_a_parent_that_is_not_there_is_refused(ada: Agent) -> None:
    assert ada.is_refused("plan", markdown="# A\n", parent="demo-99")["error"] == "invalid_input"


def test_an_unknown_template_names_those_there_are(ada: Agent) -> None:
    refusal = ada.is_refused("plan", template="epic")
    assert refusal["error"] == "not_found"
    assert "bug-fix-short" in refusal["hint"]


@pytest.mark.parametrize("name", ["../secret", "a/b", "A", ".."])
def test_a_template_name_is_no_path(ada: Agent, name: str) -> None:
    assert ada.is_refused("plan", template=name)["kind"] == "invalid"


def test_all_that_is_wrong_with_a_plan_is_told_together(ada: Agent) -> None:
    """Lines that cannot be read and names that nothing has; but no line that follows from another."""
    text = "# P\n- [ ] A\n  - tests: B\n- [ ] B\n  - after: C\n  - priority: 9\n"
    refused = ada.is_refused("plan", markdown=text)
    assert [fault["line"] for fault in refused["faults"]] == [3, 4, 6]
    torn = ada.is_refused("plan", markdown="# P\n### Q {#q}\n- [ ] B\n  - after: q\n")
    assert [fault["line"] for fault in torn["faults"]] == [2]


def test_a_dry_run_shows_what_each_line_asks(ada: Agent) -> None:
    """Areas, checks, review and what comes before; and what was read as text. Nothing is written."""
    before = ada.ledger_size
    text = (
        "# P\n## One\n- review: yes\n- [ ] A {#a}\n  - areas: src, docs\n  - verify: make test\n"
        "- [ ] B\n  - after: a\n  - goal: well\n"
    )
    shown = ada.does("plan", markdown=text, dry_run=True)
    _, one, a, b = shown["items"]
    assert (one["review"], one["line"]) == (True, 2)
    assert (a["areas"], a["verify"]) == (["src", "docs"], ["make test"])
    assert (b["after"], b["line"]) == ([2], 7)
    assert "goal" in shown["warnings"][0]
    assert ada.ledger_size == before
    assert ada.does("plan", markdown=text)["warnings"] == shown["warnings"]


def test_a_plan_says_which_of_its_commands_nobody_has_let_be_run(workshop: Workshop) -> None:
    """Also while it is only looked at: who plans hears it, and not first whoever fails on it."""
    workshop.app.is_open = False
    ada = workshop.agent("ada")
    text = "# Ship\n- [ ] Build\n  - verify: make all\n- [ ] Pack\n  - verify: make all\n"
    for dry_run in (True, False):
        (said,) = ada.does("plan", markdown=text, dry_run=dry_run)["warnings"]
        assert (
            "`make all`. A person allows them with: `counterpoint trust --allow 'make all'`" in said
        )
    assert "warnings" not in ada.does("plan", markdown="# Ship\n- [ ] Build\n")


def test_a_plan_that_cannot_go_on_says_so(ada: Agent) -> None:
    """From Markdown, from a tree, below what there is; by a look too. Headings without tasks hold nothing."""
    notes = "# P\n## Notes\nwords\n## Build\n- [ ] a\n"
    made = ada.does("plan", markdown=notes)
    assert (made["count"], made["ready_count"]) == (3, 1)
    assert made["warnings"][0].startswith("line 2: no task is below 'Notes', so it is text")
    for dry in (True, False):
        dead = ada.does("plan", markdown=notes.replace("words", "- phase: yes"), dry_run=dry)
        assert dead["warnings"][0] == (
            "the phase 'Notes' (line 2) has no task, so it never ends by work, and 2 items wait for it:"
            " give it a task, or take it out"
        )
    tree = {
        "title": "T",
        "items": [{"title": "E", "kind": "phase"}, {"title": "B", "items": [{"title": "c"}]}],
    }
    assert ada.does("plan", tree=tree)["warnings"][0].startswith("the phase 'E' has no task")
    given_up = ada.does("plan", tree={"title": "x", "kind": "task"})["root"]
    ada.does("edit", id=given_up, status="cancelled", reason="not now")
    waiting = {"title": "y", "kind": "task", "after": [given_up]}
    assert ada.does("plan", tree=waiting)["warnings"] == [
        f"{given_up} is cancelled and 1 item waits for it: reopen it, or let nothing come after it"
    ]


def test_a_plan_that_is_open_is_brought_up_to_date(ada: Agent, bob: Agent) -> None:
    """New lines are made, changed ones edited, what went is told; only its maker prunes it."""
    text = "# Voyage {#v}\n- [ ] Sail\n- [ ] Row\n"
    root = ada.does("plan", markdown=text)["root"]
    changed = "# Voyage {#v}\n- [ ] Anchor\n- [ ] Sail\n  - areas: sea\n- [x] Moor\n"
    looked = ada.does("plan", markdown=changed, dry_run=True)
    told = ada.does("plan", markdown=changed)
    assert (looked["dry_run"], looked["root"], told["root"], told["updated"]) == (
        True, root, root, True,
    )  # fmt: skip
    assert [item["title"] for item in told["items"]] == ["Anchor", "Moor"]
    assert [(item["title"], item["fields"]) for item in told["changed"]] == [("Sail", ["areas"])]
    assert [item["title"] for item in told["gone"]] == ["Row"]
    assert bob.is_refused("plan", markdown=changed, prune=True)["error"] == "forbidden"
    pruned = ada.does("plan", markdown=changed, prune=True)
    assert [item["title"] for item in pruned["pruned"]] == ["Row"]
    assert "gone" not in ada.does("plan", markdown=changed)
    assert ada.does("plan", markdown=changed, again=True)["root"] != root
    assert ada.is_refused("plan", markdown=changed, again=True, prune=True)["kind"] == "invalid"
