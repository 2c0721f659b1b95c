"""What is found by words and by meaning, how well, and what is kept for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from counterpoint.app import App, open_app
from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Note
from counterpoint.core.model.journal import Record
from counterpoint.core.operations.finding import embedding, hits
from counterpoint.core.rules.fitting import rank_hits
from counterpoint.providers.embedding.opening import open_embedder

LABELLED = json.loads((Path(__file__).parent / "labelled" / "questions.json").read_text("utf-8"))
FIRST = 10


@pytest.fixture
def app(tmp_path: Path) -> App:
    """Give a project on a file, closed at the end."""
    (tmp_path / "tree").mkdir()
    opened = open_app(tmp_path / "tree", {}, db=str(tmp_path / "ledger.db"), project="demo")
    yield opened
    opened.close()


@pytest.fixture
def ada(app: App) -> Core:
    """Give the core of an agent."""
    return app.core(app.agent())


def learn(core: Core, *texts: str) -> list[str]:
    """Keep learnings; answer their ids."""
    return [core.journal.append(Note(kind="learning", body=text)).id for text in texts]


def ids(core: Core, query: str, **more: object) -> list[str]:
    """Answer the ids of what is found."""
    return [one.row.id for one in core.overview.search(query, **{"limit": 10, **more})]


def measured(places: Sequence[int]) -> tuple[float, float]:
    """Answer the mean reciprocal rank and the recall among the first ten; a place is from 1, or 0."""
    seen = [place for place in places if 0 < place <= FIRST]
    return sum(1 / place for place in seen) / len(places), len(seen) / len(places)


def test_words_and_meaning_together_find_better_than_either(app: App, ada: Core) -> None:
    """On labelled questions: the mean reciprocal rank, and the recall among ten (docs/benchmarks.md)."""
    names = learn(ada, *LABELLED["documents"])
    while ada.embedding.advance():
        pass
    model = open_embedder("static")
    places: dict[str, list[int]] = {"words": [], "meaning": [], "both": []}
    for _, question, right in LABELLED["questions"]:
        wanted = names[right]
        places["both"].append(place(wanted, ids(ada, question)))
        with app.store.reading("demo") as view:
            words = view.search(question.split(), limit=FIRST)
            near = view.nearest(model.name, *model.embed([question]), limit=FIRST)
        places["words"].append(place(wanted, [hit.key for hit in words]))
        places["meaning"].append(place(wanted, [hit.key for hit in near]))
    (words, words_10), (meaning, meaning_10), (both, both_10) = map(measured, places.values())
    assert both > max(words, meaning) + 0.05
    assert both_10 > words_10 + 0.05
    assert both_10 >= meaning_10 > words_10
    assert both > 0.6


def place(wanted: str, found: Sequence[str]) -> int:
    """Answer where something was found, from 1; 0 if it was not."""
    return found.index(wanted) + 1 if wanted in found else 0


def test_what_has_the_exact_words_or_name_stays_first(app: App, ada: Core) -> None:
    """No more is missed than by words alone: neither a whole sentence, nor a name that stands once."""
    names = learn(ada, *LABELLED["documents"][:80])
    ada.embedding.advance(1_000)
    for name, text in zip(names, LABELLED["documents"], strict=False):
        assert ids(ada, " ".join(text.split()[:9]), limit=1) == [name]
    for word in ("PYTHONHASHSEED", "BILL-2041", "ENOSPC", "parse_manifest", "ship_after"):
        assert word in ada.overview.search(word, limit=1)[0].row.body


def test_what_was_just_written_is_found_by_its_meaning(ada: Core) -> None:
    """Nobody waits for the background: whoever searches embeds the last few, and keeps nothing."""
    (wanted, _) = learn(ada, "passwords are hashed with bcrypt", "cake with apples")
    assert ada.embedding.has_searches is False
    found = ada.overview.search("keep credentials secret", limit=5)
    assert [one.row.id for one in found] == [wanted]
    assert 0 < found[0].score < 1
    assert ada.embedding.has_searches
    assert ada.embedding.coverage() == (0, 2)
    assert ada.embedding.advance() == 2
    assert ada.embedding.coverage() == (2, 2)
    assert ids(ada, "keep credentials secret") == [wanted]
    assert ids(ada, "keep credentials secret", kinds=("decision",)) == []


def test_what_is_taken_away_is_not_found_by_its_meaning(app: App, ada: Core) -> None:
    """Neither after it was embedded, nor by the vector that it had."""
    (gone, _) = learn(ada, "passwords are hashed with bcrypt", "cake with apples")
    ada.embedding.advance()
    assert ids(ada, "keep credentials secret") == [gone]
    app.itself().erasing.of_row(Record, gone, reason="private")
    assert ids(ada, "keep credentials secret") == []
    ada.embedding.advance()
    assert ids(ada, "keep credentials secret") == []
    assert ada.embedding.coverage() == (2, 2)


def test_without_a_model_words_find_alone(tmp_path: Path) -> None:
    """Scores are from 0 to 1 all the same, and nothing is kept."""
    with_none = open_app(tmp_path, {"COUNTERPOINT_EMBEDDING": "off"}, db=str(tmp_path / "l.db"))
    core = with_none.core(with_none.agent())
    (wanted, _) = learn(core, "passwords are hashed with bcrypt", "cake with apples")
    assert ids(core, "keep credentials secret") == []
    (found,) = core.overview.search("hashed passwords", limit=5)
    assert (found.row.id, 0 < found.score <= 1) == (wanted, True)
    assert (core.embedding.advance(), core.embedding.coverage()) == (0, None)
    core.embedding.keep_up()
    with_none.close()


def test_a_question_that_means_nothing_to_the_model_is_searched_by_its_words(ada: Core) -> None:
    (wanted,) = learn(ada, "\u1230\u120b\u121d")
    assert ids(ada, "\u1230\u120b\u121d") == [wanted]


def test_pages_go_on_where_the_last_one_ended(ada: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also beyond what is ranked anew; nothing is missed and nothing comes twice."""
    monkeypatch.setattr(hits, "CANDIDATES", 4)
    names = learn(ada, *(f"walnut number {number}" for number in range(11)), "cake with apples")
    pages = [ids(ada, "walnut", limit=3, offset=start) for start in range(0, 15, 3)]
    assert [len(page) for page in pages] == [3, 3, 3, 2, 0]
    assert {one for page in pages for one in page} == set(names[:11])


