"""What the tests with real processes share: projects, the command line, raw clients, a look inside."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from builders import Opened, Window
from counterpoint.app import App, open_app
from counterpoint.core.model.work import Item
from counterpoint.storage.sqlite.queue import WriterQueue
from fakes.recount import recount
from fakes.windows import Agent, work

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"e2e_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def wire() -> ModuleType:
    """Give the module with the raw client."""
    return sys.modules.get("e2e_wire") or _load(HERE / "wire.py")


@pytest.fixture(scope="session")
def acts() -> ModuleType:
    """Give the module with the writes that the programs do."""
    return sys.modules.get("e2e_acts") or _load(PROGRAMS / "acts.py")


@pytest.fixture(scope="session")
def is_long() -> bool:
    """Tell whether the long forms are wanted: COUNTERPOINT_LONG=1."""
    return os.environ.get("COUNTERPOINT_LONG") == "1"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the settings of whoever runs the tests out of them."""
    for name in list(os.environ):
        if name.startswith("COUNTERPOINT_"):
            monkeypatch.delenv(name)
    # A server leaves with its last client, so that none outlives its test.
    monkeypatch.setenv("COUNTERPOINT_IDLE_MINUTES", "0")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give an empty folder of a project called demo."""
    made = tmp_path / "demo"
    made.mkdir()
    return made


@pytest.fixture(scope="session")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a git repository with one commit that tests copy and never change."""
    made = tmp_path_factory.mktemp("committed")
    git(made, "init", "-q", "-b", "main")
    git(made, "config", "user.email", "ada@example.org")
    git(made, "config", "user.name", "Ada")
    (made / "readme.txt").write_text("hello\n")
    git(made, "add", ".")
    git(made, "commit", "-q", "-m", "first")
    return made


@pytest.fixture
def repository(committed: Path, folder: Path) -> Path:
    """Give a git repository of the test's own, with one commit."""
    shutil.copytree(committed, folder, dirs_exist_ok=True)
    git(
        folder, "update-index", "--refresh"
    )  # else the first `git status` of a test writes the index
    return folder


@pytest.fixture(name="git")
def _git() -> Callable[..., str]:
    """Give git."""
    return git


def git(folder: Path, *words: str) -> str:
    """Run git in a folder; answer what it said."""
    ran = subprocess.run(
        ["git", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    return ran.stdout


@pytest.fixture
def where(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Tell which database everybody has, by the variables that one sets for it."""
    if request.param == "sqlite":
        yield "sqlite"
        return
    databases = request.getfixturevalue("databases")
    address = databases.empty()
    monkeypatch.setenv("COUNTERPOINT_DB", address)
    monkeypatch.setenv("COUNTERPOINT_PROJECT", "demo")
    yield "postgresql"
    databases.drop(address)


@pytest.fixture
def window(where: str, repository: Path) -> Iterator[Opened]:
    """Give what opens one more window in the repository."""
    del where
    with ExitStack() as held:
        yield lambda: held.enter_context(closing(Window(repository)))


@pytest.fixture
def hire(where: str, repository: Path) -> Iterator[Callable[[], Agent]]:
    """Give what starts an agent's process in the repository, on the database of the test."""
    del where
    with ExitStack() as held:
        yield lambda: held.enter_context(closing(Agent(repository)))


@pytest.fixture
def worker(hire: Callable[[], Agent]) -> Agent:
    """Give an agent that has done the only task of a phase that is to be reviewed."""
    agent = hire()
    work(agent)
    return agent


@pytest.fixture
def phase(app: App) -> str:
    """Answer the id of the phase, once it is planned."""
    return f"{app.person().items.project().prefix}-2"


@pytest.fixture
def app(request: pytest.FixtureRequest, folder: Path) -> Iterator[App]:
    """Give the product, opened in the folder by this process, on the database of the test."""
    if "where" in request.fixturenames:
        request.getfixturevalue("where")
    chosen = ("COUNTERPOINT_DB", "COUNTERPOINT_PROJECT")
    opened = open_app(folder, {name: os.environ[name] for name in chosen if name in os.environ})
    yield opened
    opened.close()


@pytest.fixture
def connect(wire: ModuleType) -> Iterator[Callable[..., Any]]:
    """Give what starts servers and shakes hands; they are ended with the test."""
    clients: list[Any] = []

    def start(folder: Path, *words: str, greet: bool = True, **process: Any) -> Any:
        client = wire.Client(folder, (*wire.SERVER, *words), **process)
        clients.append(client)
        if greet:
            client.greet()
        return client

    yield start
    for client in clients:
        client.close()


@pytest.fixture
def counterpoint() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Give the command line: words, the folder to be in, and what else the process needs."""

    def run(*words: str, cwd: Path, **process: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "counterpoint", *words],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
            **process,
        )

    return run


@pytest.fixture
def race(folder: Path, tmp_path: Path) -> Callable[..., list[list[dict[str, Any]]]]:
    """Give what runs a race; answers for each round what each racer heard."""

    def run(rounds: list[Any], racers: int, **more: Any) -> list[list[dict[str, Any]]]:
        told = {
            "folder": str(folder),
            "db": str(tmp_path / "siege.db"),
            "racers": racers,
            "rounds": rounds,
            **({"ahead": 0, "same": False, "together": True} | more),
        }
        ran = subprocess.run(
            [sys.executable, str(PROGRAMS / "racers.py")],
            input=json.dumps(told),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        heard: list[list[dict[str, Any]]] = [[{}] * racers for _ in rounds]
        for line in map(json.loads, ran.stdout.splitlines()):
            heard[line["round"]][line["racer"]] = line
        assert all(all(answers) for answers in heard)
        return heard

    return run


@pytest.fixture
def siege(acts: ModuleType, folder: Path, tmp_path: Path) -> Iterator[App]:
    """Give the database that the programs write to, opened by this process."""
    opened = acts.open_shifted(str(folder), str(tmp_path / "siege.db"))
    yield opened
    opened.close()


@pytest.fixture
def assert_whole() -> Callable[[App], None]:
    """Give what finds any harm in a database: ledger, tables, counters, file, queue."""
    return _assert_whole


def _assert_whole(app: App) -> None:
    core = app.person()
    audit = core.audit.verify()
    assert audit.sound, audit.faults
    rebuilt = core.audit.rebuild()
    assert rebuilt.differences == ()
    assert rebuilt.size >= audit.size > 0
    with app.store.reading(app.project) as view:
        for item in view.select(Item):
            assert item.blockers == recount(view, item), item.id
    assert app.store.faults() == []
    with WriterQueue(app.database.with_name(f"{app.database.name}-queue"), patience=5).turn():
        pass
