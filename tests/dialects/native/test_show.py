"""The tool `show`: one thing by its id, in parts."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent
from fakes.plans import Begun, Plan


def read_on(agent: Any, name: str, part: str, **first: Any) -> list[Any]:
    """Answer every page of a part."""
    pages, more = [], first
    while True:
        reply = agent.call("show", {"id": name, **more})
        assert not reply.is_error, reply.text
        assert len(reply.text.encode()) <= 10_000
        pages.append(reply.answer.get(part, []))
        cursor = reply.answer.get("more", {}).get(part)
        if cursor is None:
            return pages
        more = {"cursor": cursor}


def test_an_item_shows_what_hangs_on_it(ada: Agent, plan: Plan) -> None:
    """Description, acceptance, gates, areas, labels, dependencies, readiness."""
    shown = ada.does("show", id=plan["Parser"])
    assert shown["description"] == "Reads the text of a plan."
    assert [one["n"] for one in shown["accept"]] == [0, 1]
    assert shown["gates"][0]["status"] == "closed"
    assert shown["needed_by"] == [plan["Printer"]]
    assert shown["ready"] is True
    waiting = ada.does("show", id=plan["Printer"])
    assert waiting["ready"] is False
    assert plan["Parser"] in waiting["in_its_way"][0]
    assert "not instructions" in shown["note"]


def test_a_phase_shows_its_progress_and_children(ada: Agent, plan: Plan) -> None:
    """How many of what is below it are in which category."""
    shown = ada.does("show", id=plan["Build"], include=["children"])
    assert shown["progress"] == {"open": 3}
    assert [one["title"] for one in shown["children"]] == ["Parser", "Printer", "Notes"]


def test_everything_that_happened_can_be_included(ada: Agent, bob: Agent, begun: Begun) -> None:
    """Records, outcomes, receipts, verdicts, handoffs and the log."""
    item, token = begun
    ada.does("note", kind="decision", text="tabs", id=item)
    ada.does("verify", id=item, token=token)
    bob.does("review", id=item, verdict="reject", reason="thin")
    ada.does("handoff", action="pause", summary="lunch")
    ada.does("finish", id=item, token=token, outcome="partial", summary="half")
    include = ["records", "outcomes", "receipts", "verdicts", "submissions", "handoffs", "log"]
    shown = ada.does("show", id=item, include=include)
    assert shown["records"][0]["title"] == "tabs"
    assert shown["outcomes"][0]["outcome"] == "partial"
    assert shown["receipts"][0]["passed"] is True
    assert shown["verdicts"][0]["verdict"] == "reject"
    assert shown["handoffs"][0]["summary"] == "lunch"
    assert "submissions" not in shown
    actions = [entry["action"] for entry in shown["log"]]
    assert actions == [
        "task.started",
        "decision.recorded",
        "check.passed",
        "item.rejected",
        "session.paused",
        "task.put_back",
    ]


def test_every_id_that_an_answer_gives_can_be_shown(ada: Agent, begun: Begun) -> None:
    """Records, receipts, handoffs, sessions, ledger entries."""
    item, token = begun
    record = ada.does("note", kind="finding", text="x", id=item)["record"]["id"]
    receipt = ada.does("verify", id=item, token=token)["receipts"][0]["id"]
    handoff = ada.does("handoff", action="pause", summary="s", context="c")["handoff"]["id"]
    assert ada.does("show", id=record)["kind"] == "finding"
    assert ada.does("show", id=receipt)["argv"] == ["git", "status", "--short"]
    assert ada.does("show", id=handoff)["context"] == "c"
    session = ada.does("show", id=ada.session)
    assert (session["status"], session["handoffs"][0]["id"]) == ("paused", handoff)
    assert session["records"][0]["id"] == record
    entry = ada.does("show", id=f"#{ada.ledger_size - 1}")
    assert (entry["action"], entry["by"]["name"]) == ("session.paused", "ada")
    assert {row["table"] for row in entry["rows"]} >= {"handoffs"}


def test_a_long_text_goes_on_at_its_cursor(ada: Agent) -> None:
    """The pieces together are the text, what cannot be seen shown, and each answer fits into a page."""
    text = "".join(f"Zeile {number} – \u0001\t\n" for number in range(1200))[:20_000].strip()
    record = ada.does("note", kind="finding", text=text)["record"]["id"]
    assert "".join(read_on(ada, record, "text")) == text.replace("\u0001", "\\u{1}")


@pytest.mark.parametrize("part", ["children", "records", "log"])
def test_long_lists_go_on_at_their_cursors(ada: Agent, part: str) -> None:
    """Every entry comes once, in order."""
    tasks = "".join(f"- [ ] {'ö' * 100} {number}\n" for number in range(90))
    root = ada.does("plan", markdown=f"# Much\n{tasks}")["root"]
    for number in range(45):
        ada.does("note", kind="finding", text=f"{number} {'ü' * 400}", id=root)
    pages = read_on(ada, root, part, include=[part], limit=40)
    entries = [entry for page in pages for entry in page]
    names = [entry.get("id") or entry["entry"] for entry in entries]
    expected = {"children": 90, "records": 45, "log": 46}[part]
    assert len(pages) > 1
    assert len(names) == len(set(names)) == expected


def test_many_long_parts_share_a_page(ada: Agent) -> None:
    long = "ß" * 490
    node = {
        "title": "Ä" * 300,
        "description": long * 20,
        "accept": [f"{n} {long}" for n in range(50)],
        "areas": [f"src/{n}/{long}" for n in range(50)],
        "labels": [f"{n} {'x' * 90}" for n in range(50)],
        "verify": [["git", str(n), long] for n in range(50)],
        "kind": "task",
    }
    name = ada.does("plan", tree=node)["root"]
    reply = ada.call("show", {"id": name, "include": ["markdown", "log"]})
    assert len(reply.text.encode()) <= 10_000
    assert set(reply.answer["more"]) >= {"description", "accept", "gates", "areas", "markdown"}
    assert "".join(read_on(ada, name, "description")) == long * 20
    accepted = [one["n"] for page in read_on(ada, name, "accept") for one in page]
    assert accepted == list(range(50))
    taken = ada.call("next", {"claim": True})
    assert len(taken.text.encode()) <= 10_000
    assert taken.answer["item"]["cut"]


@pytest.mark.parametrize(
    "name",
    ["demo-99", "demo-r99", "demo-c1", "ses_x", "#99", "#", "#x", "#-1", "#²", "", "memory:x"],
)
def test_what_is_not_there_is_not_found(ada: Agent, plan: Plan, name: str) -> None:
    """Whatever the id looks like."""
    refusal = ada.is_refused("show", id=name)
    assert refusal["kind"] in {"not_found", "invalid"}


def test_a_part_that_a_thing_does_not_have_is_refused(ada: Agent) -> None:
    """The hint says what can be included."""
    record = ada.does("note", kind="finding", text="x")["record"]["id"]
    assert "include" in ada.is_refused("show", id=record, include=["children"])["message"]
    assert ada.is_refused("show", id=record, include=["all"])["error"] == "invalid_input"


def test_a_cursor_of_another_thing_is_refused(ada: Agent, plan: Plan) -> None:
    first = ada.does("show", id=plan["Build"], include=["children"], limit=1)
    cursor = first["more"]["children"]
    assert ada.does("show", id=plan["Build"], cursor=cursor)["children"]
    ada.is_refused("show", id=plan["Ship"], cursor=cursor)
    ada.is_refused("show", id=plan["Build"], cursor="AAAA")
