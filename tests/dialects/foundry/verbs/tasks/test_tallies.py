"""How far specs are, kept from one call to the next: always what counting anew gives."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import apsw
import pytest

from builders import Agent, Workshop
from counterpoint.app import App
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit
from counterpoint.core.model.rows import Prose, Proses
from counterpoint.core.model.work import Gate, Item
from counterpoint.core.operations.items import Items
from counterpoint.core.operations.recording.context import Context
from counterpoint.core.operations.recording.unit import recording, transaction
from counterpoint.dialects.foundry.models.specs import PhaseDraft, PhaseLine, Tally
from counterpoint.dialects.foundry.models.tasks import NodeDraft
from counterpoint.dialects.foundry.nodes.queries import Nodes, all_nodes, get_spec
from counterpoint.dialects.foundry.specs.phases import Phases
from counterpoint.dialects.foundry.tasks import tallies
from counterpoint.dialects.foundry.tasks.editing import Linking, Shaping
from counterpoint.dialects.foundry.tasks.listing import Listing
from counterpoint.dialects.foundry.tasks.moving import Moving
from counterpoint.dialects.foundry.tasks.tallies import SpecTallies, tallies_for
from counterpoint.kernel.errors import CounterpointError, Unavailable
from fakes.long_forms import share

SPEC = "export-2026-01-02-001"
Told = tuple[dict[str, Tally], tuple[PhaseLine, ...]]


class Counting:
    """Verbs that a test counts with."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def kept(self) -> Told:
        """Return what is kept of the spec in this process."""
        return self._told(tallies_for(self._context))

    def anew(self) -> Told:
        """Return the same, counted anew."""
        return self._told(SpecTallies())

    def document(self) -> Tally:
        """Return how far the spec is by its document."""
        with self._context.reading() as view:
            return all_nodes(Nodes(view, get_spec(view, SPEC)))[0].tally

    def gate(self, name: str, status: str) -> None:
        """Let a gate of a phase be in a state."""
        with recording(self._context, "test.gated") as change:
            item = Nodes(change.writing, get_spec(change.writing, SPEC)).get(name)
            gate = Gate(
                project=item.project,
                item=item.id,
                name="review",
                kind="review",
                holds="finish",
                argv=Proses(()),
                status="closed",
                proof="",
                reason=Prose(""),
                updated_at=change.now,
            )
            change.put(replace(change.find(Gate, item.id, "review") or gate, status=status))

    def put(self, item: Item) -> None:
        """Write an item as it is told."""
        with recording(self._context, "test.put") as change:
            change.find(Item, item.id)
            change.put(item)

    def undone(self, task: str) -> Told:
        """Return what is told inside of a transaction that ends a task, and undo it."""
        found: list[Told] = []
        with suppress(Unavailable), transaction(self._context):
            Moving(self._context).complete(SPEC, task, "done")
            found.append(self.kept())
            raise Unavailable("it is undone")
        return found[0]

    def call(self, name: str, title: str) -> None:
        """Let a phase have another title."""
        with self._context.reading() as view:
            item = Nodes(view, get_spec(view, SPEC)).get(name)
        Items(self._context).edit(item.id, Edit(title=title))

    def _told(self, known: SpecTallies) -> Told:
        with self._context.reading() as view:
            nodes = Nodes(view, get_spec(view, SPEC))
            items = [name for (name,) in view.cells(Item, ("id",), root=nodes.root.id)]
            return dict(known.of(nodes, items)), known.phases(nodes)


@pytest.fixture
def beside(workshop: Workshop) -> Iterator[Agent]:
    """Answer an agent of another process at the same ledger."""
    own = workshop.app
    other = App(
        settings=own.settings,
        places=own.places,
        environ=own.environ,
        clock=workshop.clock,
        is_open=True,
    )
    yield workshop.agent("bea", app=other)
    other.close()


def one_step(core: Agent, random: Random) -> None:
    """Do something to the spec, or be refused."""
    use = core.core.use
    task = f"task-{random.randint(1, 4)}-{random.randint(1, 4)}"
    below = f"{task}-{random.randint(1, 2)}"
    phase = f"phase-{random.randint(1, 4)}"
    new = NodeDraft(parent=random.choice([phase, task]), title="More", type="task")
    steps: list[Callable[[], object]] = [
        lambda: use(Moving).start(SPEC, task),
        lambda: use(Moving).complete(SPEC, random.choice([task, below]), "It is there"),
        lambda: use(Moving).complete(SPEC, task, "It is there"),
        lambda: use(Moving).reopen(SPEC, random.choice([task, below])),
        lambda: use(Moving).block(SPEC, random.choice([task, phase]), "It waits"),
        lambda: use(Moving).unblock(SPEC, random.choice([task, phase])),
        lambda: use(Shaping).add(SPEC, new),
        lambda: use(Shaping).add(SPEC, replace(new, position=0)),
        lambda: use(Shaping).remove(SPEC, random.choice([task, below]), cascade=True),
        lambda: use(Shaping).move(SPEC, task, phase),
        lambda: use(Shaping).move(SPEC, below, task),
        lambda: use(Phases).add(SPEC, PhaseDraft(title="Another")),
        lambda: use(Counting).call(phase, f"Called {random.random()}"),
        lambda: use(Phases).move(SPEC, phase, 1),
        lambda: use(Phases).remove(SPEC, phase, force=True),
        lambda: use(Counting).gate(phase, random.choice(["closed", "met"])),
    ]
    with suppress(CounterpointError):
        random.choice(steps)()


