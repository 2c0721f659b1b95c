"""What a role without rights in the schema can hold, and what is said of who holds what a writer waits for."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from counterpoint import __version__
from counterpoint.core.model.work import Item, Project
from counterpoint.dialects.nouns import EVERY
from counterpoint.kernel.errors import StoreBusy
from counterpoint.storage.postgres import locks
from counterpoint.storage.schema import Migration, migrations
from fakes.servers import connected

STRANGER = "stranger_without_rights"
HALF_A_SECOND = 0.5
HAS_VECTORS = "SELECT to_regnamespace('counterpoint_near') IS NOT NULL"


@pytest.fixture
def stranger(address: str) -> Iterator[psycopg.Connection[Any]]:
    """Give a connection of a role that may connect, and has no right in the schema; it calls itself one of ours."""
    with psycopg.connect(address, autocommit=True) as owner:
        owner.execute(f"DROP ROLE IF EXISTS {STRANGER}".encode())
        owner.execute(f"CREATE ROLE {STRANGER} LOGIN".encode())
        name = f"counterpoint {__version__} (1 on elsewhere)"
        with psycopg.connect(
            make_conninfo(address, user=STRANGER, application_name=name), autocommit=True
        ) as link:
            yield link
        owner.execute(f"DROP OWNED BY {STRANGER}".encode())
        owner.execute(f"DROP ROLE {STRANGER}".encode())


def hold_every_number(link: psycopg.Connection[Any]) -> None:
    """Hold all numbers that versions up to 0.1 locked, and any other that is made of our words."""
    names = [
        int.from_bytes(sha256(name).digest()[:8], "big", signed=True) for name in (b"p", b"shop")
    ]
    for number in (*range(0x436E7470, 0x436E7480), *names):
        link.execute("SELECT pg_advisory_lock(%s)", (number,))


def test_a_role_without_rights_keeps_nobody_from_opening_writing_or_upgrading(
    address, stranger, example, save, task
):
    """It may hold every advisory lock, and bear the name of a server; it may lock no table and no row of ours."""
    hold_every_number(stranger)
    for statement in (
        "LOCK TABLE counterpoint.migrations IN ACCESS SHARE MODE",
        "SELECT FROM counterpoint.projects FOR UPDATE",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), stranger.transaction():
            stranger.execute(statement.encode())
    store = connected(address, patience=HALF_A_SECOND)
    with store.writing("p") as writing:
        save(writing, example(Project, project="p"), task(1))
    with store.writing("p") as writing:
        assert writing.exists(Item)
    store.close()
    known = migrations(EVERY, "postgres")
    later = Migration(known[-1].number + 1, "later", "CREATE TABLE later (x int)")
    connected(address, migrations=(*known, later)).close()


def test_a_role_with_the_rights_of_the_page_reads_and_writes(
    address, stranger, example, save, task
):
    """As docs/postgresql.md has them; what makes tables is not among them."""
    connected(address).close()
    page = (Path(__file__).parents[3] / "docs" / "postgresql.md").read_text()
    grants = re.findall(r"^GRANT .*counterpoint\S* TO bob;$", page, re.MULTILINE)
    with psycopg.connect(address, autocommit=True) as owner:
        (has_vectors,) = owner.execute(HAS_VECTORS).fetchone() or (False,)
        for grant in grants if has_vectors else grants[:3]:
            owner.execute(grant.replace("bob", STRANGER).encode())
        store = connected(make_conninfo(address, user=STRANGER))
        with store.writing("p") as writing:
            save(writing, example(Project, project="p"), task(1))
        with store.writing("p") as writing:
            save(writing, task(2))
        with store.reading("p") as reading:
            assert reading.counts(Item, "category") == {"open": 2}
        store.close()


@pytest.mark.parametrize("kind", ["row", "table"])
def test_who_keeps_a_writer_waiting_is_named(address, postgres_store, example, save, kind):
    """By its process, user, program and since when, with what ends it; also a program that is none of ours."""
    with postgres_store.writing("p") as writing:
        save(writing, example(Project, project="p"))
    hasty = connected(address, patience=HALF_A_SECOND)
    held = {
        "row": "SELECT FROM counterpoint.projects WHERE project = 'p' FOR UPDATE",
        "table": "LOCK TABLE counterpoint.heads IN EXCLUSIVE MODE",
    }[kind]
    with psycopg.connect(address, application_name="psql of ann") as holder:
        holder.execute(held.encode())
        with pytest.raises(StoreBusy) as refused, hasty.writing("p"):
            pass
        pid, user = holder.info.backend_pid, holder.info.user
    (named,) = refused.value.facts["holders"]
    assert (named["pid"], named["user"], named["application"]) == (pid, user, "psql of ann")
    assert f"psql of ann, session {pid} of the user {user} since 20" in refused.value.message
    assert f"pg_terminate_backend({pid})" in refused.value.hint
    with hasty.writing("p"):
        pass
    hasty.close()


def test_a_writer_of_ours_that_others_wait_for_is_named(address, postgres_store, example, save):
    """By its program, also where it waits for the head as programs of before do, which knew no line of rows."""
    with postgres_store.writing("p") as writing:
        save(writing, example(Project, project="p"))
    hasty = connected(address, patience=HALF_A_SECOND)
    with (
        postgres_store.writing("p"),
        pytest.raises(StoreBusy, match=f"counterpoint {__version__} .{os.getpid()} on"),
        hasty.writing("p"),
    ):
        pass
    with psycopg.connect(address) as before:
        before.execute("SELECT FROM counterpoint.heads WHERE project = 'p' FOR UPDATE")
        with (
            pytest.raises(StoreBusy, match=f"session {before.info.backend_pid} "),
            hasty.writing("p"),
        ):
            pass
    hasty.close()


def test_who_waits_for_a_project_is_let_in_as_it_came(address, postgres_store, example, save):
    """The row of a project is not changed by who holds it, so that the line behind it stays one."""
    with postgres_store.writing("p") as writing:
        save(writing, example(Project, project="p"))
    order: list[int] = []
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    row = "SELECT ctid FROM counterpoint.projects WHERE project = 'p'"
    stores = [connected(address, patience=60.0) for _ in range(5)]

    def write(number: int) -> None:
        with stores[number].writing("p"):
            order.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(5)]
    with psycopg.connect(address, autocommit=True) as looking, psycopg.connect(address) as holder:
        before = looking.execute(row).fetchall()
        # A writer of ours would be undone if it were silent for so long on a slow machine.
        holder.execute("SELECT FROM counterpoint.projects WHERE project = 'p' FOR UPDATE")
        for number, thread in enumerate(threads):
            thread.start()
            while looking.execute(waiting).fetchone() != (number + 1,):
                pass
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]
    with psycopg.connect(address) as looking:
        assert looking.execute(row).fetchall() == before
    for store in stores:
        store.close()


def test_a_name_is_no_statement(address, postgres_store):
    """Whatever a project is called, what waits for its turn asks for that one."""
    del address
    for name in ("p'; DROP TABLE projects; --", "back\\slash", "Hafen é 港"):
        with postgres_store.writing(name) as writing:
            assert writing._link.execute(locks.turn_of(name)).fetchall() == []
