"""What all tests share: the builders, and a workshop with agents."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def _load_builders() -> ModuleType:
    """Load the builders under their own name, so that every test can import them."""
    spec = importlib.util.spec_from_file_location(
        "builders", Path(__file__).with_name("builders.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["builders"] = module
    spec.loader.exec_module(module)
    return module


builders = _load_builders()


@pytest.fixture(scope="session")
def pristine_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Answer a repository with one commit that tests copy and never change."""
    return builders.open_repository(tmp_path_factory.mktemp("pristine") / "demo")


@pytest.fixture
def repository(pristine_repository: Path, tmp_path: Path) -> Path:
    """Answer a repository of the test's own, with one commit."""
    return builders.copy_repository(pristine_repository, tmp_path / "demo")


@pytest.fixture(params=["2026-07-28", "legacy"])
def era(request: pytest.FixtureRequest) -> str:
    """Answer each era of the protocol in turn."""
    return request.param


@pytest.fixture
def workshop(repository: Path, era: str) -> Iterator[Any]:
    """Answer a workshop whose clients speak each era in turn."""
    opened = builders.Workshop(repository, era=era)
    yield opened
    opened.close()


@pytest.fixture
def ada(workshop: Any) -> Any:
    """Answer an agent named ada."""
    return workshop.agent("ada")


@pytest.fixture
def bob(workshop: Any) -> Any:
    """Answer an agent named bob, in a session of its own."""
    return workshop.agent("bob")
