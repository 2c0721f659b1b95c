"""Specs as files beside the ledger, and edits of these files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, Note
from counterpoint.core.model.journal import Record
from counterpoint.dialects.foundry.documents.operations import Importing
from counterpoint.dialects.foundry.files.mirror import Mirroring, Round
from counterpoint.dialects.foundry.specs.operations import Lifecycle, Specs
from counterpoint.kernel.errors import MalformedDocument, NotFound
from fakes.spec_documents import document

SPEC = "demo-2026-01-02-001"


class Place:
    """The folder of specs of a project, and rounds of the mirror."""

    def __init__(self, agent: Agent) -> None:
        """Take the folder of an agent's project."""
        self.agent = agent
        self.home = agent.core.use(Mirroring).files.specs.parent
        self.specs = self.home / "specs"

    def round(self) -> Round:
        """Let the mirror look once."""
        return self.agent.core.use(Mirroring).round()

    def path(self, folder: str = "pending", spec: str = SPEC) -> Path:
        """Answer where the file of a spec lies."""
        return self.specs / folder / f"{spec}.json"

    def read(self, folder: str = "pending") -> Any:
        """Answer what the file says."""
        return json.loads(self.path(folder).read_bytes())

    def edit(self, node: str, name: str, value: Any, folder: str = "pending") -> bytes:
        """Change one field of a node in the file."""
        made = self.read(folder)
        made["hierarchy"][node][name] = value
        data = json.dumps(made).encode()
        self.path(folder).write_bytes(data)
        return data

    @property
    def now(self) -> Any:
        """The document as the ledger has it."""
        return self.agent.core.use(Specs).document(SPEC)

    def item(self, node: str) -> str:
        """Answer the item of a node."""
        found = self.agent.core.items.find(f"{SPEC}/{node}", "node")
        assert found is not None
        return found.id

    @property
    def root(self) -> str:
        """The item of the spec."""
        found = self.agent.core.items.find(SPEC, "spec")
        assert found is not None
        return found.id

    def title(self, node: str, title: str) -> None:
        """Change the title of a node in the ledger."""
        self.agent.core.items.edit(self.item(node), Edit(title=title))

    @property
    def troubles(self) -> dict[str, str]:
        """Of what kind the trouble of each spec is."""
        found = self.agent.core.use(Mirroring).troubles()
        return {name: one.kind for name, one in found.items()}


@pytest.fixture
def bare(ada: Agent) -> Place:
    """Answer a project with a folder of specs in which nothing is."""
    place = Place(ada)
    place.specs.mkdir()
    return place


@pytest.fixture
def place(bare: Place) -> Place:
    """Answer a project whose one spec is mirrored."""
    bare.agent.core.use(Importing).make(document())
    assert bare.round().written == [SPEC]
    return bare


def test_without_a_folder_of_specs_nothing_is_written(ada: Agent):
    """Beside the ledger neither."""
    place = Place(ada)
    ada.core.use(Importing).make(document())
    before = sorted(place.home.iterdir()), sorted((place.home / ".counterpoint").iterdir())
    assert place.round() == Round()
    assert place.troubles == {}
    assert before == (
        sorted(place.home.iterdir()),
        sorted((place.home / ".counterpoint").iterdir()),
    )


def test_work_of_other_dialects_is_no_file(bare: Place, made: Any):
    """Only what has the id of a spec is one."""
    bare.agent.core.plans.create(Draft(kind="plan", title="Plan"))
    assert bare.round().written == []
    assert list(bare.specs.iterdir()) == []
    made(1, 1, "other-2026-01-02-001")
    assert bare.round().written == ["other-2026-01-02-001"]


