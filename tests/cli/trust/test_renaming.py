"""Specs whose titles are taken away: their ids have the words too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from counterpoint.app import App
from counterpoint.core.model.filters import Note
from counterpoint.dialects.foundry.nodes.queries import get_spec
from counterpoint.dialects.foundry.specs.operations import free_spec_id
from counterpoint.kernel.errors import NotFound
from fakes.spec_documents import edited

TITLE = "Walrus merger"
WORDS = "walrus-merger"
OLD = f"{WORDS}-2026-01-02-001"
NEW = "spec-2026-01-02-001"


@pytest.fixture
def root(call: Any, app: App, ledger: Path) -> str:
    """Give the item of a spec with a file."""
    folder = ledger / "specs" / "active"
    folder.mkdir(parents=True)
    write_old(folder)
    assert call("import", "foundry").code == 0
    found = app.itself().items.find(OLD)
    assert found is not None
    return found.id


def write_old(folder: Path, **changes: Any) -> None:
    """Write the file as it came, or as somebody changed it."""
    document = edited(
        {"spec_id": OLD, "title": TITLE, "hierarchy/spec-root/title": TITLE, **changes}
    )
    (folder / f"{OLD}.json").write_text(json.dumps(document))


def test_a_spec_without_its_title_goes_by_an_id_without_words(
    call: Any, app: App, ledger: Path, root: str
) -> None:
    """Rows and file have the new one, the former leads there, and what keeps it is told without it."""
    said = call("audit", "redact", root, "--reason", "private", "--json")
    assert said.code == 0, said.out
    assert WORDS not in said.out + said.err
    (renamed,) = said.json["renamed"]
    entries = renamed.pop("entries")
    assert renamed == {"item": root, "dialect": "foundry", "name": NEW, "left": []}
    assert f"{root} is called {NEW} in foundry now" in said.err
    assert "Entries of the ledger keep it for good" in said.err
    kept = [f"entry {place}" for place in entries]
    assert app.itself().erasing.residue([WORDS]) == kept != []
    assert f"entries that name {NEW}" in said.json["beyond"][-1]
    assert [path.name for path in (ledger / "specs").rglob("*.json")] == [f"{NEW}.json"]
    holders = [path for path in ledger.rglob("*.json") if WORDS in path.read_text()]
    assert holders == []
    items = app.itself().items
    assert items.find(OLD) is items.find(f"{OLD}/task-1-1") is None
    assert items.find(f"{NEW}/task-1-1") is not None
    with app.store.reading(app.project) as view, pytest.raises(NotFound) as refused:
        get_spec(view, OLD)
    assert refused.value.message == f"this spec is called {NEW} since its title was redacted"
    again = call("audit", "redact", root, "--reason", "private", "--json")
    assert (again.code, again.json.get("renamed")) == (0, None)
    assert call("audit", "verify").code == 0


def test_a_file_of_a_former_id_does_not_come_in(
    call: Any, app: App, ledger: Path, root: str
) -> None:
    """Neither one that was edited, which stays and is told, nor one that git brings back; and no new spec gets that id."""
    folder = ledger / "specs" / "active"
    write_old(folder, **{"hierarchy/task-1-1/title": "Edited since"})
    said = call("audit", "redact", root, "--reason", "private", "--json")
    assert said.code == 1
    (renamed,) = said.json["renamed"]
    assert (
        f"the file of {NEW} under its former id, in specs/active: it was edited" in renamed["left"]
    )
    assert (folder / f"{OLD}.json").exists()
    refused = call("import", "foundry")
    assert refused.code == 1
    assert f"the spec of this id is called {NEW}" in refused.out + refused.err
    assert len(list(folder.glob("*.json"))) == 2
    with app.store.reading(app.project) as view:
        assert free_spec_id(view, TITLE, "2026-01-02") == f"{WORDS}-2026-01-02-002"


def test_words_that_go_anywhere_rename_specs_too(
    call: Any, app: App, ledger: Path, root: str, tmp_path: Path
) -> None:
    """With --text; a text that names the spec by its id stays, and is told."""
    del ledger
    app.itself().journal.append(Note(kind="finding", body=f"See {OLD}", item=root))
    file = tmp_path / "words"
    file.write_text(TITLE)
    said = call("audit", "redact", "--text", str(file), "--reason", "private", "--json")
    assert said.code == 1
    (renamed,) = said.json["renamed"]
    assert renamed["name"] == NEW
    assert f"{NEW} in texts, by its former id" in renamed["left"]
