"""What roles remember from run to run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.kernel.errors import InvalidInput, PathOutside
from fakes.studio import Studio


def names(core: Any, role: str) -> list[tuple[str, str]]:
    """Answer names and contents of what a role is offered."""
    return [(page.name, page.content) for page in core.notebooks.offered(role).pages]


def test_a_file_is_remembered_for_its_role_only(studio: Studio, ada: Core, bob: Core) -> None:
    """The newest first; writing it anew replaces it."""
    ada.notebooks.write("project", "worker", "a.md", "one")
    studio.clock.pass_by(seconds=1)
    ada.notebooks.write("global", "worker", "b.md", "two")
    studio.clock.pass_by(seconds=1)
    entry = ada.notebooks.write("project", "worker", "a.md", "three")
    assert (entry.version, studio.last().action) == (2, "state.put")
    assert names(bob, "worker") == [("a.md", "three"), ("b.md", "two")]
    assert names(bob, "judge") == []


def test_an_empty_content_takes_a_file_away(ada: Core) -> None:
    """It is offered no more, but can be written again."""
    ada.notebooks.write("project", "worker", "a.md", "one")
    ada.notebooks.write("project", "worker", "a.md", "")
    assert names(ada, "worker") == []
    ada.notebooks.write("project", "worker", "a.md", "two")
    assert names(ada, "worker") == [("a.md", "two")]


@pytest.mark.parametrize(
    ("role", "name", "content"),
    [
        ("worker", "../x.md", "x"),
        ("worker", "x.txt", "x"),
        ("worker", "x.md", "x" * 10_001),
        ("", "x.md", "x"),
    ],
)
def test_wrong_files_are_refused(
    studio: Studio, ada: Core, role: str, name: str, content: str
) -> None:
    """By name, size, or for want of a role."""
    studio.refuses(InvalidInput, lambda: ada.notebooks.write("project", role, name, content))


def test_a_mirror_of_files_is_written_behind_the_ledger(studio: Studio, ada: Core) -> None:
    """Also taken away; what cannot be mirrored is not remembered either. Secrets reach neither."""
    studio.tree.places["mirror"] = files = {}
    mirror = Path("mirror")
    ada.notebooks.write("project", "worker", "a.md", "one", mirror, "data/demo")
    assert files == {"data/demo/a.md": "one"}
    studio.masking("hunter2hunter2")
    again = Core(studio.ports, ada.caller)
    again.notebooks.write("project", "worker", "b.md", "key hunter2hunter2", mirror)
    assert "hunter2" not in files["b.md"]
    ada.notebooks.write("project", "worker", "a.md", "", mirror, "data/demo")
    assert "data/demo/a.md" not in files
    studio.refuses(
        PathOutside, lambda: ada.notebooks.write("project", "worker", "c.md", "x", mirror, "../out")
    )


def test_a_redacted_file_is_offered_no_more(studio: Studio, ada: Core, person: Core) -> None:
    """What a person took away stays away."""
    from counterpoint.core.model.journal import StateEntry

    ada.notebooks.write("project", "worker", "a.md", "poison")
    person.erasing.of_row(StateEntry, "notebook:project:worker", "a.md", reason="poison")
    assert names(ada, "worker") == []


def test_a_global_file_is_offered_in_every_project_that_asks_for_it(tmp_path: Path) -> None:
    """Of one name the one written last counts, wherever that was; who did not ask reads nothing of others."""
    opened = Studio(tmp_path / "ledger.db")
    try:
        unasked = Core(replace(opened.ports, project="other"), opened.core("bob").caller)
        opened.ports = replace(opened.ports, reads_global=True)
        here = opened.core("ada")
        ports = replace(opened.ports, project="other")
        Core(ports, opened.system.caller).projects.open("Another")
        there = Core(ports, opened.core("bob").caller)
        here.notebooks.write("global", "worker", "a.md", "old")
        here.notebooks.write("project", "worker", "mine.md", "mine")
        assert names(there, "worker") == [("a.md", "old")]
        assert names(unasked, "worker") == []
        opened.clock.pass_by(seconds=1)
        there.notebooks.write("global", "worker", "a.md", "fresh")
        assert names(here, "worker") == [("a.md", "fresh"), ("mine.md", "mine")]
        assert names(there, "worker") == [("a.md", "fresh")]
        opened.clock.pass_by(seconds=1)
        here.notebooks.write("global", "worker", "a.md", "")
        assert names(there, "worker") == []
    finally:
        opened.close()
