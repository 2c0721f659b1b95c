"""The five tools for tasks."""

from __future__ import annotations

import re
from uuid import UUID

import pytest

from builders import Workshop
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, Note
from counterpoint.dialects.colibri.nouns import STAGED
from counterpoint.dialects.colibri.verbs.actions import Actions
from counterpoint.dialects.colibri.verbs.thoughts import Thoughts
from fakes.speaker import Speaker

PATH = ("GATHER", "ANALYZE", "PLAN", "APPLY", "VERIFY")
WAYS = {
    "init": (),
    "gather": PATH[:1],
    "analyze": PATH[:2],
    "plan": PATH[:3],
    "apply": PATH[:4],
    "verify": PATH,
}


def test_a_task_is_made_with_the_fields_of_the_contract(ada: Speaker) -> None:
    """What was not given is null; the id is a UUID of version 4."""
    told = ada.does("task_create", title="Mend", priority="high", project_id="doors")
    assert UUID(told["id"]).version == 4
    assert {
        name: told[name] for name in told if name not in {"id", "created_at", "updated_at"}
    } == {
        "project_id": "doors",
        "title": "Mend",
        "description": None,
        "status": "INIT",
        "priority": "high",
        "assignee": None,
        "deleted_at": None,
        "native_id": told["native_id"],
        "attempt": 1,
        "version": 1,
    }
    assert ada.does("task_get", id=told["id"]) == told
    assert ada.does("task_get", id=told["native_id"]) == told


def test_a_task_begins_in_init_only(ada: Speaker) -> None:
    """A task cannot be born finished, past every rule."""
    assert ada.task(status="INIT")
    error = ada.declines("task_create", title="x", status="DONE")
    assert error["code"] == "ERR_INVALID_INPUT"


def test_a_task_that_is_not_there_is_declined(ada: Speaker) -> None:
    """The refusal is a value, no error of the call."""
    plain = ada.core.plans.create(Draft(kind="task", title="x")).root.id
    for name in ("nobody", plain):
        assert ada.declines("task_get", id=name)["code"] == "ERR_NOT_FOUND"
    assert ada.declines("task_update", id="nobody", title="x")["code"] == "ERR_NOT_FOUND"


def test_arguments_that_are_not_valid_are_pattern_a(ada: Speaker) -> None:
    """Each fault has its place; both rows of the call are written."""
    error = ada.fails("task_update", id="x", patch={"status": "Done", "colour": "red"})
    assert error["code"] == "INVALID_PARAMS"
    issues = error["details"]["issues"]
    assert sorted(issue["path"] for issue in issues) == [["patch", "colour"], ["patch", "status"]]
    entered, ended = ada.core.use(Actions).list(limit=1)[0]
    assert (entered.tool, ended.outcome, ended.code) == ("task_update", "invalid", "INVALID_PARAMS")


@pytest.mark.parametrize("start", WAYS)
def test_every_move_is_legal_or_declined_as_the_table_says(ada: Speaker, start: str) -> None:
    """All eight goals from each state that is not final; a refused one changes nothing."""
    for goal in STAGED.categories:
        made = ada.does("task_create", title="x")
        task, item = made["id"], made["native_id"]
        for state in WAYS[start]:
            ada.core.items.edit(item, Edit(status=state.lower()))
        ada.core.use(Thoughts).think("decision", "So be it.", task=item)
        asked = {"id": task, "status": goal.upper(), "reason": "because"}
        if STAGED.allows(start, goal):
            assert ada.does("task_update", **asked)["status"] == goal.upper()
        else:
            error = ada.declines("task_update", **asked)
            assert error["code"] == "ERR_INVALID_TRANSITION"
            assert error["moves"] == [state.upper() for state in STAGED.moves[start]]
            assert ada.does("task_get", id=task)["status"] == start.upper()


@pytest.mark.parametrize("end", ["DONE", "CANCELLED"])
def test_nothing_leads_out_of_an_end(ada: Speaker, end: str) -> None:
    task = ada.task()
    ada.walk(task, *PATH)
    ada.think(task)
    ada.does("task_update", id=task, status=end, reason="because")
    for goal in STAGED.categories:
        error = ada.declines("task_update", id=task, status=goal.upper(), reason="because")
        assert error["code"] == "ERR_INVALID_TRANSITION"


