"""Whatever moment the power goes at, what was acknowledged is there when it is back, and the ledger holds.

A story is told once on files whose every change is written down. Then the power is cut after any of these: what was not synced is
there, or not, or in part, as a seed draws it. Here a few moments; all of them, many times, with COUNTERPOINT_LONG=1.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest

from builders import attested_as
from counterpoint.app import App, Identity, open_app
from counterpoint.cli.main import run
from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Note, Report
from counterpoint.storage.sqlite import opened, store
from counterpoint.storage.sqlite.replacement import replace_database
from fakes.long_forms import IS_LONG, SEED, draw
from fakes.power import Recording, recorded

pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.faults,
    pytest.mark.durable,
    pytest.mark.timeout(900),
]

WORDS = "zqxwalrus of 4711"
SHORT_LOG = 24
"""Pages in the log from which on a commit ends with a checkpoint, so that there are many."""
MOMENTS = 25
"""How many places the short form tries."""
TURNS = 2 if IS_LONG else 1
"""How often the power is cut at each."""


@dataclass
class Stage:
    """A project and the state of its account, and what happens to their files."""

    home: Path
    disk: Recording

    @property
    def folder(self) -> Path:
        """The project."""
        return self.home / "demo"

    def play(self) -> None:
        """Do what people and agents do, and write down what they were told is done."""
        app = open_app(self.folder, {})
        ada = agent(app)
        made = ada.plans.create(ada.plans.read("# Voyage\n- [ ] Caulk\n- [ ] Rig\n"))
        self.disk.tell("text Voyage")
        for number, item in enumerate(made.ready):
            self.says(ada, f"note {number}")
            claim = ada.claims.start(item).claim
            ada.tasks.finish(item, claim.token, Report(outcome="done", summary=f"end {number}"))
            self.disk.tell(f"text end {number}")
            self.signs(app)
        self.says(ada, f"long {'x' * 50_000}")
        ada.journal.append(Note(kind="finding", body=WORDS))
        (self.home / "words").write_text(WORDS)
        self.disk.tell("erasing")
        self.runs("audit", "redact", "--text", str(self.home / "words"), "--reason", "private")
        self.disk.tell("erased")
        app.close()
        self.runs("backup")
        self.disk.tell("backup")
        app = open_app(self.folder, {})
        self.says(agent(app), "late")
        app.close()
        (backup,) = backups(self.folder)
        self.disk.tell("restoring")
        self.runs("restore", str(backup), "--yes")
        self.disk.tell("restored")
        app = open_app(self.folder, {})
        self.says(agent(app), "last")
        app.close()

    def cut(self, place: int, turn: int) -> None:
        """Let what the disk has left after a cut take the place of what is there."""
        left = self.disk.cut(place, draw(f"cut {place} {turn}"))
        shutil.rmtree(self.home)
        left.lay(self.disk.top, self.home)

    def says(self, core: Core, text: str) -> None:
        """Write a note under a key."""
        say(core, text)
        self.disk.tell(f"text {text}")

    def signs(self, app: App) -> None:
        """Have the end of the ledger signed."""
        app.itself().signing.sign()
        with app.store.reading(app.project) as view:
            self.disk.tell(f"head {view.head().size}")

    def runs(self, *words: str) -> None:
        """Run a command."""
        assert run(words) == 0, words


def agent(app: App) -> Core:
    """Answer the core for an agent who goes on with its session."""
    session = f"ses_{'a' * 26}"
    return app.core(
        Identity(kind="agent", name="ada", session=session, attested=attested_as("ada"))
    )


def say(core: Core, text: str) -> None:
    """Write a note under a key, which is written once however often it is said."""

    def note() -> dict[str, Any]:
        return {"id": core.journal.append(Note(kind="finding", body=text)).id}

    core.once(text[:20], {"text": text}, note)


def backups(folder: Path) -> list[Path]:
    """Answer the backups that are there."""
    return [*(folder / ".counterpoint" / "backups").glob("*.db")]


def assert_left(stage: Stage, told: list[str]) -> None:
    """Open what is left: all that was told is there, every rule holds, and work goes on."""
    texts = [text.removeprefix("text ") for text in told if text.startswith("text ")]
    heads = [int(text.removeprefix("head ")) for text in told if text.startswith("head ")]
    if "restoring" in told:
        # Of what came after the backup the old ledger knows, and not the restored one.
        texts.remove("late")
    if "erased" in told:
        assert holding(stage.home / "demo") == []
    if "backup" in told:
        (backup,) = backups(stage.folder)
        connection = apsw.Connection(str(backup))
        assert connection.pragma("integrity_check") == "ok"
        connection.close()
    app = open_app(stage.folder, {})
    assert_whole(app, texts)
    last = app.signer.last(app.person().items.project().ledger)
    assert (last.size if last else 0) >= max(heads, default=0)
    ada = agent(app)
    # What was asked under a key is taken away with any text; until then a repeat is known.
    again = ["after"] if "erasing" in told else ["note 0", "note 1", "after"]
    for text in again:
        say(ada, text)
    app.itself().signing.sign()
    assert_whole(app, [*texts, *again])
    app.close()


def assert_whole(app: App, texts: list[str]) -> None:
    """Each text is there once, and every rule of the ledger holds."""
    core = app.person()
    audit = core.audit.verify()
    assert audit.sound, audit.faults
    assert core.audit.rebuild().differences == ()
    assert app.store.faults() == []
    with app.store.reading(app.project) as view:
        bodies = Counter(salted.body for _, salted in view.texts())
    assert {text: bodies[text] for text in texts} == dict.fromkeys(texts, 1)


def passes(_opened: int) -> None:
    """Wait for nothing."""


def holding(folder: Path) -> list[str]:
    """Answer the files that have the words in them."""
    return [
        file.name
        for file in folder.rglob("*")
        if file.is_file() and WORDS.encode() in file.read_bytes()
    ]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Give a project in which the story was told, on a disk that kept account."""
    home = tmp_path / "home"
    (home / "demo").mkdir(parents=True)
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.chdir(home / "demo")
    pragmas = store._PRAGMAS  # pyright: ignore[reportPrivateUsage] -- settled for a real disk, and a long log
    pragmas = pragmas.replace(f"= {opened.CHECKPOINT};", f"= {SHORT_LOG};")
    monkeypatch.setattr(store, "_PRAGMAS", pragmas)
    monkeypatch.setattr(opened, "CHECKPOINT", SHORT_LOG)
    with recorded(home) as disk:
        made = Stage(home=home, disk=disk)
        made.play()
    # Whoever looks at what is left need not wait for the disk.
    monkeypatch.setattr(store, "_PRAGMAS", pragmas.replace("= FULL", "= OFF"))
    monkeypatch.setattr(os, "fsync", passes)
    return made