def test_a_spec_lies_in_the_folder_in_which_it_stands(place: Place):
    """As foundry writes it, and only there."""
    assert place.read() == place.now
    assert place.path().read_text().startswith('{\n  "spec_id"')
    place.agent.core.claims.start(place.item("task-1-1"))
    assert place.round().written == [SPEC]
    assert place.read()["hierarchy"]["task-1-1"]["status"] == "in_progress"
    place.agent.core.use(Lifecycle).move(SPEC, "active")
    assert place.round().written == [SPEC]
    assert place.read("active")["hierarchy"]["task-1-1"]["status"] == "in_progress"
    assert not place.path().exists()
    assert place.round().written == []


def test_many_changes_between_two_rounds_are_one_write(place: Place):
    for number in range(50):
        place.title("task-1-1", f"Title {number}")
    assert place.round().written == [SPEC]
    assert place.round().written == []
    assert place.read()["hierarchy"]["task-1-1"]["title"] == "Title 49"


def test_a_file_that_was_taken_away_is_written_again(place: Place):
    """The ledger has it."""
    place.path().unlink()
    assert place.round().written == [SPEC]
    assert place.read() == place.now


def test_an_edit_of_the_file_comes_in(place: Place):
    place.edit("task-1-1", "title", "Edited")
    told = place.round()
    assert [one.changes[0].after for one in told.applied] == ["Edited"]
    assert place.now["hierarchy"]["task-1-1"]["title"] == "Edited"
    assert place.agent.last_entry.facts["file"] == f"specs/pending/{SPEC}.json"
    assert place.read() == place.now
    size = place.agent.ledger_size
    assert place.round() == Round()
    assert place.agent.ledger_size == size


def test_a_file_that_was_only_written_anew_changes_nothing(place: Place):
    """In other words, or with another time."""
    place.path().write_text(json.dumps(place.read()))
    size = place.agent.ledger_size
    assert place.round().written == [SPEC]
    os.utime(place.path(), (1, 1))
    assert place.round() == Round()
    assert place.agent.ledger_size == size


def test_a_file_that_was_moved_moves_its_spec(place: Place):
    """By the rules of the lifecycle."""
    (place.specs / "active").mkdir()
    place.path().rename(place.path("active"))
    assert place.round().applied
    assert place.agent.core.items.get(place.root).category == "active"


def test_what_changed_on_both_sides_is_told_and_left(place: Place):
    """Until somebody says which side counts."""
    data = place.edit("task-1-1", "title", "In the file")
    place.title("task-1-1", "In the ledger")
    for _ in range(3):
        assert not place.round().written
    assert place.troubles == {SPEC: "conflict"}
    place.title("task-1-2", "More")
    assert not place.round().written
    assert place.path().read_bytes() == data
    assert "(conflict)" in place.agent.core.use(Mirroring).warning(SPEC)


@pytest.mark.parametrize(("side", "title"), [("file", "In the file"), ("ledger", "In the ledger")])
def test_either_side_of_a_conflict_can_be_taken(place: Place, side: Any, title: str):
    """Then the file is as the ledger has it."""
    place.edit("task-1-1", "title", "In the file")
    place.title("task-1-1", "In the ledger")
    place.round()
    place.agent.core.use(Mirroring).take(SPEC, side)
    assert place.now["hierarchy"]["task-1-1"]["title"] == title
    assert place.read() == place.now
    assert place.troubles == {}
    assert place.agent.core.use(Mirroring).warning(SPEC) == ""


def test_a_conflict_ends_with_the_edit(place: Place):
    """The file as it was is no trouble."""
    before = place.path().read_bytes()
    place.edit("task-1-1", "title", "In the file")
    place.title("task-1-1", "In the ledger")
    place.round()
    place.path().write_bytes(before)
    assert place.round().written == [SPEC]
    assert place.troubles == {}


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"spec_id": "x", "spec_id": "x"}', b""])
def test_a_file_that_is_none_is_told_and_left(place: Place, data: bytes):
    """Whatever becomes of the spec."""
    place.path().write_bytes(data)
    place.title("task-1-1", "Later")
    for _ in range(2):
        assert not place.round().written
    assert place.troubles[SPEC] in {"invalid", "conflict"}
    assert place.path().read_bytes() == data


