"""Trees that are marked for an issue."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.dialects.symphony.verbs.workspaces import Workspaces
from counterpoint.kernel.errors import Conflict, NotFound
from fakes.boards import Board
from fakes.studio import Studio

MARKER = ".marker"


@pytest.fixture
def opened(person: Core, board: Board) -> str:
    """Answer an issue that the tree was marked for."""
    item = board.issue()
    person.use(Workspaces).open(item, MARKER, "trunk", "r1")
    return item


def test_a_marked_tree_is_the_right_one(studio: Studio, ada: Core, opened: str) -> None:
    """With the branch and the base that the marker names."""
    found = ada.use(Workspaces).verify(MARKER, opened)
    assert (found.item, found.identifier, found.branch, found.base) == (
        opened, "DEMO-001", "main", "trunk",
    )  # fmt: skip
    assert ada.use(Workspaces).verify(MARKER) == found
    assert studio.last().action == "workspace.opened"
    kept = json.loads(studio.tree.files[MARKER])
    assert (kept["run_id"], kept["project_id"]) == ("r1", "demo")


def test_a_tree_is_marked_for_an_issue_that_is_there(studio: Studio, person: Core) -> None:
    """Else nothing is written."""
    studio.refuses(NotFound, lambda: person.use(Workspaces).open("demo-9", MARKER))
    assert MARKER not in studio.tree.files


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"project_id": "other"}, "project 'other'"),
        ({"issue_id": "demo-2", "identifier": "DEMO-002"}, "opened for DEMO-002"),
        ({"path": "elsewhere"}, "that of elsewhere"),
        ({"branch": "topic"}, "not topic"),
    ],
)
def test_another_tree_is_told_with_the_way_back(
    studio: Studio, ada: Core, opened: str, change: dict[str, str], word: str
) -> None:
    """Each thing that does not fit."""
    kept = json.loads(studio.tree.files[MARKER]) | change
    studio.tree.write(MARKER, json.dumps(kept))
    fault = studio.refuses(Conflict, lambda: ada.use(Workspaces).verify(MARKER, opened))
    assert word in fault.message
    assert "Recovery" in fault.hint
    assert fault.facts["workspace"]


@pytest.mark.parametrize("text", ["no json", "[1]", None])
def test_a_marker_that_cannot_be_read_is_none(
    studio: Studio, ada: Core, opened: str, text: str | None
) -> None:
    if text is None:
        del studio.tree.files[MARKER]
    else:
        studio.tree.write(MARKER, text)
    fault = studio.refuses(Conflict, lambda: ada.use(Workspaces).verify(MARKER, opened))
    assert ("no marker" in fault.message) is (text is None)
    studio.refuses(Conflict, lambda: ada.use(Workspaces).verify("../marker", opened))


def test_a_tree_that_is_on_no_branch_is_the_wrong_one(
    studio: Studio, ada: Core, opened: str
) -> None:
    """The way back is to switch."""
    script = studio.tree.snapshot
    studio.tree.snapshot = lambda root: replace(script(root), branch="")
    fault = studio.refuses(Conflict, lambda: ada.use(Workspaces).verify(MARKER, opened))
    assert "git switch main" in fault.hint


def test_the_way_back_leads_to_the_tree_that_was_opened_for_the_issue(
    studio: Studio, ada: Core, person: Core, board: Board, opened: str
) -> None:
    """Not to where the agent is; where it is the right one, to whoever marks it again."""
    del studio.tree.files[MARKER]
    fault = studio.refuses(Conflict, lambda: ada.use(Workspaces).verify(MARKER, opened))
    assert "cd " not in fault.hint
    assert "counterpoint workspace open" in fault.hint
    away = replace(ada.caller, root=ada.caller.root / "elsewhere", home=ada.caller.root)
    lost = Core(studio.ports, away)
    fault = studio.refuses(Conflict, lambda: lost.use(Workspaces).verify(MARKER, opened))
    assert f"`cd {ada.caller.root}`" in fault.hint
    assert fault.facts["workspace"] == str(ada.caller.root)
    other = board.issue()
    fault = studio.refuses(Conflict, lambda: lost.use(Workspaces).verify(MARKER, other))
    assert "cd " not in fault.hint


def test_a_marker_is_kept_out_of_git(studio: Studio, opened: str) -> None:
    """So that nobody commits it."""
    assert opened
    assert studio.tree.kept_out == [MARKER]