def test_vectors_of_another_model_make_room(
    app: App, ada: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of the model embeds everything anew, and then takes the old ones away that nobody uses."""
    learn(ada, "one", "two", "three")
    ada.embedding.advance()

    class Renamed:
        """The same model by another name."""

        def __init__(self) -> None:
            self.known = open_embedder("static")

        def __getattr__(self, name: str) -> object:
            return "renamed" if name == "name" else getattr(self.known, name)

    later = replace(app.ports, embedder=Renamed)
    core = Core(later, ada.caller)
    assert core.embedding.coverage() == (0, 3)
    assert ids(core, "one")
    assert core.embedding.advance(2) == 2
    assert core.embedding.coverage() == (2, 3)
    assert ada.embedding.coverage() == (3, 3)
    assert [core.embedding.advance() for _ in range(2)] == [1, 0]
    assert ada.embedding.coverage() == (3, 3)
    monkeypatch.setattr(embedding, "IDLE", 0)
    assert [core.embedding.advance() for _ in range(2)] == [3, 0]
    assert ada.embedding.coverage() == (0, 3)


def test_a_command_searches_where_nothing_can_be_written(tmp_path: Path) -> None:
    place = str(tmp_path / "l.db")
    first = open_app(tmp_path, {}, db=place, project="demo")
    learn(first.core(first.agent()), "passwords are hashed with bcrypt")
    first.close()
    reading = open_app(tmp_path, {"COUNTERPOINT_MODE": "READONLY"}, db=place, project="demo")
    core = reading.core(reading.agent())
    core.embedding.keep_up()
    assert len(core.overview.search("keep credentials secret", limit=5)) == 1
    assert core.embedding.coverage() == (0, 1)
    reading.close()


def order(words: Mapping[str, float], cosines: Mapping[str, float]) -> list[str]:
    """Answer what was found in order, at an even weight."""
    return [key for key, _ in rank_hits(words, cosines, weight=0.5, least=0.3)]


def test_both_parts_count_and_a_faint_meaning_alone_does_not() -> None:
    """One of many words counts less than its share; equal ones stay in the order given."""
    assert order({"a": 0.5, "b": 0.9}, {"a": 0.9}) == ["a", "b"]
    assert order({"a": 0.2}, {"c": 0.31, "d": 0.29}) == ["c", "a"]
    assert order({"a": 0.5, "b": 0.5}, {}) == ["a", "b"]
    ((_, fit),) = rank_hits({"a": 4.0}, {"a": -0.5}, weight=0.4, least=0.3)
    assert fit == (0.6, 1.0, 0.0)
    assert fit.best == 1.0