def test_an_edit_that_is_refused_is_told_and_left(place: Place):
    """None of it is applied."""
    made = place.read()
    made["hierarchy"]["task-2-1"]["status"] = "completed"
    made["hierarchy"]["task-1-1"]["title"] = "Edited"
    place.path().write_text(json.dumps(made))
    assert not place.round().written
    assert place.troubles == {SPEC: "refused"}
    assert place.now["hierarchy"]["task-1-1"]["title"] != "Edited"
    told = place.agent.core.use(Mirroring).take(SPEC, "file")
    assert told is not None
    assert [one.node for one in told.refused] == ["task-2-1"]
    assert place.read()["hierarchy"]["task-1-1"]["title"] == "Edited"
    assert place.read() == place.now


def test_an_edit_of_what_somebody_holds_is_told_and_left(place: Place, workshop: Workshop):
    """A file is nobody's word but its own."""
    workshop.agent("ben").core.claims.start(place.item("task-1-1"))
    place.round()
    data = place.edit("task-1-1", "title", "Another")
    place.round()
    assert place.troubles == {SPEC: "refused"}
    told = place.agent.core.use(Mirroring).troubles()[SPEC].message
    assert "task-1-1 is held by ben" in told
    assert place.path().read_bytes() == data
    assert place.now["hierarchy"]["task-1-1"]["title"] == "Build part 1.1"


def test_a_new_file_comes_in(bare: Place):
    """At first sight, and stands as its folder says."""
    (bare.specs / "active").mkdir()
    bare.path("active").write_text(json.dumps(document()))
    assert bare.agent.core.use(Mirroring).first_sight(SPEC, "maintainer")
    assert not bare.agent.core.use(Mirroring).first_sight("gone-2026-01-02-001", "maintainer")
    assert bare.round().written == [SPEC]
    assert bare.read("active") == bare.now
    assert bare.agent.core.items.get(bare.root).category == "active"


@pytest.mark.parametrize(
    "data", [b"{", json.dumps(document() | {"spec_id": "other"}).encode(), b'{"spec_id": "a"}']
)
def test_a_new_file_that_is_none_is_told(bare: Place, data: bytes):
    """And makes nothing."""
    (bare.specs / "pending").mkdir()
    bare.path().write_bytes(data)
    size = bare.agent.ledger_size
    with pytest.raises(MalformedDocument):
        bare.agent.core.use(Mirroring).first_sight(SPEC, "maintainer")
    assert bare.troubles == {SPEC: "invalid"}
    with pytest.raises(MalformedDocument):
        bare.agent.core.use(Mirroring).first_sight(SPEC, "maintainer")
    assert bare.agent.ledger_size == size
    assert bare.path().read_bytes() == data
    with pytest.raises(MalformedDocument):
        bare.agent.core.use(Mirroring).take(SPEC, "file")


def test_a_spec_with_two_files_is_told(place: Place):
    """Unless both are of ours, of which a kill left the older one."""
    (place.specs / "active").mkdir()
    place.path("active").write_bytes(place.path().read_bytes())
    place.round()
    assert [one.parent.name for one in place.specs.rglob("*.json")] == ["pending"]
    place.path("archived").parent.mkdir()
    place.path("archived").write_text("{}")
    place.round()
    assert place.troubles == {SPEC: "double"}
    place.path("archived").unlink()
    place.round()
    assert place.troubles == {}


