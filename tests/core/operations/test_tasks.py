"""The end of work: outcomes, measured evidence, and the gates that hold it back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from counterpoint.core.model.filters import Check, Edit, Judgment, Report
from counterpoint.core.model.journal import Outcome, StartPoint
from counterpoint.core.model.runs import HookReport
from counterpoint.core.model.trust.checking import Checking
from counterpoint.core.model.work import Criterion
from counterpoint.kernel import canonical
from counterpoint.kernel.errors import (
    ClaimLost,
    Conflict,
    GateClosed,
    InvalidInput,
    MalformedDocument,
    NotFound,
)

DONE = Report(outcome="done", summary="it works")


@pytest.fixture
def claim(studio, ada):
    """Give what makes a task of some Markdown lines and starts it."""

    def begin(*lines):
        text = "# Plan\n- [ ] A\n" + "".join(f"  - {line}\n" for line in lines)
        item = ada.plans.create(ada.plans.read(text)).items[1].id
        return item, ada.claims.start(item).claim.token

    return begin


def test_a_finish_keeps_words_and_measured_evidence(studio, ada, claim):
    """What the agent says, what the tree says, and who it was."""
    studio.tree.write("old", "1")
    studio.tree.commit()
    item, token = claim("accept: one", "accept: two")
    studio.tree.write("new", "2")
    commit = studio.tree.commit()
    report = Report(
        outcome="done", summary="s", achievements=("a",), limitations=("l",), next_steps=("n",),
        met=(0,),
    )  # fmt: skip
    found = ada.tasks.finish(item, token, report)
    assert (found.item.status, found.parent.status) == ("done", "done")
    assert (found.measured.file_count, found.measured.commits) == (1, (commit,))
    outcome = ada.overview.find(Outcome, item, token)
    assert outcome == found.outcome
    assert (outcome.session, outcome.agent) == (ada.caller.actor.session, "ada")
    assert (outcome.achievements, outcome.next_steps) == (("a",), ("n",))
    evidence = canonical.load(outcome.evidence)
    assert evidence["files"] == [{"path": "new", "kind": "added", "insertions": 1, "deletions": 0}]
    assert outcome.remarks == ("acceptance not marked as met: [1] two",)
    assert [ada.overview.find(Criterion, item, n).met for n in (0, 1)] == [True, False]
    entry = studio.last()
    assert (entry.action, entry.subject) == ("task.finished", item)
    assert entry.facts == {"outcome": "done", "files": 1, "commits": 1}
    assert ada.overview.held() == ()


@pytest.mark.parametrize(
    ("outcome", "status", "action"),
    [("partial", "open", "task.put_back"), ("failed", "failed", "task.failed")],
)
def test_each_outcome_has_its_state_and_its_action(studio, ada, claim, outcome, status, action):
    """An outcome that does not count as done asks no gate of the item."""
    item, token = claim("verify: false", "accept: one")
    found = ada.tasks.finish(item, token, Report(outcome=outcome, summary="so"))
    assert found.item.status == status
    assert studio.last().action == action
    assert found.outcome.remarks == ("no file changed since the start",)


def test_skipping_asks_every_gate(studio, ada, claim):
    """Without a gate an item is skipped; with a closed one its worker cannot skip past it."""
    skip = Report(outcome="skipped", summary="so")
    item, token = claim()
    assert ada.tasks.finish(item, token, skip).item.status == "skipped"
    assert studio.last().action == "task.skipped"
    item, token = claim("verify: false")
    studio.refuses(GateClosed, lambda: ada.tasks.finish(item, token, skip))


def test_the_same_finish_again_answers_the_same(studio, ada, bob, claim):
    """A retry without a key writes nothing; other words or another session are refused."""
    item, token = claim()
    first = ada.tasks.finish(item, token, DONE)
    before = studio.image()
    again = ada.tasks.finish(item, token, DONE)
    assert studio.image() == before
    assert (again.outcome, again.item, again.parent) == (first.outcome, first.item, first.parent)
    assert (again.measured, again.released) == (None, ())
    other = Report(outcome="done", summary="other words")
    with pytest.raises(Exception, match="has ended"):
        ada.tasks.finish(item, token, other)
    studio.refuses(ClaimLost, lambda: bob.tasks.finish(item, token, DONE))


def test_a_retry_of_a_finish_with_a_secret_in_it_is_known_again(studio, ada, claim):
    """What was kept is masked; the retry is compared as it would be kept."""
    item, token = claim()
    report = Report(outcome="done", summary="used AKIAABCDEFGHIJKLMNOP for it")
    assert ada.tasks.finish(item, token, report).outcome.summary
    assert ada.tasks.finish(item, token, report).measured is None


def test_done_is_refused_while_a_check_is_closed(studio, ada, claim):
    """The refusal names each gate and what opens it."""
    item, token = claim("verify: make test", "artifact: yes")
    fault = studio.refuses(GateClosed, lambda: ada.tasks.finish(item, token, DONE))
    assert fault.facts == {"gates": ["artifact", "check-1"]}
    assert "hand in its artifact" in fault.hint.lower()
    ada.gates.verify(Check(item=item), token)
    studio.tree.write("out.md", "text")
    ada.reviews.submit(item, "./out.md", "here", token)
    assert ada.tasks.finish(item, token, DONE).item.status == "done"


def test_done_goes_to_review_if_a_review_is_asked_for(ada, claim):
    """The claim ends, the item waits for its verdict."""
    item, token = claim("review: yes")
    found = ada.tasks.finish(item, token, DONE)
    assert found.item.status == "review"
    assert found.released == ()


def test_a_check_that_passed_before_the_last_edit_does_not_count(studio, ada, claim):
    """Inside the item's areas; a file committed as it was checked is no edit."""
    item, token = claim("verify: make test", "areas: src")
    studio.tree.write("src/a", "1")
    ada.gates.verify(Check(item=item), token)
    studio.tree.write("src/a", "2")
    fault = studio.refuses(GateClosed, lambda: ada.tasks.finish(item, token, DONE))
    assert fault.facts == {"edited": ["src/a"]}
    ada.gates.verify(Check(item=item), token)
    studio.tree.write("docs/b", "elsewhere")
    studio.tree.commit()
    assert ada.tasks.finish(item, token, DONE).item.status == "done"


