"""Who read what, at the command line: listed, checked, and switched by people."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import builders
from builders import START, attested_as
from counterpoint.app import App, Identity, open_app
from counterpoint.core.coordinator import Core
from counterpoint.core.model.documents import PassageQuery
from counterpoint.core.model.filters import Note
from counterpoint.core.model.identity import Connection
from counterpoint.core.operations.reads import Reads
from counterpoint.dialects.symphony.nouns import IssueDraft, LearningDraft, LearningQuery
from counterpoint.dialects.symphony.verbs.issues import Issues
from counterpoint.dialects.symphony.verbs.learnings import Learnings
from counterpoint.dialects.symphony.verbs.transfer import Transfer
from counterpoint.kernel.clock import stamp
from counterpoint.kernel.errors import Forbidden, Unavailable
from counterpoint.kernel.places import DATABASE
from fakes.harbour import where_it_is

COMMANDS: dict[tuple[str, ...], str] = {
    ("show", "harbour-4"): "harbour-4",
    ("list",): "harbour-4",
    ("status",): "harbour-4",
    ("status", "--long"): "harbour-4",
    ("next",): "harbour-3",
    ("find", "hull"): "harbour-4",
    ("log", "--json"): "entries",
    ("export", "--format", "json"): "harbour-4",
    ("audit", "export", "all.bundle"): "*",
    ("audit", "verify"): "*",
    ("backup", "copy.db"): "*",
    ("prime",): "harbour-4",
}
"""Commands that give texts away, and what a line of each names at least; `*`: the whole ledger."""


def record(ledger: Path) -> Path:
    """Answer the file of the record."""
    (file,) = (ledger / ".counterpoint" / "reads").glob("*.jsonl")
    return file


def lines_of(ledger: Path) -> list[Any]:
    """Answer the lines of the record."""
    return [json.loads(line) for line in record(ledger).read_text().splitlines()]


def begin_other(ledger: Path) -> None:
    """Begin a second project in the database, by an agent."""
    app = open_app(ledger, where_it_is() | {"COUNTERPOINT_PROJECT": "other"})
    app.begins_anew = True
    attested = replace(attested_as("eve"), connection=_connection("cn_eve"))
    eve = Identity(kind="agent", name="eve", session=app.agent().session, attested=attested)
    app.core(eve).journal.append(Note(kind="comment", body="x"))
    app.close()


def _connection(name: str) -> Connection:
    numbers = dict.fromkeys(("uid", "pid", "started", "held_since"), 7)
    words = dict.fromkeys(("client", "boot", "namespace", "executable", "unit"), "x")
    return Connection(
        project="other",
        id=name,
        agent="eve",
        ancestry="[]",
        opened_at=stamp(START),
        **numbers,
        **words,
    )


def test_what_is_asked_for_is_found_as_elsewhere(call, ledger):
    """An item by its number or title, a time in the machine's zone; what there is not is refused, and not found nowhere."""
    del ledger
    call("policy", "--reads", "on")
    call("show", "harbour-4")
    whole, same = (
        [line for line in lines if line["entrance"] == "command show"]
        for name in ("harbour-4", "4")
        for lines in [call("audit", "reads", "--item", name, "--json").json["reads"]]
    )
    assert whole
    assert same == whole
    assert call("audit", "reads", "--since", "2020-01-01T00:00+02:00").code == 0
    assert call("audit", "reads").out.splitlines()[0].startswith("when (UTC) ")
    for words, why in (
        (("--item", "harbour-99"), "harbour-99"),
        (("--since", "yesterday"), "is no time"),
        (("--since", "0001-01-01T00:00+14:00"), "is no time"),
    ):
        refused = call("audit", "reads", *words)
        assert (refused.code > 0, why in refused.err) == (True, True), words


@pytest.mark.both_databases
def test_nothing_is_kept_until_a_person_asks_for_it(call, ledger, agent):
    """An agent cannot switch it, on or off; once it is on, each command that gives texts away has a line that names them."""
    call("show", "harbour-4")
    assert not (ledger / ".counterpoint" / "reads").exists()
    for policy in ("on", "off", "required"):
        with pytest.raises(Forbidden):
            agent.use(Reads).switch(policy)
    assert call("policy", "--reads", "on", "--reason", "asked by the customer").code == 0
    for words, named in COMMANDS.items():
        done = call(*words)
        assert done.code == 0, (words, done.err)
        last = [
            line for line in lines_of(ledger) if line["entrance"].startswith(f"command {words[0]}")
        ]
        ids = {subject for line in last for subject in line["ids"]}
        is_all = any(line.get("all") for line in last)
        assert is_all if named == "*" else any(subject.startswith(named) for subject in ids), words
    listed = call("audit", "reads", "--item", "harbour-4", "--json")
    assert listed.code == 0
    assert {line["entrance"] for line in listed.json["reads"]} >= {"command show", "command backup"}
    assert call("audit", "reads", "--by", "nobody", "--json").json["reads"] == []
    assert call("audit", "reads", "--since", "2999-01-01", "--json").json["reads"] == []
    # Texts are nowhere in it: what is redacted in the ledger needs no second look here.
    assert "hull" not in record(ledger).read_text()


