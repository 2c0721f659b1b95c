"""Documents in and out, and what a question finds of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.documents import Document, Passage, PassageQuery
from counterpoint.core.operations import documents
from counterpoint.kernel.errors import Conflict, InvalidInput, NotFound, PathOutside, Unavailable
from fakes.studio import Studio

GUIDE = "# Retry\n\nUse exponential backoff.\n\n# Cache\n\nThe cache is small.\n"


def ask(query: str, **more: Any) -> PassageQuery:
    """Answer a question."""
    return PassageQuery(query=query, **more)


def test_a_document_is_taken_in_once(studio: Studio, ada: Core) -> None:
    """The same bytes change nothing."""
    studio.tree.write("docs/guide.md", GUIDE)
    first = ada.documents.take("docs/guide.md")
    assert (first.is_same, first.document.chunks, first.document.markup) == (False, 2, "markdown")
    assert studio.last().action == "document.taken"
    size = studio.image().size
    assert ada.documents.take("docs/guide.md").is_same
    assert studio.image().size == size
    assert ada.documents.list("vault") == [first.document]
    assert ada.documents.list("vault", after="docs/guide.md") == []


def test_a_question_finds_passages_with_their_place(studio: Studio, ada: Core) -> None:
    """The best first, with scores from 0 to 1, below a least one nothing."""
    studio.tree.write("docs/guide.md", GUIDE)
    ada.documents.take("docs/guide.md")
    (best,) = ada.documents.find(ask("how to retry with exponential backoff"))
    assert (best.passage.headings, best.passage.first_line, best.fit.score) == (("Retry",), 1, 1.0)
    assert best.project == "demo"
    assert ada.documents.find(ask("nothing like that")) == []
    assert ada.documents.find(ask("retry jitter spread", least=0.4)) == []
    assert len(ada.documents.find(ask("small exponential", limit=1))) == 1


def test_a_pdf_is_taken_in_page_by_page(studio: Studio, ada: Core) -> None:
    """Each passage says on which page it stands."""
    studio.tree.write("guide.pdf", "%PDF-1.4\nUse backoff.\fThe cache is small.")
    assert ada.documents.take("guide.pdf").document.markup == "pages"
    (found,) = ada.documents.find(ask("small cache"))
    assert found.passage.headings == ("page 2",)


def test_who_leaves_while_a_pdf_is_read_leaves_nothing(studio: Studio, ada: Core) -> None:
    """Not even that it was looked at."""
    studio.tree.write("guide.pdf", "%PDF-1.4\nUse backoff.\fThe cache is small.")
    heard: list[str] = []

    def watch(words: str) -> None:
        heard.append(words)
        if len(heard) == 2:
            raise Unavailable("nobody waits for this call any more")

    studio.refuses(Unavailable, lambda: ada.documents.take("guide.pdf", watch=watch))
    assert heard == ["page 1", "page 2"]


@pytest.mark.parametrize("path", [".git/config", "part/.GIT/config", ".counterpoint/ledger.db"])
def test_what_git_and_the_ledger_keep_is_no_document(studio: Studio, ada: Core, path: str) -> None:
    """Every project can read the vault: what names remotes or holds keys stays out of it."""
    studio.tree.write(path, "words\n")
    studio.refuses(PathOutside, lambda: ada.documents.take(path))


def test_records_of_the_same_words_are_no_passages(studio: Studio, ada: Core) -> None:
    """What others wrote is found elsewhere."""
    from counterpoint.core.model.filters import Note

    ada.journal.append(Note(kind="finding", body="exponential backoff"))
    assert ada.documents.find(ask("exponential backoff")) == []


def test_taking_a_document_in_anew_replaces_its_passages(studio: Studio, ada: Core) -> None:
    """Those that stayed are left alone, those that went are found no more."""
    studio.tree.write("g.md", GUIDE)
    ada.documents.take("g.md")
    with studio.view() as view:
        before = {one.id for one in view.select(Passage, path="g.md")}
    studio.tree.write("g.md", GUIDE.replace("small", "large"))
    ada.documents.take("g.md")
    with studio.view() as view:
        after = {one.id for one in view.select(Passage, path="g.md")}
    assert len(before & after) == 1
    assert ada.documents.find(ask("small")) == []
    assert len(ada.documents.find(ask("large"))) == 1


def test_a_document_is_taken_out_with_all_its_passages(studio: Studio, ada: Core) -> None:
    """Its file may be gone by then."""
    studio.tree.write("g.md", GUIDE)
    ada.documents.take("g.md")
    del studio.tree.files["g.md"]
    fault = studio.refuses(NotFound, lambda: ada.documents.take("g.md"))
    assert "delete" in fault.hint
    assert ada.documents.drop("./g.md").path == "g.md"
    with studio.view() as view:
        assert (view.select(Document), view.select(Passage)) == ([], [])
    studio.refuses(NotFound, lambda: ada.documents.drop("g.md"))


def test_what_is_outside_or_no_text_is_refused(
    studio: Studio, ada: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what would be too many passages."""
    studio.refuses(PathOutside, lambda: ada.documents.take("../x.md"))
    studio.tree.write("x.bin", "\0\0")
    studio.refuses(InvalidInput, lambda: ada.documents.take("x.bin"))
    monkeypatch.setattr(documents, "PASSAGE_LIMIT", 1)
    studio.tree.write("g.md", GUIDE)
    studio.refuses(InvalidInput, lambda: ada.documents.take("g.md"))


def test_a_projects_own_documents_have_to_be_turned_on(
    studio: Studio, ada: Core, person: Core
) -> None:
    """They are apart from the vault, and can be turned off again."""
    studio.tree.write("g.md", GUIDE)
    studio.refuses(Conflict, lambda: ada.documents.find(ask("retry"), "project"))
    studio.refuses(Conflict, lambda: ada.documents.take("g.md", "project"))
    person.documents.configure({"enabled": True})
    assert ada.documents.is_configured()
    ada.documents.take("g.md", "project")
    assert len(ada.documents.find(ask("retry"), "project")) == 1
    assert ada.documents.find(ask("retry")) == []
    person.documents.configure(None)
    assert not ada.documents.is_configured()


def test_the_vault_is_found_from_every_project(tmp_path: Path) -> None:
    """But only its own project takes a document out."""
    opened = Studio(tmp_path / "ledger.db")
    try:
        opened.tree.write("g.md", GUIDE)
        opened.core("ada").documents.take("g.md")
        ports = replace(opened.ports, project="other")
        Core(ports, opened.system.caller).projects.open("Another")
        other = Core(ports, opened.core("bob").caller)
        (found,) = other.documents.find(ask("backoff"))
        assert found.project == "demo"
        with pytest.raises(NotFound):
            other.documents.drop("g.md")
    finally:
        opened.close()
