"""`counterpoint board`, as it is installed: a real server, the private file, and what an agent gets."""

from __future__ import annotations

import http.client
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest

from builders import git
from counterpoint.app import open_app
from counterpoint.board.handover import open_browser
from fakes.harbour import fill

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]
PATIENCE = 40.0


class Page(NamedTuple):
    """What the private file posts, and where."""

    path: Path
    address: str
    code: str

    def send(self, method: str, path: str, body: str = "", **headers: str) -> Any:
        """Send a request; answer status, headers and text."""
        parts = urlsplit(self.address)
        wire = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=PATIENCE)
        try:
            wire.request(method, path, body or None, headers)
            answer = wire.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            wire.close()

    def log_in(self) -> Any:
        """Post the code as the file does."""
        kind = {"content-type": "application/x-www-form-urlencoded"}
        return self.send("POST", "/login", urlencode({"code": self.code}), origin="null", **kind)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a repository with a ledger, in an account of its own; its server ends with the test."""
    for name in [*os.environ]:
        if name.startswith("COUNTERPOINT_") or name in {"DISPLAY", "WAYLAND_DISPLAY"}:
            monkeypatch.delenv(name)
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    folder = tmp_path / "harbour"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    fill(open_app(folder, {"HOME": str(tmp_path / "home")}))
    yield folder
    _run(folder, "down")


def _command(*words: str) -> list[str]:
    return [sys.executable, "-P", "-m", "counterpoint", *words]


def _run(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        _command(*words),
        cwd=folder,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.fixture
def page(folder: Path) -> Callable[..., Page]:
    """Have the command write its file."""

    def page_(*words: str, **variables: str) -> Page:
        ran = _run(folder, "board", *words, **variables)
        assert (ran.returncode, "Open this file" in ran.stderr) == (0, True), ran
        path = Path(ran.stdout.strip())
        text = path.read_text()
        address = re.search(r'action="(http://127\.0\.0\.1:\d+)/login"', text)
        code = re.search(r'name="code" value="([^"]{43})"', text)
        assert address is not None
        assert code is not None
        return Page(path, address[1], code[1])

    return page_


def test_the_command_logs_a_browser_in_through_a_private_file(
    folder: Path, page: Callable[..., Page], tmp_path: Path
) -> None:
    """Beside a server that a person has started; nothing of the code is in its log, and no template in it before."""
    process = subprocess.Popen(
        _command("up", "--port", "0"), cwd=folder, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        assert json.loads(process.stderr.readline())["event"] == "listening"
        if (maps := Path(f"/proc/{process.pid}/maps")).exists():
            assert "markupsafe" not in maps.read_text()
        first = page("--no-open")
        assert stat.S_IMODE(first.path.stat().st_mode) == 0o600
        assert first.path.parent == tmp_path / "run/counterpoint"
        status, headers, _ = first.log_in()
        assert (status, "HttpOnly" in headers["set-cookie"]) == (200, True)
        cookie = headers["set-cookie"].partition(";")[0]
        status, headers, text = first.send("GET", "/", cookie=cookie)
        assert (status, "Lay the keel" in text) == (200, True)
        assert (headers["cache-control"], headers["x-content-type-options"]) == (
            "no-store",
            "nosniff",
        )
        for origin, host in (("http://evil.example", ""), ("null", ""), ("", "evil.example")):
            more = {name: word for name, word in (("origin", origin), ("host", host)) if word}
            assert first.send("GET", "/", cookie=cookie, **more)[0] == 403
        assert first.log_in()[0] == 403
        # Without a desktop it says what to do; each call has a code of its own.
        second = page()
        assert (second.address, second.code != first.code) == (first.address, True)
    finally:
        process.terminate()
        _, log = process.communicate(timeout=PATIENCE)
    lines = [json.loads(line) for line in log.splitlines()]
    assert {"/", "/login"} <= {line.get("path") for line in lines}
    assert first.code not in log
    assert cookie.partition("=")[2] not in log


def test_the_command_starts_the_server_that_it_needs(
    folder: Path, page: Callable[..., Page]
) -> None:
    """In the place of one that shows no board; and an agent's sitting is that agent, by its credential."""
    made = _run(folder, "agent", "create", "reviewer")
    assert made.returncode == 0, made
    secret = re.search(r"cpt_[0-9a-f]{64}", made.stdout)
    assert secret is not None
    person, agent = page("--no-open"), page("--no-open", COUNTERPOINT_CREDENTIAL=secret[0])
    names: list[str] = []
    for opened in (person, agent):
        cookie = opened.log_in()[1]["set-cookie"].partition(";")[0]
        text = opened.send("GET", "/", cookie=cookie)[2]
        names += re.findall(r'class="you"><bdi>([^<]+)</bdi>', text)
        if opened is agent:
            assert _run(folder, "agent", "revoke", "reviewer").returncode == 0
            assert opened.send("GET", "/", cookie=cookie)[0] == 403
    assert names[1] == "reviewer"
    assert names[0] != "reviewer"


def test_a_folder_without_a_ledger_has_no_board(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = _run(tmp_path / "empty", "board", "--no-open")
    assert (ran.returncode, "counterpoint init" in ran.stderr) == (3, True)


def test_the_browser_is_opened_by_no_program_of_the_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, tools, marks = tmp_path / "tree", tmp_path / "tools", tmp_path / "marks"
    for folder in (tree / ".git", tools, marks):
        folder.mkdir(parents=True)
    for place in (tree, tools):
        for name in ("xdg-open", "open"):
            (place / name).write_text(f'#!/bin/sh\necho "$BROWSER" >"{marks}/{place.name}"\n')
            (place / name).chmod(0o755)
    monkeypatch.chdir(tree)
    variables = {"DISPLAY": ":0", "BROWSER": str(tree / "evil")}
    monkeypatch.setenv("PATH", f"{tree}:.:{tools}:{os.environ['PATH']}")
    assert open_browser(tree / "page.html", {**os.environ, **variables})
    assert [(mark.name, mark.read_text()) for mark in marks.iterdir()] == [("tools", "\n")]
