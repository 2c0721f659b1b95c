"""What this program writes into a working tree is nobody's work."""

from __future__ import annotations

from pathlib import Path

import pytest

from counterpoint.evidence.local import LocalEvidence
from counterpoint.kernel.clock import SystemClock

OWN = (
    *("test", "test-wal", "test-server.json", "test-journal.left-by-a-check-1", "cursors"),
    *("checkpoints/demo.note", "trusted/ab/counterpoint.toml", "reads/ab.jsonl", "specs-demo.json"),
)
WORK = (
    "specs-api.json",
    "test-utils.py",
    "test.toml",
    "tests/test_a.py",
    "checkpoints/a.py",
    "cursors.py",
)


@pytest.mark.parametrize("place", ["", "data", "data/.counterpoint"])
@pytest.mark.parametrize("method", ["git", "hash"])
def test_files_of_a_ledger_in_the_tree_are_no_work(
    repository: Path, tmp_path: Path, place: str, method: str
) -> None:
    tree = repository if method == "git" else tmp_path / "tree"
    folder = tree / place
    folder.mkdir(parents=True, exist_ok=True)
    evidence = LocalEvidence(clock=SystemClock(), database=folder / "test")
    (folder / "test").touch()
    start = evidence.snapshot(tree)
    assert start.method == method
    for name in (*OWN, *WORK):
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text("new")
    compared = evidence.compare(tree, start)
    work = {f"{place}/{name}".lstrip("/") for name in (() if place.startswith("data/") else WORK)}
    assert {change.path for change in compared.changes} == work
    assert start.files.keys() | work == compared.end.files.keys()
    assert evidence.snapshot(tree).files == compared.end.files
