"""The tables on PostgreSQL: like the nouns, guarded, brought forward."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from counterpoint.app import NOUNS
from counterpoint.core.model.catalogue import NOUNS as CORE
from counterpoint.core.model.rows import columns
from counterpoint.core.model.sessions import Claim
from counterpoint.core.model.work import Item
from counterpoint.dialects.colibri.nouns import Action
from counterpoint.kernel.errors import StoreCorrupt, StoreNewer, StoreOlder
from counterpoint.storage import statements
from counterpoint.storage.postgres.store import is_made
from counterpoint.storage.schema import Migration, migrations
from fakes.servers import connected


def test_the_columns_of_a_table_are_the_fields_of_its_noun(shell):
    """Same names, same order, same types, same key; nothing may be NULL; texts compare as bytes."""
    digest = "bytea", "NO", ""
    kinds = {"int": ("bigint", "NO", ""), "prose": digest, "proses": digest, "hash": digest}
    for noun in NOUNS:
        found = shell.execute(
            "SELECT column_name, data_type, is_nullable, coalesce(collation_name, '')"
            " FROM information_schema.columns WHERE table_schema = 'counterpoint'"
            " AND table_name = %s ORDER BY ordinal_position",
            (noun.table,),
        ).fetchall()
        assert found == [
            (column.name, *kinds.get(column.sort, ("text", "NO", "C"))) for column in columns(noun)
        ], noun
        key = shell.execute(
            "SELECT a.attname FROM pg_index AS i, unnest(i.indkey) WITH ORDINALITY AS k (n, place)"
            " JOIN pg_attribute AS a ON a.attrelid = %(t)s::regclass AND a.attnum = k.n"
            " WHERE i.indrelid = %(t)s::regclass AND i.indisprimary ORDER BY k.place",
            {"t": noun.table},
        ).fetchall()
        assert tuple(name for (name,) in key) == noun.key, noun


def test_a_stranger_with_a_shell_cannot_change_the_ledger(shell):
    """Nothing is changed, deleted, emptied, or appended out of order."""
    for statement in (
        "UPDATE entries SET data = 'x' WHERE sequence = 0",
        "UPDATE entries SET sequence = 9 WHERE sequence = 1",
        "DELETE FROM entries WHERE sequence = 1",
        "DELETE FROM entries",
        "TRUNCATE entries",
        "INSERT INTO entries VALUES ('p', 3, '', '', '', '')",
        "INSERT INTO entries VALUES ('p', -1, '', '', '', '')",
        "INSERT INTO entries VALUES ('p', 1, 'x', '', '', '') ON CONFLICT DO NOTHING",
        "INSERT INTO entries VALUES ('q', 1, '', '', '', '')",
    ):
        with pytest.raises(psycopg.errors.RaiseException):
            shell.execute(statement)


def test_several_that_open_an_empty_database_make_it_once(bare_address):
    """One makes the tables, the others find them made."""
    assert not is_made(bare_address)
    with ThreadPoolExecutor(4) as pool:
        for opened in pool.map(connected, [bare_address] * 4):
            opened.close()
    assert is_made(bare_address)
    with psycopg.connect(bare_address) as link:
        (many,) = link.execute("SELECT count(*) FROM counterpoint.migrations").fetchone()
    assert many == len(migrations(NOUNS, "postgres"))


@pytest.mark.parametrize(
    ("noun", "equal", "index"),
    [
        # Without rows either of its two costs the same.
        (Claim, {"session": "s", "state": "live"}, "claims_s"),
        (Claim, {"state": "live"}, "claims_s"),
        (
            Item,
            {"root": "r", "kind": "k", "category": "active", "blockers": 0},
            "items_root_kind_category_blockers_priority_number",
        ),
    ],
)
def test_a_question_for_what_is_in_hand_reads_an_index_of_nothing_else(shell, noun, equal, index):
    """The planner sees from the word in the statement that the partial index has every such row."""
    shape, values = statements.shaped(noun, equal)
    shell.execute("SET enable_seqscan = off")
    asked = statements.selected(noun, shape, is_exists=True).text.replace("?", "%s")
    plan = shell.execute(f"EXPLAIN {asked}", ("p", *values)).fetchall()
    assert f" {index}" in " ".join(line for (line,) in plan)


def test_a_newer_database_is_refused_by_its_version(shell, address):
    """An older program touches nothing."""
    shell.execute("INSERT INTO migrations VALUES (99, 'later', '')")
    with pytest.raises(StoreNewer, match="version 99"):
        connected(address)


def test_a_database_from_before_the_first_release_is_refused(shell, address):
    """Nobody can bring it forward; the refusal says which version it has and where one begins."""
    shell.execute("DELETE FROM migrations")
    shell.execute("INSERT INTO migrations VALUES (12, 'first', '')")
    with pytest.raises(StoreOlder, match=r"version 12.*version 13"):
        connected(address)


def test_a_noun_that_is_new_gets_its_table(bare_address):
    """One program knows it and another does not; both use the database."""
    connected(bare_address, nouns=CORE).close()
    opened = connected(bare_address)
    with opened.writing("p") as writing:
        assert not writing.exists(Action)
    opened.close()
    connected(bare_address, nouns=CORE).close()


def test_a_database_made_by_other_files_is_refused(shell, address):
    """An applied migration is never edited."""
    shell.execute("UPDATE migrations SET sha256 = 'other' WHERE name = 'actions'")
    with pytest.raises(StoreCorrupt, match="another text of actions"):
        connected(address)


def test_a_schema_of_another_program_is_left_alone(bare_address):
    """Its tables stay, and none of ours stands beside them."""
    with psycopg.connect(bare_address, autocommit=True) as link:
        link.execute("CREATE SCHEMA counterpoint CREATE TABLE theirs (x int)")
        with pytest.raises(StoreCorrupt, match="another program"):
            connected(bare_address)
        found = link.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'counterpoint'"
        )
        assert found.fetchall() == [("theirs",)]


def test_a_migration_that_fails_leaves_the_shape_before_it(address, task, save):
    """All that was missing lands together or not at all."""
    connected(address).close()
    known = migrations(NOUNS, "postgres")
    number = known[-1].number
    wrong = (
        Migration(number + 1, "good", "CREATE TABLE good (x int)"),
        Migration(number + 2, "bad", "CREATE TABLE bad (x int, x int)"),
    )
    with pytest.raises(psycopg.errors.DuplicateColumn):
        connected(address, migrations=(*known, *wrong))
    opened = connected(address, migrations=(*known, wrong[0]))
    with opened.writing("p") as writing:
        save(writing, task(1))
    opened.close()
