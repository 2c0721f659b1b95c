"""A client that is started outside of any project is asked for its roots, and is in the first of them that is a project's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from mcp_types import ListRootsResult, Root
from tests.e2e import wire

COUNTERPOINT = [sys.executable, "-P", "-m", "counterpoint"]
PLAIN, SPACED = "plain", "My App/50% 計画#1"
REFUSED = "no ledger is begun in"


class Account:
    """A home folder with two repositories and a folder that is none, and the client that is started in the home."""

    def __init__(self, home: Path) -> None:
        """Make the folders."""
        self.home = home
        self.environ = {"HOME": str(home)}
        for name in (PLAIN, SPACED):
            (home / name / "src").mkdir(parents=True)
            subprocess.run(["git", "init", "-q", home / name], check=True)
        (home / "none").mkdir()

    def run(self, folder: str, *words: str) -> str:
        """Run a command in a folder; return what it printed."""
        environ = {**os.environ, **self.environ}
        folder = str(self.home / folder)
        command = [*COUNTERPOINT, *words]
        ran = subprocess.run(command, cwd=folder, env=environ, capture_output=True, check=True)
        return ran.stdout.decode()

    def uri(self, folder: str) -> str:
        """Return the URI of a folder as clients write it."""
        return f"file://{quote(str(self.home / folder))}"

    def connect(self, *words: str, folder: str = "", **environ: str) -> wire.Client:
        """Start a connection as clients do."""
        command = [*COUNTERPOINT, "mcp", *words]
        return wire.Client(self.home / folder, command, environ={**self.environ, **environ})


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """Give an account whose two projects have ledgers and servers."""
    opened = Account(tmp_path_factory.mktemp("account") / "home")
    for name in (PLAIN, SPACED):
        opened.run(name, "init", "--yes")
        opened.run(name, "add", f"Task of {name}")
    yield opened
    for name in (PLAIN, SPACED):
        opened.run(name, "down")


def greet(client: wire.Client) -> None:
    """Shake hands as a client that has roots; nothing is asked before it is done."""
    hello = {"name": "editor", "version": "1"}
    able = {"roots": {"listChanged": True}}
    client.ask(
        "initialize", {"protocolVersion": "2025-06-18", "capabilities": able, "clientInfo": hello}
    )
    client.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())


def answer_roots(client: wire.Client, answer: Any) -> None:
    """Answer the request for roots that comes next; URIs, or the answer itself."""
    asked = client.read()
    assert asked["method"] == "roots/list"
    if isinstance(answer, list):
        answer = {"result": {"roots": [{"uri": uri} for uri in answer]}}
    client.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}).encode())


def find_titles(client: wire.Client) -> list[str]:
    """Return the titles of all tasks of the project that a client is in."""
    return [item["title"] for item in client.call("list")["items"]]


@pytest.mark.e2e
def test_the_first_root_that_is_a_projects_is_where_a_client_is(account: Account) -> None:
    """By percent-encoded URIs, past roots that are no files, not there or no project's; the choice is said."""
    uri = account.uri
    tried = [
        ([f"{uri(PLAIN)}/src/", "https://example.org/x"], PLAIN),
        ([uri(SPACED), uri(PLAIN)], SPACED),
        (["file://elsewhere/x", uri("gone"), uri("none"), uri(""), "file:///x%00y", uri(PLAIN)], PLAIN),
    ]  # fmt: skip
    for roots, name in tried:
        with closing(account.connect()) as client:
            greet(client)
            answer_roots(client, roots)
            assert find_titles(client) == [f"Task of {name}"], roots
            line = client.stderr()
        assert str(account.home / name) in line
        assert ("not in" in line and str(account.home / PLAIN) in line) == (roots[0] != roots[-1] and name == SPACED)  # fmt: skip
    assert not (account.home / ".counterpoint").exists()


@pytest.mark.e2e
def test_a_client_of_the_sdk_is_asked_in_each_era(account: Account) -> None:
    """By a request after the handshake, or by the result of its first call, which it repeats."""
    asked: list[str] = []

    async def list_roots(context: object) -> ListRootsResult:
        asked.append(type(context).__name__)
        return ListRootsResult(roots=[Root(uri=account.uri(PLAIN))])

    async def find_titles_of(mode: str) -> list[str]:
        server = StdioServerParameters(
            command=COUNTERPOINT[0],
            args=[*COUNTERPOINT[1:], "mcp"],
            cwd=account.home,
            env={**os.environ, **account.environ},
        )
        async with Client(server, mode=mode, list_roots_callback=list_roots) as client:
            answers = [await client.call_tool("list", {}) for _ in range(2)]
        titles = [[item["title"] for item in one.structured_content["items"]] for one in answers]
        assert titles[0] == titles[1]
        return titles[0]

    for count, mode in enumerate(("legacy", "auto"), start=1):
        assert anyio.run(find_titles_of, mode) == [f"Task of {PLAIN}"]
        assert len(asked) == count


@pytest.mark.e2e
@pytest.mark.parametrize(
    "answer",
    [["none", "gone"], {"error": {"code": -32601, "message": "Method not found"}}, None],
    ids=["no project", "error", "end of input"],
)
def test_without_a_root_that_fits_nothing_is_begun(account: Account, answer: Any) -> None:
    """Nor by a client that has no words for roots, or leaves; each call says what to do."""
    with closing(account.connect()) as client:
        greet(client)
        client.send("tools/call", {"name": "list", "arguments": {}})
        if answer is None:
            assert client.read()["method"] == "roots/list"
            client._input.close()
        else:
            is_list = isinstance(answer, list)
            answer_roots(client, [*map(account.uri, answer), "untitled:x"] if is_list else answer)
        refusal = client.read()["result"]
    assert refusal["isError"]
    assert REFUSED in json.dumps(refusal)
    assert not (account.home / ".counterpoint").exists()
    assert not (account.home / "none" / ".counterpoint").exists()


@pytest.mark.e2e
def test_who_is_in_a_project_or_was_told_where_is_asked_nothing(
    account: Account, tmp_path: Path
) -> None:
    """A flag, a variable or the folder count more than roots."""
    other = str(tmp_path / "other.db")
    for words, environ, folder in (
        (("--db", other), {}, ""),
        ((), {"COUNTERPOINT_DB": other}, ""),
        ((), {}, f"{PLAIN}/src"),
    ):
        with closing(account.connect(*words, folder=folder, **environ)) as client:
            greet(client)
            number = client.send("tools/call", {"name": "list", "arguments": {}})
            # The next message is the answer.
            message = client.read()
        assert message.get("id") == number
        titles = [item["title"] for item in message["result"]["structuredContent"]["items"]]
        assert titles == ([f"Task of {PLAIN}"] if folder else [])
