"""Tasks in real trees, through the whole product: which tree is measured, and what is whose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from counterpoint.app import App, open_app
from counterpoint.core.coordinator import Core
from counterpoint.core.model.drafts import Draft
from counterpoint.core.model.filters import ItemFilter, Report
from counterpoint.dialects.workflow.nouns import TaskWords
from counterpoint.dialects.workflow.verbs.workflows import Workflows
from counterpoint.kernel.errors import PathOutside
from fakes.repositories import Repo

DONE = Report(outcome="done", summary="done")


@pytest.fixture
def app(repo: Repo) -> Iterator[App]:
    """The product in the repository."""
    opened = open_app(repo.root, repo.environ, agent="ada")
    yield opened
    opened.close()


class Worker:
    """One session that works in a tree."""

    def __init__(self, app: App, root: Path | None = None) -> None:
        """Open a session; its tree is the app's unless told otherwise."""
        self.core = app.core(app.agent())
        if root is not None:
            self.core = Core(app.ports, replace(self.core.caller, root=root))

    def begin(self, *areas: str) -> Worker:
        """Plan a task of one's own and start it."""
        draft = Draft(kind="task", title="work", areas=areas)
        item = self.core.plans.create(draft).root.id
        self.started = self.core.claims.start(item)
        return self

    def end(self) -> dict[str, str]:
        """Finish the task; answer path → kind of what it is told to have changed."""
        item, token = self.started.item.id, self.started.claim.token
        self.finished = self.core.tasks.finish(item, token, DONE)
        assert self.finished.measured is not None
        return {change.path: change.kind for change in self.finished.measured.files}

    @property
    def remarks(self) -> str:
        """What a reviewer is told of the outcome."""
        return "\n".join(self.finished.outcome.remarks)


@pytest.mark.e2e
def test_of_tasks_at_once_each_is_told_what_changed_in_its_own_time(app: App, repo: Repo) -> None:
    """What was dirty before a task began and stays is not its own, nor what came after it ended."""
    ada = Worker(app).begin()
    repo.sh("echo 1 >> a.txt; echo 1 > first")
    bob = Worker(app).begin()
    repo.sh("echo 1 >> b.txt; echo 1 > second")
    assert ada.end() == {
        "a.txt": "modified",
        "b.txt": "modified",
        "first": "added",
        "second": "added",
    }
    repo.sh("echo 1 >> dir/c.txt")
    assert bob.end() == {"b.txt": "modified", "second": "added", "dir/c.txt": "modified"}


@pytest.mark.e2e
def test_committing_what_another_left_does_not_make_it_one_s_own(app: App, repo: Repo) -> None:
    """The commit is listed and a remark says what it carried; the files are not those of the task."""
    ada = Worker(app).begin()
    repo.sh("echo 1 >> a.txt; echo 1 > first; rm dir/d.txt")
    bob = Worker(app).begin()
    repo.sh("echo 1 >> b.txt; git add -A; git commit -qm all")
    assert bob.end() == {"b.txt": "modified"}
    assert bob.finished.measured is not None
    assert bob.finished.measured.commits == (repo.head(),)
    assert "was already so when the task began and was committed since" in bob.remarks
    assert set(ada.end()) == {"a.txt", "b.txt", "first", "dir/d.txt"}


@pytest.mark.e2e
def test_a_file_that_two_tasks_changed_is_told_to_both(app: App, repo: Repo) -> None:
    """Each changed it within its time, be it committed between."""
    ada = Worker(app).begin()
    repo.sh("echo 1 >> a.txt")
    bob = Worker(app).begin()
    repo.sh("echo 2 >> a.txt; git commit -qam two")
    assert (ada.end(), bob.end()) == ({"a.txt": "modified"}, {"a.txt": "modified"})


@pytest.mark.e2e
def test_what_lies_outside_the_areas_is_remarked_on(app: App, repo: Repo) -> None:
    """Where two work in one tree, the areas say whose a file is."""
    ada = Worker(app).begin("a.txt")
    bob = Worker(app).begin("dir/**")
    repo.sh("echo 1 >> a.txt; echo 1 >> dir/c.txt; echo 1 > dirt")
    assert (set(ada.end()), set(bob.end())) == ({"a.txt", "dirt"}, {"dir/c.txt", "dirt"})
    for worker, path in ((ada, "dir/c.txt"), (bob, "a.txt")):
        assert "1 of 2 changed files lie outside the areas: dirt" in worker.remarks
        assert f"1 file in ada's areas, held meanwhile: {path}" in worker.remarks
        assert worker.remarks.count("a worktree for each agent") == 1