@pytest.mark.parametrize("type_", ["plan", "analysis"])
def test_done_needs_a_thought_that_looks_back(ada: Speaker, type_: str) -> None:
    """A plan is not enough, and neither is a decision of before the work."""
    task = ada.task()
    ada.walk(task, *PATH[:3])
    ada.think(task, "decision")
    ada.walk(task, *PATH[3:])
    ada.think(task, type_)
    ada.think(ada.task(title="other"), "reflection")
    error = ada.declines("task_update", id=task, patch={"status": "DONE"})
    assert (error["code"], error["missing_fields"]) == (
        "ERR_WRITEBACK_REQUIRED",
        ["thought_record"],
    )
    ada.think(task, "decision")
    ada.walk(task, "DONE")


def test_a_second_attempt_needs_a_thought_of_its_own(ada: Speaker) -> None:
    """What was written back before the work went on again does not count for it."""
    task = ada.task()
    ada.walk(task, *PATH)
    ada.think(task)
    ada.walk(task, *PATH)
    assert ada.does("task_get", id=task)["attempt"] == 2
    code = ada.declines("task_update", id=task, status="DONE")["code"]
    assert code == "ERR_WRITEBACK_REQUIRED"


def test_cancelling_needs_a_reason(ada: Speaker) -> None:
    """Blanks are none; the reason stands in the history."""
    task = ada.task()
    error = ada.declines("task_update", id=task, status="CANCELLED", reason="  ")
    assert (error["code"], error["missing_fields"]) == ("ERR_WRITEBACK_REQUIRED", ["reason"])
    ada.does("task_update", id=task, patch={"status": "CANCELLED", "reason": "no time"})
    moves = ada.does("task_get", id=task, history=True)["transitions"]
    assert [(move["from"], move["to"], move["reason"], move["actor"]) for move in moves] == [
        ("INIT", "CANCELLED", "no time", "ada")
    ]


def test_the_native_edit_cannot_pass_the_rules_by(ada: Speaker, workshop: Workshop) -> None:
    """The rules are those of the item, whoever speaks of it in whatever dialect."""
    task = ada.does("task_create", title="x")
    ada.walk(task["id"], *PATH)
    bob = workshop.agent("bob")
    refusal = bob.is_refused("edit", id=task["native_id"], status="done")
    assert refusal["missing_fields"] == ["thought_record"]
    refusal = bob.is_refused("edit", id=task["native_id"], status="cancelled")
    assert refusal["missing_fields"] == ["reason"]
    assert bob.does("edit", id=task["native_id"], status="gather")


def test_the_native_finish_cannot_pass_the_rules_by(ada: Speaker, workshop: Workshop) -> None:
    """Neither can a claim: what it starts is the first stage, and only VERIFY leads to DONE."""
    task = ada.does("task_create", title="x")
    bob = workshop.agent("bob")
    token = bob.does("start", id=task["native_id"])["claim"]["token"]
    assert ada.does("task_get", id=task["id"])["status"] == "GATHER"
    end = {"id": task["native_id"], "token": token, "outcome": "done", "summary": "ok"}
    assert bob.is_refused("finish", **end)["error"] == "illegal_move"
    for state in ("analyze", "plan", "apply", "verify"):
        bob.does("edit", id=task["native_id"], status=state)
    assert bob.is_refused("finish", **end)["error"] == "gate_closed"
    ada.think(task["id"])
    bob.does("finish", **end)
    assert ada.does("task_get", id=task["id"])["status"] == "DONE"


def test_the_flat_form_and_the_patch_do_the_same(ada: Speaker) -> None:
    """Each field may stand in either; one that stands in both with two values is declined."""
    task = ada.task(description="old", assignee="bob", priority="low")
    told = ada.does("task_update", id=task, title="A", patch={"priority": None, "assignee": None})
    assert (told["title"], told["priority"], told["assignee"]) == ("A", None, None)
    told = ada.does("task_update", id=task, patch={"description": None, "project_id": "p"})
    assert (told["description"], told["project_id"]) == (None, "p")
    error = ada.declines("task_update", id=task, title="A", patch={"title": "B"})
    assert error["code"] == "ERR_INVALID_INPUT"


def test_a_change_of_what_somebody_else_changed_is_declined(ada: Speaker) -> None:
    """By the state or by the version that was seen."""
    task = ada.task()
    ada.walk(task, "GATHER")
    for seen in ({"expected_status": "INIT"}, {"expected_version": 1}):
        error = ada.declines("task_update", id=task, title="x", **seen)
        assert error["code"] == "ERR_VERSION_CONFLICT"
    assert ada.does("task_update", id=task, title="x", expected_status="GATHER", expected_version=2)


