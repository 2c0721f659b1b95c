"""What the search finds, how it is narrowed, and the pages of what was learnt."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from counterpoint.board.views import knowledge, search
from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import Note
from fakes.pages import Elements, words_of
from fakes.studio import Studio


def link_of(page: Any, words: str) -> str:
    """Return where a link of a page leads."""
    match = re.search(rf'href="([^"]+)"[^>]*>(?:<bdi>)?{re.escape(words)}', page.text)
    assert match is not None, words
    return unescape(match[1])


def test_the_search_finds_by_words_and_is_narrowed_by_facets(
    browser: Any, planned: list[str], ada: Core, bob: Core
) -> None:
    _root, _build, _launch, _sail, keel, mast, _lock, _setting = planned
    ada.journal.append(Note(kind="decision", title="Oak for the keel", body="It lasts", item=keel))
    bob.journal.append(Note(kind="finding", body="The keel <b>is</b> dry", item=mast))
    bob.plans.create(Draft(kind="task", title="Paint the keel", labels=("paint & tar",)))
    page = browser.get("/search?q=keel")
    text = words_of(page)
    for words in ("4 hits", "Lay the keel", "Oak for the keel", "The keel <b>is</b> dry", "Paint"):
        assert words in text
    assert 'value="keel"' in page.text, "the query stays in the form"
    by_agent = browser.get(link_of(page, "bob"))
    assert "dry" in words_of(by_agent)
    assert "Oak" not in words_of(by_agent)
    assert "dry" in words_of(browser.get(link_of(page, "finding")))
    below = words_of(browser.get(link_of(page, f"{planned[1]} Build")))
    assert "Paint the keel" not in below
    assert "Lay the keel" in below
    labelled = browser.get(link_of(page, "paint &amp; tar"))
    assert "1 hit " in words_of(labelled)
    assert "4 hits" in words_of(browser.get(link_of(labelled, "paint &amp; tar")))
    assert "Lay the keel" in words_of(browser.get(link_of(page, "active")))
    assert "Nothing has these words" in words_of(browser.get("/search?q=zebra"))
    assert "no word in it" in words_of(browser.get("/search?q=%26%26"))
    assert "It finds titles" in words_of(browser.get("/search"))


def test_many_hits_come_in_pages(browser: Any, ada: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        ada.journal.append(Note(kind="decision", title=f"Quay {number}", body="It is so"))
    first = browser.get("/search?q=quay")
    second = browser.get(link_of(first, "Next 10"))
    titles = [re.findall(r"Quay \d+", words_of(page)) for page in (first, second)]
    assert [len(page) for page in titles] == [20, 10]
    assert len({*titles[0], *titles[1]}) == 30
    assert link_of(second, "Better ones") == "/search?q=quay"
    monkeypatch.setattr(search, "HITS", 25)
    assert "25 of the best 25 hits" in words_of(browser.get("/search?q=quay"))


def test_a_snippet_is_cut_around_the_first_word_that_was_asked_for() -> None:
    wanted = search._matcher("oak a+b")
    parts = search.cut_snippet("x " * 500 + "the oaken Door " + "y " * 500, wanted)
    assert ("oaken", True) in parts
    assert parts[0][0].startswith("… ")
    assert parts[-1][0].endswith(" …")
    assert sum(len(text) for text, _ in parts) < 260
    assert search.cut_snippet("", wanted) == ()


def test_decisions_and_learnings_are_listed_and_shown_whole(
    browser: Any, planned: list[str], ada: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [
        ada.journal.append(
            Note(kind="decision", title=f"Oak {number}", body="Pine **rots**", item=planned[4],
                 tags=("wood",), files=("src/keel.py",))
        ).id
        for number in range(7)
    ]  # fmt: skip
    ada.journal.append(Note(kind="learning", body="Tar needs two days"))
    monkeypatch.setattr(knowledge, "RECORDS", 5)
    first = browser.get("/knowledge")
    assert re.findall(r"Oak \d", words_of(first)) == [f"Oak {number}" for number in (6, 5, 4, 3, 2)]
    second = browser.get(link_of(first, "Earlier ones"))
    assert re.findall(r"Oak \d", words_of(second)) == ["Oak 1", "Oak 0"]
    assert "Tar needs" in words_of(browser.get(link_of(first, "Learnings")))
    whole = browser.get(link_of(first, "Oak 6"))
    for words in ("Oak 6 Pine rots", "Written by ada", planned[4], "wood", "src/keel.py", ids[6]):
        assert words in words_of(whole)
    assert "<strong>rots</strong>" in whole.text
    assert "Oak 5" in words_of(whole), "what is like it stands below"
    assert browser.get("/knowledge/none").status_code == 404
    assert browser.get("/knowledge/project/none").status_code == 404
    assert "Nothing yet" in words_of(browser.get("/knowledge?kind=finding"))
    assert "No document" in words_of(browser.get("/knowledge?kind=document"))


def test_a_document_is_listed_found_and_read_in_pages(
    browser: Any, studio: Studio, ada: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"# Part {number}\n\nOf caulking, {number}.\n\n" for number in range(6))
    studio.tree.write("docs/how to.md", text)
    ada.documents.take("docs/how to.md")
    listed = browser.get("/knowledge?kind=document")
    assert "found from every project" in words_of(listed)
    monkeypatch.setattr(knowledge, "PASSAGES", 2)
    first = browser.get(link_of(listed, "docs/how to.md"))
    assert "Of caulking, 0." in words_of(first)
    second = browser.get(link_of(first, "Go on"))
    assert "Of caulking, 0." not in words_of(second)
    assert "Of caulking" in words_of(second)
    hit = link_of(browser.get("/search?q=caulking"), "docs/how to.md")
    path, _, anchor = hit.partition("#")
    elements = Elements(browser.get(path).text)
    assert ("id", anchor) in elements.attributes
    assert hit.startswith("/knowledge/vault/docs")
    assert anchor.startswith("passage-")
