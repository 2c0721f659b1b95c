"""Refusals of the core as foundry tells them: its own ids, its own states, its own calls."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from builders import SECRET, Agent, Workshop
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit
from counterpoint.core.model.identity import Attested
from counterpoint.core.model.work import Item
from counterpoint.core.operations.closing.ending import Ender
from counterpoint.core.operations.recording.change import Change
from counterpoint.core.operations.recording.context import Context
from counterpoint.dialects.call import Call
from counterpoint.dialects.registry import surface

SPEC = "export-2026-01-02-001"
OTHER = "other-2026-01-02-001"

ITEM = re.compile(r"\bdemo-\d")
"""An id that the core keeps."""
STATE = re.compile(
    r"\b(open|active|backlog|review|done|partial|skipped|(?<!it )failed|cancelled)\b"
)
WAIVING = re.compile(r"counterpoint waive \S+ [\w-]+")
QUOTED = re.compile(r"`([^`]+)`")
ACTION = re.compile(r'(\w+) action="([\w-]+)"')
Prepare = Callable[["World"], object]


class World:
    """Two specs, and who works on them."""

    def __init__(self, workshop: Workshop) -> None:
        """Make the specs; ada is at the first task of the first."""
        self.ada = workshop.agent("ada", surface="foundry")
        self.ben = workshop.agent("ben", surface="foundry")
        self.workshop = workshop
        self.core = workshop.agent("nat").core
        for spec in (SPEC, OTHER):
            self.core.plans.create(_spec(spec))
        self.does(self.ada, "lifecycle activate")
        self.does(self.ada, "task start", task_id="task-1-1")

    def does(self, who: Agent, call: str, **given: Any) -> dict[str, Any]:
        """Call an action that succeeds."""
        tool, action = call.split()
        return who.does(tool, action=action, **{"spec_id": SPEC, **given})["data"]

    def ends(self, *names: str) -> None:
        """Let ben complete nodes."""
        for name in names:
            self.does(self.ben, "task complete", task_id=name, completion_note="Done")

    def as_nobody(self) -> None:
        """Let ben be known by his name alone."""
        unknown = replace(self.ben.identity, attested=Attested(principal=None))
        self.ben = replace(self.ben, identity=unknown, _client=None)

    def item(self, name: str) -> str:
        """Return the item of a node."""
        found = self.core.items.find(f"{SPEC}/{name}")
        assert found is not None
        return found.id


def _task(spec: str, name: str, path: str = "", **more: Any) -> Draft:
    alias = (("node", f"{spec}/{name}"),)
    areas = (path,) if path else ()
    return Draft(
        kind="task",
        title=name,
        name=name,
        aliases=alias,
        areas=areas,
        acceptance=("It works",),
        **more,
    )


def _spec(spec: str) -> Draft:
    def phase(number: int, *tasks: Draft, **more: Any) -> Draft:
        name = f"phase-{number}"
        alias = (("node", f"{spec}/{name}"),)
        return Draft(kind="phase", title=name, name=name, aliases=alias, children=tasks, **more)

    return Draft(
        kind="spec",
        title="Export",
        lifecycle="declared",
        aliases=(("spec", spec),),
        children=(
            phase(
                1,
                _task(spec, "task-1-1", "src/a.py"),
                _task(spec, "task-1-2", "src/a.py"),
                _task(spec, "task-1-3", "src/c.py", checks=(("false",),)),
                _task(spec, "task-1-4", review=True),
            ),
            phase(2, _task(spec, "task-2-1"), _task(spec, "task-2-2"), needs=("phase-1",)),
            phase(3, _task(spec, "task-3-1"), needs=(), review=True),
            phase(4, _task(spec, "task-4-1"), needs=()),
        ),
    )


def _nothing(_world: World) -> None:
    """Need nothing to have come before."""


def _loosened(world: World) -> None:
    criteria = ["It works well"]
    world.does(world.ben, "task update-metadata", task_id="task-1-2", acceptance_criteria=criteria)
    world.does(world.ada, "task complete", task_id="task-1-1", completion_note="Done")


def _edited(name: str, **fields: Any) -> Prepare:
    return lambda world: world.core.items.edit(world.item(name), Edit(**fields))


def _failed(world: World) -> None:
    for status in ("active", "failed"):
        _edited("task-1-2", status=status)(world)


def _moved_away(world: World) -> None:
    world.workshop.clock.pass_by(minutes=1)
    goal = world.core.items.find(f"{OTHER}/phase-1")
    assert goal is not None
    _edited("task-4-1", parent=goal.id)(world)


def _ended(world: World) -> None:
    world.ends("task-4-1")


def _at_gate(world: World) -> None:
    world.does(world.ben, "task start", task_id="task-1-3")


def _with_subtask(world: World) -> None:
    world.does(world.ben, "task add", parent="task-4-1", title="Part")


def _linked(world: World) -> None:
    world.does(world.ben, "task add", parent="phase-2", title="More")
    edge = {"task_id": "task-2-1", "target_id": "task-2-2"}
    world.does(world.ben, "task add-dependency", **edge)


def _at_review(world: World) -> None:
    world.does(world.ada, "task complete", task_id="task-1-1", completion_note="Done")
    world.does(world.ben, "task start", task_id="task-3-1")


class _Closing:
    """Begins to close a tree that is large enough for others to write in between."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def begin(self, item: str) -> None:
        def has_nothing_against(_change: Change, _top: Item) -> None:
            """Let the call go on."""

        Ender(self._context, item, "cancelled", "No more").begin(has_nothing_against)


