"""Status, lists, ready work and search at the command line."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from counterpoint.cli.main import run
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Judgment, Report
from fakes.harbour import agent_of

LIST = """\
id         kind   status  priority  title
harbour-1  plan   active  2         Harbour
harbour-2  phase  active  2           Build
harbour-4  task   active  2             Lay the keel
harbour-5  task   open    2             Raise the mast [waits]
harbour-6  task   open    2             Paint the hull [waits]
harbour-3  phase  open    2           Launch [waits]
harbour-7  task   open    2             Open the lock [waits]
"""

STATUS = """\
harbour: 0 of 4 tasks done, 1 in work

Waiting for you
id         what              title     run
harbour-6  a blocker of ada  No paint  counterpoint unblock harbour-r2

Held now
id         by   lease        title
harbour-4  ada  29 min left  Lay the keel

Open work
id         status  title
harbour-1  active  Harbour
harbour-2  active    Build
harbour-4  active      Lay the keel
harbour-5  open        Raise the mast [waits]
harbour-6  open        Paint the hull [waits]
harbour-3  open      Launch [waits]
harbour-7  open        Open the lock [waits]
"""

LONG = """\

Work
kind   open  active  review  done  dropped
phase  1     1       0       0     0
plan   0     1       0       0     0
task   3     1       0       0     0

At the top
id         kind  status  done  title
harbour-1  plan  active  0/2   Harbour

