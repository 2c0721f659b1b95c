"""A studio for the tests of the core, with two agents and a person in it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def _load_fakes() -> None:
    """Make the fakes importable under their own name."""
    folder = Path(__file__).parents[1] / "fakes"
    spec = importlib.util.spec_from_file_location(
        "fakes", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fakes"] = module
    spec.loader.exec_module(module)


_load_fakes()

from fakes.studio import Studio  # noqa: E402 -- the line above makes it importable


@pytest.fixture
def studio() -> Iterator[Studio]:
    """Give a project in memory; after the test it must be sound."""
    opened = Studio()
    yield opened
    opened.check()
    opened.close()


@pytest.fixture
def ada(studio: Studio) -> Any:
    """Give the core as the agent ada may use it."""
    return studio.core("ada")


@pytest.fixture
def bob(studio: Studio) -> Any:
    """Give the core as the agent bob may use it."""
    return studio.core("bob")


@pytest.fixture
def person(studio: Studio) -> Any:
    """Give the core as a person at the command line may use it."""
    return studio.core("pat", kind="human")
