"""Signs of vectors in pgvector: found as without it, kept with the vector, indexed once there are many."""

from __future__ import annotations

import random
import struct

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from counterpoint.core.model.work import Item
from counterpoint.storage.postgres import signs
from fakes.looking import faults_of
from fakes.servers import connected
from fakes.texts import committed, retitle

MODEL = "chance-64"
MANY = 300


def vector(number: int, size: int = 64) -> bytes:
    """Answer one of length 1 that is as good as drawn, the same for a number."""
    chance = random.Random(number)  # noqa: S311  nothing is kept secret by it
    drawn = [chance.gauss(0, 1) for _ in range(size)]
    length = sum(one**2 for one in drawn) ** 0.5
    return struct.pack(f"<{size}f", *(one / length for one in drawn))


def embed(store, size=64, model=MODEL):
    """Keep a vector for every text, by the number in its key."""
    with store.reading("p") as view:
        waiting = view.unembedded(model, 1_000)
    with store.writing("p") as writing:
        made = [(one, vector(int(one.hit.key[2:]), size)) for one in waiting]
        writing.embed(model, made)


def near(store, number, model=MODEL, size=64, **more):
    """Answer what is nearest, with its score."""
    with store.reading("p") as view:
        found = view.nearest(model, vector(number, size), **more)
    return [(hit.key, round(hit.score, 6)) for hit in found]


def kept(address):
    """Answer how many signs the database keeps, by how many numbers a vector has."""
    asked = "SELECT length(signs), count(*) FROM counterpoint_near.signs GROUP BY 1"
    with psycopg.connect(address) as link:
        return dict(link.execute(asked).fetchall())


def run(address, statement):
    """Do something as a stranger."""
    with psycopg.connect(address, autocommit=True) as link:
        return link.execute(statement).statusmessage


@pytest.fixture
def filled(address, task, save):
    """Give a database with three hundred tasks, each with a vector."""
    store = connected(address)
    with store.writing("p") as writing:
        save(writing, *(task(n, title=f"n{n}", body="") for n in range(1, MANY + 1)))
    embed(store)
    yield store
    store.close()


def test_the_database_finds_what_the_process_finds(filled, address):
    """With the schema and without it: the same rows, scores and order, all or narrowed."""
    assert kept(address) == {64: MANY}
    asked = [{"limit": 20}, {"limit": 5, "item": "T-7"}, {"limit": 30, "kinds": ["task"]}]
    here = [near(filled, 1_000 + n, **one) for n, one in enumerate(asked)]
    assert [len(one) for one in here] == [20, 1, 30]
    assert near(filled, 1_000, kinds=["finding"]) == []
    assert not filled._near, "the process holds nothing itself"
    run(address, "DROP SCHEMA counterpoint_near CASCADE")
    assert [near(filled, 1_000 + n, **one) for n, one in enumerate(asked)] == here
    assert filled._near
    assert faults_of(filled) == []


def test_signs_go_with_their_vector(filled, address):
    """Of a text that changed, was erased or whose row went, nothing stays, in the same transaction."""
    with filled.writing("p") as writing:
        retitle(writing, "T-1", "another")
        writing.forget([committed("n2")])
        writing.drop(Item, {"id": "T-3"})
    assert kept(address) == {64: MANY - 3}
    assert near(filled, 1, limit=1)[0][0] != "T-1"
    filled.purge()
    embed(filled)
    assert near(filled, 1, limit=1) == [("T-1", pytest.approx(1, abs=0.01))]
    with filled.writing("p") as writing:
        assert writing.retire("other", 10, idle=0) == 0
    embed(filled, 96, "other")
    with filled.writing("p") as writing:
        while writing.retire("other", 100, idle=0):
            pass
    assert list(kept(address)) == [96]


def test_a_database_that_gets_pgvector_later_is_filled(filled, address):
    """Vectors that were there before have their signs when the next server has opened it."""
    before = near(filled, 5)
    run(address, "DROP SCHEMA counterpoint_near CASCADE")
    run(address, "DROP EXTENSION vector")
    again = connected(address)
    assert kept(address) == {64: MANY}
    assert near(again, 5) == before
    assert not again._near
    again.close()