def test_a_hidden_task_is_gone_until_it_is_shown_again(ada: Speaker) -> None:
    """Only a list that asks for hidden ones has it."""
    task, other = ada.task(), ada.task(title="other")
    told = ada.does("task_update", id=task, patch={"deleted": True})
    assert told["deleted_at"]
    assert ada.declines("task_get", id=task)["code"] == "ERR_NOT_FOUND"
    assert ada.declines("task_update", id=task, title="x")["code"] == "ERR_NOT_FOUND"
    assert [one["id"] for one in ada.does("task_list")["tasks"]] == [other]
    listed = ada.does("task_list", include_deleted=True)["tasks"]
    assert [one["id"] for one in listed] == [task, other]
    assert ada.does("task_update", id=task, patch={"deleted": False})["deleted_at"] is None
    assert ada.does("task_get", id=task)


def test_lists_are_paged_and_filtered(ada: Speaker) -> None:
    """Cursors and offsets lead through all, each once."""
    tasks = [ada.task(title=f"t{n}", project_id="p" if n % 2 else "q") for n in range(7)]
    ada.walk(tasks[3], "GATHER")
    page = ada.does("task_list", limit=4)
    rest = ada.does("task_list", limit=4, cursor=page["next_cursor"])
    assert [one["id"] for one in page["tasks"] + rest["tasks"]] == tasks
    assert rest["next_cursor"] is None
    assert [one["id"] for one in ada.does("task_list", offset=5)["tasks"]] == tasks[5:]
    assert ada.does("task_list", offset=9)["tasks"] == []
    mine = ada.does("task_list", project_id="p")["tasks"]
    assert [one["id"] for one in mine] == tasks[1::2]
    assert [one["id"] for one in ada.does("task_list", status="GATHER")["tasks"]] == [tasks[3]]
    assert ada.declines("task_list", limit=4, cursor="x")["code"] == "ERR_INVALID_INPUT"


def test_next_actions_name_the_moves_and_what_is_in_the_way(
    ada: Speaker, workshop: Workshop
) -> None:
    """What is finished is not listed; what waits says for what; what is held by whom."""
    first, second, third = (ada.does("task_create", title=name) for name in "abc")
    core = ada.core
    core.items.edit(second["native_id"], Edit(add_needs=(first["native_id"],)))
    bob = workshop.agent("bob")
    bob.does("start", id=first["native_id"])
    ada.does("task_update", id=third["id"], status="CANCELLED", reason="no")
    found = ada.does("task_next_actions")["tasks"]
    assert [(one["title"], one["ready"], one["next_statuses"]) for one in found] == [
        ("a", False, ["ANALYZE", "CANCELLED"]),
        ("b", False, ["GATHER", "CANCELLED"]),
    ]
    assert found[0]["held_by"] == bob.session
    assert first["native_id"] in found[1]["reasons"][0]
    page = ada.does("task_next_actions", limit=1)
    rest = ada.does("task_next_actions", limit=1, cursor=page["next_cursor"])
    assert [one["title"] for one in rest["tasks"]] == ["b"]
    assert ada.does("task_next_actions", project_id="none")["tasks"] == []


def test_what_was_begun_goes_on_though_it_could_not_be_taken_up(ada: Speaker) -> None:
    """A blocker keeps nobody from the next state, and is told."""
    task = ada.task()
    ada.walk(task, "GATHER")
    ada.core.journal.append(Note(kind="blocker", body="no key", item="demo-1"))
    (found,) = ada.does("task_next_actions")["tasks"]
    assert (found["ready"], found["held_by"]) == (True, None)
    assert found["reasons"] == ["blocker demo-r1: no key"]


def test_a_key_makes_a_repeat_harmless(ada: Speaker) -> None:
    """The first answer comes again, with rows of its own; another call under it is declined."""
    first = ada.does("task_create", title="x", idempotency_key="k")
    assert ada.does("task_create", title="x", idempotency_key="k") == first
    error = ada.declines("task_create", title="y", idempotency_key="k")
    assert error["code"] == "ERR_KEY_REUSED"
    assert len(ada.does("task_list")["tasks"]) == 1


def test_a_long_list_stays_within_a_page(ada: Speaker) -> None:
    """What does not fit goes on at the cursor."""
    for _ in range(8):
        ada.task(description="d" * 7_000)
    reply = ada.call("task_list")
    assert len(reply.text) <= 10_000
    assert reply.answer["data"]["next_cursor"]


def test_a_blank_title_is_declined_and_not_a_defect(ada: Speaker) -> None:
    """What the core refuses of a document has no path, and is told all the same."""
    assert ada.declines("task_create", title=" ")["code"] == "ERR_INVALID_INPUT"
    assert ada.declines("task_update", id=ada.task(), title=" ")["code"] == "ERR_INVALID_INPUT"


