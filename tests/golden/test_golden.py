"""Golden ledgers: what a format has once held opens, verifies and is rebuilt by every later program."""

from __future__ import annotations

import getpass
import re
import runpy
import socket
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import apsw
import pytest

from counterpoint.app import NOUNS
from counterpoint.cli.main import run
from counterpoint.core.ledger import bundle, entry, sealed, thoughts
from counterpoint.core.ledger.checkpoint import open_checkpoint
from counterpoint.core.ledger.note import VerifierKey, open_note, verify_note
from counterpoint.core.ledger.offline import verify_any
from counterpoint.core.ledger.people import statement
from counterpoint.core.ledger.witnesses.cosignature import CosignerKey, cosignature_time
from counterpoint.core.model.access import Actor, Principal
from counterpoint.core.model.filters import Note
from counterpoint.core.model.work import Item
from counterpoint.core.ports.store import Store
from counterpoint.kernel import canonical
from counterpoint.kernel.clock import Timestamp
from counterpoint.kernel.errors import StoreNewer
from counterpoint.storage import schema
from counterpoint.storage.schema import Migration
from counterpoint.storage.sqlite.store import SqliteStore
from fakes.golden import kept
from fakes.golden.acts import actions
from fakes.golden.scenes import AWAY
from fakes.golden.stage import PROJECT, Stage, staged
from fakes.looking import faults_of
from fakes.servers import connected

NUMBERS: Final = (13, 14, 15, 16)
"""The formats whose ledgers are looked at; each has a folder of its own."""
LAST: Final = NUMBERS[-1]
FOUNDRY: Final = 14
"""The first of them in which there are specs and runs."""
STUDIED: Final = 15
"""The first of them in which models were asked."""
SINCE: Final = (
    "core/operations/access.py", "core/operations/models/spending.py", "core/operations/projects.py", "core/operations/trust/people.py",
    "core/operations/trust/witness_policy.py", "core/operations/reads.py", "core/operations/trust/joint_acts.py",
    "dialects/foundry/files/renaming.py",
)  # fmt: skip
"""Files whose actions were not there when the ledgers of the last number were made."""
VERIFIER: Final = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "verifier" / "verify.py"))
LOOKS: Final = {
    "check.ran", "issue.counted", "issue.sought", "item.judged", "learning.compared", "phase.looked",
    "phase.named", "phase.opened", "plan.named", "plans.counted", "run.looked", "sessions.counted",
    "spec.looked", "spec.named", "spec.rewritten", "task.looked",
}  # fmt: skip
"""Actions of which there is no entry: they look into a transaction and write nothing, or get another name before it ends."""
UNWRITTEN: Final = set[str]()
"""Tables that nothing wrote when the ledgers of this number were made."""
WAY: Final = (
    "The format is frozen: what was released is never edited. Add a migration of the next number to RELEASED, for both databases"
    " (scripts/tables.py words it; a column is added at the end, with a default), keep the golden ledgers that there are, and make those of"
    " the new number with scripts/golden.py. A changed entry, bundle or note is another version of it, which is read beside the old one."
)
SAID: Final = "was said here, at such a length"
"""What everybody says in every text of every tool, behind a word of its own."""
NEXT: Final = {
    "sqlite": 'CREATE TABLE added (\n  "project" TEXT NOT NULL,\n  PRIMARY KEY ("project")\n) STRICT;\n'
    "ALTER TABLE items ADD COLUMN \"colour\" TEXT NOT NULL DEFAULT '';\n",
    "postgres": 'CREATE TABLE added (\n  "project" text COLLATE "C" NOT NULL,\n  PRIMARY KEY ("project")\n);\n'
    'ALTER TABLE items ADD COLUMN "colour" text COLLATE "C" NOT NULL DEFAULT \'\';\n',
}


@contextmanager
def reopened(folder: Path, store: Store) -> Generator[Stage]:
    """Give a stage on which a ledger goes on, with the key that signed it last."""
    with staged(folder, store) as stage:
        stage.mint.begin(1_000_000)
        stage.clock.pass_by(minutes=3 * 365 * 24 * 60)
        stage.resign(b"\x01" * 32)
        yield stage


@pytest.fixture(params=NUMBERS)
def number(request: pytest.FixtureRequest) -> int:
    """Give the number of each format."""
    return request.param


@pytest.fixture
def here(number: int) -> Path:
    """Give the folder of its ledgers."""
    return kept.FOLDER / f"{number:03}"


