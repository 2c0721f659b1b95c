"""What one durable note costs: statements and functions are counted, never seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import apsw
import pytest

import counterpoint
from counterpoint.app import open_app
from counterpoint.core.model.filters import Note

PACKAGE = str(Path(counterpoint.__file__).parent)
STATEMENTS = 15
FUNCTIONS = 169


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
def call(tmp_path: Path, statements: list[str]) -> Iterator[Callable[[], object]]:
    """Give what writes one more note of an agent, as a tool does, with a core of its own."""
    (tmp_path / "tree").mkdir()
    opened = open_app(tmp_path / "tree", {}, db=str(tmp_path / "ledger.db"), project="demo")
    identity = opened.agent()

    def note() -> object:
        return opened.core(identity).journal.append(Note(kind="comment", body="a note"))

    # What is made once is made: the project, its prefix, the session.
    for _ in range(2):
        note()
    statements.clear()
    yield note
    opened.close()


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


def test_one_note_executes_few_statements(
    call: Callable[[], object], statements: list[str]
) -> None:
    """Reads, writes, and the transaction around them."""
    call()
    assert len(statements) <= STATEMENTS, "\n".join(statements)


def test_one_note_enters_few_functions(call: Callable[[], object]) -> None:
    """From the core to the database and back."""
    found = entered(call)
    assert len(found) <= FUNCTIONS, "\n".join(found)