def test_a_refusal_speaks_of_states_as_this_dialect_does(ada: Speaker) -> None:
    """States are upper case in the message, the hint and the fields, and the task is named."""
    task = ada.task()
    error = ada.declines("task_update", id=task, status="DONE")
    assert error["message"].endswith("cannot go from INIT to DONE")
    assert error["hint"] == "From INIT it may become: GATHER, CANCELLED."
    assert (error["from"], error["to"], error["task_id"]) == ("INIT", "DONE", task)
    assert (error["state"], error["moves"]) == ("INIT", ["GATHER", "CANCELLED"])
    stale = ada.declines("task_update", id=task, title="x", expected_status="PLAN")
    assert stale["message"].endswith("is INIT, not PLAN")
    assert stale["status"] == "INIT"
    reason = ada.declines("task_update", id=task, status="CANCELLED")
    assert reason["message"].endswith("becomes CANCELLED only with a reason")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("task_get", {"id": "nobody"}),
        ("task_update", {"id": "nobody", "title": "x"}),
        ("merkle_root", {"session_id": "nobody"}),
        ("merkle_proof", {"record_id": "nobody"}),
    ],
)
def test_a_hint_names_only_tools_of_this_dialect(
    ada: Speaker, tool: str, arguments: dict[str, str]
) -> None:
    """Who does not find a thing is sent to tools that there are here."""
    named = set(re.findall(r"`(\w+)`", ada.declines(tool, **arguments)["hint"]))
    assert named
    assert named <= {"task_list", "thought_record_list", "audit_session_start"}


def test_a_task_of_the_longest_and_strangest_words_stays_within_a_page(ada: Speaker) -> None:
    """Each control character takes six bytes; what is too long is cut in the description."""
    words = dict.fromkeys(("project_id", "priority", "assignee"), "\x01" * 200)
    task = ada.task(title="\x01" * 256, description="\x01" * 8_000, **words)
    ada.walk(task, "GATHER")
    for _ in range(6):
        ada.walk(task, "ANALYZE", "PLAN", "APPLY", "VERIFY")
        ada.does("task_update", id=task, status="GATHER", reason="\x01" * 2_000)
    for history in (False, True):
        assert len(ada.call("task_get", id=task, history=history).text.encode()) <= 10_000


@pytest.mark.parametrize("name", ["description", "project_id", "priority", "assignee"])
def test_a_flat_null_empties_as_in_the_patch(ada: Speaker, name: str) -> None:
    """What is left out stays; an empty text is none, and null of what is never empty changes nothing."""
    given = {"description": "d", "project_id": "p", "priority": "1", "assignee": "a"}
    task = ada.does("task_create", title="T", **given)["id"]
    told = ada.does("task_update", id=task, **{name: None})
    assert {one: told[one] for one in given} == {**given, name: None}
    again = ada.does("task_update", id=task, title=None, status=None, **{name: "x"})
    assert {one: again[one] for one in given} == {**given, name: "x"}
    assert (again["title"], again["status"]) == ("T", "INIT")


@pytest.mark.parametrize("bad", [" ", "a ", "\ta", "a\nb", "a\x00b", "a\u202eb", "a\u200bb"])
def test_an_id_has_no_blanks_around_it_and_nothing_unseen(ada: Speaker, bad: str) -> None:
    """Nobody could tell it from another one; nothing is written."""
    task = ada.does("task_create", title="T")["id"]
    thought = {"type": "plan", "task_id": task, "agent_id": "ada", "content": "c"}
    for tool, asked in (
        ("thought_record", {**thought, "agent_id": bad}),
        ("thought_record", {**thought, "task_id": bad}),
        ("thought_record", {**thought, "session_id": bad}),
        ("audit_session_start", {"intent": "i", "session_id": bad}),
        ("audit_session_start", {"intent": "i", "task_id": bad}),
        ("merkle_finalize", {"session_id": bad}),
        ("task_update", {"id": bad, "title": "U"}),
    ):
        assert ada.fails(tool, **asked)["code"] == "INVALID_PARAMS", (tool, asked)
    assert not any(one["intent"] for one in ada.does("audit_sessions")["sessions"])
    assert ada.does("thought_record_list", task_id=task)["thoughts"] == []


def test_an_id_of_ones_own_for_a_session_has_no_blanks(ada: Speaker) -> None:
    """An agent's name may have some between its words."""
    assert ada.fails("audit_session_start", intent="i", session_id="my session")
    task = ada.does("task_create", title="T")["id"]
    thought = {"type": "plan", "task_id": task, "agent_id": "Claude Code", "content": "c"}
    assert ada.does("thought_record", **thought)["agent_id"] == "Claude Code"