@pytest.mark.parametrize("status", ["done", "review"])
def test_a_check_that_passed_too_early_does_not_count_by_word_either(studio, ada, claim, status):
    """A word ends or hands in no more than a finish does; to leave the work is another matter."""
    item, token = claim("verify: make test", "areas: src")
    ada.gates.verify(Check(item=item), token)
    studio.tree.write("src/a", "2")
    studio.refuses(GateClosed, lambda: ada.items.edit(item, Edit(status=status)))
    studio.refuses(NotFound, lambda: ada.items.edit("demo-99", Edit(status=status)))
    ada.gates.verify(Check(item=item), token)
    assert ada.items.edit(item, Edit(status=status)).status == status


def test_work_with_an_early_check_may_be_left(studio, ada, claim):
    """Nothing is said to be finished with that."""
    item, token = claim("verify: make test", "areas: src")
    ada.gates.verify(Check(item=item), token)
    studio.tree.write("src/a", "2")
    assert ada.items.edit(item, Edit(status="cancelled", reason="no")).status == "cancelled"


def test_a_checked_file_that_is_gone_is_an_edit(studio, ada, claim):
    """Deleting what was checked is one more change."""
    item, token = claim("verify: make test", "areas: src")
    studio.tree.write("src/a", "1")
    ada.gates.verify(Check(item=item), token)
    del studio.tree.files["src/a"]
    studio.refuses(GateClosed, lambda: ada.tasks.finish(item, token, DONE))


def test_remarks_say_what_the_evidence_does_not_show(studio, ada, claim):
    """Tests that nobody ran, files outside, work that is not committed."""
    item, token = claim("areas: src")
    studio.tree.commit()
    studio.tree.write("else/where", "1")
    report = Report(outcome="done", summary="All tests are green")
    remarks = ada.tasks.finish(item, token, report).outcome.remarks
    assert "1 of 1 changed file lies outside the areas: else/where" in remarks
    assert "1 changed file is not committed: else/where" in remarks
    assert any("no receipt shows it" in remark for remark in remarks)


def test_tests_that_ran_here_need_no_remark(studio, ada, claim):
    """A receipt with exit code 0 shows them."""
    item, token = claim("verify: make test")
    ada.gates.verify(Check(item=item), token)
    report = Report(outcome="done", summary="All tests pass")
    assert ada.tasks.finish(item, token, report).outcome.remarks == (
        "no file changed since the start",
    )


def test_a_redacted_start_point_is_a_warning(studio, ada, claim):
    """What is gone on purpose is not measured as deleted without a word."""
    studio.tree.write("src/a", "1")
    item, token = claim()
    studio.system.erasing.of_row(StartPoint, item, token, reason="private")
    found = ada.tasks.finish(item, token, DONE)
    assert "the start snapshot was redacted" in found.outcome.remarks


def test_wrong_finishes_are_refused(studio, ada, claim):
    """No such acceptance sentence, no such item."""
    item, token = claim("accept: one")
    wrong = Report(outcome="done", summary="s", met=(1,))
    studio.refuses(InvalidInput, lambda: ada.tasks.finish(item, token, wrong))
    studio.refuses(NotFound, lambda: ada.tasks.finish("demo-99", 1, DONE))


def test_a_start_point_that_is_gone_is_named(studio, ada, person, claim):
    """A damaged store is told, not crashed on."""
    item, token = claim()
    person.items.edit(item, Edit(title="B"))
    with studio.store.writing("demo") as writing:
        kept = next(writing.table(StartPoint))
        writing.drop(StartPoint, {"item": item, "token": token})
    studio.refuses(NotFound, lambda: ada.tasks.finish(item, token, DONE))
    with studio.store.writing("demo") as writing:
        names = ("project", "item", "token", "method", "commit", "branch", "files")
        names += ("taken_at", "tree")
        writing.put(StartPoint, dict(zip(names, kept, strict=True)))