@pytest.mark.faults
@pytest.mark.parametrize("seed", range(share(6)))
def test_whatever_happens_what_is_kept_is_what_counting_anew_gives(
    ada: Agent, beside: Agent, made: Callable[..., str], seed: int
) -> None:
    """In both processes, whichever of them wrote; and in the document too."""
    made(phases=3, tasks=3)
    for place in (2, 3):
        ada.core.use(Linking).remove(SPEC, f"phase-{place}", f"phase-{place - 1}", "blocked_by")
    random = Random(seed)  # noqa: S311 -- nothing is kept secret by it
    for _ in range(60):
        one_step(random.choice([ada, beside]), random)
        for agent in (ada, beside):
            counting = agent.core.use(Counting)
            # Not always, so that several entries come at once.
            if random.random() < 0.7:
                assert counting.kept() == counting.anew()
                assert (
                    sum(line.tally.total for line in counting.kept()[1])
                    == counting.document().total
                )


def test_a_completion_tells_how_far_the_spec_is(
    ada: Agent, beside: Agent, made: Callable[..., str]
) -> None:
    """Whatever others did meanwhile, under a key too, and where the task holds others."""
    made(phases=2, tasks=3)
    ada.core.use(Linking).remove(SPEC, "phase-2", "phase-1", "blocked_by")
    mine, others = ada.core.use(Moving), beside.core.use(Moving)
    assert mine.complete(SPEC, "task-1-1", "done").total == Tally(6, 1)
    others.complete(SPEC, "task-2-1", "done")
    beside.core.use(Shaping).add(SPEC, NodeDraft(parent="task-1-2", title="a", type="subtask"))
    beside.core.use(Shaping).add(SPEC, NodeDraft(parent="task-1-2", title="b", type="subtask"))
    others.complete(SPEC, "task-1-2-1", "done")
    assert mine.complete(SPEC, "task-1-2-2", "done").total == Tally(7, 4)
    others.reopen(SPEC, "task-2-1")

    def run() -> str:
        first = ada.core.use(Moving).complete(SPEC, "task-2-2", "done").total
        return f"{first.completed} of {first.total}"

    assert ada.core.once("key", {}, run) == "4 of 7"
    assert mine.complete(SPEC, "task-2-3", "done", is_counted=False).total == Tally()
    assert ada.core.use(Listing).progress(SPEC, "spec-root").tally == Tally(7, 5)


def test_a_task_without_its_subtasks_counts_again(ada: Agent, made: Callable[..., str]) -> None:
    """What was removed is no node: the document says the same."""
    made(phases=1, tasks=2)
    shaping, counting = ada.core.use(Shaping), ada.core.use(Counting)
    shaping.add(SPEC, NodeDraft(parent="task-1-1", title="a", type="subtask"))
    assert ada.core.use(Listing).progress(SPEC, "spec-root").tally == Tally(2, 0)
    shaping.remove(SPEC, "task-1-1-1")
    assert ada.core.use(Listing).progress(SPEC, "spec-root").tally == Tally(2, 0)
    assert counting.document() == Tally(2, 0)
    assert ada.core.use(Moving).complete(SPEC, "task-1-1", "done").total == Tally(2, 1)
    assert counting.kept() == counting.anew()


def test_what_was_removed_and_comes_back_counts_with_what_it_holds(
    ada: Agent, made: Callable[..., str]
) -> None:
    """What had ended below it was never removed itself."""
    made(phases=1, tasks=2)
    shaping, counting = ada.core.use(Shaping), ada.core.use(Counting)
    for title in ("a", "b"):
        shaping.add(SPEC, NodeDraft(parent="task-1-1", title=title, type="subtask"))
    ada.core.use(Moving).complete(SPEC, "task-1-1-1", "done")
    item = ada.core.items.find(f"{SPEC}/task-1-1", "node")
    assert item is not None
    shaping.remove(SPEC, "task-1-1", cascade=True)
    assert counting.kept()[1][0].tally == Tally(1, 0)
    counting.put(replace(ada.core.items.get(item.id), status="open", category="open"))
    assert counting.kept() == counting.anew()
    assert counting.kept()[1][0].tally == Tally(2, 1)


def test_what_a_transaction_has_written_is_kept_only_once_it_has_landed(
    ada: Agent, made: Callable[..., str]
) -> None:
    """Whoever looks inside of his own counts for himself."""
    made(phases=1, tasks=2)
    counting = ada.core.use(Counting)
    assert counting.undone("task-1-1")[1][0].tally == Tally(2, 1)
    assert counting.kept()[1][0].tally == Tally(2, 0)
    assert counting.kept() == counting.anew()


