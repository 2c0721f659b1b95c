"""Taking texts away: versions, copies, kept answers, plain hashes; proofs hold."""

from __future__ import annotations

from functools import partial

from counterpoint.core.coordinator import Core
from counterpoint.core.model.documents import Document, Passage
from counterpoint.core.model.evidence import Command
from counterpoint.core.model.filters import Check, Edit, Note
from counterpoint.core.model.journal import Receipt, Record
from counterpoint.core.model.rows import REDACTED
from counterpoint.core.model.work import Item
from counterpoint.core.operations.recording.unit import recording
from counterpoint.core.operations.trust.targets import Targets
from counterpoint.kernel.errors import Forbidden, InvalidInput, KeyReused, NotFound
from fakes.studio import Studio

WORDS = "the merger is on Friday"


def texts(studio: Studio) -> list[str]:
    """Answer every text that is kept."""
    with studio.view() as view:
        return [kept.body for _, kept in view.texts()]


def test_every_version_of_a_row_goes_with_what_was_said_beside_it(
    studio: Studio, ada: Core, person: Core
) -> None:
    """Title, earlier titles, body, and the reasons of its changes."""
    item = ada.plans.create(ada.plans.read("# Plan\n- [ ] First title\n")).items[1].id
    ada.items.edit(item, Edit(title="Second title", body="with a body"))
    ada.items.edit(item, Edit(title="Third title", reason="for a reason"))
    proposed = person.erasing.proposed_row(Item, item)
    erased = person.erasing.of_row(Item, item, reason="private")
    assert proposed.decision == {"row": f"items/{item}"}
    assert proposed.shown == {"texts": "5 texts are taken away for good"}
    assert len(erased.commitments) == 5
    gone = ("First title", "Second title", "Third title", "with a body", "for a reason")
    assert not set(gone) & set(texts(studio))
    assert ada.items.get(item).title == REDACTED
    assert ada.overview.search("title", limit=9) == []


def test_words_go_wherever_they_stand(studio: Studio, ada: Core, person: Core) -> None:
    """In notes, remembered values of before, JSON inside of JSON, and kept answers, which go whole."""
    name = ada.once("k", {"a": 1}, lambda: note(ada, f"I heard: {WORDS}!"))
    ada.memory.put("project", "n", {"deep": [f'"{WORDS}"', {WORDS: 1}]})
    ada.memory.put("project", "n", "later")
    proposed = person.erasing.proposed_words(WORDS)
    assert (proposed.decision, WORDS in str(proposed)) == ({"row": "*"}, False)
    erased = person.erasing.of_words(WORDS, reason=f"{WORDS} is private")
    assert erased.replies == 1
    assert not any(WORDS in text for text in texts(studio))
    assert ada.overview.find(Record, name["id"]).body == REDACTED
    assert studio.last().facts["reason"] == f"{REDACTED} is private"
    assert person.erasing.of_words(WORDS, reason="again").commitments == ()
    assert person.erasing.residue([WORDS]) == []


def note(core: Core, body: str) -> dict[str, str]:
    """Write a note down, as a tool that answers what it was told."""
    return {"id": core.journal.append(Note(kind="finding", title="T", body=body)).id, "text": body}


def test_a_retry_after_any_redaction_is_refused_and_says_why(
    studio: Studio, ada: Core, bob: Core, person: Core
) -> None:
    """Nobody knows what a hash of a request was made of, so all of them go, and no request is the same."""
    ada.once("other", {"a": 1}, lambda: note(ada, "plain words of ada"))
    ada.once("k", {"a": 1}, lambda: note(ada, WORDS + " once"))
    bob.journal.append(Note(kind="finding", body=WORDS))
    person.erasing.of_words(WORDS, reason="private")
    for key, asked in (("other", 1), ("other", 2), ("k", 1)):
        refused = studio.refuses(KeyReused, partial(ada.once, key, {"a": asked}, dict))
        assert "texts were taken away" in refused.message
    assert ada.once("later", {"a": 1}, lambda: note(ada, "more"))["text"] == "more"
    assert ada.once("later", {"a": 1}, dict)["text"] == "more"