@pytest.mark.slow
def test_what_was_acknowledged_is_there_whatever_moment_the_power_goes_at(
    stage: Stage,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    """Each cut is drawn from the seed and its place alone, so that one that fails can be tried by itself."""
    log, places = stage.disk, stage.disk.places()
    if not IS_LONG:
        places = sorted(draw("places").sample(places, MOMENTS))
    record_property("cuts", len(places) * TURNS)
    for place in places:
        for turn in range(TURNS):
            stage.cut(place, turn)
            # The folder one stood in is not there any more.
            monkeypatch.chdir(stage.folder)
            try:
                assert_left(stage, log.told(place))
            except Exception as fault:
                fault.add_note(
                    f"the power was cut before change {place} of {len(log.log)}, turn {turn}, seed {SEED}"
                )
                raise


@pytest.mark.parametrize("log", ["ledger.db-wal", "none"])
def test_a_database_that_comes_into_a_place_has_no_log_of_another_beside_it(
    tmp_path: Path, log: str
) -> None:
    """Whatever moment the power goes at; and once that is told it is there."""
    place = tmp_path / "kept" / "ledger.db"
    place.parent.mkdir()
    place.with_name(log).write_bytes(b"of another")
    prepared = tmp_path / "kept" / "prepared"
    prepared.write_bytes(b"whole")
    with recorded(tmp_path) as disk:
        replace_database(place, prepared, "replaced")
        disk.tell("replaced")
        with store.fresh_file(place.with_name("fresh.db")):
            pass
        disk.tell("fresh")
    for cut in disk.places():
        for turn in range(9):
            left = disk.cut(cut, draw(f"{log} {cut} {turn}"))
            names = left.names[left.names[disk.top]["kept"]]
            told = disk.told(cut)
            if "ledger.db" in names:
                assert "ledger.db-wal" not in names
                assert left.content[names["ledger.db"]] == b"whole"
            assert "ledger.db" in names or "replaced" not in told
            assert "fresh.db" in names or "fresh" not in told
