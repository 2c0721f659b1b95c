"""Whatever the disk or the memory refuses, what was acknowledged is there afterwards, and the ledger holds.

Every opening, read, write, sync, truncation, deletion and lock of a small story fails in turn, once or from then on, and SQLite is
given less and less memory. Here a seeded few of each; all of them with COUNTERPOINT_LONG=1.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import apsw
import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Note, ReadyFilter, Report
from counterpoint.kernel.errors import CounterpointError
from fakes.failing_files import OPERATIONS, FailingDisk, Operation, failing_disk
from fakes.long_forms import IS_LONG, draw
from fakes.studio import Studio

T = TypeVar("T")

pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.faults,
    pytest.mark.durable,
    pytest.mark.timeout(900),
    # What SQLite passes over, such as a file that it cannot delete, apsw tells nobody.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PLACES = 3
MANY = 100
STEP = 4_000 if IS_LONG else 40_000
"""Bytes between one limit of memory and the next."""
ROOM = 400_000
"""Bytes with which SQLite tells the whole story."""
TOLD = ("plan", "note 0", "report 0", "note 1", "report 1", "memory", "end")
"""What the story says, in its order."""


@dataclass
class Story:
    """What somebody does, and what he was told was done."""

    told: list[str] = field(default_factory=list)
    refused: list[CounterpointError] = field(default_factory=list)

    def play(self, studio: Studio) -> None:
        """Do all that goes; whatever is refused is refused in the words of the product."""
        ada = studio.core("ada")
        plan = "# Voyage {0}\n- [ ] Caulk {0}\n- [ ] Rig {0}\n"
        self._says("plan", lambda text: ada.plans.create(ada.plans.read(plan.format(text))))
        for number in range(2):
            self._says(
                f"note {number}", lambda text: ada.journal.append(Note(kind="finding", body=text))
            )
            self._work(ada, number)
        self._says("memory", lambda text: ada.memory.put("project", "berth", text))
        self.does(studio.system.signing.sign)
        self.does(studio.store.purge)
        self._says("end", lambda text: ada.journal.append(Note(kind="decision", body=text)))

    def _work(self, ada: Core, number: int) -> None:
        taken = self.does(lambda: ada.claims.take_next(ReadyFilter()))
        if taken is None:
            return
        claim = taken[0].claim
        self._says(
            f"report {number}",
            lambda text: ada.tasks.finish(
                claim.item, claim.token, Report(outcome="done", summary=text)
            ),
        )

    def _says(self, text: str, act: Callable[[str], object]) -> None:
        if self.does(lambda: [act(text)]) is not None:
            self.told.append(text)

    def does(self, act: Callable[[], T]) -> T | None:
        """Answer what an act answers; None if it was refused."""
        try:
            return act()
        except CounterpointError as fault:
            self.refused.append(fault)
            return None


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a project in which nothing was done yet, to be copied."""
    folder = tmp_path_factory.mktemp("begun")
    Studio(folder / "ledger.db").close()
    return folder


@dataclass
class Stage:
    """Where the story is played again and again, each time on a copy of the same project."""

    begun: Path
    folder: Path
    disk: FailingDisk
    counted: dict[str, int] = field(default_factory=dict)

    def play(self, fail: Callable[[], object]) -> Story:
        """Play the story once something fails, and look at what is left when nothing does any more."""
        shutil.copytree(self.begun, self.folder)
        story, self.counted = Story(), {}
        try:
            fail()
            story.does(lambda: self._whole(story))
        finally:
            self._mend()
        assert_left(self.folder, story)
        shutil.rmtree(self.folder)
        return story

    def _whole(self, story: Story) -> None:
        studio = Studio(self.folder / "ledger.db")
        try:
            story.play(studio)
        finally:
            # What fails as the last connection is closed SQLite ignores; nothing is acknowledged there.
            self._mend()
            studio.close()

    def _mend(self) -> None:
        self.counted = self.counted or dict(self.disk.counted)
        self.disk.fail(None)
        apsw.hard_heap_limit(0)
        # The hard limit has lowered the soft one, which would make later tests of this process write early.
        apsw.soft_heap_limit(0)


def assert_left(folder: Path, story: Story) -> None:
    """Open what is left: all that was acknowledged is there, and every rule of the ledger holds."""
    studio = Studio(folder / "ledger.db")
    studio.check()
    with studio.view() as view:
        kept = [salted.body for _, salted in view.texts()]
    studio.close()
    assert [text for text in story.told if not any(text in one for one in kept)] == []


@pytest.fixture
def stage(begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """Give a stage whose disk can fail; who finds it locked does not wait for long."""
    monkeypatch.setattr("counterpoint.storage.sqlite.store._BUSY_MS", 50)
    with failing_disk() as disk:
        yield Stage(begun=begun, folder=tmp_path / "played", disk=disk)


def some(kind: str, count: int) -> list[int]:
    """Answer which places of so many are tried."""
    if IS_LONG or count <= PLACES:
        return list(range(count))
    return sorted(draw(kind).sample(range(count), PLACES))


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_was_acknowledged_is_there_whatever_the_disk_refuses(
    operation: Operation, stage: Stage
) -> None:
    """Once, and from then on; every refusal is one of the product's."""
    whole = stage.play(lambda: stage.disk.fail(None))
    assert (whole.told, whole.refused) == (list(TOLD), [])
    count = stage.counted[operation]
    for place in some(operation, count):
        # Of reads and writes there are hundreds: one after the other fails once, and from then on.
        for lasts in (False, True) if not IS_LONG or count < MANY else (place % 2 == 1,):
            stage.play(lambda p=place, o=lasts: stage.disk.fail(operation, p, lasts=o))
            assert stage.counted[operation] > place


@pytest.mark.slow
def test_what_was_acknowledged_is_there_however_little_memory_there_is(stage: Stage) -> None:
    """SQLite gets a little more each time, until the whole story is told."""
    refused = 0
    for room in range(0, ROOM, STEP):
        limit = apsw.memory_used() + room
        refused += len(stage.play(lambda n=limit: apsw.hard_heap_limit(n)).refused)
    assert refused
    assert stage.play(lambda: None).told == list(TOLD)