def test_the_plain_hash_beside_a_text_goes_with_it(studio: Studio, ada: Core, person: Core) -> None:
    """Of an output and of the document that a passage was cut from; others keep theirs."""
    studio.tree.outputs["run"] = f"it said {WORDS}"
    receipt = ada.gates.verify(Check(command=_command("run"))).receipts[0]
    studio.tree.write("a.md", f"# A\n{WORDS}\n")
    studio.tree.write("b.md", "# B\nothers\n")
    for path in ("a.md", "b.md"):
        ada.documents.take(path)
    person.erasing.of_words(WORDS, reason="private")
    with studio.view() as view:
        assert view.find(Receipt, receipt.id).output_sha256 == REDACTED
        assert view.find(Document, "vault", "a.md").sha256 == REDACTED
        assert len(view.find(Document, "vault", "b.md").sha256) == 64
        assert view.exists(Passage, path="a.md")


def _command(name: str) -> Command:
    return Command(argv=(name,))


def test_what_stands_in_names_is_told(ada: Core, person: Core) -> None:
    """No redaction takes a name away."""
    ada.journal.append(Note(kind="finding", body="walnut-secret", tags=("walnut-secret",)))
    person.erasing.of_words("walnut-secret", reason="private")
    assert person.erasing.residue(["walnut-secret"]) == ["records.tags", "entry 1"]


def test_an_erasure_ends_in_a_receipt(studio: Studio, ada: Core, person: Core) -> None:
    """What was cleaned, what is out of reach and what is left."""
    note(ada, WORDS)
    erased = person.erasing.of_words(WORDS, reason="private")
    (begun,) = person.erasing.list()
    assert (begun.id, begun.status, begun.texts) == (erased.receipt, "begun", 1)
    ended, place = person.erasing.close(
        erased, looked_for=1, cleaned=["texts"], beyond=["backups"], remains=[]
    )
    assert person.erasing.list() == [ended]
    assert (ended.status, ended.looked_for, ended.beyond) == ("clean", 1, ("backups",))
    assert person.audit.entry(place).action == "text.erased"


def test_one_that_was_cut_off_goes_on_in_the_next(studio: Studio, ada: Core, person: Core) -> None:
    """Nothing is left to be taken away, but nobody has looked for it: one receipt, which says so."""
    ada.once("k", 1, lambda: note(ada, WORDS))
    person.erasing.of_words(WORDS, reason="private")
    again = person.erasing.of_words(WORDS, reason="private")
    assert (again.receipt, again.commitments) == ("demo-x1", ())
    ended, _ = person.erasing.close(again, looked_for=1, cleaned=(), beyond=(), remains=("a", "b"))
    assert (ended.status, ended.tries, ended.texts) == ("left", 2, 3)
    assert person.erasing.of_words(WORDS, reason="private").receipt == ""


def test_other_words_begin_a_receipt_of_their_own(studio: Studio, ada: Core, person: Core) -> None:
    """Not that of words which were cut off, in whatever order those were given; and no hash of any stays."""
    other = "the strike is on Monday"
    for text in (WORDS, other):
        note(ada, text)
    person.erasing.of_words(WORDS, "nobody ever said this", reason="private")
    second = person.erasing.of_words(other, reason="private")
    first = person.erasing.of_words("nobody ever said this", WORDS, reason="private")
    assert (first.receipt, second.receipt) == ("demo-x1", "demo-x2")
    assert person.erasing.of_words(WORDS, reason="private").receipt == ""
    assert len([text for text in texts(studio) if len(text) == 64]) == 2
    for one in (first, second):
        person.erasing.close(one, looked_for=1, cleaned=(), beyond=(), remains=())
    assert [(one.texts, one.tries) for one in person.erasing.list()] == [(1, 2), (1, 1)]
    assert not [text for text in texts(studio) if len(text) == 64]
    assert person.audit.verify().sound


def test_much_is_taken_away_in_pieces(studio: Studio, ada: Core, person: Core) -> None:
    """The first is the act of the person, the others follow from it; all are in the receipt."""
    for number in range(450):
        note(ada, f"{WORDS} {number}")
    erased = person.erasing.of_words(WORDS, reason="private")
    (receipt,) = person.erasing.list()
    assert len(erased.commitments) == receipt.texts == 450
    entries = [person.audit.entry(place) for place in range(studio.last().sequence + 1)]
    pieces = [entry for entry in entries if entry.action == "text.redacted"]
    assert [one.actor.kind for one in pieces] == ["human", "system"]
    assert {one.facts["erasure"] for one in pieces} == {receipt.id}
    assert person.audit.verify().sound


