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
from counterpoint.board.sittings import MAX_WRONG
from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Report
from counterpoint.core.model.identity import ProposedAct
from counterpoint.evidence.trust.personal import HeldKey, folder_of
from counterpoint.evidence.trust.personal import make as make_key
from fakes.harbour import agent_of, fill

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


UNLOCKING = "nine wet ropes in a row"


def enrol_key(folder: Path) -> HeldKey:
    """Answer a key under a passphrase that a person has enrolled, whose signature each review asks for."""
    app = open_app(folder, {"HOME": os.environ["HOME"]})
    key = make_key(folder_of(os.environ), UNLOCKING)

    def sign(proposed: ProposedAct) -> Core:
        people = app.person().people
        prepared = people.prepare(proposed, key.id)
        return app.confirmed(
            people.sign(prepared, lambda text: key.sign(text, lambda _: UNLOCKING))
        )

    proposed = app.person().people.enrolment(key.public_key, "pat", "passphrase")
    sign(proposed).people.enrol(key.public_key, proposed)
    policy = ProposedAct(action="policy.changed", decision={"policy": "person"})
    sign(policy).projects.ask_of_reviews("person")
    app.close()
    return key


def hand_in(folder: Path) -> str:
    """Answer the phase whose work an agent has done and handed in."""
    app = open_app(folder, {"HOME": os.environ["HOME"]})
    agent = agent_of(app, "bob")
    plan = agent.plans.create(agent.plans.read("# Mole\n## Pile\n- review: yes\n- [ ] Drive\n"))
    _root, phase, task = (item.id for item in plan.items)
    started = agent.claims.start(task)
    agent.tasks.finish(task, started.claim.token, Report(outcome="done", summary="Deep"))
    agent.reviews.submit(phase, "", "All of it")
    app.close()
    return phase


def test_an_agent_of_the_same_account_does_not_approve_through_the_board(
    folder: Path, page: Callable[..., Page], tmp_path: Path
) -> None:
    """With the cookie of a person it can write in that name, unconfirmed; without the passphrase it opens no gate that asks for a key."""
    key, phase = enrol_key(folder), hand_in(folder)
    opened = page("--no-open")
    cookie = opened.log_in()[1]["set-cookie"].partition(";")[0]
    kind = {"content-type": "application/x-www-form-urlencoded"}

    def approve(**more: str) -> Any:
        text = opened.send("GET", f"/review/{phase}", cookie=cookie)[2]
        assert more or f"Sign it with your key {key.id}" in text
        form = text.partition(f'action="/acts/approve/{phase}"')[2].partition("</form>")[0]
        fields = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form))
        body = urlencode({**fields, **more})
        sent = {**kind, "origin": opened.address, "cookie": cookie}
        return opened.send("POST", f"/acts/approve/{phase}", body, **sent)

    def is_done() -> bool:
        app = open_app(folder, {"HOME": os.environ["HOME"]})
        done = bool(app.person().items.get(phase).category == "done")
        app.close()
        return done

    # As who has stolen the cookie: what is not signed is refused, and guesses end the sitting.
    assert approve()[0] in {403, 409}
    for _ in range(MAX_WRONG):
        status, _, text = approve(passphrase=UNLOCKING.replace("wet", "dry"))
        assert (status, "nine dry" in text) == (403, False)
    assert opened.send("GET", "/", cookie=cookie)[0] == 403
    assert not is_done()
    # As a credential an agent has, with the passphrase of nobody.
    made = _run(folder, "agent", "create", "reviewer")
    secret = re.search(r"cpt_[0-9a-f]{64}", made.stdout)
    assert secret is not None
    opened = page("--no-open", COUNTERPOINT_CREDENTIAL=secret[0])
    cookie = opened.log_in()[1]["set-cookie"].partition(";")[0]
    assert approve()[0] in {403, 409}
    assert not is_done()
    # The person, with the key.
    opened = page("--no-open")
    cookie = opened.log_in()[1]["set-cookie"].partition(";")[0]
    assert approve(passphrase=UNLOCKING, reason="Read it")[0] == 303
    assert is_done()
    shown = _run(folder, "log", "--json", "--limit", "5").stdout
    assert key.id in shown
    assert _run(folder, "audit", "verify").returncode == 0
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_socket()]
    assert not [path for path in kept if UNLOCKING.encode() in path.read_bytes()]