@pytest.mark.both_databases
def test_what_was_changed_in_the_record_is_found(call, ledger, app):
    """A line that was edited, taken out or put in by the next; lines that were cut off or written anew by what the ledger knows."""
    call("policy", "--reads", "on")
    for _ in range(3):
        call("show", "harbour-4")
    app.itself().use(Reads).anchor(app.read_log.head())
    call("show", "harbour-4")
    assert call("audit", "reads").code == 0
    file, whole = record(ledger), record(ledger).read_bytes()
    lines = whole.splitlines(keepends=True)
    for wrong, words in (
        (whole.replace(b'"command show"', b'"command list"', 1), "does not go on"),
        (b"".join([lines[0], *lines[2:]]), "does not go on"),
        (b"".join([lines[0], lines[0], *lines[1:]]), "does not go on"),
        (b"".join(lines[:2]), "were cut off"),
        (b"", "were cut off"),
        (_chained_anew(lines), "written anew"),
    ):
        file.write_bytes(wrong)
        told = call("audit", "reads")
        assert (told.code, words in told.out) == (1, True), told.out
    file.unlink()
    assert "is gone from" in call("audit", "reads").out
    file.write_bytes(whole)
    assert call("audit", "reads").code == 0


def _chained_anew(lines: list[bytes]) -> bytes:
    from hashlib import sha256

    from counterpoint.kernel import canonical

    previous, made = json.loads(lines[0])["previous"], b""
    for line in lines:
        value = json.loads(line) | {"previous": previous, "entrance": "command list"}
        content = canonical.dump(value)
        previous, made = sha256(content).hexdigest(), made + content + b"\n"
    return made


@pytest.mark.both_databases
def test_a_switch_past_the_ledger_is_told_and_stays_told(call, ledger):
    """Who takes the mark away records nothing; the ledger, `doctor` and the list say so, and the gap afterwards."""
    call("policy", "--reads", "on")
    call("show", "harbour-4")
    (ledger / ".counterpoint" / "reads" / "recording").unlink()
    call("show", "harbour-3")
    told = call("audit", "reads")
    assert told.code == 1
    assert "on this machine it is off" in told.out
    checks = {one["name"]: one["verdict"] for one in call("doctor", "--json").json["checks"]}
    assert checks["reads"] == "fail"
    call("policy", "--reads", "on")
    again = call("audit", "reads", "--json")
    assert again.code == 0
    (gap,) = again.json["remarks"]
    assert lines_of(ledger)[-1]["time"] in gap
    call("policy", "--reads", "off")
    size = len(lines_of(ledger))
    call("show", "harbour-4")
    assert len(lines_of(ledger)) == size
    switches = call("audit", "reads", "--json").json["switches"]
    assert [switch["policy"] for switch in switches] == ["off", "on"]


@pytest.mark.alike
@pytest.mark.both_databases
@pytest.mark.parametrize("is_old", [False, True])
def test_each_project_of_a_database_is_switched_by_itself(call, ledger, is_old):
    """Whoever switches one off leaves the others recorded, also where a mark of before stands for all."""

    def other(*words: str):
        return call(*words, "--project", "other")

    begin_other(ledger)
    assert other("add", "Paint the mast").code == 0
    call("policy", "--reads", "on")
    other("policy", "--reads", "required")
    call("show", "harbour-4")
    mark = ledger / ".counterpoint" / "reads" / "recording"
    if is_old:
        mark.write_text(f'{{"log":"{record(ledger).stem}","policy":"required"}}')
        assert call("policy", "--reads", "required").code == 0

    def count() -> int:
        return len(lines_of(ledger))

    assert call("policy", "--reads", "off").code == 0
    before = count()
    call("show", "harbour-4")
    assert count() == before
    assert other("show", "other-1").code == 0
    assert count() > before
    for words in ((), ("--project", "other")):
        assert call("audit", "reads", *words).code == 0
    checks = {one["name"]: one for one in other("doctor", "--json").json["checks"]}
    assert checks["reads"]["found"] == "are recorded: required"
    other("policy", "--reads", "off")
    assert not mark.exists()