@pytest.mark.parametrize("is_longer", [True, False])
def test_after_a_backup_was_put_back_nothing_is_known_of_what_is_gone(
    workshop: Workshop, made: Callable[..., str], tmp_path: Path, is_longer: bool
) -> None:
    """However many entries the ledger has then: what is kept is of one chain of them."""
    made(phases=2, tasks=6)
    workshop.agent("ada").core.use(Linking).remove(SPEC, "phase-2", "phase-1", "blocked_by")
    first, known = workshop.app, SpecTallies()
    first.ports.store.backup(tmp_path / "backup.db")

    def work(app: App, task: str) -> Told:
        """End a task, and look what is known then."""
        agent = workshop.agent("ada", app=app)
        app.remembered[SpecTallies] = known
        agent.core.use(Moving).complete(SPEC, task, "done")
        counting = agent.core.use(Counting)
        assert counting.kept() == counting.anew()
        return counting.kept()

    for task in range(1, 4):
        assert work(first, f"task-1-{task}")[1][0].tally == Tally(6, task)
    if is_longer:
        # So that the other ledger is never of the same length when it is looked at.
        workshop.agent("ada").core.use(Moving).reopen(SPEC, "task-1-1")
        assert work(first, "task-1-1")[1][0].tally == Tally(6, 3)
    first.close()
    shutil.copy(tmp_path / "backup.db", first.database)
    with closing(workshop.project("")) as again:
        for task in range(1, 7):
            assert work(again, f"task-2-{task}")[1][1].tally == Tally(6, task)


def test_what_changed_too_often_or_cannot_be_read_is_counted_anew(
    ada: Agent, made: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry that is damaged is for the audit to tell: the tallies are those of the tables."""
    made(phases=2, tasks=2)
    counting, moving = ada.core.use(Counting), ada.core.use(Moving)
    assert counting.kept()[1][0].tally == Tally(2, 0)
    monkeypatch.setattr(tallies, "_MAX_ENTRIES", 1)
    moving.complete(SPEC, "task-1-1", "done")
    assert counting.kept() == counting.anew()
    monkeypatch.setattr(tallies, "_MAX_ENTRIES", 100)
    moving.complete(SPEC, "task-1-2", "done")
    with closing(apsw.Connection(str(ada.app.database))) as stranger:
        (guard,) = next(
            stranger.execute(
                "SELECT name FROM sqlite_schema WHERE tbl_name = 'entries' AND sql LIKE '%UPDATE%'"
            )
        )
        stranger.execute(f"DROP TRIGGER {guard}")
        stranger.execute(
            "UPDATE entries SET data = x'00' WHERE sequence = (SELECT max(sequence) FROM entries)"
        )
    assert counting.kept() == counting.anew()
    assert counting.kept()[1][0].tally == Tally(2, 2)


def test_a_view_of_an_earlier_moment_has_what_was_then(
    ada: Agent, made: Callable[..., str]
) -> None:
    """Somebody else may have seen more meanwhile; his is kept."""
    made(phases=1, tasks=2)
    kept = ada.app.ports.remember(SpecTallies)
    with ada.app.ports.store.reading(ada.app.project) as view:
        nodes = Nodes(view, get_spec(view, SPEC))
        assert kept.phases(nodes)[0].tally == Tally(2, 0)
        ada.core.use(Moving).complete(SPEC, "task-1-1", "done")
        assert ada.core.use(Listing).progress(SPEC, "phase-1").tally == Tally(2, 1)
        assert kept.phases(nodes)[0].tally == Tally(2, 0)
    assert ada.core.use(Listing).progress(SPEC, "phase-1").tally == Tally(2, 1)


def test_little_is_kept(
    ada: Agent, made: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was asked for longest goes first; of one spec that is too large the leaves go."""
    monkeypatch.setattr(tallies, "_MAX_CACHED", 6)
    kept = ada.app.ports.remember(SpecTallies)
    for number in (1, 2, 3):
        spec = f"export-2026-01-02-00{number}"
        made(phases=1, tasks=3, spec=spec)
        for task in (1, 2):
            ada.core.use(Moving).complete(spec, f"task-1-{task}", "done")
            assert ada.core.use(Listing).progress(spec, "phase-1").tally == Tally(3, task)
        assert kept.size() <= 6
    monkeypatch.setattr(tallies, "_MAX_CACHED", 3)
    assert ada.core.use(Moving).complete(spec, "task-1-3", "done").total == Tally(3, 3)
    assert kept.size() == 2


def test_a_large_plan_below_a_spec_counts_when_it_is_seen(
    ada: Agent, made: Callable[..., str]
) -> None:
    """It is made in slices that nobody sees until the last."""
    root = made(phases=1, tasks=1)
    counting = ada.core.use(Counting)
    assert counting.kept()[0][root] == Tally(1, 0)
    phase = Draft(
        kind="phase",
        title="Large",
        children=tuple(Draft(kind="task", title=f"Part {number}") for number in range(700)),
    )
    ada.core.plans.create(phase, root)
    assert counting.kept() == counting.anew()
    assert counting.kept()[0][root] == Tally(701, 0)
