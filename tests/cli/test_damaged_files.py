"""Whatever was done to the files of a ledger, verifying it answers with faults or says what keeps it from looking."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fakes.long_forms import IS_LONG

pytestmark = [pytest.mark.faults, pytest.mark.durable, pytest.mark.timeout(900 if IS_LONG else 60)]

PAGE = 4096
QUIETLY = settings(
    max_examples=500 if IS_LONG else 25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
INSIDE = ("wrong inside", "Traceback", "unexpected: ")


def noise(seed: int, size: int) -> bytes:
    """Answer bytes that mean nothing."""
    return Random(seed).randbytes(size)  # noqa: S311 - a seed must give the same bytes again


def files(ledger: Path) -> Path:
    """Answer where the database lies, with nothing left in its log."""
    return ledger / ".counterpoint" / "ledger.db"


@pytest.fixture
def verified(call, ledger):
    """Give what writes a database, verifies it and answers what was said; then all is as before."""
    assert call("audit", "prove", "--checkpoint").code == 0
    database = files(ledger)
    folder = database.parent
    kept = folder.with_name("kept")
    shutil.copytree(folder, kept)

    def verify(change):
        try:
            change(database)
            said = call("audit", "verify")
        finally:
            # A database that could not be read is let go by the collector, which may take its log away meanwhile.
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(kept, folder, dirs_exist_ok=True)
        told = said.out + said.err
        assert not any(words in told for words in INSIDE), told
        return said

    return verify


@QUIETLY
@example(start=32, seed=0, many=16)  # a number of the header that says how schemas are written
@given(start=st.integers(0, 2**24), seed=st.integers(0, 99), many=st.sampled_from((1, 16, PAGE)))
def test_bytes_of_any_page_are_a_fault_or_hold_nothing(verified, start, seed, many):
    """A bit, some bytes, or a whole page of the file, anywhere in it."""

    def change(database: Path) -> None:
        data = bytearray(database.read_bytes())
        place = start % len(data) // min(many, PAGE) * many % len(data)
        part = noise(seed, min(many, len(data) - place))
        data[place : place + len(part)] = part
        database.write_bytes(data)

    assert verified(change).code in {0, 1, 3}


@QUIETLY
@given(share=st.floats(0, 0.99))
def test_a_file_that_was_cut_off_is_a_fault(verified, share):
    """At any place: in the header, at the end of a page, in the middle of one."""

    def change(database: Path) -> None:
        data = database.read_bytes()
        database.write_bytes(data[: int(len(data) * share)])

    assert verified(change).code in {1, 3}


def _swapped(database: Path) -> None:
    """Put a file of another sort in the place of the database."""
    database.write_bytes(b"PK\x03\x04" + bytes(9000))


def _directory(database: Path) -> None:
    """Put a folder in the place of the database."""
    database.unlink()
    database.mkdir()


def _link_to_nothing(database: Path) -> None:
    """Put a link that leads nowhere in the place of the database."""
    database.unlink()
    database.symlink_to("nowhere")


def _pages_swapped(database: Path) -> None:
    """Exchange two pages."""
    data = database.read_bytes()
    pages = [data[at : at + PAGE] for at in range(0, len(data), PAGE)]
    pages[1], pages[-1] = pages[-1], pages[1]
    database.write_bytes(b"".join(pages))


def _foreign_log(database: Path) -> None:
    """Put a log of something else beside the database, and the list of its pages."""
    for name in ("-wal", "-shm"):
        database.with_name(f"{database.name}{name}").write_bytes(noise(1, 3 * PAGE))


def _folders_beside(database: Path) -> None:
    """Put folders where the log of the database would be."""
    for name in ("-wal", "-shm"):
        database.with_name(f"{database.name}{name}").unlink(missing_ok=True)
        database.with_name(f"{database.name}{name}").mkdir()


def _unreadable_checkpoint(database: Path) -> None:
    """Put bytes and a folder where the last checkpoint is kept."""
    for note in (database.parent / "checkpoints").glob("*.note"):
        note.write_bytes(b"\xff\xfe")


def _folder_for_a_checkpoint(database: Path) -> None:
    """Put a folder where the last checkpoint is kept."""
    for note in (database.parent / "checkpoints").glob("*.note"):
        note.unlink()
        note.mkdir()


REPLACED = (
    _swapped,
    _directory,
    _link_to_nothing,
    _pages_swapped,
    _folders_beside,
    _unreadable_checkpoint,
    _folder_for_a_checkpoint,
)


@pytest.mark.parametrize("change", REPLACED, ids=lambda one: one.__name__.strip("_"))
def test_what_was_put_in_the_place_of_a_file_is_told(verified, change):
    """With an exit code that says so, and what to do."""
    said = verified(change)
    assert said.code in {1, 3}
    assert said.err or said.out


def test_a_log_of_something_else_is_no_part_of_the_ledger(verified):
    """It has no page of this database, and what there is is looked at without it."""
    assert verified(_foreign_log).code in {0, 1, 3}
