"""What the tests of setting up share: a repository, and programs on its PATH."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def project(place: Path) -> Path:
    """A git repository in which nobody has set anything up."""
    subprocess.run(["git", "init", "-q"], cwd=place, check=True)
    return place


@pytest.fixture
def with_program() -> Callable[[str], None]:
    """Put a program on the PATH."""

    def put(name: str) -> None:
        program = Path(os.environ["PATH"]) / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)

    return put


@pytest.fixture
def installed(project: Path, with_program: Callable[[str], None]) -> Path:
    """The same repository, with `counterpoint` on the PATH."""
    with_program("counterpoint")
    return project