@pytest.fixture
def told(number: int) -> dict[str, Any]:
    """Give what is written down of them."""
    return kept.told_of(number)


@pytest.fixture
def place(here: Path, tmp_path: Path) -> Path:
    """Give a copy of the golden file."""
    file = tmp_path / "ledger.db"
    file.write_bytes(kept.unpack(here / kept.FILE))
    file.chmod(0o600)
    return file


def is_as_told(store: Store, told: dict[str, Any]) -> None:
    """Check every table, text, entry and root against what is written down beside the ledgers."""
    assert kept.everything(store, told["projects"]) == told["projects"]
    assert faults_of(store) == []


def goes_on(stage: Stage, told: dict[str, Any]) -> None:
    """Check that the ledger is sound, is what its entries make, and can be written and signed on."""
    found = stage.system.audit.verify()
    assert [one.message for one in found.faults] == []
    project = told["projects"][PROJECT]
    assert (found.size, found.root) == (project["size"], project["root"])
    assert (found.confirmed, found.unsigned) == (told["confirmed"], 0)
    assert stage.system.audit.rebuild().differences == ()
    with stage.store.reading(AWAY) as view:
        assert view.moved() is not None
    ada = stage.seat("ada").core
    made = ada.plans.create(ada.plans.read("# After\n- [ ] It goes on\n")).items[-1].id
    ada.claims.start(made)
    ada.journal.append(Note(kind="comment", body="years later", item=made))
    stage.sign()
    later = stage.system.audit.verify()
    assert ([one.message for one in later.faults], later.unsigned) == ([], 0)
    assert later.size > found.size


def test_a_golden_file_opens_is_what_is_written_down_and_goes_on(
    place: Path, number: int, told: dict[str, Any], tmp_path: Path
) -> None:
    """Every cell, text and root; sound by its signatures; its tables are those of its entries; more can be written."""
    store = SqliteStore(place, nouns=NOUNS)
    is_as_told(store, told["sqlite"])
    with reopened(tmp_path / "stage", store) as stage:
        goes_on(stage, told["sqlite"])
        reads_back(stage, number)
    store.close()


