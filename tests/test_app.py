"""The joined product: which project a folder goes on with, and who is guarded."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from builders import git, open_repository
from counterpoint.app import App, Identity, open_app
from counterpoint.core.model.evidence import Command
from counterpoint.core.model.lifecycles import LIFECYCLES, lifecycle
from counterpoint.core.ports.circuits import REST, Breaker
from counterpoint.dialects.agentic.verbs.precedence import Precedence
from counterpoint.dialects.colibri.verbs.skills import Skills
from counterpoint.dialects.symphony.contract_files import ContractDirectory
from counterpoint.kernel.errors import (
    CircuitOpen,
    CounterpointError,
    InvalidInput,
    MalformedDocument,
    OutOfOrder,
    StoreFull,
    Unavailable,
)


def project_of(folder: Path, **flags: str) -> str:
    """Open the product in a folder, make its project if it is not there, and answer the id."""
    app: App = open_app(folder, {}, **flags)
    try:
        return app.ports.project
    finally:
        app.close()


def test_a_repository_that_was_renamed_goes_on_with_its_project(tmp_path: Path) -> None:
    """The only project of a ledger is meant, whatever the folder is called by now."""
    (tmp_path / "harbour").mkdir()
    assert project_of(tmp_path / "harbour") == "harbour"
    (tmp_path / "harbour").rename(tmp_path / "port")
    assert project_of(tmp_path / "port") == "harbour"


def test_among_several_projects_the_folder_names_the_one(tmp_path: Path) -> None:
    """With two in a ledger the name decides again, and a name that is set always does."""
    (tmp_path / "harbour").mkdir()
    assert project_of(tmp_path / "harbour") == "harbour"
    assert project_of(tmp_path / "harbour", project="quay") == "quay"
    assert project_of(tmp_path / "harbour") == "harbour"


def test_a_further_project_of_a_folder_has_its_own_heading(tmp_path: Path) -> None:
    folder = tmp_path / "The Harbour"
    folder.mkdir()
    for name, heading in (("the-harbour", "The Harbour"), ("quay", "quay")):
        with closing(open_app(folder, {}, project=name)) as app:
            assert app.person().items.project().heading == heading


def test_the_item_of_a_connection_names_its_project(tmp_path: Path) -> None:
    """By the prefix of its id, in any of its forms; a project that is set goes before."""
    folder = tmp_path / "harbour"
    folder.mkdir()
    assert project_of(folder, item="quay-1") == "harbour"
    assert project_of(folder, project="quay") == "quay"
    assert project_of(folder, item="QUAY-001") == "quay"
    assert project_of(folder, item="other-1") == "harbour"
    assert project_of(folder, item="no id") == "harbour"
    assert project_of(folder, item="QUAY-001", project="harbour") == "harbour"


def test_the_item_of_a_connection_is_heard_as_people_say_it(tmp_path: Path) -> None:
    """Any other name stays as it is."""
    for said, heard in (("SYM-001", "sym-1"), ("demo-7", "demo-7"), ("the hull", "the hull")):
        app = open_app(tmp_path, {"COUNTERPOINT_ISSUE_ID": said})
        assert app.agent().item == heard


def test_a_worktree_is_one_of_the_same_repository(tmp_path: Path) -> None:
    """A linked one, or a folder of the tree; from where the connection started."""
    folder = open_repository(tmp_path / "harbour")
    git(folder, "worktree", "add", "-q", "../linked")
    (folder / "docs").mkdir()
    other = open_repository(tmp_path / "other")
    agent = Identity(kind="agent", name="ada")
    for worktree, tree in (("", folder), ("../linked", tmp_path / "linked"), ("docs", folder)):
        app = open_app(folder, {}, worktree=worktree)
        assert app.core(agent).caller.root == tree.resolve()
        app.close()
    for worktree in (str(other), "not-there", "README.md"):
        app = open_app(folder, {}, worktree=worktree)
        with pytest.raises(InvalidInput, match="no working tree of this repository"):
            app.core(agent)
        app.close()


def test_skills_and_contracts_are_those_of_the_folder(tmp_path: Path) -> None:
    """Roots of the project and of the settings; a contract of the project before what ships."""
    for place in (".agents/skills/first", "shared/second", "prompts/phases"):
        (tmp_path / place).mkdir(parents=True)
    for path, text in {
        ".agents/skills/first/SKILL.md": "---\nname: first\ndescription: x\n---\n",
        "shared/second/SKILL.md": "---\nname: second\ndescription: x\n---\n",
        "prompts/phases/ready.md": "---\nversion: 4\ndispatch_profile: a\nvalidation: none\n---\nGo.",
    }.items():
        (tmp_path / path).write_text(text)
    app = open_app(tmp_path, {"COUNTERPOINT_SKILLS": " shared,"})
    try:
        report = app.person().use(Skills).report()
        assert [skill.name for skill in report.skills] == ["first", "second"]
        assert report.roots == (".agents/skills", ".claude/skills", "shared")
        assert app.ports.get(ContractDirectory).contract("ready").version == 4
    finally:
        app.close()


def test_a_database_in_memory_writes_no_file_of_that_name(tmp_path: Path) -> None:
    """It is there from its first use until it is closed, and beside it lie only keys and the like."""
    (tmp_path / "harbour").mkdir()
    app = open_app(tmp_path / "harbour", {}, db=":memory:")
    assert not app.exists
    app.core(app.agent()).memory.put("project", "k", "v")
    assert app.exists
    assert app.person().memory.get("project", "k").version == 1
    app.close()
    assert [path.name for path in tmp_path.rglob("*memory*")] == []
    assert list(tmp_path.rglob("*.db")) == []


@pytest.fixture
def seconds() -> list[float]:
    """Give the time of the breaker, to be moved by hand."""
    return [0.0]


@pytest.fixture
def app(tmp_path: Path, seconds: list[float]) -> App:
    """Give the product in a folder, with a breaker whose time stands still."""
    (tmp_path / "harbour").mkdir()
    opened = open_app(tmp_path / "harbour", {})
    opened.breaker = Breaker(seconds=lambda: seconds[0])
    return opened


def remember(app: App, *, guarded: bool) -> Callable[[str], object]:
    """Answer what writes a value as an agent."""
    core = app.core(app.agent(), guarded=guarded)
    return lambda value: core.memory.put("project", "k", value)


def fill(write: Callable[[str], object]) -> None:
    """Write until there is no room."""
    for turn in range(100):
        try:
            write(f"{turn} " * 10_000)
        except StoreFull:
            return
    raise AssertionError("there is always room")


def test_on_a_full_disk_guarded_callers_are_refused_and_the_others_are_not(
    app: App, seconds: list[float]
) -> None:
    """Five writes find the disk full; then only those without the breaker still ask it."""
    guarded, plain = remember(app, guarded=True), remember(app, guarded=False)
    guarded("there is room")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, hard))
    try:
        fill(plain)
        for turn in range(5):
            with pytest.raises(StoreFull):
                guarded(f"{turn}" * 50_000)
        with pytest.raises(CircuitOpen):
            guarded("short")
        with pytest.raises(StoreFull):
            plain("x" * 50_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    plain("there is room again")
    with pytest.raises(CircuitOpen):
        guarded("but it is still left alone")
    seconds[0] += REST
    guarded("one tries")
    guarded("and all go on")
    assert app.breaker.circuit().state == "closed"
    app.close()


def test_a_database_that_cannot_be_opened_is_not_tried_for_ever(
    app: App, seconds: list[float]
) -> None:
    """The breaker stands before the opening too, also when the store is that of another app."""
    app.database.mkdir(parents=True)
    other = open_app(app.places.home, {})
    for guest in (app, app, app, other, other):
        with pytest.raises(Unavailable) as refused:
            other.share(app, guarded=True) if guest is other else remember(app, guarded=True)
        assert not isinstance(refused.value, CircuitOpen)
    for _ in range(2):
        with pytest.raises(CircuitOpen):
            remember(app, guarded=True)
        with pytest.raises(CircuitOpen):
            other.share(app, guarded=True)
    app.database.rmdir()
    seconds[0] += REST
    remember(app, guarded=True)("there it is")
    other.share(app, guarded=True)
    assert other.breaker is app.breaker
    assert other.store is app.store
    app.close()


def test_the_order_of_tools_is_read_from_its_file(tmp_path: Path) -> None:
    """Relative to the working tree; the first call that opens the product reads it."""
    (tmp_path / "order.yaml").write_text("note:\n  - tool_called: start\n")
    app = open_app(tmp_path, {}, tool_dependencies="order.yaml")
    agent = app.core(app.agent())
    with pytest.raises(OutOfOrder) as refused:
        agent.use(Precedence).check("note", {}, lambda _kind, _name: False)
    assert refused.value.facts["suggested_order"] == ["start", "note"]
    app.close()


def test_an_order_may_name_tools_of_an_installed_dialect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several agents share one file, whatever dialect each of them speaks."""
    made = tmp_path / "orders-1.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Name: orders\nVersion: 1\n")
    (made / "entry_points.txt").write_text("[counterpoint.dialects]\norders = orders:DIALECT\n")
    (tmp_path / "orders.py").write_text(
        "from counterpoint.dialects.plugin import Dialect, Surface, tool\n"
        "@tool(reads=True)\n"
        "def weigh(call) -> dict[str, str]:\n"
        "    'Weigh the anchor.'\n"
        "DIALECT = Dialect(name='orders', build=lambda _: Surface(\n"
        "    name='orders', version='1', instructions='', tools=(weigh,), refuse=lambda fault: {}))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "order.yaml").write_text("weigh:\n  - tool_called: start\n")
    app = open_app(tmp_path, {}, tool_dependencies="order.yaml")
    with pytest.raises(OutOfOrder):
        app.core(app.agent()).use(Precedence).check("weigh", {}, lambda _kind, _name: False)
    app.close()


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        (b"note:\n  - tool_called: strat\n", MalformedDocument),
        (b"note: \xff", InvalidInput),
        (None, InvalidInput),
    ],
)
def test_an_order_of_tools_that_cannot_be_read_is_told(
    tmp_path: Path, written: bytes | None, fault: type[CounterpointError]
) -> None:
    """It is never left out in silence."""
    if written is not None:
        (tmp_path / "order.yaml").write_bytes(written)
    app = open_app(tmp_path, {"COUNTERPOINT_TOOL_DEPENDENCIES": "order.yaml"})
    with pytest.raises(fault):
        app.core(app.agent())
    app.close()


