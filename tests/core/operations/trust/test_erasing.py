"""Taking texts away: versions, copies, kept answers, plain hashes; proofs hold."""

from __future__ import annotations

from functools import partial
from typing import Any

from counterpoint.core.coordinator import Core
from counterpoint.core.model.documents import Document, Passage
from counterpoint.core.model.evidence import Command
from counterpoint.core.model.filters import Check, Edit, Note
from counterpoint.core.model.journal import Receipt, Record, Reply
from counterpoint.core.model.rows import REDACTED
from counterpoint.core.model.work import Item
from counterpoint.kernel import canonical
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
    erased = person.erasing.of_row(Item, item, reason="private")
    assert len(erased.commitments) == 5
    gone = ("First title", "Second title", "Third title", "with a body", "for a reason")
    assert not set(gone) & set(texts(studio))
    assert ada.items.get(item).title == REDACTED
    assert ada.overview.search("title", limit=9) == []


def test_words_go_wherever_they_stand(studio: Studio, ada: Core, person: Core) -> None:
    """In notes, remembered values of before, JSON inside of JSON, and kept answers, which say so."""
    name = ada.once("k", {"a": 1}, lambda: note(ada, f"I heard: {WORDS}!"))
    ada.memory.put("project", "n", {"deep": [f'"{WORDS}"', {WORDS: 1}]})
    ada.memory.put("project", "n", "later")
    erased = person.erasing.of_text(WORDS, reason=f"{WORDS} is private")
    assert erased.replies == 1
    assert not any(WORDS in text for text in texts(studio))
    assert ada.overview.find(Record, name["id"]).body == REDACTED
    assert answers(studio) == [{**name, "text": f"I heard: {REDACTED}!"}]
    assert studio.last().facts["reason"] == f"{REDACTED} is private"
    assert person.erasing.of_text(WORDS, reason="again").commitments == ()
    assert person.erasing.residue([WORDS]) == []


def note(core: Core, body: str) -> dict[str, str]:
    """Write a note down, as a tool that answers what it was told."""
    return {"id": core.journal.append(Note(kind="finding", title="T", body=body)).id, "text": body}


def answers(studio: Studio) -> list[Any]:
    """Answer every answer that is kept under an idempotency key."""
    with studio.view() as view:
        return [canonical.load(reply.answer) for reply in view.select(Reply)]


def test_a_retry_after_any_redaction_is_refused_and_says_why(
    studio: Studio, ada: Core, bob: Core, person: Core
) -> None:
    """Nobody knows what a hash of a request was made of, so all of them go, and no request is the same."""
    ada.once("other", {"a": 1}, lambda: note(ada, "plain words of ada"))
    ada.once("k", {"a": 1}, lambda: note(ada, WORDS + " once"))
    bob.journal.append(Note(kind="finding", body=WORDS))
    person.erasing.of_text(WORDS, reason="private")
    for key, asked in (("other", 1), ("other", 2), ("k", 1)):
        refused = studio.refuses(KeyReused, partial(ada.once, key, {"a": asked}, dict))
        assert "texts were taken away" in refused.message
    assert ada.once("later", {"a": 1}, lambda: note(ada, "more"))["text"] == "more"
    assert ada.once("later", {"a": 1}, dict)["text"] == "more"


def test_an_answer_that_shows_a_piece_of_a_text_loses_it(
    studio: Studio, ada: Core, person: Core
) -> None:
    """Answers cut long texts."""
    body = "a secret that is long enough to be cut where it is shown " * 3
    name = ada.once("k", 1, lambda: {"id": note(ada, body)["id"], "text": body[:50] + "…"})["id"]
    person.erasing.of_row(Record, name, reason="private")
    assert answers(studio)[0]["text"] == REDACTED


def test_the_plain_hash_beside_a_text_goes_with_it(studio: Studio, ada: Core, person: Core) -> None:
    """Of an output and of the document that a passage was cut from; others keep theirs."""
    studio.tree.outputs["run"] = f"it said {WORDS}"
    receipt = ada.gates.verify(Check(command=_command("run"))).receipts[0]
    studio.tree.write("a.md", f"# A\n{WORDS}\n")
    studio.tree.write("b.md", "# B\nothers\n")
    for path in ("a.md", "b.md"):
        ada.documents.take(path)
    person.erasing.of_text(WORDS, reason="private")
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
    person.erasing.of_text("walnut-secret", reason="private")
    assert len(person.erasing.residue(["walnut-secret"])) == 1


def test_the_end_of_an_erasure_is_an_entry(studio: Studio, ada: Core, person: Core) -> None:
    """What was cleaned, what is out of reach and what is left."""
    note(ada, WORDS)
    erased = person.erasing.of_text(WORDS, reason="private")
    studio.store.purge()
    place = person.erasing.close(erased, cleaned=["texts"], beyond=["backups"], left=[])
    entry = person.audit.entry(place)
    assert (entry.action, entry.facts["beyond"]) == ("text.erased", ["backups"])
    assert entry.facts["texts"] == list(erased.commitments)


def test_only_a_person_and_only_what_is_long_enough(
    studio: Studio, ada: Core, person: Core
) -> None:
    """An agent could hide what it did; a short word stands anywhere by chance."""
    studio.refuses(Forbidden, lambda: ada.erasing.of_text(WORDS, reason="mine"))
    studio.refuses(InvalidInput, lambda: person.erasing.of_text("short", reason="so"))
    studio.refuses(NotFound, lambda: person.erasing.of_row(Record, "demo-r9", reason="so"))
