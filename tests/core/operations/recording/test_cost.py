"""What a note and the end of a task cost: statements and functions are counted, never seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import FrameType

import apsw
import pytest

import counterpoint
from counterpoint.app import open_app
from counterpoint.core.coordinator import Core
from counterpoint.core.model.access import Principal
from counterpoint.core.model.filters import Handover, Note, Report
from counterpoint.core.model.identity import Contribution
from counterpoint.core.operations.recording.unit import recording

PACKAGE = str(Path(counterpoint.__file__).parent)
NOTE = {"statements": 8, "functions": 97}
"""Few functions more than before each text had a salt and a title was a text: salted, hashed, referred to. Seven look at the files
around the commit, one forgets what was known of records."""
FINISH = {"statements": 25, "functions": 340}
"""With one look at whether whoever ends it has a part in it already, one at the clock: when he looked last; and one at what is in the tables of nouns that are loaded later. Four functions
ask whether anything lies apart as the work of others; without a change they look at no table."""
PAGES = 18.5
"""Pages of a note's commit, by the average of many: 18.0; 19.7 where a leaf of the search fills a page."""
FRAME = 4096 + 24
AFTER_ANOTHER = 12
"""Statements of a note where another process wrote last: head, number, session, project are read."""


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give the list that every statement of every connection goes into."""
    seen: list[str] = []

    def trace(_cursor: apsw.Cursor, text: str, _values: object) -> bool:
        seen.append(" ".join(text.split()))
        return True

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = trace

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, watch])
    return seen


@pytest.fixture
def core(tmp_path: Path, statements: list[str]) -> Iterator[Callable[[], Core]]:
    """Give what makes the core of an agent that has written before, as it is made for each call."""
    (tmp_path / "tree").mkdir()
    opened = open_app(tmp_path / "tree", {}, db=str(tmp_path / "ledger.db"), project="demo")
    # As every connection has one.
    identity = replace(opened.agent(), capability="c")
    # What is made once is made: the project, its prefix, the session, initializers.
    for _ in range(5):
        note(opened.core(identity))
    statements.clear()
    yield lambda: opened.core(identity)
    opened.close()


def note(core: Core, body: str = "a note") -> None:
    """Write one more note down, as a tool does."""
    core.journal.append(Note(kind="comment", body=body))


@pytest.fixture
def finish(core: Callable[[], Core], statements: list[str]) -> Callable[[], object]:
    """Give what finishes a claimed task, the fifth of six, as a tool does."""
    trees = "".join(f"- [ ] Tree {number}\n" for number in range(6))
    core().plans.create(core().plans.read(f"# Orchard\n{trees}"))
    report = Report(outcome="done", summary="planted")
    for number in range(2, 6):
        before = core().claims.start(f"demo-{number}")
        core().tasks.finish(before.item.id, before.claim.token, report)
    taken = core().claims.start("demo-6")
    statements.clear()
    return lambda: core().tasks.finish(taken.item.id, taken.claim.token, report)


def entered(run: Callable[[], object]) -> list[str]:
    """Answer the functions of the product that a call enters, comprehensions left out."""
    found: list[str] = []

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and PACKAGE in code.co_filename and not code.co_name.startswith("<"):
            found.append(f"{Path(code.co_filename).name}:{code.co_qualname}")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(before)
    return found


def test_one_note_executes_few_statements(core: Callable[[], Core], statements: list[str]) -> None:
    """Writes, and the transaction around them: what the last writer knew is not read again."""
    note(core())
    assert len(statements) <= NOTE["statements"], "\n".join(statements)


def test_one_note_enters_few_functions(core: Callable[[], Core]) -> None:
    """From the core to the database and back."""
    found = entered(lambda: note(core()))
    assert len(found) <= NOTE["functions"], "\n".join(found)


def test_the_commit_of_a_note_writes_few_pages(core: Callable[[], Core], tmp_path: Path) -> None:
    """Each table and index it adds to, and few that are only moved about."""
    log, written = tmp_path / "ledger.db-wal", 0.0
    for number in range(480):
        note(core(), f"a note of {number} about nothing much")
        if number % 80 == 79:  # before SQLite writes it from its beginning again
            written += log.stat().st_size / FRAME
            with closing(apsw.Connection(str(tmp_path / "ledger.db"))) as writer:
                writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert written / 480 <= PAGES


def test_a_note_after_another_process_reads_what_that_changed(
    core: Callable[[], Core], statements: list[str], tmp_path: Path
) -> None:
    """Four short statements more, and no more."""
    with closing(apsw.Connection(str(tmp_path / "ledger.db"))) as stranger:
        stranger.execute("INSERT INTO meters VALUES ('other', 'a', 'b', 1)")
    statements.clear()
    note(core())
    assert len(statements) <= AFTER_ANOTHER, "\n".join(statements)


@pytest.mark.parametrize("is_same", [True, False])
def test_to_take_a_session_costs_the_same_after_much_work_as_after_little(
    core: Callable[[], Core], statements: list[str], tmp_path: Path, is_same: bool
) -> None:
    """Whether by who was started again or by another: no statement more, and none that walks a table."""
    found: list[list[str]] = []
    for parts in (10, 10_000):
        secret = f"secret-{parts}"
        worker, heir = (
            window(core(), f"cn_{parts}_{n}", secret if is_same or n == 1 else "other")
            for n in (1, 2)
        )
        note(worker)
        with recording(worker._context, "test.made") as change:
            for number in range(parts):
                part = Contribution(
                    project="demo", item=f"x-{number}", principal=f"cn_{parts}_1", how="worked"
                )
                change.put(part)
        session = worker.caller.actor.session
        if not is_same:
            worker.sessions.hand_over(Handover(action="pause", summary="s"))
        statements.clear()
        if is_same:
            note(window(heir, f"cn_{parts}_2", secret, session))
        else:
            heir.sessions.resume(session)
        found.append(list(statements))
    assert len(found[0]) == len(found[1]), "\n".join(found[1])
    with closing(apsw.Connection(str(tmp_path / "ledger.db"))) as looking:
        for text in filter(lambda one: one.startswith("SELECT"), found[1]):
            values = (None,) * text.count("?")
            plan = looking.execute(f"EXPLAIN QUERY PLAN {text}", values).fetchall()
            lines = [str(line[-1]) for line in plan]
            # All rows of a project are looked at where nothing but the project is known of them.
            walks = [one for one in lines if "SCAN" in one or one.endswith("(project=?)")]
            assert "LIMIT" in text or not walks, (text, lines)


def window(core: Core, principal: str, secret: str, session: str = "") -> Core:
    """Answer the core of another agent's process."""
    actor = replace(
        core.caller.actor,
        session=session or f"ses_{principal}",
        principal=Principal(strength="connection", id=principal),
    )
    caller = replace(core.caller, actor=actor, capability=secret, connection=None)
    return Core(core._context.ports, caller)


def test_the_end_of_a_task_executes_few_statements(
    finish: Callable[[], object], statements: list[str]
) -> None:
    """Reading before the work is measured, and one transaction."""
    finish()
    assert len(statements) <= FINISH["statements"], "\n".join(statements)


def test_the_end_of_a_task_enters_few_functions(finish: Callable[[], object]) -> None:
    """From the core to the database and back, without a repository."""
    found = entered(finish)
    assert len(found) <= FINISH["functions"], "\n".join(found)