def test_the_command_line_finds_a_golden_file_sound(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`audit verify` and `audit rebuild` as people run them, with a signer that never saw the ledger."""
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    asked = ("--db", str(place), "--project", PROJECT)
    for verb in ("verify", "rebuild"):
        assert run(["audit", verb, *asked]) == 0, capsys.readouterr()


def test_a_golden_dump_opens_is_what_is_written_down_and_goes_on(
    databases: Any, here: Path, number: int, told: dict[str, Any], tmp_path: Path
) -> None:
    """The same of PostgreSQL; and a later program brings it forward, with a table and a column more."""
    address = databases.empty()
    kept.load(kept.unpack(here / kept.DUMP), address)
    store = connected(address)
    is_as_told(store, told["postgres"])
    with reopened(tmp_path / "stage", store) as stage:
        goes_on(stage, told["postgres"])
        reads_back(stage, number)
        before = kept.everything(store)
    store.close()
    known = following("postgres")
    later = connected(address, migrations=known)
    assert kept.everything(later) == before
    assert faults_of(later) == []
    later.close()
    with pytest.raises(StoreNewer):
        connected(address)
    databases.drop(address)


def following(database: schema.Database) -> tuple[Migration, ...]:
    """Answer the migrations of a later program."""
    known = schema.migrations(NOUNS, database)
    return (*known, Migration(known[-1].number + 1, "later", NEXT[database]))


def test_a_later_program_brings_a_golden_file_forward(
    place: Path, number: int, told: dict[str, Any]
) -> None:
    """With a table and a column more; nothing that was there is another, and the old file is kept beside it."""
    known = following("sqlite")
    store = SqliteStore(place, nouns=NOUNS, migrations=known)
    projects = told["sqlite"]["projects"]
    assert kept.everything(store, projects) == projects
    assert faults_of(store) == []
    store.close()
    assert place.with_name(f"ledger.db.before-{number + 1}.backup").exists()
    with pytest.raises(StoreNewer):
        SqliteStore(place, nouns=NOUNS)


def test_both_verifiers_find_the_golden_bundles_sound_and_a_changed_one_not(
    here: Path, told: dict[str, Any]
) -> None:
    """With the key that is written down; one byte is another, somewhere in an entry, a signature or a text."""
    key = told["sqlite"]["key"]
    for name in (kept.BUNDLE, kept.SESSION):
        data = kept.unpack(here / name)
        report = verify_any(data.splitlines(keepends=True), VerifierKey.from_text(key))
        assert (report.sound, [one.message for one in report.faults]) == (True, [])
        VERIFIER["verify"](data, key)
    data = kept.unpack(here / kept.BUNDLE)
    for place in (len(data) // 4, len(data) // 2, len(data) - 40):
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        report = verify_any(changed.splitlines(keepends=True), VerifierKey.from_text(key))
        assert not report.sound
    with pytest.raises(VERIFIER["Broken"]):
        VERIFIER["verify"](changed, key)


def test_a_changed_byte_of_a_golden_file_is_found(place: Path, tmp_path: Path) -> None:
    """Of an entry, below everything that guards it."""
    link = apsw.Connection(str(place))
    asked = "SELECT data FROM entries WHERE project = ? ORDER BY sequence"
    written = [data for (data,) in link.execute(asked, (PROJECT,))]
    link.close()
    content = place.read_bytes()
    data = next(one for one in written if content.count(one) == 1)
    where = content.index(data) + len(data) // 2
    place.write_bytes(content[:where] + bytes([content[where] ^ 1]) + content[where + 1 :])
    store = SqliteStore(place, nouns=NOUNS)
    with reopened(tmp_path / "stage", store) as stage:
        assert stage.system.audit.verify().faults
    store.close()


def test_the_golden_checkpoint_is_signed_and_cosigned(here: Path, told: dict[str, Any]) -> None:
    """By the ledger's key and by a witness, at the time that is written down."""
    document = (here / kept.CHECKPOINT).read_text()
    witness = CosignerKey.from_text(told["witness"])
    assert cosignature_time(open_note(document), witness) == told["witnessed_at"]
    verify_note(open_note(document), VerifierKey.from_text(told["sqlite"]["key"]))
    project, signed = told["sqlite"]["projects"][PROJECT], open_checkpoint(document)
    assert (signed.size, signed.root.hex()) == (project["size"], project["root"])


def test_every_action_table_and_strength_is_in_the_golden_ledgers() -> None:
    """Whatever the source can write, in some of them; what came since comes with the tables of the next number."""
    since = {action for action, file in actions().items() if file.startswith(SINCE)}
    last = kept.told_of(LAST)
    for database in ("sqlite", "postgres"):
        projects = last[database]["projects"].values()
        written = {action for one in projects for action in one["actions"]}
        before = {
            action
            for number in NUMBERS
            for one in kept.told_of(number)[database]["projects"].values()
            for action in one["actions"]
        }
        assert set(actions()) - before - since == LOOKS
        assert written <= set(actions())
        held = {name for one in projects for name, table in one["tables"].items() if table["rows"]}
        assert {noun.table for noun in NOUNS} - held == UNWRITTEN, WAY
        project = last[database]["projects"][PROJECT]
        assert project["strengths"] == ["", "connection", "credential", "person"]
        assert project["signatures"] > 0


def test_nothing_of_a_machine_is_in_the_golden_files(here: Path) -> None:
    """No path, name of a user or a host, and no key that signs: these are told in the tests, and made for them."""
    names = {getpass.getuser(), socket.gethostname(), Path.home().name} - {"root", "localhost"}
    # Shorter ones are parts of other words.
    names = {name for name in names if len(name) > 5}
    words = [
        str(Path(__file__).parents[2]).encode(),
        b"/tmp",
        b"/home/",
        b"/root",
        b"PRIVATE KEY",
        *(one.encode() for one in names),
    ]
    for name, content in kept.plain(here).items():
        said = re.sub(rb"(/\w+)*/golden-ledger", b"", content)
        assert [word for word in words if word in said] == [], name


def test_golden_ledgers_are_never_written_again(number: int) -> None:
    """The script makes those of a new number only."""
    with pytest.raises(FileExistsError):
        kept.write(number, None)


def test_the_shape_of_the_tables_is_frozen(told: dict[str, Any], tmp_path: Path) -> None:
    """What was released is as it was, and makes a table for each noun with its columns in their order."""
    for database in schema.TYPES:
        known = kept.digests(database)
        made = told[database]["made"]
        assert {name: known.get(name) for name in made} == made, WAY
    SqliteStore(tmp_path / "ledger.db", nouns=NOUNS).close()
    made, fresh = apsw.Connection(str(tmp_path / "ledger.db")), apsw.Connection("")
    for noun in NOUNS:
        fresh.execute(schema.tables_of(noun, schema.TYPES["sqlite"]))
        assert shape(made, noun.table) == shape(fresh, noun.table), f"{noun.table}: {WAY}"
    made.close()


def shape(link: apsw.Connection, table: str) -> list[Any]:
    """Answer the columns of a table and those of its indexes."""
    listed = link.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?", (table,)
    )
    return [
        link.execute("SELECT name, type, pk FROM pragma_table_info(?)", (table,)).fetchall(),
        sorted(
            (name, link.execute("SELECT name FROM pragma_index_info(?)", (name,)).fetchall())
            for (name,) in listed.fetchall()
        ),
    ]