Ledger: 6 entries, the last * ago
Signatures: 6 entries wait for a signature, for *
Reviews: attested
You: ann (human), attested by a connection: cn_*
Apart: what runs as you can write ledger and signer; `sudo counterpoint service install` gives them an account of their own.
"""

ITEM = {
    *("id", "kind", "title", "status", "category", "parent", "root", "priority", "blockers"),
    *("assignee", "profile", "version", "created_at", "updated_at", "closed_at"),
}


def test_the_list_is_aligned_text(call, ledger):
    assert call("list").out == LIST


def test_the_status_shows_all_that_matters(call, ledger):
    assert re.sub(r"\d+ min left", "29 min left", call("status").out) == STATUS
    shown = re.sub(r"the last .* ago", "the last * ago", call("status", "--long").out)
    shown = re.sub(r"signature, for .*", "signature, for *", shown)
    shown = re.sub(r"You: \w+ \(human\)(.*): cn_\w+", r"You: ann (human)\1: cn_*", shown)
    assert re.sub(r"\d+ min left", "29 min left", shown) == STATUS + LONG


def test_the_status_has_stable_keys(call, ledger):
    found = call("status", "--json").json
    assert found["embedding"]["model"] == "static-256.1"
    assert found["embedding"]["passages"] >= found["embedding"]["embedded"] == 0
    assert set(found) == {
        *("project", "counts", "roots", "live", "blockers", "in_review", "ledger", "now", "you"),
        *(
            "recovered",
            "awaiting",
            "checks",
            "waiting_for_you",
            "embedding",
            "git",
            "quorum",
            "signers",
        ),
    }
    assert found["project"]["id"] == "harbour"
    assert found["counts"]["task"] == {"open": 3, "active": 1}
    assert found["ledger"]["size"] == 6
    assert found["live"][0]["claim"]["agent"] == "ada"
    assert set(found["roots"][0]) == {*ITEM, "progress"}


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ((), [1, 2, 3, 4, 5, 6, 7]),
        (("--status", "open"), [3, 5, 6, 7]),
        (("--category", "active", "--kind", "task"), [4]),
        (("--kind", "phase"), [2, 3]),
        (("--parent", "harbour-2"), [4, 5, 6]),
        (("--assignee", "ada"), [4]),
        (("--root", "harbour-1", "--limit", "2"), [1, 2]),
        (("--cursor", "harbour-5"), [6, 7]),
        (("--category", "done"), []),
        (("--root", "4"), [1, 2, 3, 4, 5, 6, 7]),
        (("--parent", "build", "--limit", "1"), [4]),
    ],
)
def test_a_list_has_what_its_filters_ask_for(call, ledger, words, ids):
    found = call("list", "--json", *words).json
    assert [item["id"] for item in found["items"]] == [f"harbour-{number}" for number in ids]
    assert all(set(item) == ITEM for item in found["items"])


def test_a_list_of_a_kind_that_there_is_not_names_those_there_are(call, ledger):
    said = call("list", "--kind", "nonsense")
    assert (said.code, "'phase', 'task'" in said.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("list --root nope", "harbour-1"),
        ("list --parent nope", "harbour-1"),
        ("list --status flying", "active"),
        ("list --label wet", "dry"),
        ("list --assignee bob", "ada"),
        ("list --ready --root nope", "harbour-1"),
        ("list --ready --label wet", "dry"),
        ("next --root nope", "harbour-1"),
        ("next --label wet", "dry"),
        ("find keel --kind nonsense", "decision"),
        ("find keel --item nope", "harbour-1"),
        ("log --item nope", "harbour-1"),
        ("log --action nonsense", "task.started"),
    ],
)
def test_a_value_that_there_is_not_is_refused_with_those_there_are(call, ledger, words, told):
    call("edit", "5", "--add-label", "dry")
    said = call(*words.split())
    assert (said.code, said.out) == (2, ""), words
    assert told in said.err


def test_an_empty_project_is_told_how_to_begin(call, place):
    subprocess.run(["git", "init", "-q"], check=True)
    assert call("init", "--yes", "--client", "claude").code == 0
    assert "counterpoint plan FILE" in call("list").out
    assert "counterpoint plan FILE" in call("status").out
    assert "counterpoint plan FILE" in call("next").out


def test_a_long_list_goes_on_at_its_cursor(call, ledger):
    seen, cursor = [], ""
    while cursor is not None:
        page = call("list", "--json", "--limit", "3", "--cursor", cursor).json
        seen += [item["id"] for item in page["items"]]
        cursor = page["cursor"]
    assert seen == [f"harbour-{number}" for number in range(1, 8)]
    first = call("list", "--limit", "3")
    assert "--cursor harbour-4" in first.err
    assert first.out + call("list", "--cursor", "harbour-4").out.partition("\n")[2] == LIST


def test_what_is_ready_comes_with_reasons(call, ledger, agent):
    assert "Nothing is ready" in call("next").out
    agent.journal.resolve("harbour-r2", "bought some")
    found = call("next", "--json").json
    assert [offer["item"]["id"] for offer in found["ready"]] == ["harbour-6"]
    assert found["ready"][0]["why"]
    assert call("list", "--ready", "--json").json == found
    assert "harbour-6" in call("next").out


def test_ready_work_pages_too(call, ledger, agent):
    agent.plans.create(agent.plans.read("# More\n- [ ] one\n- [ ] two\n- [ ] three\n"))
    first = call("next", "--json", "--limit", "2").json
    then = call("next", "--json", "--cursor", first["cursor"]).json
    titles = [offer["item"]["title"] for page in (first, then) for offer in page["ready"]]
    assert titles == ["one", "two", "three"]
    assert then["cursor"] is None
    assert "--cursor" in call("next", "--limit", "2").err


def test_ready_refuses_filters_it_would_ignore(call, ledger):
    assert call("list", "--ready", "--status", "open").code == 2


def test_search_finds_by_words(call, ledger):
    found = call("find", "oak", "--json").json["found"]
    assert [one["id"] for one in found] == ["harbour-r1"]
    assert found[0]["item"] == "harbour-4"
    assert "harbour-4" in call("find", "keel", "--kind", "task").out
    assert call("find", "unheard").out == "Nothing has these words.\n"
    assert call("find", "...").code == 2


def test_work_is_seen_from_any_folder_and_worktree(call, ledger, monkeypatch):
    below = ledger / "deep" / "down"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert call("list").out == LIST
    linked = ledger.parent / "linked"
    git = shutil.which("git")
    subprocess.run([git, "worktree", "add", "-q", str(linked)], cwd=ledger, check=True)
    monkeypatch.chdir(linked)
    assert call("list").out == LIST
    assert not (linked / ".counterpoint").exists()


def test_a_title_cannot_steer_the_terminal(call, ledger, agent):
    task = Draft(kind="task", title="x")
    title = "\x1b]0;owned\x07 \u202etxt.exe"
    agent.plans.create(Draft(kind="plan", title=title, children=(task,)))
    for words in (["list"], ["status"], ["log"], ["find", "owned"]):
        shown = call(*words).out
        assert "owned" in shown
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)


def test_watching_needs_a_terminal(call, ledger):
    assert call("status", "--watch").code == 2


def test_watching_shows_the_status_until_it_is_stopped(ledger, on_terminal):
    out, err = on_terminal()
    out.on("Open work", stop)
    assert run(["status", "--watch"]) == 130
    assert "Held now" in out.getvalue()
    assert "Stopped." in err.getvalue()


def stop():
    """Do what Ctrl-C does."""
    raise KeyboardInterrupt


def test_a_look_writes_nothing(call, app):
    for words in ("status", "list", "next", "log", "find keel", "show harbour-1", "audit rebuild"):
        assert call(*words.split()).code == 0
    assert app.person().overview.state().ledger_size == 6


def test_the_status_tells_what_waits_to_be_handed_in_judged_and_mended(call, app, ledger):
    worker, judge = agent_of(app), app.person()
    made = worker.plans.create(worker.plans.read("# P\n## One\n- review: yes\n- [ ] A\n"))
    phase, task = (one.id for one in made.items[1:])
    token = worker.claims.start(task).claim.token
    worker.tasks.finish(task, token, Report(outcome="done", summary="so"))
    assert "an agent that hands it in" in call("status").out
    worker.reviews.submit(phase, "", "see")
    assert f"counterpoint approve {phase}" in call("status").out
    judge.reviews.review(phase, Judgment(approves=False, reason="thin", fixes=("more",)))
    assert "its repair, fix: more; rejected by" in call("status").out
    (told,) = [
        one for one in call("status", "--json").json["awaiting"] if one["item"]["id"] == phase
    ]
    assert (told["step"], told["rejection"]["fixes"]) == ("mend", ["more"])


def test_a_mistyped_value_is_told_its_neighbour(call, ledger):
    said = call("list", "--status", "opn")
    assert (said.code, "Did you mean `open`? The values: active," in said.err) == (2, True)
    assert "more." not in said.err


def test_open_work_comes_first_and_what_has_ended_is_counted(call, ledger):
    call("edit", "5", "--status", "cancelled")
    said = call("list")
    assert "harbour-5" not in said.out
    assert "1 dropped is left out: add `--all`." in said.err
    assert re.search(r"harbour-5 +task +cancelled +2 +Raise the mast", call("list", "--all").out)
    assert "harbour-5" in [one["id"] for one in call("list", "--json").json["items"]]
    assert "harbour-5" not in call("list", "--kind", "task").out
    assert "harbour-5" in call("list", "--kind", "task", "--all").out
    for words in (("--category", "dropped"), ("--status", "dropped"), ("--status", "cancelled")):
        assert "harbour-5" in call("list", *words).out, words


def test_a_project_whose_work_is_done_says_so(call, place):
    call("init", "--yes")
    call("add", "Lay the keel")
    call("start", "1")
    call("finish", "1", "--summary", "so")
    assert call("list").out == "The only task is done. `counterpoint list --all` shows them.\n"
    call("add", "Paint it")
    call("start", "2")
    call("finish", "2", "--summary", "so")
    call("add", "Burn it")
    call("edit", "3", "--status", "cancelled")
    ended = "All 2 tasks are done. 1 task was dropped. `counterpoint list --all` shows them.\n"
    assert call("list").out == ended
    assert call("next").out == ended
    assert ended in call("status").out
    assert call("status").out.startswith("harbour: 2 of 2 tasks done\n")


@pytest.mark.parametrize("plan", ["## A\n- [ ] a\n## B\n- [ ] b", "- [ ] A\n- [ ] B\n  - after: A"])
def test_what_waits_for_something_cancelled_says_the_way_out(call, ledger, plan):
    (ledger / "PLAN.md").write_text(f"# P\n{plan}\n")
    call("plan", "PLAN.md")
    waiting = "harbour-12" if "##" in plan else "harbour-10"
    way = (
        "reopen it with `counterpoint reopen harbour-9`, or let nothing come after it with"
        " `counterpoint edit harbour-10 --not-after harbour-9`"
    )
    cancelled = call("edit", "harbour-9", "--status", "cancelled", "--reason", "not now")
    assert f"harbour-10 waits for harbour-9: {way}." in cancelled.err
    reasons = [why for held in call("next", "--json").json["waiting"] for why in held["why"]]
    assert any(f"waits for harbour-9 (cancelled; {way}): A" in why for why in reasons)
    refusal = call("start", waiting).err
    assert way in refusal
    assert "##" in plan or "harbour-9 is cancelled: reopen it with `counterpoint reopen" in refusal
    due = call("status", "--json").json["waiting_for_you"][-1]
    assert (due["id"], due["run"]) == ("harbour-9", "counterpoint reopen harbour-9")
    assert due["what"] == "cancelled, and harbour-10 waits for it"
    assert call("edit", "harbour-10", "--not-after", "harbour-9").code == 0
    assert waiting in call("next").out
