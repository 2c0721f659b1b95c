"""What happens in a golden ledger, so that each kind of action and each table is in it."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Any, Final, cast, get_args

import pytest

from builders import commit, git
from counterpoint.core.model.access import Principal
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.evidence import Command
from counterpoint.core.model.filters import Check, Edit, Handover, Judgment, Note, Report
from counterpoint.core.model.identity import Attested, Origin
from counterpoint.core.model.journal import NoteKind, Outcomes, RecordKind
from counterpoint.core.model.proofs import ThoughtType
from counterpoint.core.model.runs import RunOrder
from counterpoint.core.model.sessions import SessionOpening
from counterpoint.core.operations.closing.ending import carry_on
from counterpoint.core.operations.journal import Journal
from counterpoint.core.operations.plans import Plans
from counterpoint.core.operations.recording.unit import transaction
from counterpoint.dialects.agentic.nouns import BriefFilter
from counterpoint.dialects.agentic.verbs.briefs import Briefs
from counterpoint.dialects.agentic.verbs.pruning import Pruning
from counterpoint.dialects.agentic.verbs.sessions import PlanSessions
from counterpoint.dialects.colibri.nouns import Asked
from counterpoint.dialects.colibri.verbs.actions import Actions
from counterpoint.dialects.colibri.verbs.seals import Seals
from counterpoint.dialects.colibri.verbs.thoughts import Thoughts
from counterpoint.dialects.symphony.nouns import MARKER, IssueDraft
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.dialects.symphony.verbs.learnings import Learnings
from counterpoint.dialects.symphony.verbs.phases import Phases
from counterpoint.dialects.symphony.verbs.workspaces import Workspaces
from counterpoint.kernel.errors import Conflict, ProviderRefused, StoreFull
from fakes.errands import ERRANDS, Office
from fakes.golden import people
from fakes.golden.specs import runs, specs
from fakes.golden.stage import Refused, Stage
from fakes.golden.studies import studies
from fakes.pausing import pausing
from fakes.scripted_models import ScriptedModels, answer_with

SLICED: Final = (
    "counterpoint.core.operations.planning.staging.SLICE",
    "counterpoint.core.operations.plans.SLICE",
    "counterpoint.core.operations.closing.ending.SLICE",
)
SMALL: Final = 3
"""Items of one slice here, so that a large plan has few."""
DAY: Final = 24 * 60
AWAY: Final = "away"
"""A project that was moved to another database."""
STREAM: Final = (
    '{"type":"system","subtype":"init","session_id":"s","model":"m"}',
    '{"type":"assistant","message":{"content":[{"type":"text","text":"hello"}]}}',
    '{"type":"result","subtype":"success","num_turns":3,"usage":{"input_tokens":10,"output_tokens":5}}',
)


def play(stage: Stage) -> None:
    """Let everything happen, and have it signed."""
    # What a project asks of judges is said before any work has begun.
    dialect(stage, "symphony")
    pruned(stage)
    for name in ("colibri", "agentic", "workflow", "native"):
        dialect(stage, name)
    strangers(stage)
    tasks(stage)
    plans(stage)
    sessions(stage)
    boards(stage)
    agentic(stage)
    colibri(stage)
    knowledge(stage)
    specs(stage)
    runs(stage)
    studies(stage)
    stage.sign()
    people.decisions(stage)
    people.epochs(stage)
    sealed(stage)
    moved(stage)


def dialect(stage: Stage, name: str) -> None:
    """Let agents say a word of their own in every text of every tool of a dialect."""

    def person(*words: str) -> None:
        assert words[:2] == ("workspace", "open")
        _mark(stage, words[2])

    ERRANDS[name](
        Office(
            scribe=stage.scribe(name),
            join=partial(stage.join, name),
            person=person,
            folder=stage.root,
        )
    )
    stage.clock.pass_by(minutes=1)


def _mark(stage: Stage, issue: str) -> None:
    core = stage.person()
    core.use(Workspaces).open(core.use(Issues).named(issue).id, MARKER, "")


def strangers(stage: Stage) -> None:
    """Write as somebody whom nothing attests, and as one over HTTP whose process nobody saw."""
    nobody = stage.seat("gus", attested=Attested(principal=None))
    nobody.core.journal.append(Note(kind="comment", body="who am I?"))
    unseen = stage.connection("hal", namespace="http", pid=0, started=0, executable="")
    over_http = Attested(principal=None, origin=Origin(boot=unseen.boot, unseen=unseen))
    stage.seat("hal", attested=over_http).core.journal.append(Note(kind="comment", body="and I?"))
    oauth = Attested(principal=Principal(strength="credential", id=f"oauth:{'0c' * 16}"))
    stage.seat("ivy", attested=oauth).core.journal.append(Note(kind="comment", body="I am known"))


def tasks(stage: Stage) -> None:
    """Work on a plan with everything that an item can have, and end it in every way."""
    ada, bob = stage.seat("ada").core, stage.seat("bob").core
    text = (
        "# Plan\n## One\n- [ ] A {#a}\n  - labels: x\n  - areas: src\n  - accept: one\n"
        "  - verify: true\n  - verify: false\n  - review: yes\n- [ ] B\n  - after: a\n- [ ] C\n- [ ] D\n- [ ] E\n"
    )
    items = ada.plans.create(ada.plans.read(text)).items
    first, _, third, fourth, fifth = (one.id for one in items if one.kind == "task")
    ada.items.edit(first, Edit(attributes={"size": {"deep": [1.5, "ü"]}}, body="with a body"))
    token = ada.claims.start(first).claim.token
    ada.claims.start(first, minutes=90)
    (stage.root / "made.txt").write_text("made\n")
    ada.gates.verify(Check(item=first), token)
    ada.gates.verify(Check(item=first, command=Command(argv=("echo", "hello"))), token)
    for kind in get_args(RecordKind):
        made = ada.journal.append(Note(kind=kind, body=f"a {kind}", item=first, tags=("t",)))
        if kind == "blocker":
            ada.journal.resolve(made.id, "it is out of the way")
    pat = stage.person()
    pat.items.edit(first, Edit(waive=("check-2",), reason="it never passes"))
    ada.reviews.submit(first, "made.txt", "see", token)
    ada.tasks.finish(first, token, Report(outcome="done", summary="it works", met=(0,)))
    bob.overview.facets(first)
    bob.reviews.review(first, Judgment(approves=True, reason="good"))
    ends: tuple[tuple[str, Outcomes], ...] = (
        (third, "partial"),
        (fourth, "failed"),
        (fifth, "skipped"),
    )
    for item, outcome in ends:
        token = ada.claims.start(item).claim.token
        ada.tasks.finish(item, token, Report(outcome=outcome, summary=f"it was {outcome}"))
    bob.claims.start(third, minutes=1)
    stage.clock.pass_by(minutes=2)
    ada.claims.start(third)
    ada.once("a key", {"a": 1}, lambda: ada.memory.put("project", "n", {"v": 1.25}).version)
    ada.memory.put("project", "gone", "soon")
    ada.memory.forget("project", "gone")
    pat.projects.put_profile(
        "judge", title="Judge", instructions="Look", allowed_tools=("plan",), denied_tools=("edit",)
    )
    pat.runs.ingest(STREAM, RunOrder(run="run-0", item=first, profile="worker", agent="ada"))
    # A clock that was put back tells of it in the entry.
    stage.clock.pass_by(minutes=-60)
    bob.journal.append(Note(kind="comment", body="an hour ago"))
    stage.clock.pass_by(minutes=61)


def plans(stage: Stage) -> None:
    """Make a large plan in slices, give one up, and extend one inside of a call."""
    ada = stage.seat("ada").core
    with pytest.MonkeyPatch.context() as held:
        for name in SLICED:
            held.setattr(name, SMALL)
        ada.plans.create(_large("Zoo"))
        taken = Draft(kind="task", title="Taken", aliases=(("slug", "okapi"),))

        def meddle() -> None:
            stage.seat("bob").core.plans.create(taken)

        late, _ = pausing(cast("Any", stage), stage.seat("ada").core, 2, meddle)
        try:
            late.plans.create(_large("Garden", aliases=(("slug", "okapi"),)))
        except Conflict:
            pass
        else:
            raise AssertionError("the large plan was not given up")
        context = stage.context(ada)
        with transaction(context):
            Journal(context).append(Note(kind="comment", body="a plan of four entries follows"))
            Plans(context).create(_large("Farm"))
        _closings(stage)


def _closings(stage: Stage) -> None:
    """Cancel a large tree, and another one that somebody else has to carry to its end."""
    ada = stage.seat("ada").core
    one, other = (ada.plans.create(_large(name)).root.id for name in ("Pond", "Barn"))
    pat = stage.person()
    pat.items.edit(one, Edit(status="cancelled", reason="no pond"))

    def fail() -> None:
        store.fault = StoreFull

    maker, store = pausing(cast("Any", stage), pat, 2, fail)
    with suppress(StoreFull):
        maker.items.edit(other, Edit(status="cancelled", reason="no barn"))
    stage.clock.pass_by(minutes=1)
    assert carry_on(stage.context(stage.system)) == 1


def _large(title: str, **last: Any) -> Draft:
    some = tuple(Draft(kind="task", title=f"{title} {number}") for number in range(6))
    full = Draft(kind="task", title=f"{title} last", labels=("big",), review=True, **last)
    return Draft(kind="plan", title=title, children=(*some, full))


def sessions(stage: Stage) -> None:
    """Take up what another left, and give up."""
    eve, fay = stage.seat("eve").core, stage.seat("fay").core
    item = eve.plans.create(Draft(kind="task", title="Left")).root.id
    eve.claims.start(item)
    left = eve.sessions.hand_over(Handover(action="pause", summary="bye", next_steps=("go on",)))
    fay.sessions.hand_over(Handover(action="continue", session=left.session.id))
    gone = stage.seat("ben")
    gone.core.journal.append(Note(kind="comment", body="here"))
    stage.clock.pass_by(minutes=DAY)
    fay.sessions.abandon(gone.identity.session, "nobody is there")
    # Who was started again has the secret of the one before, and goes on in his session.
    first, again = stage.seat("zoe"), stage.seat("zoe")
    opened = first.core.sessions.open(SessionOpening(purpose="work", is_own=True)).id
    again = again.knowing(first.identity.capability)
    again.core.sessions.log(opened, Note(kind="log", body="here again"))


def boards(stage: Stage) -> None:
    """Hand phases over that pass, are refused, go stale or wait too long; renew a change; judge a learning."""
    pat = stage.person()
    git(stage.root, "switch", "-q", "main")
    _handed(stage, "waiting", confidence="low")
    # The second has nothing to write but that it came.
    for _ in range(2):
        stage.seat("auto").core.use(Phases).advance()
    stale, refused, _ = (_handed(stage, name) for name in ("stale", "refused", "passed"))
    pat.items.edit(stale[0], Edit(status="cancelled"))
    (stage.root / refused[1]).write_text("another text")
    pat.use(Phases).advance()
    stage.clock.pass_by(minutes=DAY + 1)
    pat.use(Phases).advance()
    _change(stage)
    learnt = stage.seat("lea").core.journal.append(Note(kind="learning", body="look before"))
    pat.use(Learnings).judge(learnt.id, verified=True, score=90)
    _move(stage)
    seat = stage.seat("ina", surface="symphony", profile="intake")
    later = seat.call("create_issue", title="Divided before it is begun")["identifier"]
    pat.use(Issues).open_below(later, IssueDraft(title="The first half"))


def _issue(stage: Stage, *labels: str) -> dict[str, Any]:
    made = stage.seat("ina", surface="symphony", profile="intake").call(
        "create_issue", title="A thing to be made", description="It is made well", labels=[*labels]
    )
    stage.person().items.edit(made["id"], Edit(status="open"))
    return made


def _handed(stage: Stage, name: str, confidence: str = "high") -> tuple[str, str]:
    """Hand the research of a fresh issue over; answer its id, and the path of the text."""
    made = _issue(stage, "phase:research")
    issue = made["identifier"]
    _mark(stage, issue)
    heads = ("Problem", "Current State", "Findings", "Risks", "Recommendation")
    text = "# Research\n\n" + "\n\n".join(f"## {one}\n\nWhat is so of {name}." for one in heads)
    path = f"docs/tickets/{issue}/research.md"
    commit(stage.root, path, text)
    stage.seat("rex", surface="symphony", profile="researcher", item=issue).call(
        "complete_phase",
        completed_phase="research",
        project_path="a folder",
        contract_version=1,
        artifact_path=path,
        artifact_hash=sha256(text.encode()).hexdigest(),
        confidence=confidence,
        recommended_next_phase="architecture",
        summary="What there is, at some length, so that whoever reads it knows",
    )
    return made["id"], path


def _change(stage: Stage) -> None:
    """Hand a branch in, go on with it, and have it looked at; send another issue back."""
    issue = _issue(stage, "phase:ready")["identifier"]
    git(stage.root, "switch", "-q", "-c", f"symphony/{issue}", "main")
    _mark(stage, issue)
    worker = stage.seat("wes", surface="symphony", profile="worker", item=issue, run="run-7")
    worker.call("add_comment", content="begun")
    commit(stage.root, "renewed.md", "one\n")
    worker.call(
        "create_pr",
        branch_name=f"symphony/{issue}",
        base_branch="main",
        gate_results=[],
        diff=git(stage.root, "diff", "main", "HEAD") + "\n",
    )
    commit(stage.root, "renewed.md", "two\n")
    stage.person().use(Phases).advance()
    judge = stage.seat("jo", surface="symphony", profile="judge", item=issue)
    judge.call("update_issue_status", status="todo", reason="it does not float")
    again = stage.seat("wes", surface="symphony", profile="worker", item=issue, run="run-8")
    again.call("add_comment", content="again")
    again.call("update_issue_status", status="review", reason="it floats now")


def _move(stage: Stage) -> None:
    """Move an issue with what was said of it to another project."""
    made = _issue(stage, "phase:grooming")
    seat = stage.seat("pia", surface="symphony", profile="planner", item=made["identifier"])
    seat.call("add_comment", content="said before it was moved")
    for kind in get_args(NoteKind):
        seat.core.journal.append(Note(kind=kind, body=f"a {kind} of before", item=made["id"]))
    seat.call("move_issue", target_project_id="other", reason="it belongs there")


def agentic(stage: Stage) -> None:
    """Let a session expire, and a brief go on."""
    seat = stage.seat("opus", surface="agentic")
    seat.call("plan_create", title="Left alone", slug="old", phases=[{"name": "Only"}])
    seat.call("session_start", plan_slug="old", agent_type="opus")
    stage.clock.pass_by(minutes=2 * DAY)
    core = stage.seat("sonnet", surface="agentic").core
    core.use(PlanSessions).sweep()
    stage.seat("ann", surface="agentic").call(
        "content_brief_create", title="A page about harbours", content_type="blog_post"
    )
    found = core.use(Briefs).list(BriefFilter(), 0, 1)
    core.use(Briefs).move(found[0].id, "queued", "next week")
    _written(stage, found[0].id)


def _written(stage: Stage, brief: str) -> None:
    """Have texts written: of a prompt, of a brief that fails once, and about a plan."""
    seat = stage.seat("ann", surface="agentic")
    away = ProviderRefused("it is so")
    answer_with(seat.app, ScriptedModels(["a song", away, "a page", "a better page"]))
    seat.call("content_generate", prompt="Write a song.")
    with suppress(Refused):
        seat.call("content_generate", brief_id=brief)
    seat.call("content_batch_generate")
    phases = [{"name": "Only", "tasks": ["Row"]}]
    seat.call("plan_create", title="Told of", slug="told", phases=phases)
    seat.call("content_from_plan", plan_slug="told", limit=1)


def pruned(stage: Stage) -> None:
    """Put a plan away, and take its texts away long after."""
    seat = stage.seat("ann", surface="agentic")
    seat.call("plan_create", title="Put away", slug="past", phases=[{"name": "Only"}])
    seat.call("plan_archive", slug="past")
    stage.clock.pass_by(minutes=400 * DAY)
    (taken,) = stage.person().use(Pruning).prune()
    assert taken.receipt


def colibri(stage: Stage) -> None:
    """Go through the stages of a task, refuse a call, and leave one without an end."""
    seat = stage.seat("ada", surface="colibri", proofs="1")
    task = seat.call("task_create", title="Go through all stages")["data"]["id"]
    for status in ("GATHER", "ANALYZE", "PLAN", "APPLY", "VERIFY", "GATHER"):
        seat.call("task_update", id=task, patch={"status": status})
    for tool, arguments in (
        ("task_update", {"id": "demo-9999", "patch": {"status": "DONE"}}),
        ("task_create", {}),
    ):
        with suppress(Refused):
            seat.call(tool, **arguments)
    stage.host.name = "lost"
    seat.core.use(Actions).enter(Asked(tool="task_get", arguments="0d" * 32))
    stage.host.name = "here"
    stage.host.gone.add("lost")
    stage.host.swept.clear()
    seat.core.use(Actions).sweep()


def sealed(stage: Stage) -> None:
    """Seal a session with the key that the ledger has at its end."""
    core = stage.seat("cyd").core
    task = core.plans.create(Draft(kind="task", title="Thought about")).root.id
    for kind in get_args(ThoughtType):
        core.use(Thoughts).think(kind, f"a {kind} of cyd's", task=task)
    core.use(Seals).seal(core.caller.actor.session)
    stage.sign()


def knowledge(stage: Stage) -> None:
    """Take documents in, drop one, and take words away wherever they stand."""
    git(stage.root, "switch", "-q", "main")
    ada = stage.seat("ada").core
    stage.person().documents.configure({"folders": ["docs"]})
    for path in ("docs/kept.md", "docs/dropped.md"):
        commit(stage.root, path, "# The harbour\n\nIt is deep.\n\n## The tower\n\nIt is high.\n")
        ada.documents.take(path)
    ada.documents.drop("docs/dropped.md")
    ada.journal.append(Note(kind="comment", body="the merger is on Friday"))
    pat = stage.person()
    erased = pat.erasing.of_words("the merger is on Friday", reason="not ours to tell")
    pat.erasing.close(
        erased,
        looked_for=1,
        cleaned=("database", "log"),
        beyond=("backups",),
        remains=("file of somebody else",),
    )


def moved(stage: Stage) -> None:
    """Leave the copy of a project that goes on in another database."""
    seat = stage.seat("ada", project=AWAY)
    seat.core.journal.append(Note(kind="comment", body="the last word here"))
    seat.core.signing.sign()
    with stage.store.writing(AWAY) as writing:
        writing.leave("postgresql://db.example.org/ledgers", stage.clock.now())