def test_the_versions_and_bytes_of_entries_are_frozen() -> None:
    """One entry of everything, byte by byte, and each version by its name."""
    made = entry.Entry(
        project="demo",
        sequence=1,
        time=Timestamp("2026-01-02T03:04:05.000Z"),
        actor=Actor(
            kind="agent",
            name="ada",
            profile="judge",
            session="ses_1",
            principal=Principal(strength="connection", id="cn_1"),
        ),
        action="item.edited",
        subject="demo-1",
        facts={"n": 1, "title": entry.refer("ab" * 32)},
        rows=(
            entry.RowImage(
                table="items", key={"id": "demo-1"}, values={"status": "done"}, whole=False
            ),
            entry.RowImage(table="labels", key={"item": "demo-1", "name": "x"}, values={}),
            entry.RowImage(table="labels", key={"item": "demo-1", "name": "y"}, values=None),
        ),
        previous="cd" * 32,
    )
    assert made.to_bytes() == ENTRY.encode(), WAY
    known = (entry, bundle, sealed, thoughts, statement)
    assert [one.VERSION for one in known] == [2, 2, 1, 1, 1], WAY


ENTRY: Final = (
    '{"a":"item.edited","f":{"n":1,"title":{"$text":"'
    + "ab" * 32
    + '"}},"h":"'
    + "cd" * 32
    + '","n":1,"p":"demo",'
    '"r":[{"c":{"status":"done"},"k":{"id":"demo-1"},"t":"items"},{"k":{"item":"demo-1","name":"x"},"t":"labels","v":{}},'
    '{"k":{"item":"demo-1","name":"y"},"t":"labels","v":null}],"s":"demo-1","t":"2026-01-02T03:04:05.000Z","v":2,'
    '"w":{"i":{"i":"cn_1","k":"connection"},"k":"agent","n":"ada","p":"judge","s":"ses_1"}}'
)


STUDIES: Final = (("foundry", "research", {"action": "deep-research-list"}, "Which tar?"),)
"""What is asked of ledgers in which models were asked."""
SPECS: Final = (
    ("foundry", "spec", {"action": "list"}, "A kite"),
    ("foundry", "task", {"action": "session", "command": "list"}, '"status":"ended"'),
)
"""What foundry shows of a format that has it."""


def reads_back(stage: Stage, number: int) -> None:
    """Check that each dialect shows what was once written in it."""
    with stage.store.reading(PROJECT) as view:
        (flow,) = view.select(Item, kind="workflow")
    for surface, tool, arguments, words in (
        ("native", "show", {"id": "okapi"}, "Taken"),
        ("native", "find", {"query": "harbour"}, "It is deep."),
        ("workflow", "get_context", {"workflow_id": flow.id, "include": ["tasks"]}, SAID),
        ("agentic", "plan_get", {"slug": "login"}, SAID),
        ("agentic", "state_list", {"plan_slug": "login"}, SAID),
        ("agentic", "content_brief_list", {}, "A page about harbours"),
        ("colibri", "thought_record_list", {}, SAID),
        ("colibri", "audit_verify_chain", {}, '"valid":true'),
        ("symphony", "list_issues", {}, "DEMO-001"),
        ("symphony", "search_learnings", {"query": "look"}, "look before"),
        ("symphony", "query_run_events", {"run_id": "run-0"}, "assistant"),
        ("symphony", "vault_retrieve", {"query": "tower"}, "It is high."),
        *(SPECS if number >= FOUNDRY else ()),
        *(STUDIES if number >= STUDIED else ()),
    ):
        told = canonical.dump_any(stage.join(surface).call(tool, **arguments))
        assert words in told, (surface, tool, told)
