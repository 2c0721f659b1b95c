"""A person who works alone: hands in, judges own work where that is allowed, and is one principal."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path

from counterpoint.core.model.filters import Judgment
from fakes.terminal import Open, add_key, sign

NO = Judgment(approves=False, reason="it leaks", fixes=("tar the seams",))
PLAN = "# Alone\n\n## One\n- review: yes\n- areas: docs/\n\n- [ ] First\n"


def _worked(call) -> tuple[str, str]:
    """Make a plan with a reviewed phase and do its task; answer the ids of the phase and of the task."""
    Path("alone.md").write_text(PLAN)
    assert call("plan", "alone.md").code == 0
    ids = {one["title"]: one["id"] for one in call("list", "--json").json["items"]}
    phase, task = ids["One"], ids["First"]
    assert call("start", task).code == 0
    assert call("finish", task, "-m", "done").code == 0
    return phase, task


def test_a_phase_is_handed_in_from_the_command_line(call, ledger):
    """With a summary and the file that shows it; it waits for a verdict."""
    phase, _ = _worked(call)
    handed = call("submit", phase, "-m", "all of it", "--artifact", "hull.txt", "--json").json
    assert handed["item"]["status"] == "review"
    assert (handed["submission"]["path"], handed["closed_gates"]) == ("hull.txt", ["review"])
    assert "agent create reviewer" in call("status").out


def test_a_refusal_to_judge_own_work_names_the_ways_on(call, ledger):
    """Every command by which one would judge names them, so that none sends one in a circle."""
    phase, _ = _worked(call)
    call("submit", phase, "-m", "all of it")
    for words in (("approve",), ("reject", "--reason", "no"), ("waive", "review", "--reason", "x")):
        refused = call(words[0], phase, *words[1:])
        assert refused.code == 1
        for way in ("agent create reviewer", "another person", "policy --reviews self"):
            assert way in refused.err


def test_that_people_judge_their_own_work_is_signed(call, ledger):
    """Without a signature it is refused, and nothing changes."""
    refused = call("policy", "--reviews", "self")
    assert refused.code == 1
    assert "without a signature" in refused.err
    assert call("policy").out == "Reviews: attested\n"


def test_under_the_policy_self_a_verdict_on_own_work_says_so(at: Open, call, ledger):
    """In the answer, on the page of the item, in the entry, in proofs, exports and what verifies them."""
    add_key(at)
    assert sign(at("policy", "--reviews", "self")) == 0
    phase, _ = _worked(call)
    call("submit", phase, "-m", "all of it")
    approved = call("approve", phase)
    assert approved.code == 0
    assert ", self)" in approved.out
    assert "(self)" in call("show", phase).out
    assert "(self)" in call("log", "--action", "item.approved").out
    (entry,) = call("log", "--action", "item.approved", "--json").json["entries"]
    assert entry["facts"]["independence"] == "self"
    said = "self      1 verdict is of people on their own work"
    assert said in call("audit", "verify").out
    assert call("audit", "export", "all.bundle").code == 0
    assert said in call("verify", "all.bundle").out
    assert '"independence":"self"' in call("audit", "prove", str(entry["sequence"])).out
    (verdict,) = call("show", phase, "--json").json["verdicts"]
    envelope = json.loads(call("audit", "export", "--verdict", verdict["id"]).out)
    assert '"independence":"self"' in b64decode(envelope["payload"]).decode()


def test_a_rejected_phase_is_mended_in_a_task_below_it(call, ledger, agent):
    """`next` offers that, never the phase; unchanged it is handed in again only with a reason."""
    phase, _ = _worked(call)
    call("submit", phase, "-m", "all of it")
    agent.reviews.review(phase, NO)
    ready = [one["item"] for one in call("next", "--json").json["ready"]]
    (repair,) = [one for one in ready if one["parent"] == phase]
    assert repair["title"] == f"Mend {phase}: One"
    assert phase not in [one["id"] for one in ready]
    assert "tar the seams" in call("show", repair["id"]).out
    assert call("submit", phase, "-m", "again").code == 1
    call("start", repair["id"])
    call("finish", repair["id"], "-m", "tarred")
    again = call("submit", phase, "-m", "again")
    assert again.code == 1
    assert "--reason" in again.err
    assert call("submit", phase, "-m", "again", "--reason", "it was outside of git").code == 0
