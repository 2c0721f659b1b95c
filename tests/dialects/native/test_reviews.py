"""The tools `submit` and `review`: handing in and judging."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

import builders
from builders import Agent, Workshop
from fakes.plans import Plan


@pytest.fixture
def shippable(workshop: Workshop, ada: Agent, plan: Plan) -> str:
    """Answer the phase `Ship` with all its work done by ada, and a file to submit."""
    workshop.agent("cyd").does("edit", id=plan["Parser"], verify=[])
    for title in ("Parser", "Printer", "Notes", "Package"):
        token = ada.does("start", id=plan[title])["claim"]["token"]
        ada.does("finish", id=plan[title], token=token, outcome="done", summary=title)
    builders.commit(workshop.root, "dist/notes.md", "notes\n")
    return plan["Ship"]


def test_a_phase_is_submitted_with_its_artifact(ada: Agent, shippable: str) -> None:
    """The file is hashed; the phase waits for its review."""
    answer = ada.does("submit", id=shippable, summary="ready", path="dist/notes.md")
    assert answer["sha256"] == hashlib.sha256(b"notes\n").hexdigest()
    assert answer["item"]["status"] == "review"
    assert [gate["name"] for gate in answer["closed_gates"]] == ["review"]
    assert ada.last_entry.action == "phase.submitted"
    shown = ada.does("show", id=shippable, include=["submissions"])
    assert shown["submissions"][0]["path"] == "dist/notes.md"


def test_an_approval_closes_the_phase(ada: Agent, bob: Agent, shippable: str) -> None:
    """Another session's approving verdict, bound to the hash it looked at."""
    sha = ada.does("submit", id=shippable, summary="ready", path="dist/notes.md")["sha256"]
    answer = bob.does("review", id=shippable, verdict="approve", reason="good", subject=sha)
    assert answer["item"]["status"] == "done"
    assert answer["subject"] == sha
    assert bob.last_entry.action == "item.approved"
    assert bob.does("show", id=answer["verdict"])["reason"] == "good"


def test_who_did_the_work_cannot_approve_it(workshop: Workshop, ada: Agent, shippable: str) -> None:
    """Neither in the same session nor in another one under the same name."""
    ada.does("submit", id=shippable, summary="ready", path="dist/notes.md")
    for agent in (ada, workshop.agent("ada")):
        refusal = agent.is_refused("review", id=shippable, verdict="approve", reason="mine")
        assert refusal["error"] == "forbidden"


def test_a_rejection_reopens_with_its_fixes(ada: Agent, bob: Agent, shippable: str) -> None:
    """What must be mended can be read by the worker."""
    ada.does("submit", id=shippable, summary="ready", path="dist/notes.md")
    answer = bob.does("review", id=shippable, verdict="reject", reason="thin", fixes=["add more"])
    assert answer["item"]["status"] == "active"
    verdicts = ada.does("show", id=shippable, include=["verdicts"])["verdicts"]
    assert verdicts[0]["fixes"] == ["add more"]


def test_an_approval_of_something_else_is_stale(
    workshop: Workshop, ada: Agent, bob: Agent, shippable: str
) -> None:
    """The file changed after the reviewer had looked at it."""
    sha = ada.does("submit", id=shippable, summary="ready", path="dist/notes.md")["sha256"]
    (workshop.root / "dist/notes.md").write_text("changed\n")
    refusal = bob.is_refused("review", id=shippable, verdict="approve", reason="ok", subject=sha)
    assert refusal["error"] == "stale_version"


def test_unfinished_work_cannot_be_submitted(ada: Agent, plan: Plan) -> None:
    """All below it must be closed first."""
    refusal = ada.is_refused("submit", id=plan["Ship"], summary="ready")
    assert refusal["error"] == "gate_closed"


@pytest.mark.parametrize(
    ("path", "error"),
    [("../outside", "path_outside"), ("/etc/passwd", "path_outside"), ("gone.md", "not_found")],
)
def test_an_artifact_must_lie_in_the_project(
    ada: Agent, shippable: str, path: str, error: str
) -> None:
    """Ports, or not there at all."""
    refusal = ada.is_refused("submit", id=shippable, summary="ready", path=path)
    assert refusal["error"] == error


def test_handing_in_again_with_its_key_is_one_submission(ada: Agent, shippable: str) -> None:
    """A retry hears the first answer."""
    arguments = {"id": shippable, "summary": "r", "path": "dist/notes.md", "idempotency_key": "k"}
    first = ada.does("submit", **arguments)
    assert ada.does("submit", **arguments) == first
    shown = ada.does("show", id=shippable, include=["submissions"])
    assert len(shown["submissions"]) == 1


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("review", {"verdict": "maybe", "reason": "x"}),
        ("review", {"verdict": "approve"}),
        ("review", {"verdict": "approve", "reason": ""}),
        ("review", {"verdict": "approve", "reason": "x", "fixes": ["x"] * 51}),
        ("submit", {}),
        ("submit", {"summary": "x", "path": "x" * 501}),
        ("submit", {"summary": "x", "token": -1}),
    ],
)
def test_wrong_words_are_refused(
    ada: Agent, plan: Plan, tool: str, arguments: dict[str, Any]
) -> None:
    """Before anything is measured."""
    assert ada.is_refused(tool, id=plan["Ship"], **arguments)["error"] == "invalid_input"