def test_who_is_an_agent_of_any_project_switches_no_record(app, ledger):
    begin_other(ledger)
    shell = app.core(Identity(kind="human", name="eve", attested=attested_as("eve")))
    with pytest.raises(Forbidden, match="an agent has started this command"):
        shell.use(Reads).switch("on")
    assert app.person().use(Reads).switch("on") == "off"


def test_a_read_that_cannot_be_recorded_is_refused_where_that_is_asked_for(call, ledger):
    """Else it goes on, and the next line says how many are missing."""
    call("policy", "--reads", "required")
    call("show", "harbour-4")
    file = record(ledger)
    kept = file.with_name("kept")
    file.rename(kept)
    file.mkdir()
    refused = call("show", "harbour-4")
    assert (refused.code, refused.out) == (3, "")
    assert "cannot be recorded" in refused.err
    assert "`counterpoint policy --reads on`" in refused.err
    # A person is not shut out by it.
    assert call("policy", "--reads", "on").code == 0
    assert call("show", "harbour-4").code == 0
    file.rmdir()
    kept.rename(file)
    assert call("audit", "reads").code == 0


def test_what_could_not_be_recorded_is_counted_by_the_next_line(app, ledger, call):
    """As long as the process lives; what it could not write down at all, its log says."""
    call("policy", "--reads", "on")
    log = app.read_log
    actor = app.person().caller.actor
    log.append(actor, "command show", ["harbour-4"])
    file, kept = log.file, log.file.with_name("kept")
    file.rename(kept)
    file.mkdir()
    log.append(actor, "command show", ["harbour-4"])
    file.rmdir()
    kept.rename(file)
    log.append(actor, "command show", ["harbour-3"])
    assert lines_of(ledger)[-1]["lost"] == 1
    assert "1 read before line" in call("audit", "reads", "--json").json["remarks"][0]


def test_a_line_that_was_cut_off_by_a_kill_is_ended_by_the_next(app, ledger, call):
    """Nothing stands between two lines, and many processes write one chain."""
    call("policy", "--reads", "on")
    call("show", "harbour-4")
    with record(ledger).open("ab") as file:
        file.write(b'{"by":')
    call("show", "harbour-4")
    assert call("audit", "reads").code == 0


def test_enough_lines_are_anchored_in_the_ledger_by_the_way(app, call):
    """After 256 of them the next call of anybody writes the end of the record down."""
    call("policy", "--reads", "on")
    log, actor = app.read_log, app.person().caller.actor
    for number in range(260):
        log.append(actor, "command show", [f"harbour-{number}"])
    app.person().items.project()
    (anchor,) = app.itself().use(Reads).anchors()
    assert anchor.lines >= 256
    assert log.due() is None


def test_while_it_is_off_the_store_is_the_same(app):
    """One look at a file is all that an unrecorded call costs."""
    assert app.read_log is None
    assert app.person()._context.ports.store is app.ports.store


def test_what_a_shell_is_offered_and_what_a_name_is_looked_for_is_recorded(call, ledger):
    """Titles come with the completion of words, and with an item that several titles may mean."""
    call("policy", "--reads", "on")
    given = {"COMP_WORDS": "counterpoint show ", "COMP_CWORD": "2"}
    words = [sys.executable, "-m", "counterpoint"]
    environ = {**os.environ, **given, "_COUNTERPOINT_COMPLETE": "zsh_complete"}
    ran = subprocess.run(
        words, cwd=ledger, env=environ, capture_output=True, text=True, check=False
    )
    assert "harbour-4" in ran.stdout
    offered = [one["ids"] for one in lines_of(ledger) if one["entrance"] == "completion"]
    assert any("harbour-4" in ids for ids in offered)
    before = len(lines_of(ledger))
    call("audit", "reads", "--item", "Build")
    assert len(lines_of(ledger)) > before


def test_a_line_that_is_none_keeps_nobody_from_reading(call, ledger):
    """What a stranger wrote to the end of the record is told, and reads are counted as lost."""
    call("policy", "--reads", "on")
    call("show", "harbour-4")
    line = lines_of(ledger)[-1]
    for wrong in ({"number": "x"}, {"by": "x"}, {"time": 7}, {"ids": None}):
        with record(ledger).open("a") as file:
            file.write(json.dumps({**line, **wrong}) + "\n")
        assert call("show", "harbour-4").code == 0
        assert call("audit", "reads").code == 1


