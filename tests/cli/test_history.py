"""The history at the command line."""

from __future__ import annotations

import json
import queue
import re
import threading

import pytest

from counterpoint.app import Identity
from counterpoint.cli.main import run
from counterpoint.core.model.filters import Edit, Note, ReadyFilter

LINES = [
    "project.opened",
    "plan.created",
    "task.started",
    "check.passed",
    "decision.recorded",
    "blocker.recorded",
]


def test_the_log_tells_what_happened_in_order(call, ledger):
    """The latest stands last, as in a file."""
    rows = call("log").out.splitlines()[1:]
    assert [row.split()[0] for row in rows] == list("012345")
    for row, action in zip(rows, LINES, strict=True):
        assert action in row


def test_the_log_can_be_narrowed(call, ledger):
    """By item, by action, by number: the latest that fit."""
    found = call("log", "--json", "--item", "harbour-4").json["entries"]
    assert [entry["action"] for entry in found] == LINES[2:5]
    found = call("log", "--json", "--action", "plan.created").json["entries"]
    assert [entry["sequence"] for entry in found] == [1]
    assert len(call("log", "--limit", "2").out.splitlines()) == 3
    assert "fits" in call("log", "--item", "5", "--action", "plan.created").out


def test_an_entry_has_stable_keys(call, ledger):
    entry = call("log", "--json", "--limit", "1").json["entries"][0]
    assert set(entry) == {
        "sequence",
        "time",
        "actor",
        "action",
        "subject",
        "facts",
        "previous",
        "title",
    }
    assert set(entry["actor"]) == {"kind", "name", "profile", "session", "principal"}


@pytest.mark.e2e
def test_following_tells_what_comes_as_it_comes(start, agent):
    """An entry that another process writes appears by itself, after those that were there."""
    process = start("log", "--follow", "--limit", "1", "--json")
    lines: queue.Queue[bytes] = queue.Queue()
    reader = threading.Thread(target=lambda: [lines.put(line) for line in process.stdout])
    reader.start()
    assert json.loads(lines.get(timeout=20))["action"] == "blocker.recorded"
    agent.journal.append(Note(kind="comment", body="Ahoy", item="harbour-4"))
    heard = json.loads(lines.get(timeout=20))
    assert (heard["sequence"], heard["action"]) == (6, "comment.recorded")
    process.kill()
    reader.join(20)
    assert lines.empty()


def stop() -> None:
    """Do what Ctrl-C does."""
    raise KeyboardInterrupt


def test_following_begins_where_the_page_ended(agent, on_terminal):
    """Each entry is told once, in order, as text; Ctrl-C ends it."""
    note = Note(kind="comment", body="Ahoy", item="harbour-4")
    heard, _ = on_terminal()
    heard.on("blocker.recorded", lambda: agent.journal.append(note))
    heard.on("comment.recorded", stop)
    assert run(["log", "--follow", "--limit", "2"]) == 130
    assert [line.split()[0] for line in heard.getvalue().splitlines()] == ["4", "5", "6"]


def test_following_an_item_starts_at_the_end_when_nothing_fits(agent, on_terminal):
    """What happened to others is not told."""
    agent.plans.create(agent.plans.read("# More\n- [ ] one\n"))
    task = agent.ready.offers(ReadyFilter(), 1)[0].item.id
    heard, _ = on_terminal()
    heard.on("comment.recorded", stop)
    over = threading.Event()

    def write() -> None:
        # What comes before it follows is not told: so until it has told of one.
        while not over.wait(0.05):
            agent.journal.append(Note(kind="comment", body="x", item=task))

    writer = threading.Thread(target=write)
    writer.start()
    assert run(["log", "--follow", "--item", task]) == 130
    over.set()
    writer.join()
    assert heard.getvalue().splitlines()


def test_a_role_and_texts_kept_apart_are_told_shortly(call, app):
    """The profile stands behind the name; a fact that is no text is JSON."""
    judge = app.core(Identity(kind="agent", name="eve", profile="judge"))
    judge.items.edit("harbour-7", Edit(add_labels=("x",), title="Open the gate"))
    row = call("log", "--limit", "1", "--long").out.splitlines()[1]
    assert "eve (judge)" in row
    assert 'fields=["title"]' in row


def test_a_decision_that_nobody_signed_is_marked(call, ledger):
    call("release", "4", "--reason", "its agent is gone")
    call("note", "4", "so be it")
    said = call("log").out
    assert re.search(r"ann, unconfirmed +claim\.released", said)
    assert re.search(r"ann +comment\.recorded", said)
