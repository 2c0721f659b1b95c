"""A person runs checks by hand: what he has started can be ended without an agent."""

from __future__ import annotations

import pytest

from counterpoint.core.model.filters import Note

PASSES, FAILS = "sh -c 'exit 0'", "sh -c 'echo the mast is crooked; exit 3'"


@pytest.fixture
def added(call, ledger):
    """Answer what adds a task with a check that may be run, and starts it."""

    def add(command: str, *, starts: bool = True) -> str:
        assert call("trust", "--allow", command).code == 0
        item = call("add", "Step the mast", "--verify", command, "--json").json["item"]["id"]
        assert not starts or call("start", item).code == 0
        return item

    return add


def test_a_person_ends_a_task_that_has_a_check(call, added):
    """The refusal names the command, which opens the gate of what he holds; then it can be ended."""
    item = added(PASSES)
    said = call("finish", item, "--summary", "It stands")
    assert (said.code, f"`counterpoint check {item}`" in said.err) == (1, True)
    said = call("check", item)
    assert said.code == 0, said.err
    assert said.out.startswith("check-1 passed: sh -c 'exit 0' (harbour-c")
    assert f"counterpoint finish {item}" in said.err
    assert call("finish", item, "--summary", "It stands").code == 0


def test_a_check_that_fails_says_what_it_said(call, added):
    """With its exit code; the command's own is 1, and the gate stays closed."""
    item = added(FAILS)
    said = call("check", item)
    assert said.code == 1
    assert "failed with exit code 3" in said.out
    assert "  the mast is crooked" in said.out
    assert "0 of 1 check passed" in said.err
    answer = call("check", item, "--gate", "check-1", "--json")
    assert (answer.code, answer.json["passed"], len(answer.json["receipts"])) == (1, False, 1)
    assert call("finish", item, "--summary", "x").code == 1


def test_what_nobody_holds_is_checked_too(call, added):
    """Without a claim it opens the gate all the same."""
    item = added(PASSES, starts=False)
    said = call("check", item)
    assert (said.code, "finish" in said.err) == (0, False)
    assert f"Nobody has taken {item} up: `counterpoint start {item}`" in said.err


def test_what_may_not_be_checked_is_refused(call, ledger, agent):
    """A task without a check, a gate it has not, a command nobody has let be run, and what an agent holds."""
    unchecked = call("check", "harbour-6")
    assert unchecked.code == 2
    assert "`counterpoint edit harbour-6 --check COMMAND`" in unchecked.err
    assert call("check", "999").code == 1
    item = call("add", "x", "--verify", "make sail", "--json").json["item"]["id"]
    said = call("check", item)
    assert (said.code, "make sail" in said.err) == (1, True)
    assert call("check", item, "--gate", "paint").code == 1
    agent.journal.append(Note(kind="comment", body="mine"))
    said = call("check", "harbour-4")
    assert said.code == 1, said.err
    assert "counterpoint start harbour-4" in said.err