CROSSING: dict[str, Callable[[Core], object]] = {
    "search_learnings": lambda core: core.use(Learnings).find(
        LearningQuery(query="zanzibar", elsewhere=True)
    ),
    "vault_retrieve": lambda core: core.documents.find(PassageQuery(query="zanzibar")),
    "initialize": lambda core: core.notebooks.offered("builder").pages,
    "move_issue": lambda core: core.use(Transfer).move("other-1", "harbour", "it belongs there"),
    "backup": lambda core: core,
}
"""What gives an agent texts of another project of the database, by the tool or command that does."""


@pytest.fixture
def elsewhere(ledger: Path, tmp_path: Path) -> Iterator[App]:
    """Open another project of the database from a repository of its own; `harbour` has texts of each kind that cross projects."""
    database = {"COUNTERPOINT_DB": str(ledger / ".counterpoint" / DATABASE)}
    here = open_app(ledger, where_it_is())
    builder = here.core(_builder(here, "ada"))
    learning = "The zanzibar contract has to be signed anew each spring, before the first ship leaves the harbour"
    builder.use(Learnings).keep(
        LearningDraft(item="harbour-4", pattern=learning, context=learning * 2)
    )
    (ledger / "notes.md").write_text("# Zanzibar\n\nThe contract is worth nine millions.\n")
    builder.documents.take("notes.md")
    builder.notebooks.write("global", "builder", "notes.md", "Zanzibar is an island.", None)
    here.close()
    settings = {"COUNTERPOINT_PROJECT": "other", "COUNTERPOINT_GLOBAL_MEMORY": "on"}
    app = open_app(
        builders.open_repository(tmp_path / "other"), database | where_it_is() | settings
    )
    app.is_open = True
    core = app.core(_builder(app, "eve"))
    core.use(Issues).open(IssueDraft(title="Sail", labels=("cross-project",)))
    yield app
    app.close()


def _builder(app: App, name: str) -> Identity:
    session = app.agent().session
    return Identity(
        kind="agent", name=name, profile="builder", session=session, attested=attested_as(name)
    )


@pytest.mark.both_databases
def test_who_reads_a_project_from_another_one_is_recorded_in_its_record(call, elsewhere):
    """Whatever the own project does; from a folder that has no mark of it too, and where it is required, refused if it cannot be."""
    call("policy", "--reads", "required")
    folder = elsewhere.folder / "reads"

    def read(way: str) -> None:
        if way == "backup":
            elsewhere.record_copy("command backup")
        CROSSING[way](elsewhere.core(_builder(elsewhere, "eve")))

    def lines() -> list[Any]:
        texts = [file.read_text() for file in folder.glob("*.jsonl")]
        return [json.loads(line) for text in texts for line in text.splitlines()]

    harbour = next(row.ledger for row in elsewhere.store.projects() if row.project == "harbour")
    for way in CROSSING:
        before = len(lines())
        read(way)
        assert {line.get("ledger") for line in lines()[before:]} == {harbour}, way
    (file,) = folder.glob("*.jsonl")
    file.rename(file.with_name("kept"))
    file.mkdir()
    for way in CROSSING:
        with pytest.raises(Unavailable, match="the project 'harbour' asks for that") as refused:
            read(way)
        assert "`counterpoint policy --reads on --project harbour`" in refused.value.hint
    file.rmdir()
    file.with_name("kept").rename(file)
    assert call("audit", "reads").code == 0


@pytest.mark.both_databases
def test_who_reads_the_own_project_only_is_in_no_record_of_others(call, ledger, elsewhere):
    """A project that keeps none goes on without."""
    call("policy", "--reads", "required")
    call("show", "harbour-4")
    file = record(ledger)
    before = file.read_bytes()
    core = elsewhere.core(_builder(elsewhere, "eve"))
    assert core.items.get("other-1").title == "Sail"
    assert file.read_bytes() == before


@pytest.mark.both_databases
def test_a_project_is_recorded_from_a_folder_that_is_fresh(call, ledger, tmp_path):
    """A database on a server has a folder for each repository: what was read there before is a gap."""
    call("policy", "--reads", "required")
    database = {"COUNTERPOINT_DB": str(ledger / ".counterpoint" / DATABASE)} | where_it_is()
    fresh = builders.open_repository(tmp_path / "fresh")
    app = open_app(fresh, database | {"COUNTERPOINT_PROJECT": "harbour"})
    app.is_from_anywhere = True
    core = app.core(_builder(app, "eve"))
    assert core.items.get("harbour-4").title == "Lay the keel"
    texts = [file.read_text() for file in (app.folder / "reads").glob("*.jsonl")]
    assert [json.loads(text)["ids"] for text in texts] == [["harbour-4"]]
    assert len(app.itself().use(Reads).gaps()) == app.is_remote
    app.close()
