"""The protocol's inspector, from its command line, against what agents are given."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(90),
]

COMMAND = (sys.executable, "-m", "counterpoint", "mcp")
TOOLS = 16
IS_ERROR = 5

Ran = subprocess.CompletedProcess[str]
Inspect = Callable[..., Ran]


@pytest.fixture
def inspect(node: str, programs: Path, repository: Path, tmp_path: Path) -> Iterator[Inspect]:
    """Give what inspects a server with some words, from inside a repository."""
    program = json.loads((programs / "@modelcontextprotocol/inspector/package.json").read_text())
    entry = programs / "@modelcontextprotocol/inspector" / program["bin"]["mcp-inspector"]
    environ = settings(tmp_path)

    def run(*words: str) -> Ran:
        return subprocess.run(
            [node, str(entry), "--cli", *words],
            cwd=repository,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    yield run
    end = [sys.executable, "-m", "counterpoint", "down"]
    subprocess.run(end, cwd=repository, env=environ, capture_output=True, check=False, timeout=60)


@pytest.fixture(params=["legacy", "modern"])
def spoken(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Answer the words that make the inspector speak each era."""
    return ("--protocol-era", request.param)


@pytest.fixture
def up(repository: Path, tmp_path: Path) -> Iterator[tuple[str, ...]]:
    """Give the words that lead to `counterpoint up` in the repository, with its token."""
    environ = settings(tmp_path)
    main = [sys.executable, "-m", "counterpoint"]
    subprocess.run([*main, "init", "--yes"], cwd=repository, env=environ, check=True, timeout=60)
    serving = subprocess.Popen(
        [*main, "up", "--port", "0"],
        cwd=repository,
        env=environ,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert serving.stderr is not None
    with serving:
        try:
            told = json.loads(serving.stderr.readline())
            token = Path(told["token_file"]).read_text().strip()
            yield told["addresses"][0], "--header", f"Authorization: Bearer {token}"
        finally:
            serving.terminate()
            serving.wait(timeout=20)


def settings(home: Path) -> dict[str, str]:
    """Answer an environment without anybody's settings."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("COUNTERPOINT_")}
    return {**kept, "HOME": str(home), "MCP_CATALOG_PATH": str(home / "catalog.json")}


def call(name: str, *pairs: str) -> tuple[str, ...]:
    """Answer the words that call a tool."""
    given = [word for pair in pairs for word in ("--tool-arg", pair)]
    return ("--method", "tools/call", "--tool-name", name, *given)


def test_the_inspector_lists_and_calls_over_stdio(
    inspect: Inspect, spoken: tuple[str, str]
) -> None:
    listed = inspect(*COMMAND, *spoken, "--method", "tools/list")
    assert (listed.returncode, len(json.loads(listed.stdout)["tools"])) == (0, TOOLS)
    planned = inspect(*COMMAND, *spoken, *call("plan", "markdown=# Demo\n- [ ] one thing"))
    assert planned.returncode == 0, planned.stderr
    assert json.loads(planned.stdout)["structuredContent"]["count"] == len(("plan", "task"))


def test_a_refusal_is_an_error_to_the_inspector(inspect: Inspect, spoken: tuple[str, str]) -> None:
    """A refused call ends the inspector with its code for errors and shows the hint."""
    refused = inspect(*COMMAND, *spoken, *call("show", "id=demo-999"))
    assert refused.returncode == IS_ERROR
    assert json.loads(refused.stdout)["structuredContent"]["hint"]


def test_the_schemas_please_the_inspectors_lint(inspect: Inspect) -> None:
    """No schema of the native surface has an error of portability."""
    linted = inspect(*COMMAND, "--method", "tools/list", "--strict")
    assert linted.returncode == 0, linted.stderr
    found = re.search(r"(\d+) errors?, (\d+) warnings?", linted.stderr)
    assert found is None or found.group(1) == "0"


def test_the_inspector_reads_resources_and_prompts(inspect: Inspect) -> None:
    resources = inspect(*COMMAND, "--method", "resources/list")
    assert resources.returncode == 0, resources.stderr
    uri = json.loads(resources.stdout)["resources"][0]["uri"]
    read = inspect(*COMMAND, "--method", "resources/read", "--uri", uri)
    assert read.returncode == 0, read.stderr
    prompts = inspect(*COMMAND, "--method", "prompts/list")
    assert len(json.loads(prompts.stdout)["prompts"]) > 1


def test_the_inspector_lists_and_calls_over_http(
    inspect: Inspect, spoken: tuple[str, str], up: tuple[str, ...]
) -> None:
    listed = inspect(*up, *spoken, "--method", "tools/list")
    assert (listed.returncode, len(json.loads(listed.stdout)["tools"])) == (0, TOOLS)
    planned = inspect(*up, *spoken, *call("plan", "markdown=# Demo\n- [ ] one thing"))
    assert planned.returncode == 0, planned.stderr
    assert inspect(*up, *spoken, *call("show", "id=demo-999")).returncode == IS_ERROR