def test_a_worker_is_told_to_hand_in_what_is_to_be_reviewed(
    workshop: Workshop, ada: Agent, bob: Agent, plan: Plan
) -> None:
    """By the end of the last task, by `brief` and by `next`; who did not work on it is not."""
    workshop.agent("cyd").does("edit", id=plan["Parser"], verify=[])
    for title in ("Parser", "Printer", "Notes", "Package"):
        token = ada.does("start", id=plan[title])["claim"]["token"]
        done = ada.does("finish", id=plan[title], token=token, outcome="done", summary=title)
        assert ("next_call" in done) == (title == "Package")
    way = {"tool": "submit", "arguments": {"id": plan["Ship"], "summary": "…"}}
    assert done["next_call"] == way
    assert "`submit`" in done["hint"]
    told = ada.does("brief")
    assert (told["next_call"], told["to_submit"][0]["id"]) == (way, plan["Ship"])
    assert bob.does("brief")["next_call"]["tool"] == "next"
    assert bob.does("next")["to_submit"][0]["id"] == plan["Ship"]


def test_a_worker_is_told_what_was_sent_back_and_what_to_mend_first(
    ada: Agent, bob: Agent, shippable: str
) -> None:
    """By `brief`, `next` and the item itself: the fixes, who rejected it, and why."""
    ada.does("submit", id=shippable, summary="ready", path="dist/notes.md")
    assert bob.does("brief")["next_call"]["arguments"]["id"] == shippable
    assert ada.does("brief")["next_call"]["tool"] == "next"
    bob.does("review", id=shippable, verdict="reject", reason="thin", fixes=["add more"])
    brief = ada.does("brief")
    assert (brief["next_call"]["tool"], brief["next_call"]["arguments"]["claim"]) == ("next", True)
    assert brief["next_call"]["first"] == "fix: add more; rejected by bob, because thin."
    (back,) = brief["sent_back"]["items"]
    assert list(back) == ["fix", "rejected_by", "because", "verdict", "id", "title", "yours"]
    assert (back["fix"], back["rejected_by"], back["because"]) == (["add more"], "bob", "thin")
    assert "yours" not in bob.does("brief")["sent_back"]["items"][0]
    assert ada.does("show", id=shippable)["sent_back"]["fix"] == ["add more"]
    (repair,) = [one for one in ada.does("next")["ready"] if one["parent"] == shippable]
    token = ada.does("start", id=repair["id"])["claim"]["token"]
    ada.does("finish", id=repair["id"], token=token, outcome="done", summary="more")
    assert ada.does("brief")["next_call"]["tool"] == "submit"
    ada.does("submit", id=shippable, summary="more", path="dist/notes.md", reason="outside of git")
    assert "sent_back" not in ada.does("brief")


def test_a_task_that_was_sent_back_is_offered_with_what_to_mend(ada: Agent, bob: Agent) -> None:
    """Whoever starts it has the fixes in its contract."""
    made = ada.does("plan", markdown="# P\n- [ ] A\n  - review: yes\n")
    item = made["items"][1]["id"]
    token = ada.does("start", id=item)["claim"]["token"]
    done = ada.does("finish", id=item, token=token, outcome="done", summary="so")
    assert "`review`" in done["hint"]
    assert "next_call" not in done
    bob.does("review", id=item, verdict="reject", reason="thin", fixes=["add more"])
    (offer,) = ada.does("next")["ready"]
    assert offer["sent_back"] == "fix: add more; rejected by bob, because thin."
    assert ada.does("brief")["next_call"]["arguments"] == {"claim": True, "root": made["root"]}
    assert ada.does("next", claim=True)["item"]["sent_back"]["because"] == "thin"


def test_who_only_handed_it_in_is_told_so(ada: Agent, bob: Agent, shippable: str) -> None:
    """`next` says what handing in costs; the refusal does not say that it worked, and that of whoever did says no such thing."""
    assert bob.does("next")["hint"].endswith("Who hands in what others did cannot judge it.")
    assert "cannot judge" not in ada.does("next")["hint"]
    bob.does("submit", id=shippable, summary="ready", path="dist/notes.md")
    approves = {"id": shippable, "verdict": "approve", "reason": "good"}
    refusal = bob.is_refused("review", **approves)
    assert refusal["message"] == f"bob handed {shippable} in and cannot judge it"
    assert "handed" not in ada.is_refused("review", **approves)["message"]
