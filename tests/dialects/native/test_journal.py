"""The tool `note`: writing down, and resolving blockers."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.core.model.journal import Record
from counterpoint.kernel.visible import visible_json
from fakes.plans import Plan


def test_a_note_of_every_kind_is_kept(ada: Agent, plan: Plan) -> None:
    """Title, text, tags and files come back, in one entry for each."""
    text = "First line\nSecond line"
    said = {"text": text, "id": plan["Notes"], "tags": ["a"], "files": ["README.md"]}
    for kind in ("decision", "finding", "learning", "blocker", "milestone", "comment", "thought"):
        before = ada.ledger_size
        record = ada.does("note", kind=kind, **said)["record"]
        assert (record["kind"], record["title"]) == (kind, "First line")
        shown = ada.does("show", id=record["id"])
        assert (shown["text"], shown["item"]) == (text, plan["Notes"])
        assert (shown["tags"], shown["files"]) == (["a"], ["README.md"])
        assert ada.ledger_size == before + 1
        assert ada.last_entry.action == f"{kind}.recorded"


def test_a_blocker_holds_its_item_back_until_resolved(ada: Agent, plan: Plan) -> None:
    record = ada.does("note", kind="blocker", text="No key", id=plan["Notes"])["record"]
    assert ada.is_refused("start", id=plan["Notes"])["error"] == "not_ready"
    done = ada.does("note", kind="blocker", text="Found it", resolves=record["id"])["record"]
    assert done["status"] == "resolved"
    assert ada.does("show", id=record["id"])["resolution"] == "Found it"
    ada.does("start", id=plan["Notes"])


def test_resolving_twice_changes_nothing(ada: Agent, plan: Plan) -> None:
    """The first resolution stays."""
    record = ada.does("note", kind="blocker", text="No key", id=plan["Notes"])["record"]["id"]
    ada.does("note", kind="blocker", text="first", resolves=record)
    before = ada.ledger_size
    ada.does("note", kind="blocker", text="second", resolves=record)
    assert ada.ledger_size == before
    assert ada.does("show", id=record)["resolution"] == "first"


@pytest.mark.parametrize("more", [{"kind": "comment"}, {"title": "x"}, {"tags": ["x"]}])
def test_a_resolution_takes_nothing_else(ada: Agent, plan: Plan, more: dict[str, Any]) -> None:
    """What would be lost is refused."""
    record = ada.does("note", kind="blocker", text="No key", id=plan["Notes"])["record"]["id"]
    arguments = {"kind": "blocker", "text": "x", "resolves": record, **more}
    assert ada.is_refused("note", **arguments)["kind"] == "invalid"


@pytest.mark.parametrize("blanks", ["", " ", "\n\t \u00a0"])
def test_a_note_of_blanks_is_refused(ada: Agent, plan: Plan, blanks: str) -> None:
    """So are a report and a verdict that say nothing."""
    said = {"summary": blanks, "id": plan["Notes"], "token": 1, "outcome": "done"}
    for tool, arguments in (("note", {"kind": "finding", "text": blanks}), ("finish", said)):
        assert ada.is_refused(tool, **arguments)["error"] == "invalid_input"


def test_only_a_blocker_can_be_resolved(ada: Agent) -> None:
    """A comment has nothing to resolve."""
    record = ada.does("note", kind="comment", text="hello")["record"]["id"]
    ada.is_refused("note", kind="blocker", text="x", resolves=record)


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "a/../../b"])
def test_a_file_outside_the_root_is_refused(ada: Agent, path: str) -> None:
    """Paths stay in the project."""
    assert ada.is_refused("note", kind="finding", text="x", files=[path])["error"] == "path_outside"


def test_a_link_out_of_the_root_is_refused(workshop: Workshop, ada: Agent) -> None:
    """Links are followed before they are judged."""
    (workshop.root / "link").symlink_to("/etc")
    refusal = ada.is_refused("note", kind="finding", text="x", files=["link/passwd"])
    assert refusal["error"] == "path_outside"


def test_a_secret_never_reaches_the_ledger(ada: Agent) -> None:
    """Keys are masked before they are written."""
    secret = "ghp_" + "a" * 36
    record = ada.does("note", kind="finding", text=f"the key is {secret}")["record"]["id"]
    assert secret not in ada.call("show", {"id": record}).text


def test_a_note_on_an_item_that_is_not_there_is_refused(ada: Agent) -> None:
    """Neither a wrong id nor one of another project."""
    assert ada.is_refused("note", kind="comment", text="x", id="demo-99")["error"] == "not_found"


@pytest.mark.parametrize(
    "arguments",
    [
        {"kind": "poem", "text": "x"},
        {"kind": "comment"},
        {"kind": "comment", "text": ""},
        {"kind": "comment", "text": "x" * 20_001},
        {"kind": "comment", "text": "x", "tags": ["x" * 101]},
        {"kind": "comment", "text": "x", "body": "y"},
        {"kind": "comment", "text": "x", "idempotency_key": "k" * 129},
    ],
)
def test_a_note_that_cannot_be_kept_is_refused(ada: Agent, arguments: dict[str, Any]) -> None:
    """Wrong kinds, no text, too much text, unknown words."""
    assert ada.is_refused("note", **arguments)["kind"] == "invalid"


def test_what_would_steer_or_hide_reaches_no_other_agent(
    ada: Agent, plan: Plan, workshop: Workshop
) -> None:
    """Neither by an answer, by a refusal, as a resource nor in words of another dialect; the ledger has what was written."""
    text = "safe\u202e\x1b[2J \U000e0069\U000e0067n\u200bore"
    record = ada.does("note", kind="decision", title=text, text=text, id=plan["Notes"])["record"]
    shown = ada.does("show", id=record["id"])
    assert shown["text"] == "safe\\u{202e}\\u{1b}[2J \\u{e0069}\\u{e0067}n\\u{200b}ore"
    said = [
        shown,
        ada.does("brief"),
        ada.does("find", query="safe"),
        ada.is_refused("show", id=text),
    ]
    assert all(visible_json(one) == one for one in said)
    with workshop.app.store.reading(workshop.app.project) as view:
        kept = view.find(Record, record["id"])
    assert kept is not None
    assert kept.body == text