def test_the_states_of_an_installed_dialect_are_known_before_it_is_spoken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command moves its items; a package that cannot be loaded is no hindrance."""
    ferries = (
        "from counterpoint.dialects.plugin import Dialect, Lifecycle\n"
        "FERRY = Lifecycle(name='ferry', first='moored', moves={'moored': ()},\n"
        "    categories={'moored': 'open'})\n"
        "DIALECT = Dialect(name='ferries', build=lambda _: None, lifecycles=(FERRY,))\n"
    )
    packages = {"aground": "import nothing_of_this_name\n", "ferries": ferries}
    for name, text in packages.items():
        made = tmp_path / f"{name}-1.dist-info"
        made.mkdir()
        (made / "METADATA").write_text(f"Name: {name}\nVersion: 1\n")
        (made / "entry_points.txt").write_text(
            f"[counterpoint.dialects]\n{name} = {name}:DIALECT\n"
        )
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    open_app(tmp_path, {}).close()
    assert lifecycle("ferry").first == "moored"
    monkeypatch.delitem(LIFECYCLES, "ferry")
    with pytest.raises(InvalidInput, match="no lifecycle 'raft'"):
        lifecycle("raft")


def test_a_callers_variables_choose_no_program_for_a_command(app: App) -> None:
    """A `pytest` of his own on his PATH, or a module on his PYTHONPATH, passes nothing: the server's are asked."""
    folder = app.places.home
    for name, status in (("real", 1), ("fake", 0)):
        (folder / name).mkdir()
        (folder / name / "pytest").write_text(f"#!/bin/sh\necho {name} $MINE\nexit {status}\n")
        (folder / name / "pytest").chmod(0o700)
    app.environ = {"PATH": str(folder / "real")}
    caller = {"PATH": str(folder / "fake"), "COUNTERPOINT_PASS_ENV": "MINE", "MINE": "mine"}
    other = open_app(folder, caller)
    other.share(app)
    ran = other.ports.evidence.run(folder, Command(argv=("pytest",)))
    assert (ran.output, ran.exit_code) == ("real\n", 1)
    app.close()


@pytest.mark.parametrize("setting", ["agent", "profile"])
def test_who_gives_himself_a_name_that_hides_does_not_connect(tmp_path: Path, setting: str) -> None:
    """At the door, so that no entry has it: what others cannot see they cannot tell from another name."""
    with pytest.raises(InvalidInput, match=r"ad.u\{200b\}a"):
        open_app(tmp_path, {}, **{setting: "ad\u200ba"}).agent()
    assert open_app(tmp_path, {"USER": "an\x1bn"})._at_the_command_line().name == "an\\u{1b}n"


def test_a_person_bears_the_name_that_git_knows(tmp_path):
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "user.name", "Ann Archer")
    app = open_app(tmp_path, {**os.environ, "USER": "ann", "HOME": str(tmp_path)})
    assert app.person().caller.actor.name == "Ann Archer"
    assert app.person(by_git_name=False).caller.actor.name == "ann"
