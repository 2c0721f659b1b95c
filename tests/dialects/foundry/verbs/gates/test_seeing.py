"""What a reviewer sees of a phase."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.evidence import Command
from counterpoint.core.model.filters import Check, Edit, Report
from counterpoint.core.operations.recording.context import Context
from counterpoint.dialects.foundry.nodes.queries import get_spec
from counterpoint.dialects.foundry.reviews.rules.material import PhaseWork
from counterpoint.dialects.foundry.runs.gates import gather_work, load_promises
from counterpoint.dialects.foundry.runs.rows import shape_of
from counterpoint.dialects.foundry.tasks.moving import Verifying
from fakes.studio import Studio

SPEC = "seen-2026-01-02-001"


@pytest.fixture
def studio() -> Studio:
    """Answer a project whose tree has two files."""
    made = Studio()
    made.tree.write("src/a.py", "A = 1")
    made.tree.write("docs/guide/one.md", "one")
    made.tree.commit()
    return made


@pytest.fixture
def ada(studio: Studio) -> Core:
    """Answer an agent."""
    return studio.core("ada")


@pytest.fixture
def made(ada: Core) -> Callable[..., None]:
    """Answer what makes a spec of a phase with a task of some areas, and a verification."""

    def make(*areas: str, command: str = "pytest -q", **more: str) -> None:
        task = Draft(
            kind="task", title="T", acceptance=("one", "two"), areas=areas, aliases=name("task-1-1")
        )
        kept = {"type": "verify", **({"command": command} if command else {}), **more}
        verify = Draft(kind="task", title="V", attributes=kept, aliases=name("verify-1-1"))
        phase = Draft(kind="phase", title="P", children=(task, verify), aliases=name("phase-1"))
        ada.plans.create(
            Draft(kind="spec", title="S", aliases=(("spec", SPEC),), children=(phase,))
        )

    return make


def name(node: str) -> tuple[tuple[str, str], ...]:
    """Return the name of a node."""
    return (("node", f"{SPEC}/{node}"),)


def look(core: Core) -> PhaseWork:
    """Return what is seen of the phase."""

    def act(context: Context) -> PhaseWork:
        with context.reading() as view:
            shape = shape_of(view, get_spec(view, SPEC))
            said = load_promises(view, shape, shape.phases[0])
        return gather_work(context, said)

    return core.use(act)


def item(core: Core, node: str) -> str:
    """Return the item of a node."""
    found = core.items.find(f"{SPEC}/{node}")
    assert found is not None
    return found.id


@pytest.mark.parametrize(
    ("area", "changed", "present"),
    [
        ("src/a.py", True, False),
        ("src", True, False),
        ("./src/", True, False),
        ("src/*.py", True, False),
        ("**/a.py", True, False),
        (".", True, False),
        ("docs/guide/one.md", False, True),
        ("docs/*.md", False, True),
        ("docs/gone.md", False, False),
        ("sr", False, False),
    ],
)
def test_files_folders_and_patterns_count_as_changed_by_what_lies_in_them(
    area: str, changed: bool, present: bool, studio: Studio, ada: Core, made: Callable[..., None]
) -> None:
    """Of a pattern that nothing lies in nobody can say that it is missing."""
    made(area)
    ada.claims.start(item(ada, "task-1-1"))
    studio.tree.write("src/a.py", "A = 2")
    work = look(ada)
    assert (area in work.changed, area in work.present) == (changed, present)


def test_what_ended_claims_changed_counts_also_where_the_tree_is_as_before(
    studio: Studio, ada: Core, made: Callable[..., None]
) -> None:
    """It was measured then; and without any beginning nothing has changed."""
    made("src/a.py")
    assert look(ada).changed == frozenset()
    task = item(ada, "task-1-1")
    token = ada.claims.start(task).claim.token
    studio.tree.write("src/a.py", "A = 2")
    ada.tasks.finish(task, token, Report(outcome="done", summary="x", met=(0,)))
    studio.tree.write("src/a.py", "A = 1")
    work = look(ada)
    assert work.changed == {"src/a.py"}
    assert [one.is_met for one in work.tasks[0].criteria] == [True, False]
    assert work.tasks[0].is_completed


def test_before_anybody_reports_criteria_are_open(ada: Core, made: Callable[..., None]) -> None:
    """Nobody has said anything of them yet."""
    made()
    work = look(ada)
    assert [one.is_met for one in work.tasks[0].criteria] == [None, None]
    assert [one.id for one in work.tasks] == ["task-1-1"]
    assert [one.id for one in work.verifications] == ["verify-1-1"]


@pytest.mark.parametrize("status", ["skipped", "partial"])
def test_what_was_left_out_on_purpose_is_told(
    status: str, ada: Core, made: Callable[..., None]
) -> None:
    """It counts as completed everywhere else."""
    made()
    for node in ("task-1-1", "verify-1-1"):
        if status == "partial":
            ada.claims.start(item(ada, node))
        ada.items.edit(item(ada, node), Edit(status=status))
    work = look(ada)
    assert (work.tasks[0].left, work.verifications[0].left) == (status, status)


def test_a_receipt_counts_for_the_command_that_a_verification_has_now(
    studio: Studio, ada: Core, made: Callable[..., None]
) -> None:
    """The last one; of another command it says nothing."""
    made("src/a.py")
    verify = item(ada, "verify-1-1")
    studio.tree.exits["pytest"] = 3
    ada.use(Verifying).execute(SPEC, "verify-1-1", print)
    assert look(ada).verifications[0].exit_code == 3
    studio.tree.exits["pytest"] = 0
    ada.use(Verifying).execute(SPEC, "verify-1-1", print)
    ada.gates.verify(Check(item=verify, command=Command(argv=("true",))))
    assert (look(ada).verifications[0].exit_code, look(ada).verifications[0].result) == (0, "")
    ada.items.edit(verify, Edit(attributes={"command": "pytest -x"}))
    assert look(ada).verifications[0].exit_code is None
    ada.items.edit(verify, Edit(attributes={"command": "a | b"}))
    found = look(ada).verifications[0]
    assert (found.exit_code, found.has_command) == (None, True)


def test_a_receipt_is_stale_once_a_named_file_is_edited(
    studio: Studio, ada: Core, made: Callable[..., None]
) -> None:
    """Other files may be somebody else's."""
    made("src/a.py")
    ada.use(Verifying).execute(SPEC, "verify-1-1", print)
    studio.tree.write("docs/guide/one.md", "two")
    assert not look(ada).verifications[0].is_stale
    studio.tree.write("src/a.py", "A = 2")
    assert look(ada).verifications[0].is_stale


def test_the_last_word_about_a_verification_counts(
    studio: Studio, ada: Core, made: Callable[..., None]
) -> None:
    """What somebody said after it ran, and what its receipt says after that."""
    made()
    ada.use(Verifying).add(SPEC, "verify-1-1", "FAILED", {})
    assert look(ada).verifications[0].result == "FAILED"
    studio.clock.pass_by(seconds=1)
    ada.use(Verifying).execute(SPEC, "verify-1-1", print)
    assert look(ada).verifications[0].result == ""
    studio.clock.pass_by(seconds=1)
    ada.use(Verifying).add(SPEC, "verify-1-1", "PARTIAL", {})
    assert look(ada).verifications[0].result == "PARTIAL"
    studio.clock.pass_by(seconds=1)
    studio.tree.exits["pytest"] = -9
    ada.use(Verifying).execute(SPEC, "verify-1-1", print)
    assert look(ada).verifications[0].result == "FAILED"


def test_a_verification_without_a_command_is_for_people(
    ada: Core, made: Callable[..., None]
) -> None:
    """Nothing was ever run for it."""
    made(command="")
    found = look(ada).verifications[0]
    assert (found.has_command, found.exit_code, found.result) == (False, None, "")
