"""One spec that many processes work on at the same time."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import App
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.journal import Outcome
from counterpoint.core.model.work import Item
from counterpoint.dialects.foundry.nodes.rules.shape import parse
from counterpoint.dialects.foundry.places import FOLDERS
from counterpoint.dialects.foundry.specs.operations import Specs
from counterpoint.dialects.foundry.specs.rules.validation import validate
from counterpoint.protocol.rendezvous import find_rendezvous
from fakes.long_forms import IS_LONG
from fakes.spec_documents import document

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(300)]

SPEC = "race-2026-01-02-001"
RACERS, PHASES = 16, 2
ROUNDS = 20 if IS_LONG else 4
"""How many tasks each process completes; the released program lost a fifth with two."""


def _phase(number: int) -> Draft:
    names = [f"task-{number}-{task}" for task in range(1, RACERS * ROUNDS // PHASES + 1)]
    return Draft(
        kind="phase",
        title=f"Phase {number}",
        needs=(),
        aliases=(("node", f"{SPEC}/phase-{number}"),),
        children=tuple(
            Draft(kind="task", title=name, name=name, aliases=(("node", f"{SPEC}/{name}"),))
            for name in names
        ),
    )


@pytest.mark.long
def test_nothing_is_lost_of_what_16_processes_complete_in_one_spec(
    race: Callable[..., list[list[dict[str, Any]]]],
    siege: App,
    assert_whole: Callable[[App], None],
) -> None:
    """Each answer is in the ledger once, the phases close with the last task, and the counts add up."""
    phases = tuple(map(_phase, range(1, PHASES + 1)))
    spec = Draft(
        kind="spec",
        title="Race",
        lifecycle="declared",
        aliases=(("spec", SPEC),),
        children=phases,
    )
    root = siege.person().plans.create(spec).root
    names = [task.name for phase in phases for task in phase.children]
    rounds = [
        [
            {"verb": "complete", "with": {"spec": SPEC, "task": names[round_ * RACERS + racer]}}
            for racer in range(RACERS)
        ]
        for round_ in range(ROUNDS)
    ]
    heard = race(rounds, racers=RACERS, together=False)
    answers = [one["answer"] for answers in heard for one in answers]
    assert sorted(one["task_id"] for one in answers) == sorted(names)
    counts = [one["progress"]["completed_tasks"] for one in answers]
    assert sorted(counts) == list(range(1, len(names) + 1))
    with siege.store.reading(siege.project) as view:
        items = view.select(Item, root=root.id)
        outcomes = view.select(Outcome)
    assert {item.status for item in items if item.parent} == {"done"}
    assert sorted(str(one.summary) for one in outcomes) == sorted(names)
    assert_whole(siege)


MIRRORED = "demo-2026-01-02-001"
EACH = 40 if IS_LONG else 10
"""How many tasks each agent completes while the file is read."""


class Reader:
    """Whoever reads the file of a spec all the time, in whatever folder it lies."""

    def __init__(self, specs: Path) -> None:
        """Read nothing yet."""
        self.specs = specs
        self.counts: list[int] = []
        self.over = threading.Event()

    def read(self) -> bytes:
        """Return the file; it is somewhere at every moment."""
        # In the order in which a spec moves on: a file that is gone from one folder lies in a later one already.
        for folder in FOLDERS:
            try:
                return (self.specs / folder / f"{MIRRORED}.json").read_bytes()
            except FileNotFoundError:
                continue
        raise AssertionError("there is no file of the spec")

    def read_on(self) -> None:
        """Read until it is over; each version is valid and has what the one before had."""
        last = b""
        # Often enough to see a file that is being written, and not so often that nobody else gets on.
        while not self.over.wait(0.0002):
            content = self.read()
            if content == last:
                continue
            last, found = content, dict[str, Any](parse(content))
            report = validate(found)
            assert report.is_valid, report.as_json()
            nodes: dict[str, Any] = found["hierarchy"]
            tasks = [one for one in nodes.values() if one["type"] == "task"]
            done = sum(one["status"] == "completed" for one in tasks)
            assert nodes["spec-root"]["completed_tasks"] == done
            assert done >= (self.counts or [0])[-1]
            self.counts.append(done)


@pytest.mark.long
@pytest.mark.skipif(
    not Path("/proc/self").exists(), reason="only Linux tells when a server is gone"
)
def test_the_file_is_valid_at_every_moment_while_16_agents_complete_tasks(
    repository: Path, connect: Callable[..., Any], app: App, assert_whole: Callable[[App], None]
) -> None:
    """Each through a relay of its own, as a client starts it: every answer is in the ledger, and in the file at the end."""
    file = repository / "specs" / "pending" / f"{MIRRORED}.json"
    file.parent.mkdir(parents=True)
    made = document(1, RACERS * EACH)
    file.write_text(json.dumps(made))
    agents = [
        connect(repository, "--surface", "foundry", "--agent", f"agent{number}")
        for number in range(RACERS)
    ]
    assert len({one.process.pid for one in agents}) == RACERS
    # It comes in with the first call that names it.
    agents[0].call("task", action="progress", spec_id=MIRRORED)
    reader = Reader(repository / "specs")

    def work(number: int) -> list[int]:
        counts: list[int] = []
        for task in range(number * EACH + 1, (number + 1) * EACH + 1):
            given = {"spec_id": MIRRORED, "task_id": f"task-1-{task}"}
            if task % 2:
                agents[number].call("task", action="start", **given)
            told = agents[number].call("task", action="complete", completion_note="Done", **given)
            counts.append(told["data"]["progress"]["completed_tasks"])
        return counts

    with ThreadPoolExecutor(RACERS + 1) as pool:
        reading = pool.submit(reader.read_on)
        try:
            told = [count for some in pool.map(work, range(RACERS)) for count in some]
        finally:
            reader.over.set()
        reading.result()
    # Whoever was told a count was the only one who was told that.
    assert sorted(told) == list(range(1, RACERS * EACH + 1))
    meeting = find_rendezvous(app.database)
    server = (meeting.known() or {})["pid"]
    meeting.ask("stop")
    # One that ends writes what there is, after it was taken from where others find it.
    while Path(f"/proc/{server}").exists():
        threading.Event().wait(0.01)
    final = dict[str, Any](parse(reader.read()))
    assert final["hierarchy"]["spec-root"]["completed_tasks"] == RACERS * EACH
    assert final == app.itself().use(Specs).document(MIRRORED)
    assert len(reader.counts) > 1
    assert_whole(app)