def test_many_vectors_have_an_index(filled, address, monkeypatch):
    """It is made once, in place of one that was not finished, and finds the same; vectors of another size are no part of it."""
    before = near(filled, 9, limit=10)
    filled.settle_vectors("p", MODEL)
    assert indexes(address) == []
    monkeypatch.setattr(signs, "INDEXED", MANY)
    filled.settle_vectors("p", MODEL)
    (name,) = indexes(address)
    broken = "UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{}'::regclass"
    run(address, broken.format(f"counterpoint_near.{name}"))
    filled.settle_vectors("p", MODEL)
    filled.settle_vectors("p", MODEL)
    assert indexes(address) == [name]
    with psycopg.connect(address) as link:
        link.execute("SET enable_seqscan TO off; SET enable_sort TO off")
        plan = link.execute(
            "EXPLAIN SELECT document FROM counterpoint_near.signs WHERE project = 'p' AND model = 1"
            " AND length(signs) = 64 ORDER BY signs::bit(64) <~> B'1'::bit(64) LIMIT 9"
        ).fetchall()
    assert name in str(plan)
    assert near(filled, 9, limit=10) == before
    embed(filled, 32, "short")
    assert near(filled, 9, "short", 32, limit=1) == [("T-9", pytest.approx(1, abs=0.01))]
    assert near(filled, 9, limit=10) == before
    assert faults_of(filled) == []


def indexes(address):
    """Answer the indexes by which signs are found that are whole."""
    with psycopg.connect(address) as link:
        asked = (
            "SELECT c.relname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid"
            " WHERE c.relname LIKE 'near\\_%' AND i.indisvalid"
        )
        return [name for (name,) in link.execute(asked)]


def test_who_may_not_make_it_has_the_process_compare(bare_address, task, save):
    """A user without the right to an extension searches as before, and says nothing of it."""
    run(bare_address, "DROP ROLE IF EXISTS plain_user")
    run(bare_address, "CREATE ROLE plain_user LOGIN")
    try:
        name = psycopg.conninfo.conninfo_to_dict(bare_address)["dbname"]
        run(bare_address, f'GRANT CREATE ON DATABASE "{name}" TO plain_user')
        store = connected(make_conninfo(bare_address, user="plain_user"))
        with store.writing("p") as writing:
            save(writing, task(1, title="n1", body=""))
        embed(store)
        assert near(store, 1) == [("T-1", pytest.approx(1, abs=0.01))]
        assert store._near
        store.close()
    finally:
        run(bare_address, "DROP SCHEMA counterpoint CASCADE")
        run(bare_address, "DROP OWNED BY plain_user")
        run(bare_address, "DROP ROLE plain_user")


def test_a_role_without_rights_in_the_schema_of_signs_searches_as_before(filled, address):
    """It opens the database, has the process compare, and what it writes has its signs for others."""
    before = near(filled, 9)
    run(address, "DROP ROLE IF EXISTS plain_user")
    run(address, "CREATE ROLE plain_user LOGIN")
    try:
        for rights in (
            "USAGE ON SCHEMA",
            "ALL ON ALL TABLES IN SCHEMA",
            "ALL ON ALL SEQUENCES IN SCHEMA",
        ):
            run(address, f"GRANT {rights} counterpoint TO plain_user")
        store = connected(make_conninfo(address, user="plain_user"))
        assert near(store, 9) == before
        assert store._near
        with store.writing("p") as writing:
            retitle(writing, "T-1", "another")
        embed(store)
        store.settle_vectors("p", MODEL)
        store.close()
        assert kept(address) == {64: MANY}
    finally:
        run(address, "DROP OWNED BY plain_user")
        run(address, "DROP ROLE plain_user")


def test_a_version_that_compares_no_signs_is_left_alone():
    """Pgvector does so since 0.7; what stands behind a number that is none does not count."""
    assert signs._numbers("0.6.2") < signs._LEAST <= signs._numbers("0.7.0") < signs._numbers("1.0")