def _closing(world: World) -> None:
    world.core.use(_Closing).begin(world.item("phase-4"))


def _unattested(world: World) -> None:
    """Let ben be one whom nothing attests, and somebody else have worked."""
    worker = world.workshop.agent("eve", surface="foundry")
    world.does(worker, "task complete", task_id="task-4-1", completion_note="Done")
    world.as_nobody()


def _ended_session(world: World) -> None:
    native = replace(world.ben, surface="native", _client=None)
    native.does("handoff", action="end", summary="I leave")


HELD = {"task_id": "task-1-1"}
NOTE = {"completion_note": "Done"}
TABLE: dict[str, tuple[Prepare, str, dict[str, Any], str]] = {
    "another is at it": (_nothing, "task start", HELD, "task-1-1 is held by ada"),
    "another completes it": (_nothing, "task complete", HELD | NOTE, "task-1-1 is held by ada"),
    "another blocks it": (_nothing, "task block", HELD | {"reason": "No"}, "task-1-1 is held"),
    "another lets it wait": (
        _nothing,
        "task update-status",
        HELD | {"status": "pending"},
        "task-1-1 is held",
    ),
    "another moves it": (_nothing, "task move", HELD | {"parent": "phase-4"}, "task-1-1 is held"),
    "another takes it out": (_nothing, "task remove", HELD, "task-1-1 is held"),
    "another words it": (
        _nothing,
        "task update-metadata",
        HELD | {"title": "X"},
        "task-1-1 is held",
    ),
    "another lets it come later": (
        _nothing,
        "task add-dependency",
        {"task_id": "task-4-1", "target_id": "task-1-1"},
        "task-1-1 is held",
    ),
    "its phase is taken out": (
        _nothing,
        "authoring phase-remove",
        {"phase_id": "phase-1", "force": True},
        "task-1-1 is held",
    ),
    "its spec is completed": (_nothing, "lifecycle complete", {"force": True}, "task-1-1 is held"),
    "its spec is put back": (
        _nothing,
        "lifecycle move",
        {"to_folder": "pending"},
        "task-1-1 is held",
    ),
    "files overlap": (_nothing, "task start", {"task_id": "task-1-2"}, "src/a.py of task-1-1"),
    "files of another spec overlap": (
        _nothing,
        "task start",
        {"spec_id": OTHER, "task_id": "task-1-1"},
        f"src/a.py of {SPEC}/task-1-1",
    ),
    "files overlap in a batch": (
        _nothing,
        "task start-batch",
        {"spec_id": OTHER, "task_ids": ["task-1-1"]},
        f"src/a.py of {SPEC}/task-1-1",
    ),
    "a phase comes first": (
        _nothing,
        "task start",
        {"task_id": "task-2-1"},
        "phase-2 waits for phase-1 (in_progress)",
    ),
    "who changed it does not do it": (
        _loosened,
        "task start",
        {"task_id": "task-1-2"},
        "ben changed what task-1-2 asks for",
    ),
    "a check has not passed": (
        _at_gate,
        "task complete",
        {"task_id": "task-1-3"} | NOTE,
        "task-1-3 has gates that are not met: check-1",
    ),
    "less is asked of it": (
        _at_gate,
        "task update-metadata",
        {"task_id": "task-1-3", "acceptance_criteria": ["It may work"]},
        "ben worked on task-1-3",
    ),
    "a check looks at less": (
        _at_gate,
        "task update-metadata",
        {"task_id": "task-1-3", "file_path": "src/d.py"},
        "ben worked on task-1-3",
    ),
    "it awaits a verdict": (
        lambda world: world.ends("task-1-4"),
        "task complete",
        {"task_id": "task-1-4"} | NOTE,
        "task-1-4 is handed in",
    ),
    "a review is left out": (
        _at_review,
        "lifecycle complete",
        {"force": True},
        "ben worked on phase-3",
    ),
    "it is completed": (_ended, "task start", {"task_id": "task-4-1"}, "task-4-1 is completed"),
    "something is put below what is completed": (
        _ended,
        "task add",
        {"parent": "task-4-1", "title": "X"},
        "task-4-1 is completed",
    ),
    "it is moved below what is completed": (
        _ended,
        "task move",
        {"task_id": "task-2-1", "parent": "phase-4"},
        "phase-4 is completed",
    ),
    "it is moved below itself": (
        _with_subtask,
        "task move",
        {"task_id": "task-4-1", "parent": "task-4-1-1"},
        "task-4-1-1 is below task-4-1",
    ),
    "a circle comes of a move": (
        _linked,
        "task move",
        {"task_id": "task-2-2", "parent": "task-2-1"},
        "task-2-1 could never be finished",
    ),
    "there is work below it": (
        _with_subtask,
        "task start",
        {"task_id": "task-4-1"},
        "task-4-1 has unfinished work",
    ),
    "it failed elsewhere": (_failed, "task start", {"task_id": "task-1-2"}, "task-1-2 is blocked"),
    "it was put off elsewhere": (
        _edited("task-4-1", status="backlog"),
        "task start",
        {"task_id": "task-4-1"},
        "task-4-1 is put off",
    ),
    "it is being closed": (
        _closing,
        "task start",
        {"task_id": "task-4-1"},
        "phase-4 is being closed with all below it",
    ),
    "nobody can tell who asks": (
        _unattested,
        "task update-metadata",
        {"task_id": "task-4-1", "acceptance_criteria": ["Less"]},
        "Counterpoint cannot tell ben from whoever worked on task-4-1",
    ),
    "the session has ended": (_ended_session, "task start", {"task_id": "task-4-1"}, "session "),
    "it was moved to another spec": (
        _moved_away,
        "authoring spec-rollback",
        {"version": "2026-01-02T03:04:05Z"},
        f"'task-4-1' is a node of {OTHER} now",
    ),
}
"""What comes before; the call that is refused; and what is told of it."""


