"""What every database keeps of vectors, and what it finds near one."""

from __future__ import annotations

import struct

import pytest

from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Item, Staging
from counterpoint.core.ports.store import Store, Unembedded
from fakes.looking import faults_of
from fakes.texts import committed, retitle

MODEL = "two-way"


def vector(*numbers: float) -> bytes:
    """Answer a vector of length 1."""
    length = sum(number**2 for number in numbers) ** 0.5
    return struct.pack(f"<{len(numbers)}f", *(number / length for number in numbers))


def embed(store: Store, made: dict[str, bytes], model: str = MODEL, project: str = "p") -> None:
    """Keep vectors of rows by their keys, of all that wait; others get an empty one."""
    with store.reading(project) as view:
        waiting = view.unembedded(model, 100)
    with store.writing(project) as writing:
        writing.embed(model, [(one, made.get(one.hit.key, b"")) for one in waiting])


def near(
    store: Store, *numbers: float, model: str = MODEL, project: str = "p", **more: object
) -> list[str]:
    """Answer the keys of what is nearest to a vector."""
    with store.reading(project) as view:
        return [hit.key for hit in view.nearest(model, vector(*numbers), **more)]


@pytest.fixture
def three(store, task, save, example):
    """Give a database with two tasks and a finding, each with a vector."""
    with store.writing("p") as writing:
        save(
            writing,
            task(1, title="north", body="up"),
            task(2, title="east", body=""),
            example(
                Record, id="r1", item="T-1", kind="finding", title="north east", body="", tags=()
            ),
        )
    embed(store, {"T-1": vector(0, 1), "T-2": vector(1, 0), "r1": vector(1, 1.1)})
    return store


def test_what_is_nearest_comes_first_with_its_cosine(three):
    """Kinds and item narrow; the number is that of the search."""
    assert near(three, 0, 1) == ["T-1", "r1", "T-2"]
    assert near(three, 1, 0.1) == ["T-2", "r1", "T-1"]
    assert near(three, 0, 1, limit=1) == ["T-1"]
    assert near(three, 0, 1, kinds=["finding"]) == ["r1"]
    assert near(three, 0, 1, kinds=["nothing"]) == []
    assert near(three, 1, 0, item="T-1") == ["r1", "T-1"]
    with three.reading("p") as view:
        (best, *_) = view.nearest(MODEL, vector(0, 1))
        assert best.score == pytest.approx(1, abs=0.01)
        (word,) = view.search(["up"])
        assert word.number == best.number
        assert view.cosines(MODEL, vector(1, 0), [best.number, 77]) == {
            best.number: pytest.approx(0, abs=0.01)
        }
        assert view.coverage(MODEL) == (3, 3)


def test_what_is_made_of_a_row_is_its_title_and_body(store, task, save):
    """Those that wait come from the oldest on, and at most so many."""
    with store.writing("p") as writing:
        save(writing, task(1, title="north", body="up"), task(2, title="east", body=""))
    with store.reading("p") as view:
        assert [one.text for one in view.unembedded(MODEL, 9)] == ["north\nup", "east"]
        assert [one.hit.key for one in view.unembedded(MODEL, 1)] == ["T-1"]
        assert view.coverage(MODEL) == (0, 2)
        assert view.nearest(MODEL, vector(0, 1)) == []
    embed(store, {"T-1": vector(1)})
    with store.reading("p") as view:
        assert view.unembedded(MODEL, 9) == []
        # One of which nothing can be made is not asked for again.
        assert [hit.key for hit in view.nearest(MODEL, vector(1))] == ["T-1"]


def test_a_row_that_says_something_else_has_no_vector(three):
    """It waits again, before all others; the process that remembers bits forgets it."""
    assert near(three, 0, 1)[0] == "T-1"
    with three.writing("p") as writing:
        retitle(writing, "T-1", "south")
    assert near(three, 0, 1) == ["r1", "T-2"]
    with three.reading("p") as view:
        (one,) = view.unembedded(MODEL, 9)
        assert (one.hit.key, one.text) == ("T-1", "south\nup")
        assert view.cosines(MODEL, vector(0, 1), [one.hit.number]) == {}
    embed(three, {"T-1": vector(0, 1)})
    assert near(three, 0, 1)[0] == "T-1"


def test_a_vector_goes_with_its_text_and_with_its_row(three):
    """Of a text that was taken away nothing stays, nor of a row that was dropped."""
    kept = vectors_of(three)
    assert len(kept) == 3
    with three.writing("p") as writing:
        writing.forget([committed("north east")])
        writing.drop(Item, {"id": "T-2"})
    left = vectors_of(three)
    assert len(left) == 1
    assert left[0] in kept
    assert near(three, 1, 1) == ["T-1"]
    assert faults_of(three) == []


def test_a_text_that_went_while_it_was_embedded_does_not_come_back(three, task, save):
    """Whoever keeps a vector looks at the text once more."""
    with three.reading("p") as view:
        assert view.unembedded(MODEL, 9) == []
    with three.writing("p") as writing:
        save(writing, task(4, title="secret", body=""))
    with three.reading("p") as view:
        (one,) = view.unembedded(MODEL, 9)
    with three.writing("p") as writing:
        writing.forget([committed("secret")])
    with three.writing("p") as writing:
        writing.embed(MODEL, [(one, vector(1, 0))])
        writing.drop(Item, {"id": "T-2"})
    assert len(vectors_of(three)) == 2
    with three.writing("p") as writing:
        writing.embed(MODEL, [(Unembedded(one.hit, "secret"), vector(1, 0))])
    assert len(vectors_of(three)) == 2


