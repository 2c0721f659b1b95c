"""Texts taken away at the command line where something is in the way."""

from __future__ import annotations

import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from counterpoint.app import App
from counterpoint.core.model.filters import Note

WORDS = "zqxwalrus of 4711"
LETTERS = 2_000


@contextmanager
def room(size: int) -> Generator[None]:
    """Let no file grow beyond a size, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_says_what_to_do_and_the_next_command_ends_it(
    call, app: App, agent, tmp_path: Path
):
    """Before anything is gone nothing is begun; after it the receipt stays open, and goes on."""
    agent.journal.append(Note(kind="finding", body=WORDS))
    for number in range(60):
        agent.journal.append(Note(kind="finding", body=f"{number} {'x' * LETTERS}"))
    file = tmp_path / "words"
    file.write_text(WORDS)
    asked = ("audit", "redact", "--text", str(file), "--reason", "private")
    database = app.database
    app.store.purge()
    for place in (4_096, database.stat().st_size):
        with room(place):
            said = call(*asked)
        assert said.code == 3, said.out + said.err
        assert "disk is full" in said.err
        assert "Free room on the disk of twice the size" in said.err
        assert ("it goes on in the receipt" in said.err) == bool(app.itself().erasing.list())
    (begun,) = app.itself().erasing.list()
    assert (begun.status, begun.texts) == ("begun", 1)
    assert WORDS.encode() in b"".join(
        one.read_bytes() for one in database.parent.glob("ledger.db*")
    )
    assert call(*asked).code == 0
    (receipt,) = app.itself().erasing.list()
    assert (receipt.status, receipt.tries) == ("clean", 2)
    assert app.itself().audit.verify().sound


def test_what_was_left_is_told_again_when_nobody_has_the_words_any_more(
    call, ledger: Path, agent
) -> None:
    """The second command for the same record has nothing to take away, and is not clean for that."""
    note = agent.journal.append(Note(kind="finding", body=WORDS)).id
    (ledger / "copy.txt").write_text(WORDS)
    first = call("audit", "redact", note, "--reason", "private")
    again = call("audit", "redact", note, "--reason", "private")
    for said in (first, again):
        assert said.code == 1, said.out
        assert "  file copy.txt\n" in said.out
    assert "give them with --text" in again.out
    assert call("audit", "redact", note, "--reason", "private", "--json").json["left"] == [
        "file copy.txt"
    ]
