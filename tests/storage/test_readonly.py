"""A store that only reads: everything that it is asked for but a transaction."""

from __future__ import annotations

from pathlib import Path

import pytest

from counterpoint.core.model.work import Project
from counterpoint.kernel.errors import Forbidden
from counterpoint.storage.readonly import ReadOnlyStore
from fakes.studio import Studio


def test_a_store_that_only_reads_gives_no_transaction(tmp_path: Path) -> None:
    """What is there is read, waited for and copied; nothing is written and nothing purged."""
    studio = Studio(tmp_path / "a.db")
    studio.core("ada").memory.put("project", "n", 1)
    store = ReadOnlyStore(studio.store)
    with store.reading("demo") as view:
        assert view.find(Project) is not None
        assert store.wait("demo", view.head().size - 2, 0)
    assert [one.project for one in store.projects()] == ["demo"]
    assert store.faults() == []
    with pytest.raises(Forbidden, match="READONLY"):
        store.writing("demo")
    store.purge()
    store.backup(tmp_path / "copy.db")
    assert (tmp_path / "copy.db").stat().st_size
    store.close()