@pytest.mark.parametrize("row", TABLE)
def test_a_refusal_is_told_in_the_words_of_specs(workshop: Workshop, row: str) -> None:
    """No id of the core, no state of it and no tool of another dialect stands in it; what to do next is a call that there is."""
    world = World(workshop)
    prepare, call, given, said = TABLE[row]
    prepare(world)
    tool, action = call.split()
    refused = world.ben.is_refused(tool, action=action, **{"spec_id": SPEC, **given})
    assert said in refused["error"], refused
    assert strangers(refused) == []


def strangers(refused: dict[str, Any]) -> list[str]:
    """Return what a refusal has that no user of foundry knows."""
    # A gate is called as whoever asked for it did, in commands too.
    told = refused["data"] | {
        "remediation": WAIVING.sub("counterpoint waive", refused["data"]["remediation"])
    }
    text = json.dumps([refused["error"], told], ensure_ascii=False)
    found = [*ITEM.findall(text), *STATE.findall(text)]
    known = {part.name for tool in surface("foundry").tools for part in tool.parts}
    for quoted in QUOTED.findall(refused["error"] + refused["data"]["remediation"]):
        is_call = ACTION.sub(r"\1 \2", quoted) in known
        if not is_call and not quoted.startswith("counterpoint "):
            found.append(quoted)
    return found


def test_what_is_refused_within_an_answer_is_told_so_too(workshop: Workshop) -> None:
    """Of each node of a batch, and of what keeps one from being started."""
    world = World(workshop)
    ended = [{"task_id": name, "success": True} for name in ("task-1-1", "task-1-2")]
    failed = [{"task_id": "task-1-1", "success": False}]
    told = [
        world.does(world.ben, "task complete-batch", completions=ended)["results"],
        world.does(world.ben, "task complete-batch", completions=failed)["results"],
        world.does(world.ben, "task reset-batch", task_ids=["task-1-1"])["errors"],
        world.does(world.ben, "task check-deps", task_id="task-1-2")["reasons"],
        world.does(world.ben, "task check-deps", spec_id=OTHER, task_id="task-1-1")["reasons"],
    ]
    text = json.dumps(told)
    assert ITEM.findall(text) == []
    assert text.count("task-1-1 is held by ada") == 3
    assert f"of {SPEC}/task-1-1" in text