@pytest.mark.parametrize(
    ("trusts", "reads", "files"),
    [
        ("meanwhile", "what was trusted", ["src/x.py"]),
        ("meanwhile", "something else", ["counterpoint.toml", "src/x.py"]),
        ("meanwhile", "", ["counterpoint.toml", "src/x.py"]),
        ("before", "what was trusted", ["counterpoint.toml", "src/x.py"]),
        ("never", "what was trusted", ["counterpoint.toml", "src/x.py"]),
    ],
)
def test_what_a_person_trusts_meanwhile_is_no_edit_of_the_worker(
    studio, person, trusts, reads, files
):
    """The configuration as it was trusted while the work went on is the person's; any other is not."""

    def checking() -> Checking:
        if not reads:
            raise MalformedDocument("it cannot be read")
        return Checking(commands=(("pytest",) if reads == "what was trusted" else ("sh",),))

    studio.ports = replace(studio.ports, checking=checking)
    ada = studio.core("ada")
    item = ada.plans.create(ada.plans.read("# Plan\n- [ ] A\n  - areas: src\n")).ready[0]

    def trust(when: str) -> None:
        studio.clock.pass_by(minutes=1)
        if trusts == when:
            person.projects.trust(Checking(commands=(("pytest",),)), "/bin")
        studio.clock.pass_by(minutes=1)

    trust("before")
    token = ada.claims.start(item).claim.token
    trust("meanwhile")
    studio.tree.write("counterpoint.toml", "[checks]")
    studio.tree.write("src/x.py", "1")
    found = ada.tasks.finish(item, token, DONE)
    assert [change.path for change in found.measured.files] == files
    assert any("outside the areas" in one for one in found.outcome.remarks) == (len(files) == 2)


@pytest.mark.parametrize(
    ("tool", "given", "is_own"),
    [
        ("Edit", {"file_path": "/tree/src/pear/b.py"}, True),
        ("Bash", {"command": "git add src/pear/b.py && git commit -m b"}, True),
        ("Read", {"file_path": "/tree/src/pear/b.py"}, False),
        ("Bash", {"command": "cat src/pear/b.py | head; git diff src/pear/b.py"}, False),
        ("Bash", {"command": "cat other > src/pear/b.py"}, True),
        ("Edit", {"file_path": "/tree/src/pear/b.pyi"}, False),
    ],
)
def test_what_the_own_tools_changed_stays_own_in_an_area_of_another(
    ada, bob, studio, tool, given, is_own
):
    """A file that hooks saw written counts for who wrote it; one that was only read does not."""
    plan = "# Plan\n- [ ] Walnut\n  - areas: src/walnut\n- [ ] Pear\n  - areas: src/pear\n"
    walnut, pear = ada.plans.create(ada.plans.read(plan)).ready
    token = ada.claims.start(walnut).claim.token
    bob.claims.start(pear)
    studio.tree.write("src/pear/b.py", "1")
    text = json.dumps({"tool_name": tool, "tool_input": given})
    report = HookReport(client="claude", text=text, size=len(text), at=studio.clock.now())
    ada.runs.report([report])
    ended = ada.tasks.finish(walnut, token, Report(outcome="done", summary="planted"))
    assert ended.measured.file_count == int(is_own)
    assert [part.by for part in ended.measured.apart] == ([] if is_own else ["bob"])


def test_what_was_changed_in_the_own_area_is_own_while_another_works(ada, bob, studio):
    plan = "# Plan\n- [ ] Walnut\n  - areas: src/walnut\n- [ ] Pear\n  - areas: src/pear\n"
    walnut, pear = ada.plans.create(ada.plans.read(plan)).ready
    token = ada.claims.start(walnut).claim.token
    bob.claims.start(pear)
    studio.tree.write("src/walnut/a.py", "1")
    measured = ada.tasks.finish(walnut, token, Report(outcome="done", summary="planted")).measured
    assert [change.path for change in measured.files] == ["src/walnut/a.py"]
    assert measured.apart == ()


def test_why_work_ends_so_stands_in_its_entry(studio, ada, claim):
    item, token = claim()
    ada.tasks.finish(item, token, replace(DONE, reason="no time is left"))
    assert studio.last().facts["reason"] == "no time is left"


def test_work_that_was_rejected_does_not_come_again_unchanged(studio, ada, bob, claim):
    """Unless it is said why, or something has changed."""
    studio.tree.write("a", "1")
    commit = studio.tree.commit()
    item, token = claim("review: yes")
    assert ada.tasks.finish(item, token, DONE).item.status == "review"
    bob.reviews.review(item, Judgment(approves=False, reason="no"))
    token = ada.claims.start(item).claim.token
    same = replace(DONE, reason="")
    fault = studio.refuses(Conflict, lambda: ada.tasks.finish(item, token, same))
    assert f"{item} was rejected at the commit {commit[:12]}" in fault.message
    again = ada.tasks.finish(item, token, replace(DONE, reason="it is right as it is"))
    assert again.item.status == "review"
