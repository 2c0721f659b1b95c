"""What every database finds by words."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterpoint.core.model.journal import Outcome, Record, Submission, Verdict
from counterpoint.core.model.rows import image_of
from counterpoint.core.model.sessions import Handoff
from counterpoint.core.model.work import Item, Label
from counterpoint.dialects.agentic.nouns import Brief
from fakes.looking import faults_of
from fakes.texts import Kept, retitle


def _keys(hits):
    return [hit.key for hit in hits]


def test_every_searched_noun_is_found_by_its_words(store, example, save):
    """Items, records, outcomes, handoffs, submissions, verdicts, briefs: with kind and item."""
    with store.writing("p") as writing:
        save(
            writing,
            example(Item, id="T-1", kind="task", body="zebra"),
            example(Record, id="rec_1", item="T-2", kind="finding", body="zebra"),
            example(Outcome, item="T-3", token=1, summary="zebra"),
            example(Handoff, id="han_1", item="T-4", summary="zebra"),
            example(Submission, id="sub_1", item="T-5", summary="zebra"),
            example(Verdict, id="ver_1", item="T-6", reason="zebra"),
            example(Brief, id="T-b1", item="T-7", description="zebra"),
        )
    with store.reading("p") as reading:
        found = {(hit.table, hit.key, hit.item, hit.kind) for hit in reading.search(["zebra"])}
    assert found == {
        ("items", "T-1", "T-1", "task"),
        ("records", "rec_1", "T-2", "finding"),
        ("outcomes", "T-3/1", "T-3", "outcome"),
        ("handoffs", "han_1", "T-4", "handoff"),
        ("submissions", "sub_1", "T-5", "submission"),
        ("verdicts", "ver_1", "T-6", "verdict"),
        ("briefs", "T-b1", "T-7", "brief"),
    }


def test_titles_and_tags_are_searched(store, example, save):
    """A record is found by its title and by each of its tags."""
    with store.writing("p") as writing:
        save(writing, example(Record, title="Cache misses", body="", tags=("latency", "disk")))
        for word in ("cache", "latency", "disk"):
            assert len(writing.search([word])) == 1


def test_the_best_match_comes_first(store, task, save):
    """More of the words is better, and a title says more than a body; scores are positive."""
    with store.writing("p") as writing:
        save(
            writing,
            task(1, title="Paint", body="harbour crane"),
            task(2, title="Harbour crane", body="paint"),
            task(3, title="Harbour wall", body="paint"),
            *(task(n, title="Filler", body="other words") for n in range(4, 20)),
        )
        hits = writing.search(["harbour", "crane"])
    assert _keys(hits) == ["T-2", "T-1", "T-3"]
    assert hits[0].score > hits[1].score > hits[2].score > 0


def test_equal_matches_keep_a_stable_order_over_pages(store, task, save):
    """Offset and limit cut one list."""
    with store.writing("p") as writing:
        save(writing, *(task(n, title="Same words") for n in range(1, 8)))
        whole = _keys(writing.search(["same"]))
        pages = [_keys(writing.search(["same"], limit=3, offset=n)) for n in (0, 3, 6)]
    assert whole == [f"T-{n}" for n in range(1, 8)]
    assert pages == [whole[:3], whole[3:6], whole[6:]]


def test_search_narrows_to_kinds_and_item(store, example, task, save):
    """Both filters hold at once."""
    with store.writing("p") as writing:
        save(
            writing,
            task(1, title="mill"),
            example(Record, id="r1", item="T-1", kind="finding", title="mill"),
            example(Record, id="r2", item="T-2", kind="finding", title="mill"),
            example(Record, id="r3", item="T-1", kind="decision", title="mill"),
        )
        assert _keys(writing.search(["mill"], kinds=["finding"])) == ["r1", "r2"]
        assert _keys(writing.search(["mill"], item="T-1")) == ["T-1", "r1", "r3"]
        assert _keys(writing.search(["mill"], kinds=["finding", "task"], item="T-1")) == [
            "T-1",
            "r1",
        ]


def test_words_match_by_stem_and_the_last_by_its_beginning(store, task, save):
    with store.writing("p") as writing:
        save(writing, task(1, title="Testing the documentation"))
        assert writing.search(["tested"])
        assert writing.search(["docum"])
        assert not writing.search(["docum", "zzz"])


def test_every_word_matches_by_its_beginning_if_asked_so(store, task, save):
    """Otherwise only the last one does; two letters begin nothing."""
    with store.writing("p") as writing:
        save(writing, task(1, title="Automatic doors"), task(2, title="Importing lamps"))
        assert _keys(writing.search(["auto", "lam"])) == ["T-2"]
        assert sorted(_keys(writing.search(["auto", "lam"], begun=True))) == ["T-1", "T-2"]
        assert writing.search(["au", "la"], begun=True) == []
        assert writing.search([], begun=True) == []
        assert _keys(writing.search(['"', "auto*", "zzz"], begun=True)) == ["T-1"]


def test_stems_are_those_of_the_search(store):
    """One stem for one word in all its forms, in small letters; none is left without."""
    with store.reading("p") as reading:
        one, two, three, number, accent, none = reading.stems(
            ["tests", "Testing", "tested", "v8", "résumés", "—"]
        )
        assert one == two == three == "test"
        assert number == "v8"
        assert accent == "resum"
        assert none == "—"
        assert reading.stems([]) == []
        assert reading.stems(["the"]) == ["the"]


def test_stop_words_are_left_out(store, task, save):
    """They would find everything; alone they are all there is to go by."""
    with store.writing("p") as writing:
        save(writing, task(1, title="the lamp"), task(2, title="the door"))
        assert _keys(writing.search(["the", "lamp"])) == ["T-1"]
        assert _keys(writing.search(["the"])) == ["T-1", "T-2"]
        assert writing.search([]) == []
        assert writing.search([" ", ""]) == []


@pytest.mark.parametrize(
    "hostile",
    ['"', '""', "a OR b", "NEAR(a b)", "title:x", "*", "^x", "-x", "(", "{x}", "x\0y", "'", "--", "☃"],
)  # fmt: skip
def test_no_word_is_syntax(store, task, save, hostile):
    """Whatever is searched for is a word or nothing."""
    with store.writing("p") as writing:
        save(writing, task(1, title="plain"))
        assert writing.search([hostile]) == []
        assert _keys(writing.search([hostile, "plain"])) == ["T-1"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(st.text(max_size=12), max_size=5))
def test_any_words_can_be_searched_for(store, words):
    """No text makes the search fail."""
    with store.reading("p") as reading:
        assert reading.search([word for word in words if _is_unicode(word)]) == []


def test_a_change_of_the_words_is_found_and_the_old_words_are_not(store, task, save):
    """The search says what the row says now."""
    with store.writing("p") as writing:
        save(writing, task(1, title="Copper", body="kettle"))
    with store.writing("p") as writing:
        retitle(writing, "T-1", "Silver")
    with store.reading("p") as reading:
        assert not reading.search(["copper"])
        assert reading.search(["silver"])
        assert reading.search(["kettle"])
    with store.writing("p") as writing:
        save(writing, task(1, title="Silver", body="spoon"))
        assert not writing.search(["kettle"])
        assert writing.search(["spoon"])
        writing.drop(Item, {"id": "T-1"})
        assert not writing.search(["spoon"])
    assert faults_of(store) == []


def test_rows_and_texts_may_come_in_any_order(store, task):
    texts = Kept()
    row = image_of(task(1, body="marmalade"), texts.keep)
    with store.writing("p") as writing:
        writing.put(Item, row)
        writing.keep(texts)
    with store.reading("p") as reading:
        assert reading.search(["marmalade"])


def test_what_is_not_searched_is_not_indexed(store, example, save):
    """Labels and the like are found by listing."""
    with store.writing("p") as writing:
        save(writing, example(Label, name="tin"))
        assert writing.search(["tin"]) == []


def _is_unicode(word: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in word)