def test_a_command_of_a_person_names_the_node_and_its_gate(workshop: Workshop) -> None:
    world = World(workshop)
    held = world.ben.is_refused("task", action="start", spec_id=SPEC, task_id="task-1-1")
    assert held["data"]["details"]["about"] == f"{SPEC}/task-1-1"
    assert f"`counterpoint release {SPEC}/task-1-1`" in held["data"]["remediation"]
    _at_gate(world)
    given = {"action": "complete", "spec_id": SPEC, "task_id": "task-1-3"} | NOTE
    closed = world.ben.is_refused("task", **given)
    assert (
        f"`counterpoint waive {SPEC}/task-1-3 check-1 --reason TEXT`"
        in closed["data"]["remediation"]
    )
    world.ends("task-1-4")
    given = {"action": "complete", "spec_id": SPEC, "task_id": "task-1-4"} | NOTE
    awaits = world.ben.is_refused("task", **given)
    assert f"`counterpoint approve {SPEC}/task-1-4`" in awaits["data"]["remediation"]


@pytest.mark.parametrize("row", ["less is asked of it", "a check looks at less"])
def test_where_no_gate_is_meant_none_is_named(workshop: Workshop, row: str) -> None:
    """What takes a maintainer is said so: no command of people waives an acceptance sentence or an area."""
    world = World(workshop)
    prepare, call, given, _said = TABLE[row]
    prepare(world)
    tool, action = call.split()
    refused = world.ben.is_refused(tool, action=action, **{"spec_id": SPEC, **given})
    assert "waive" not in refused["data"]["remediation"]
    assert "`counterpoint agent create NAME --maintain`" in refused["data"]["remediation"]


@pytest.mark.parametrize(
    ("action", "given"),
    [
        ("complete", NOTE),
        ("update-status", {"status": "pending"}),
        ("block", {"reason": "It rains"}),
    ],
)
def test_a_task_with_states_of_another_dialect_is_brought_on_there(
    workshop: Workshop, action: str, given: dict[str, str]
) -> None:
    """Foundry has no words for the stages between: it says whose they are, and not that pending cannot become pending."""
    World(workshop)
    made = workshop.agent("col", surface="colibri").does("task_create", title="Strict")
    item = made["data"]["native_id"]
    nat = workshop.agent("nat")
    above = nat.core.items.find(f"{SPEC}/phase-1")
    assert above is not None
    nat.does("edit", id=item, parent=above.id)
    ann = workshop.agent("ann", surface="foundry")
    about = {"spec_id": SPEC, "task_id": item}
    ann.does("task", action="start", **about)
    refused = ann.is_refused("task", action=action, **about, **given)
    assert "was made in another dialect" in refused["error"]
    assert "brought on there" in refused["data"]["remediation"]


def test_tasks_that_cannot_be_made_are_no_plan_of_lines(workshop: Workshop) -> None:
    """The core reads plans in markdown; a call of foundry has neither lines nor a plan."""
    world = World(workshop)
    task = {"title": "Dig", "description": "Dig it", "acceptance_criteria": ["x" * 1001]}
    given = {"action": "phase-add-bulk", "spec_id": SPEC, "phase": {"title": "P"}}
    refused = world.ben.is_refused("authoring", **given, tasks=[task])
    assert refused["error"].startswith("the nodes cannot be made: 'Dig'")
    assert "line" not in refused["data"]["remediation"]


def test_a_node_that_is_called_as_an_item_is_means_itself(workshop: Workshop) -> None:
    """A document that came in may have any ids; what has none of foundry's is called by its own."""
    named, bare = _task("odd-2026-01-02-001", "demo-1"), Draft(kind="task", title="Bare")
    core = workshop.agent("nat").core
    spec = Draft(
        kind="spec",
        title="Odd",
        lifecycle="declared",
        aliases=(("spec", "odd-2026-01-02-001"),),
        children=(Draft(kind="phase", title="P", children=(named, bare)),),
    )
    *_, first, second = core.plans.create(spec).items
    ben = workshop.agent("ben", surface="foundry")
    ada = workshop.agent("ada", surface="foundry")
    for name in ("demo-1", second.id):
        given = {"action": "start", "spec_id": "odd-2026-01-02-001", "task_id": name}
        ada.does("task", **given)
        refused = ben.is_refused("task", **given)
        assert refused["error"].startswith(f"{name} is held by ada")
        about = refused["data"]["details"]["about"]
        assert about in {"odd-2026-01-02-001/demo-1", second.id}
    assert first.id not in {"demo-1", second.id}


@pytest.mark.parametrize("name", ["spec_id", "task_id"])
@pytest.mark.parametrize("odd", ["\ud800", "x" * 1_000_000, "\0", "demo-1"])
def test_what_is_no_id_is_refused_as_ever(workshop: Workshop, name: str, odd: str) -> None:
    """Nothing of it is looked for, and nothing breaks on it."""
    call = Call(core=workshop.agent("ben").core, secret=lambda: SECRET)
    given = {"action": "start", "spec_id": SPEC, "task_id": "task-1-1", name: odd}
    told = surface("foundry").invoke(call, "task", given).answer["data"]
    assert told["error_code"] in {"INVALID_FORMAT", "SPEC_NOT_FOUND"}