def test_links_are_not_followed(place: Place, tmp_path: Path):
    """Neither as a file nor as a folder."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / f"{SPEC}.json").write_text("{}")
    place.path().unlink()
    place.path().symlink_to(outside / f"{SPEC}.json")
    (place.specs / "active").symlink_to(outside)
    place.title("task-1-1", "Later")
    place.round()
    assert (outside / f"{SPEC}.json").read_text() == "{}"
    assert list(outside.iterdir()) == [outside / f"{SPEC}.json"]


def test_names_that_are_no_ids_are_no_specs(bare: Place):
    """Nor are hidden files and folders."""
    (bare.specs / "pending").mkdir()
    for name in (".hidden.json", "a b.json", "ä.json", "x.txt"):
        (bare.specs / "pending" / name).write_text("{}")
    (bare.specs / "pending" / "folder.json").mkdir()
    assert bare.round() == Round()


def test_one_process_at_a_time_has_its_turn(place: Place):
    """The other lets it be."""
    place.title("task-1-1", "Later")
    with place.agent.core.use(Mirroring).files.turn() as is_mine:
        assert is_mine
        assert place.round() == Round()
    assert place.round().written == [SPEC]


def test_what_a_kill_left_is_known_as_ours(place: Place):
    """Written, but not noted yet; or noted, but not written yet."""
    files = place.agent.core.use(Mirroring).files
    record = files.record()
    place.title("task-1-1", "Later")
    place.round()
    after = files.record().files[SPEC]
    record.files[SPEC] = replace(record.files[SPEC], pending=after.sha256)
    files.keep(record)
    (place.specs / "pending" / f".{SPEC}.0011.part").write_text("half")
    place.title("task-1-1", "Latest")
    assert place.round().written == [SPEC]
    assert place.troubles == {}
    assert [one.name for one in place.path().parent.iterdir()] == [f"{SPEC}.json"]
    (files.state / f"specs-{files.project}.json").write_text("broken")
    assert place.round().written == []
    assert place.read() == place.now


def test_a_side_of_nothing_cannot_be_taken(bare: Place):
    """There has to be a file."""
    with pytest.raises(NotFound):
        bare.agent.core.use(Mirroring).take(SPEC, "ledger")


def test_a_ledger_without_the_spec_cannot_count(place: Place):
    """The file is not counted as its own: it stays in trouble, and can still be taken in."""
    stray = place.path().with_name("stray-2026-01-01-001.json")
    stray.write_text("half")
    place.round()
    with pytest.raises(NotFound, match="the ledger has no spec 'stray-2026-01-01-001'") as refusal:
        place.agent.core.use(Mirroring).take("stray-2026-01-01-001", "ledger")
    assert "--take file stray-2026-01-01-001" in refusal.value.steps
    assert stray.read_text() == "half"
    assert "stray-2026-01-01-001" in place.agent.core.use(Mirroring).troubles()


def test_a_spec_that_is_put_away_lies_in_the_archive(place: Place):
    """And comes back out of it."""
    place.agent.core.use(Lifecycle).move(SPEC, "archived")
    place.round()
    assert place.read("archived") == place.now
    place.agent.core.use(Lifecycle).move(SPEC, "active")
    place.round()
    assert [one.parent.name for one in place.specs.rglob("*.json")] == ["active"]


def test_an_edit_of_an_older_version_is_told_and_left(place: Place, workshop: Workshop):
    """What was done since is not undone by the buffer of an editor, until a person says so."""
    stale = place.read()
    workshop.clock.pass_by(seconds=1)
    place.title("task-1-1", "Of an agent")
    place.round()
    stale["hierarchy"]["task-1-2"]["title"] = "Of an editor"
    for last in (stale["last_updated"], None, "soon"):
        place.path().write_text(json.dumps({**stale, "last_updated": last}))
        assert place.round().applied == []
        assert place.troubles == {SPEC: "conflict"}
    assert place.now["hierarchy"]["task-1-1"]["title"] == "Of an agent"
    place.agent.core.use(Mirroring).take(SPEC, "file")
    assert place.now["hierarchy"]["task-1-2"]["title"] == "Of an editor"
    assert place.read() == place.now


def test_whatever_changes_a_document_makes_it_a_later_version(place: Place, workshop: Workshop):
    """Also what was taken out of it, put in another order, written or resolved."""
    items = place.agent.core.items
    noted = place.agent.core.journal
    made: list[Record] = []
    blocker = Note(kind="blocker", body="No", item=place.item("task-1-1"))
    steps: list[Callable[[], object]] = [
        lambda: items.edit(place.item("task-1-2"), Edit(position=0)),
        lambda: noted.append(Note(kind="decision", body="So", item=place.item("task-1-1"))),
        lambda: made.append(noted.append(blocker)),
        lambda: noted.resolve(made[-1].id, "Yes"),
        lambda: items.edit(place.item("task-1-2"), Edit(status="cancelled", reason="Gone")),
    ]
    for step in steps:
        before = place.now
        workshop.clock.pass_by(seconds=1)
        step()
        assert place.now["last_updated"] > before["last_updated"], steps.index(step)


def test_the_older_file_of_a_branch_is_left_until_it_is_gone(place: Place, workshop: Workshop):
    """Nothing is written meanwhile, and then what was done meanwhile is."""
    main = place.path().read_bytes()
    workshop.clock.pass_by(seconds=1)
    place.title("task-1-1", "On a branch")
    place.round()
    branch = place.path().read_bytes()
    place.path().write_bytes(main)
    workshop.clock.pass_by(seconds=1)
    place.title("task-1-2", "Meanwhile")
    assert place.round().written == []
    assert place.path().read_bytes() == main
    assert place.troubles == {SPEC: "conflict"}
    place.path().write_bytes(branch)
    assert place.round().written == [SPEC]
    assert place.troubles == {}
    assert place.read() == place.now


def test_a_later_file_that_came_in_is_not_written_anew(place: Place, workshop: Workshop):
    """It says what the ledger has, so that git finds it as it was; the next change is written."""
    before = place.path().read_bytes()
    workshop.clock.pass_by(seconds=5)
    made = json.loads(before)
    made["last_updated"] = place.now["last_updated"].replace("05.000Z", "06.000Z")
    made["hierarchy"]["task-1-1"]["title"] = "Elsewhere"
    later = json.dumps(made).encode()
    place.path().write_bytes(later)
    told = place.round()
    assert (len(told.applied), told.written) == (1, [])
    assert place.now["hierarchy"]["task-1-1"]["title"] == "Elsewhere"
    assert place.round() == Round()
    os.utime(place.path(), (1, 1))
    assert place.round() == Round()
    place.path().write_bytes(before)
    assert place.round().applied == []
    assert place.troubles == {SPEC: "conflict"}
    place.path().write_bytes(later)
    assert place.round() == Round()
    place.edit("task-1-1", "title", "By hand")
    assert place.round().written == [SPEC]
    assert place.read() == place.now


def test_an_older_file_that_says_the_same_is_no_conflict(place: Place):
    """It is left as it is."""
    made = place.read() | {"last_updated": "2020-01-01T00:00:00.000Z"}
    place.path().write_text(json.dumps(made))
    assert place.round() == Round()
    assert place.read() == made
    place.title("task-1-1", "Later")
    assert place.round().written == [SPEC]


def test_a_file_that_was_moved_undoes_nothing(place: Place):
    """What the ledger has changed meanwhile stays."""
    place.title("task-1-1", "Meanwhile")
    (place.specs / "active").mkdir()
    place.path().rename(place.path("active"))
    place.round()
    assert place.agent.core.items.get(place.root).category == "active"
    assert place.read("active") == place.now
    assert place.now["hierarchy"]["task-1-1"]["title"] == "Meanwhile"


def test_a_text_that_was_taken_away_goes_from_the_file(place: Place):
    """No entry of a redaction names the item that it stood in."""
    place.title("task-1-1", "Ask Ms Miller about it")
    place.round()
    assert place.read()["hierarchy"]["task-1-1"]["title"] == "Ask Ms Miller about it"
    place.agent.app.person().erasing.of_words("Ask Ms Miller about it", reason="private")
    assert place.round().written == [SPEC]
    assert b"Miller" not in place.path().read_bytes()
    assert place.troubles == {}