def test_only_a_person_and_only_what_is_long_enough(
    studio: Studio, ada: Core, person: Core
) -> None:
    """An agent could hide what it did; a short word stands anywhere by chance."""
    studio.refuses(Forbidden, lambda: ada.erasing.of_words(WORDS, reason="mine"))
    studio.refuses(InvalidInput, lambda: person.erasing.of_words("short", reason="so"))
    studio.refuses(NotFound, lambda: person.erasing.of_row(Record, "demo-r9", reason="so"))


def take_away(studio: Studio, core: Core, targets: Targets) -> None:
    """Take what was traced away, and what was written since."""
    with recording(studio.context(core), "text.redacted") as change:
        targets.follow(change.writing)
        gone = targets.take(change.writing, 99)
        change.writing.forget(gone)
        change.add_facts(texts=sorted(gone))


def test_what_is_written_meanwhile_goes_too(studio: Studio, ada: Core, person: Core) -> None:
    """Between the look at all texts and the transaction: a copy, its answer, and the plain hash beside it."""
    note(ada, WORDS)
    targets = Targets(least=8, words=(WORDS,))
    with studio.view() as view:
        targets.read(view)
    ada.once("k", 1, lambda: note(ada, f"again: {WORDS}"))
    studio.tree.outputs["run"] = f"it said {WORDS}"
    ada.gates.verify(Check(command=_command("run")))
    note(ada, "plain")
    take_away(studio, person, targets)
    assert targets.is_empty
    assert not any(WORDS in text for text in texts(studio))
    assert "plain" in texts(studio)
    assert targets.replies == 1
    with studio.view() as view:
        (receipt,) = view.select(Receipt)
        assert receipt.output_sha256 == REDACTED


def test_every_version_that_a_row_gets_meanwhile_goes_too(
    studio: Studio, ada: Core, person: Core
) -> None:
    """Also one that says nothing that was said before."""
    name = note(ada, WORDS)["id"]
    item = ada.plans.create(ada.plans.read("# Plan\n- [ ] First title\n")).items[1].id
    targets = Targets(least=40, row=(Item, (item,)))
    with studio.view() as view:
        targets.read(view)
    ada.items.edit(item, Edit(title="Second title"))
    take_away(studio, person, targets)
    assert ada.items.get(item).title == REDACTED
    assert ada.overview.find(Record, name).body == WORDS


def test_pruned_texts_go_and_what_repeats_them_stays(
    studio: Studio, ada: Core, person: Core
) -> None:
    note(ada, WORDS)
    with studio.view() as view:
        (gone,) = (kept.commitment for _, kept in view.texts() if kept.body == WORDS)
    note(ada, f"{WORDS}, and more")
    erased = person.erasing.of_texts([gone], "items/demo-1", "it is old")
    assert erased.commitments == (gone,)
    assert f"{WORDS}, and more" in texts(studio)


def test_words_of_another_project_are_seen(studio: Studio, ada: Core, person: Core) -> None:
    """Nothing is taken away there; whoever asks hears that it has them."""
    note(ada, WORDS)
    assert person.erasing.residue([WORDS], "demo") == ["texts that were written since"]
    assert person.erasing.residue([WORDS], "elsewhere") == []
    person.erasing.of_words(WORDS, reason="private")
    note(ada, WORDS)
    assert person.erasing.residue([WORDS]) == ["texts that were written since"]


def test_a_text_that_something_else_needs_meanwhile_is_not_pruned(
    studio: Studio, ada: Core, person: Core
) -> None:
    """Whoever was just told to refer to it would refer to nothing."""
    note(ada, WORDS)
    with studio.view() as view:
        (meant,) = (kept.commitment for _, kept in view.texts() if kept.body == WORDS)
        targets = Targets(least=40, commitments=[meant])
        targets.read(view)
    note(ada, WORDS)
    take_away(studio, person, targets)
    assert WORDS in texts(studio)
