"""Showing one thing by its id."""

from __future__ import annotations

import re

import pytest

from builders import attested_as
from counterpoint.app import Identity
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Handover, Judgment, Note, Report
from counterpoint.dialects.agentic.nouns import BriefRequest
from counterpoint.dialects.agentic.verbs.briefs import Briefs
from counterpoint.dialects.workflow.verbs.workflows import Workflows
from counterpoint.kernel.visible import visible

KEEL = """\
harbour-4  Lay the keel
  kind       task
  status     active
  priority   2
  parent     harbour-2
  areas      src
  assignee   ada
  needed by  harbour-5
  claim      ada (SES), 29 min left
  ready      no
  why        held by ada
  changed    TIME

Gates
  [x] check-1 (check) met: true

Records
  harbour-r1  decision: Oak

Receipts
  harbour-c1  exit 0: true
"""


def scrubbed(text: str) -> str:
    """Answer a text without what is different each time."""
    text = re.sub(r"ses_[a-z0-9]+", "SES", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d \(UTC\)", "TIME", text)
    text = re.sub(r"\d+ min left", "29 min left", text)
    return re.sub(r"(why +held by ada).*", r"\1", text)


def test_an_item_is_shown_with_all_that_hangs_on_it(call, ledger):
    """Its fields, why it is not ready, gates, records, receipts."""
    assert scrubbed(call("show", "harbour-4").out) == KEEL
    assert "[ ] review (review) not met yet\n" in call("show", "harbour-3").out


def test_a_check_that_nobody_has_allowed_is_said_as_its_task_is_shown_and_begun(call, agent):
    """With the line that allows it, until a person has."""
    line = "its check is not allowed yet; a person allows it: `counterpoint trust --allow 'test -s it'`"
    made = agent.plans.create(Draft(title="Weigh it", kind="task", checks=(("test", "-s", "it"),)))
    id_ = made.root.id
    assert line in call("show", id_).out
    assert call("start", id_, "--json").json["not_allowed"] == ["test -s it"]
    assert f"{id_}: {line}" in call("start", id_).err
    assert call("trust", "--allow", "test -s it").code == 0
    assert "not allowed" not in call("show", id_).out
    assert call("start", id_, "--json").json["not_allowed"] == []


def test_a_plan_is_shown_as_a_tree(call, ledger):
    """What is below stands indented, with a tick for what is done."""
    shown = call("show", "harbour-1").out
    assert "\nThe whole of it.\n" in shown
    assert (
        "\n  [ ] harbour-2  Build  (active)\n    [ ] harbour-4  Lay the keel  (active)\n" in shown
    )


def test_an_item_has_stable_keys(call, ledger):
    """Every list is there, the empty ones too."""
    found = call("show", "harbour-1", "--json").json
    assert set(found) == {
        *("sort", "item", "labels", "after", "needed_by", "areas", "accept", "gates", "claim"),
        *(
            "readiness",
            "outcome",
            "below",
            "records",
            "outcomes",
            "receipts",
            "submissions",
            "verdicts",
        ),
    }
    assert [(child["id"], child["depth"]) for child in found["below"]][:2] == [
        ("harbour-2", 1),
        ("harbour-4", 2),
    ]
    assert found["item"]["description"] == "The whole of it."


def test_outcomes_show_their_evidence_as_json(call, ledger, agent):
    """What the server measured is an object, not a text inside a text."""
    agent.journal.resolve("harbour-r2", "bought")
    paint = agent.claims.start("harbour-6")
    (ledger / "paint").mkdir()
    (ledger / "paint" / "red").write_text("red\n")
    agent.tasks.finish("harbour-6", paint.claim.token, Report(outcome="done", summary="Red now"))
    found = call("show", "harbour-6", "--json").json["outcomes"][0]
    assert found["summary"] == "Red now"
    assert found["evidence"]["files"][0]["path"] == "paint/red"
    assert "#1  done by ada: Red now" in call("show", "harbour-6").out
    for name in ("harbour-6@1", "6@1"):
        assert call("show", name, "--json").json["outcome"]["summary"] == "Red now"


def test_an_entry_is_shown_by_its_number(call, ledger):
    """As agents ask for it; what is no number, and what the ledger has not, is refused."""
    assert call("show", "#1", "--json").json["entry"]["sequence"] == 1
    assert call("show", "#1").out.startswith("entry #1, times in UTC\n")
    assert [call("show", name).code for name in ("#", "#x", f"#{'9' * 99}", "#999")] == [1, 1, 1, 1]
    assert "numbered from 0 to" in call("show", "#999").err


def test_what_was_handed_in_and_judged_is_shown(call, ledger, app, agent):
    """Submissions and verdicts stand with their item, and by themselves."""
    agent.journal.resolve("harbour-r2", "bought")
    token = agent.claims.start("harbour-6").claim.token
    given = agent.reviews.submit("harbour-6", "hull.txt", "Red", token=token)
    session = app.agent().session
    eve = Identity(kind="agent", name="eve", session=session, attested=attested_as("eve"))
    judge = app.core(eve)
    subject = given.submission.sha256[:12]
    no = Judgment(approves=False, reason="Blue!", fixes=("Paint it", "red"), subject=subject)
    judge.reviews.review("harbour-6", no)
    shown = call("show", "harbour-6").out
    assert "\nSubmissions\n  harbour-s1  Red\n" in shown
    verdict = "  harbour-v1  reject by eve: Blue!\n    to mend: Paint it\n    to mend: red\n"
    assert f"\nVerdicts\n{verdict}" in shown
    assert call("show", "harbour-v1", "--json").json["verdict"]["decision"] == "reject"


@pytest.mark.parametrize(("id_", "sort"), [("harbour-r1", "record"), ("harbour-c1", "receipt")])
def test_other_things_are_shown_by_their_ids(call, ledger, id_, sort):
    """The letter in the id says what it is."""
    found = call("show", id_, "--json").json
    assert found["sort"] == sort
    assert found[sort]["id"] == id_
    assert call("show", id_).out.startswith(f"{sort} {id_}, times in UTC\n")


def test_what_only_one_dialect_keeps_is_shown_by_its_id_too(call, ledger, agent):
    """Its table is there, whatever speaks to the ledger."""
    made = agent.use(Briefs).create(BriefRequest(title="Tell of it", content_type="blog_post"))
    found = call("show", made.id, "--json").json
    assert (found["sort"], found["brief"]["title"]) == ("brief", "Tell of it")


def test_a_session_and_its_handoff_are_shown(call, ledger, agent):
    """Both are found by their ids."""
    given = agent.sessions.hand_over(Handover(action="pause", summary="Tea"))
    assert call("show", given.session.id, "--json").json["session"]["status"] == "paused"
    assert "Tea" in call("show", given.handoff.id).out


def test_the_text_of_an_agent_keeps_its_lines_and_loses_its_powers(call, ledger):
    """Line ends stay; escape sequences are shown."""
    shown = call("show", "harbour-r1").out
    assert re.search(r"body +Oak\n +because \\u\{1b\}\[31mit lasts\n", shown)


def test_what_would_steer_or_hide_reaches_no_terminal(call, ledger, agent):
    """As text, in tables and logs, and in JSON, whose own escapes bring programs what was written."""
    text = "Oak\u202e\u200b\U000e0069\x9b2J"
    made = agent.journal.append(Note(kind="decision", title=text, body=text))
    for words in (("show", made.id), ("log",), ("find", "Oak"), ("status",)):
        for more in ((), ("--json",)):
            said = call(*words, *more).out
            assert visible(said) == said, words
    assert call("show", made.id, "--json").json["record"]["body"] == text


@pytest.mark.parametrize("id_", ["harbour-99", "harbour-r99", "ses_nobody", "what"])
def test_an_id_of_nothing_is_a_no(call, ledger, id_):
    """Exit code 1 for every sort of id."""
    assert call("show", id_).code == 1


def test_all_that_is_below_an_item_is_shown(call, agent):
    """In its order, however much and deep it is; of what was written the latest, or all with --all and in JSON."""
    inner = "".join(f"  - [ ] inner {number}\n" for number in range(30))
    tasks = "".join(f"- [ ] t{number}\n" for number in range(130))
    root = agent.plans.create(agent.plans.read(f"# P\n- [ ] outer\n{inner}{tasks}")).root.id
    below = call("show", root, "--json").json["below"]
    assert [one["title"] for one in below[:3]] == ["outer", "inner 0", "inner 1"]
    assert len(below) == 161
    assert [below[30]["depth"], below[31]["depth"]] == [2, 1]
    assert call("show", root).out.count("[ ] ") == 161
    for number in range(25):
        agent.journal.append(Note(kind="comment", body=f"note {number}", item=root))
    said = call("show", root).out
    assert said.count("comment: note") == 20
    assert f"counterpoint show {root} --all" in said
    assert call("show", root, "--all").out.count("comment: note") == 25
    assert len(call("show", root, "--json").json["records"]) == 25


def test_a_whole_tells_how_it_ended(call, app):
    """A workflow and its phase, with what was said at the end; JSON has its numbers too."""
    core = app.person()
    flow = core.use(Workflows).open("Float", "It floats", {})
    phase = core.use(Workflows).open_phase(flow.id, 1, Draft(kind="phase", title="Draw")).phase
    core.use(Workflows).close_phase(phase.id, "done", "Drawn")
    words = {"summary": "It swims", "achievements": ["Keel", "Mast"], "limitations": ["No flag"]}
    core.use(Workflows).close(flow.id, "done", words)
    shown = call("show", flow.id).out
    assert shown.endswith(
        "\nOutcome\n  summary       It swims\n  achievements  Keel\n                Mast\n  limitations   No flag\n"
    )
    assert call("show", phase.id).out.endswith("\nOutcome\n  summary  Drawn\n")
    ended = call("show", flow.id, "--json").json["outcome"]
    assert {name: ended[name] for name in words} == words
    assert ended["metrics"]["total_phases"] == 1