def test_a_number_that_is_given_again_has_no_vector_of_the_one_before(three, task, save):
    """The last rows go, and others come in their place."""
    with three.writing("p") as writing:
        writing.drop(Record, {"id": "r1"})
        writing.drop(Item, {"id": "T-2"})
    with three.writing("p") as writing:
        save(writing, task(5, title="west", body=""), task(6, title="south", body=""))
    with three.reading("p") as view:
        assert [one.hit.key for one in view.unembedded(MODEL, 9)] == ["T-5", "T-6"]
    embed(three, {"T-5": vector(-1, 0), "T-6": vector(0, -1)})
    assert near(three, -1, 0)[0] == "T-5"
    with three.reading("p") as view:
        assert view.unembedded(MODEL, 9) == []


def test_another_model_has_vectors_of_its_own(three):
    """Each finds by its own; those of others are taken away in pieces."""
    with three.reading("p") as view:
        assert len(view.unembedded("other", 9)) == 3
    assert near(three, 1, 0, 0, model="other") == []
    embed(three, {"T-2": vector(1, 0, 0)}, model="other")
    assert near(three, 1, 0, 0, model="other") == ["T-2"]
    assert near(three, 0, 1)[0] == "T-1"
    with three.writing("p") as writing:
        assert writing.retire("nobody", 2, idle=0) == 0
        assert writing.retire("other", 2, idle=0) == 2
        assert writing.retire("other", 2, idle=0) == 1
        assert writing.retire("other", 2, idle=0) == 0
    assert near(three, 1, 0, 0, model="other") == ["T-2"]
    with three.reading("p") as view:
        assert view.coverage(MODEL) == (0, 3)


def test_two_servers_with_different_models_both_keep_their_vectors(three):
    """Those of a model that was used lately stay; those of one that nobody uses any more go."""
    embed(three, {"T-1": vector(0, 1, 0)}, model="other")
    for model in ("other", MODEL):
        with three.writing("p") as writing:
            assert writing.retire(model, 9, idle=60) == 0
    assert near(three, 0, 1)[0] == "T-1"
    assert near(three, 0, 1, 0, model="other") == ["T-1"]
    with three.writing("p") as writing:
        writing._link.execute("UPDATE embedders SET used = used - 100000")
        assert writing.retire("other", 9, idle=60) == 3
    assert near(three, 0, 1, 0, model="other") == ["T-1"]


def test_no_project_sees_vectors_of_another(three, save, task):
    """Neither what is near, nor what waits."""
    with three.reading("q") as view:
        assert view.unembedded(MODEL, 9) == []
        assert view.coverage(MODEL) == (0, 0)
        assert view.nearest(MODEL, vector(0, 1)) == []
    with three.writing("q") as writing:
        save(writing, task(1, project="q", title="north", body=""))
        assert writing.retire("other", 2, idle=0) == 0
    embed(three, {"T-1": vector(0, 1)}, project="q")
    assert near(three, 0, 1, project="q") == ["T-1"]
    assert near(three, 0, 1)[0] == "T-1"


def test_what_is_of_a_plan_under_way_is_not_near(three, save, example):
    """It is found by nobody before all of the plan is there."""
    hidden = example(Staging, first=1, last=1, status="hidden")
    with three.writing("p") as writing:
        save(writing, hidden)
    assert near(three, 0, 1, limit=1) == ["T-2"]


def test_many_vectors_are_compared_by_their_signs_first(store, save, task):
    """The nearest of six hundred is found, whatever order they came in, also after some changed."""
    with store.writing("p") as writing:
        save(writing, *(task(number, title=f"n{number}", body="") for number in range(1, 601)))
    made = {
        f"T-{n}": vector(*(1 if (n >> bit) % 2 else -1 for bit in range(10)), 0.1)
        for n in range(1, 601)
    }
    for _ in range(6):
        embed(store, made)
    asked = [1 if (77 >> bit) % 2 else -1 for bit in range(10)]
    assert near(store, *asked, 0.1, limit=3)[0] == "T-77"
    with store.writing("p") as writing:
        retitle(writing, "T-77", "another")
    assert "T-77" not in near(store, *asked, 0.1)
    embed(store, made)
    assert near(store, *asked, 0.1, limit=3)[0] == "T-77"


def test_how_much_words_weigh_is_known_before_they_are_found(store, save, task):
    """All of the words often is about one; a rare word weighs more than a frequent one, beginnings as all they begin."""
    with store.writing("p") as writing:
        save(
            writing,
            *(
                task(n, title="common rare" if n == 1 else "common", body="x y z")
                for n in range(1, 30)
            ),
        )
    with store.reading("p") as view:
        assert view.most([]) == 0
        (hit, *_) = view.search(["rare"])
        assert 0.2 < hit.score / view.most(["rare"]) <= 1
        assert view.most(["rare", "common"]) > view.most(["rare"]) > 0
        assert view.most(["rar", "common"], begun=True) > 0


def vectors_of(store: Store) -> list[bytes]:
    """Answer every vector that stands anywhere in the project."""
    with store.reading("p") as view:
        found = view._link.vectors.changed(MODEL, 0)
        return [one.vector for one in found if one.vector]
