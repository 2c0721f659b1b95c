"""Records: what is written down, and blockers that stand in the way."""

from __future__ import annotations

from typing import get_args

from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Edit, Note, ReadyFilter
from counterpoint.core.model.journal import Record, RecordKind
from counterpoint.kernel.errors import Conflict, InvalidInput, NotFound, NotReady, PathOutside


def task(core, title="A"):
    """Make a task and answer its id."""
    return core.plans.create(Draft(kind="task", title=title)).root.id


def test_every_kind_of_record_is_kept_with_its_author(studio, ada):
    """The first line of the text serves as title; tags come once, paths as they are inside."""
    for number, kind in enumerate(get_args(RecordKind), 1):
        body = f"A {kind} of note\nwith more"
        note = Note(kind=kind, body=body, tags=("x", "x"), files=("./a",), details={"n": 1})
        record = ada.journal.append(note)
        assert ada.overview.find(Record, f"demo-r{number}") == record
        assert (record.title, record.body, record.tags) == (f"A {kind} of note", body, ("x",))
        assert (record.files, record.details) == (("a",), '{"n":1}')
        assert record.status == ("open" if kind == "blocker" else "")
        entry = studio.last()
        assert (entry.action, entry.subject) == (f"{kind}.recorded", "")
        assert entry.facts == {"record": record.id, "title": record.title}
    assert [r.kind for r in ada.overview.recent("finding")] == ["finding"]
    latest = ada.overview.rows(Record, latest=True, limit=2)
    assert [r.number for r in latest] == [len(get_args(RecordKind)), len(get_args(RecordKind)) - 1]
    assert [r.number for r in ada.overview.rows(Record, after=5, limit=2)] == [6, 7]


def test_a_long_or_empty_first_line_still_makes_a_title(ada):
    """At most 120 characters; an own title wins, and stands alone too."""
    long = ada.journal.append(Note(kind="comment", body="\n" + "x" * 200))
    assert (len(long.title), long.title[-1]) == (120, "…")
    assert ada.journal.append(Note(kind="comment", body="  ", title="own")).title == "own"
    assert ada.journal.append(Note(kind="comment", body="b", title="own")).title == "own"


def test_a_record_says_something(studio, ada):
    """One without a word is refused, and a tag without one is left out."""
    studio.refuses(InvalidInput, lambda: ada.journal.append(Note(kind="comment", body=" \n")))
    kept = ada.journal.append(Note(kind="comment", body="b", tags=("", "wind", " ")))
    assert kept.tags == ("wind",)


def test_a_blocker_stands_in_the_way_until_it_is_resolved(studio, ada, bob):
    """The item and all below it are not offered; resolving twice is resolving once."""
    root = ada.plans.create(ada.plans.read("# P\n- [ ] A\n"))
    item = root.ready[0]
    first = ada.journal.append(Note(kind="blocker", body="no key", item=root.root.id))
    assert ada.overview.open_blockers() == [first]
    assert ada.overview.open_blockers(item=root.root.id) == [first]
    assert bob.ready.offers(ReadyFilter(), 9) == []
    assert ada.ready.judge(ada.items.get(item)).reasons == (
        f"{root.root.id} blocker {first.id}: no key",
    )
    fault = studio.refuses(NotReady, lambda: bob.claims.start(item))
    assert "blocker" in fault.hint
    studio.clock.pass_by(minutes=1)
    after = bob.journal.resolve(first.id, "here it is")
    assert (after.status, after.resolution, after.resolved_by) == ("resolved", "here it is", "bob")
    assert after.resolved_at > after.created_at
    assert [o.item.id for o in bob.ready.offers(ReadyFilter(), 9)] == [item]
    entry = studio.last()
    assert (entry.action, entry.subject) == ("blocker.resolved", root.root.id)
    before = studio.image()
    assert bob.journal.resolve(first.id, "again") == after
    assert studio.image() == before


def test_a_blocker_of_the_whole_project_blocks_no_item(ada):
    """It is listed, and resolved like any other."""
    item = task(ada)
    record = ada.journal.append(Note(kind="blocker", body="the office is closed"))
    assert ada.ready.judge(ada.items.get(item)).is_ready
    assert ada.journal.resolve(record.id, "open again").status == "resolved"


def test_a_redacted_blocker_can_be_resolved(studio, ada):
    """What is gone stays gone; the rest of the row is changed."""
    note = Note(kind="blocker", body="names", item=task(ada), details={"who": "them"})
    record = ada.journal.append(note)
    studio.system.erasing.of_row(Record, record.id, reason="private")
    after = ada.journal.resolve(record.id, "so")
    assert (after.body, after.details, after.status) == ("[redacted]", "[redacted]", "resolved")


def test_wrong_records_are_refused(studio, ada):
    """Unknown items and records, paths outside, what is no blocker, what is closed."""
    item = task(ada)
    studio.refuses(NotFound, lambda: ada.journal.append(Note(kind="comment", body="x", item="x")))
    ports = Note(kind="comment", body="x", files=("../x",))
    studio.refuses(PathOutside, lambda: ada.journal.append(ports))
    floats = Note(kind="comment", body="x", details={"x": object()})
    studio.refuses(InvalidInput, lambda: ada.journal.append(floats))
    studio.refuses(NotFound, lambda: ada.journal.resolve("demo-r9", "x"))
    comment = ada.journal.append(Note(kind="comment", body="x"))
    studio.refuses(InvalidInput, lambda: ada.journal.resolve(comment.id, "x"))
    ada.items.edit(item, Edit(status="cancelled"))
    blocker = Note(kind="blocker", body="x", item=item)
    studio.refuses(Conflict, lambda: ada.journal.append(blocker))