@pytest.mark.e2e
def test_each_worktree_is_measured_by_whoever_is_bound_to_it(app: App, repo: Repo) -> None:
    """Commits and dirt of the other tree are nobody else's, though they share one repository."""
    repo.sh("git worktree add -q -b side ../linked; git worktree add -q --detach ../other")
    linked = repo.root.parent / "linked"
    ada, bob = Worker(app).begin(), Worker(app, linked).begin()
    repo.sh(
        "echo 1 >> a.txt; git commit -qam main; echo 1 > main; cd ../linked;"
        "echo 2 >> b.txt; git commit -qam side; echo 2 > side"
    )
    assert ada.end() == {"a.txt": "modified", "main": "added"}
    assert bob.end() == {"b.txt": "modified", "side": "added"}
    assert (bob.started.snapshot.branch, ada.started.snapshot.branch) == ("side", "main")
    assert bob.finished.measured is not None
    assert len(bob.finished.measured.commits) == 1


@pytest.mark.e2e
def test_a_server_in_a_linked_worktree_measures_that_tree(repo: Repo, app: App) -> None:
    """Its ledger is that of the main tree, its evidence is its own."""
    assert app.exists or app.store
    repo.sh("git worktree add -q -b side ../linked")
    beside = open_app(repo.root.parent / "linked" / "dir", repo.environ, agent="bob")
    try:
        bob = Worker(beside).begin()
        repo.sh("echo 1 >> a.txt; cd ../linked; echo 2 >> dir/c.txt")
        assert bob.end() == {"dir/c.txt": "modified"}
        assert beside.database == app.database
    finally:
        beside.close()


@pytest.mark.e2e
def test_a_repository_below_the_project_is_measured_by_itself(app: App, repo: Repo) -> None:
    """Its HEAD, its commits, its names; the project around it only knows that it is there."""
    repo.sh("git init -q --template= inner; cd inner; echo 1 > x; git add x; git commit -qm 1")
    inner = repo.root / "inner"
    ada, bob = Worker(app).begin(), Worker(app, inner).begin()
    repo.sh("echo 1 >> a.txt; cd inner; echo 2 >> x; git commit -qam 2; echo 3 > y")
    assert bob.started.snapshot.commit != ada.started.snapshot.commit
    assert bob.end() == {"x": "modified", "y": "added"}
    assert ada.end() == {"a.txt": "modified"}


@pytest.mark.e2e
@pytest.mark.parametrize("begun_in", ["inner", "./inner", "way"])
def test_a_workflow_s_task_is_measured_in_the_tree_it_named(
    app: App, repo: Repo, begun_in: str
) -> None:
    """`repo_path` is resolved below the project, links too, and need not be said again."""
    repo.sh(
        "git init -q --template= inner; cd inner; echo 1 > x; git add x; git commit -qm 1; cd ..;"
        "ln -s inner way"
    )
    core = app.core(app.agent())
    flow = core.use(Workflows).open("flow", "aim", {})
    phase = core.use(Workflows).open_phase(flow.id, 1, Draft(kind="phase", title="first")).phase
    begun = core.use(Workflows).begin_task(
        flow.id, phase.id, Draft(kind="task", title="work", body="aim"), tree=begun_in
    )
    repo.sh("echo 1 >> a.txt; cd inner; echo 2 >> x; echo 3 > y")
    ended = core.use(Workflows).end_task(begun.started.item.id, DONE, TaskWords())
    assert (ended.added, ended.modified, ended.deleted) == (("y",), ("x",), ())
    assert begun.started.snapshot.commit == repo.sh("git -C inner rev-parse HEAD").strip()


@pytest.mark.e2e
@pytest.mark.parametrize("path", ["..", "../linked", "/", "out", "inner/../.."])
def test_a_tree_outside_of_the_project_is_refused(app: App, repo: Repo, path: str) -> None:
    """Be it named plainly or reached over a link; nothing is begun."""
    repo.sh("git worktree add -q -b side ../linked; mkdir inner; ln -s ../linked out")
    core = app.core(app.agent())
    flow = core.use(Workflows).open("flow", "aim", {})
    phase = core.use(Workflows).open_phase(flow.id, 1, Draft(kind="phase", title="first")).phase
    with pytest.raises(PathOutside):
        core.use(Workflows).begin_task(
            flow.id, phase.id, Draft(kind="task", title="work", body="aim"), tree=path
        )
    assert core.overview.items(ItemFilter(parent=phase.id), 0, 10) == []
