"""Files of specs in a repository of git, through checkouts of its branches."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import Workshop, git
from counterpoint.dialects.foundry.documents.operations import Importing
from counterpoint.dialects.foundry.files.mirror import Mirroring, Round
from fakes.spec_documents import document

SPEC = "demo-2026-01-02-001"


class Checkout:
    """A repository whose specs are mirrored, and who works there."""

    def __init__(self, workshop: Workshop) -> None:
        """Take the spec in, and commit its file."""
        self.workshop = workshop
        self.home = workshop.root
        self.fay = workshop.agent("fay", surface="foundry")
        (self.home / ".git/info").mkdir(exist_ok=True)
        (self.home / ".git/info/exclude").write_text(".counterpoint/\n")
        (self.home / "specs").mkdir()
        self.fay.core.use(Importing).make(document())
        self.commits("The spec")

    def round(self) -> Round:
        """Let the mirror look once."""
        return self.fay.core.use(Mirroring).round()

    def does(self, action: str, **given: Any) -> dict[str, Any]:
        """Call an action of `task`, some time later."""
        self.workshop.clock.pass_by(seconds=5)
        return self.fay.does("task", action=action, spec_id=SPEC, **given)

    def commits(self, message: str) -> None:
        """Have the mirror write, and commit that."""
        assert self.round().written == [SPEC]
        git(self.home, "add", "specs")
        git(self.home, "commit", "-q", "-m", message)

    def goes_to(self, branch: str) -> None:
        """Check a branch out."""
        git(self.home, "checkout", "-q", branch)

    @property
    def changed(self) -> str:
        """What git says has changed in the tree."""
        return git(self.home, "status", "--porcelain")

    @property
    def files(self) -> list[str]:
        """Where files of the spec lie."""
        found = (self.home / "specs").rglob("*.json")
        return sorted(one.relative_to(self.home).as_posix() for one in found)

    def title(self, node: str, path: str) -> str:
        """Answer what a file says a node is called."""
        return json.loads((self.home / path).read_text())["hierarchy"][node]["title"]

    @property
    def troubles(self) -> dict[str, str]:
        """Of what kind the trouble of each spec is."""
        return {name: one.kind for name, one in self.fay.core.use(Mirroring).troubles().items()}


@pytest.fixture
def checkout(workshop: Workshop) -> Checkout:
    """Answer a repository with the file of a spec on its branch main, and on one that stays behind."""
    made = Checkout(workshop)
    git(made.home, "branch", "older")
    return made


def test_the_file_of_an_older_branch_is_told_as_a_conflict_and_left(checkout: Checkout) -> None:
    """Git finds it as it was; what was done since stays, and is there again with its branch."""
    path = f"specs/pending/{SPEC}.json"
    checkout.does("update-metadata", task_id="task-1-1", title="On main")
    checkout.commits("Reworded")
    checkout.goes_to("older")
    size = checkout.fay.ledger_size
    told = checkout.round()
    assert (told.applied, told.imported, told.written) == ([], [], [])
    assert checkout.troubles == {SPEC: "conflict"}
    assert "made from an older version" in told.troubles[SPEC].message
    assert checkout.changed == ""
    assert checkout.fay.ledger_size == size
    assert checkout.title("task-1-1", path) == "Build part 1.1"
    shown = checkout.does("info", task_id="task-1-1")
    assert shown["data"]["task"]["title"] == "On main"
    assert "counterpoint doctor" in shown["meta"]["warnings"][0]
    checkout.goes_to("main")
    assert checkout.round().written == []
    assert (checkout.troubles, checkout.changed) == ({}, "")
    assert "warnings" not in checkout.does("info", task_id="task-1-1")["meta"]


def test_work_goes_on_while_an_older_branch_is_checked_out(checkout: Checkout) -> None:
    """Its file stays clean; what was done meanwhile is written where the last version lies."""
    path = f"specs/pending/{SPEC}.json"
    checkout.does("update-metadata", task_id="task-1-1", title="On main")
    checkout.commits("Reworded")
    checkout.goes_to("older")
    checkout.does("update-metadata", task_id="task-1-2", title="Meanwhile")
    for _ in range(2):
        assert checkout.round().written == []
        assert (checkout.troubles, checkout.changed) == ({SPEC: "conflict"}, "")
    checkout.goes_to("main")
    assert checkout.round().written == [SPEC]
    assert checkout.troubles == {}
    assert checkout.changed == f"M {path}"
    titles = [checkout.title(node, path) for node in ("task-1-1", "task-1-2")]
    assert titles == ["On main", "Meanwhile"]


def test_a_branch_from_before_a_spec_was_begun_takes_nothing_back(checkout: Checkout) -> None:
    """There its file lies in another folder, and nothing is in the one where it lies now."""
    before, after = (f"specs/{folder}/{SPEC}.json" for folder in ("pending", "active"))
    checkout.fay.does("lifecycle", action="activate", spec_id=SPEC)
    checkout.does("start", task_id="task-1-1")
    checkout.does("complete", task_id="task-1-1", completion_note="Done")
    assert checkout.round().written == [SPEC]
    assert checkout.files == [after]
    git(checkout.home, "add", "-A", "specs")
    git(checkout.home, "commit", "-q", "-m", "Begun")
    checkout.goes_to("older")
    assert checkout.files == [before]
    told = checkout.round()
    assert (told.applied, told.written) == ([], [])
    assert (checkout.troubles, checkout.changed) == ({SPEC: "conflict"}, "")
    assert checkout.does("progress")["data"]["completed_tasks"] == 1
    checkout.goes_to("main")
    assert checkout.round().written == []
    assert (checkout.troubles, checkout.changed, checkout.files) == ({}, "", [after])


def test_either_side_counts_if_somebody_says_so(checkout: Checkout) -> None:
    """The file of the branch that is checked out, or the ledger."""
    path = f"specs/pending/{SPEC}.json"
    checkout.does("update-metadata", task_id="task-1-1", title="On main")
    checkout.commits("Reworded")
    checkout.goes_to("older")
    checkout.round()
    checkout.workshop.clock.pass_by(seconds=5)
    checkout.fay.core.use(Mirroring).take(SPEC, "ledger")
    assert (checkout.troubles, checkout.title("task-1-1", path)) == ({}, "On main")
    git(checkout.home, "checkout", "-q", "--", "specs")
    checkout.round()
    assert checkout.troubles == {SPEC: "conflict"}
    told = checkout.fay.core.use(Mirroring).take(SPEC, "file")
    assert told is not None
    assert [one.field for one in told.changes] == ["title"]
    shown = checkout.does("info", task_id="task-1-1")
    assert shown["data"]["task"]["title"] == "Build part 1.1"
    assert checkout.troubles == {}
