"""People take work up, end it and free it: `start`, `finish` and `release`."""

from __future__ import annotations

from builders import git

KEEL, MAST, HULL = "harbour-4", "harbour-5", "harbour-6"


def test_a_person_takes_a_task_up_and_ends_it_with_evidence(call, ledger, agent):
    """The next command of the same terminal goes on in the same session; what changed is measured."""
    agent.journal.resolve("harbour-r2", "there is paint")
    said = call("start", "paint the h", "--minutes", "60", "--json")
    assert said.code == 0, said.err
    assert (said.json["item"]["status"], said.json["renewed"]) == ("active", False)
    assert call("start", HULL, "--json").json["renewed"] is True
    (ledger / "paint").mkdir()
    (ledger / "paint" / "red.txt").write_text("red\nred\n")
    git(ledger, "add", ".")
    git(ledger, "commit", "-qm", "paint")
    said = call("finish", HULL, "--summary", "It is red", "--json")
    assert said.code == 0, said.err
    assert said.json["evidence"]["files"] == 1
    assert said.json["evidence"]["insertions"] == 2
    assert (said.json["item"]["status"], said.json["outcome"]["agent"]) == ("done", "ann")
    again = call("finish", HULL, "--summary", "It is red")
    assert (again.code, "it was ended before" in again.out) == (0, True)
    other = call("finish", HULL, "--summary", "It is blue")
    assert (other.code, f"{HULL} is done already" in other.err) == (1, True)
    assert f"counterpoint reopen {HULL}" in other.err


def test_what_an_agent_left_is_taken_over_with_a_reason(call, agent):
    """The ledger says by whom, from whom and why; the agent's token opens nothing any more."""
    said = call("start", KEEL, "--reason", "ada is gone")
    assert said.code == 0, said.err
    assert "taken over from ada" in said.out
    assert "counterpoint finish harbour-4" in said.err
    entry = call("log", "--item", KEEL, "--json").json["entries"][-1]
    assert entry["action"] == "task.taken_over"
    assert (entry["facts"]["reason"], entry["facts"]["taken_over_from"]) == ("ada is gone", "ada")
    assert entry["facts"]["why"] == "person"


def test_a_release_says_why(call, agent):
    """The reason stands in the entry; who reads the ledger sees it."""
    assert call("release", "4", "--reason", "it hangs").code == 0
    entry = call("log", "--item", KEEL, "--json").json["entries"][-1]
    assert (entry["action"], entry["facts"]["reason"]) == ("claim.released", "it hangs")
    assert "harbour-4 Lay the keel: it hangs" in call("log").out


def test_what_somebody_holds_is_not_opened_again(call, agent):
    """It has not ended, and opening it would take it from its holder in silence; what frees it is named."""
    said = call("reopen", KEEL)
    assert (said.code, f"counterpoint release {KEEL}" in said.err) == (1, True)
    assert call("show", KEEL, "--json").json["item"]["status"] == "active"


def test_only_what_one_has_started_is_ended(call, ledger):
    """What an agent holds has to be taken over first, and that is said; what nobody holds is not ended."""
    said = call("finish", KEEL, "--summary", "x")
    assert (said.code, f"counterpoint start {KEEL}" in said.err) == (1, True)
    assert call("finish", MAST, "--summary", "x").code == 1
    assert call("start", MAST).code == 1


def test_part_of_a_task_goes_back_for_others(call, ledger, agent):
    """With what is missing and what follows."""
    agent.journal.resolve("harbour-r2", "there is paint")
    call("start", HULL)
    words = ["--outcome", "partial", "-m", "Half", "--missing", "The stern", "--next", "Paint it"]
    said = call("finish", HULL, *words, "--json")
    assert (said.code, said.json["item"]["status"]) == (0, "open")
    assert said.json["outcome"]["limitations"] == ["The stern"]
    assert said.json["outcome"]["next_steps"] == ["Paint it"]


def test_who_did_the_work_does_not_judge_it(call, ledger, agent):
    """A person is held to the rule that agents are held to."""
    agent.journal.resolve("harbour-r2", "there is paint")
    made = call("add", "Gild it", "--parent", "harbour-2", "--review", "--json").json["item"]["id"]
    assert call("start", made).code == 0
    assert call("finish", made, "--summary", "gold").code == 0
    said = call("approve", made)
    assert (said.code, "worked on" in said.err) == (1, True)
