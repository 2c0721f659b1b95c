"""What an agent of another account may say to a server, and what it gets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from counterpoint.app import App, open_app
from counterpoint.cli.server.foreign import app_for, open_socket
from counterpoint.core.model.evidence import Command
from counterpoint.evidence.absent import UNSEEN, NoTrees
from counterpoint.kernel.errors import Forbidden, InvalidInput, PathOutside, Unavailable
from counterpoint.protocol.peers import PeerProcess
from counterpoint.protocol.rendezvous import find_rendezvous
from counterpoint.protocol.sockets import Greeting


@pytest.fixture
def host(tmp_path: Path) -> Iterator[App]:
    """Give the app of a server."""
    opened = open_app(tmp_path, {}, project="demo")
    yield opened
    opened.close()


def said(environ: dict[str, str] | None = None, **flags: str) -> Greeting:
    """Make what a relay of another account says."""
    return Greeting(
        flags={"db": "unix:/run/demo.sock"} | flags,
        environ=environ or {},
        folder="/srv",
        version="0",
        peer=PeerProcess(pid=1, user=os.getuid() + 1),
    )


def test_labels_count_and_the_rest_is_the_servers_own(host: App) -> None:
    """Who it says it is, and in which dialect it speaks; ledger, tree and variables are not its."""
    app = app_for(said({"COUNTERPOINT_AGENT": "ada"}, surface="workflow", project="demo"), host)
    assert (app.settings.agent, app.settings.surface, app.project) == ("ada", "workflow", "demo")
    assert (app.database, app.places, app.environ) == (host.database, host.places, {})
    assert isinstance(app.evidence, NoTrees)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("worktree", "/etc"),
        ("tool_scope", "/etc/passwd"),
        ("symphony_dir", "/etc"),
        ("skills", "/etc"),
        ("tool_dependencies", "/etc/passwd"),
        ("pass_env", "LD_PRELOAD"),
    ],
)
def test_a_setting_that_would_be_used_with_the_servers_rights_is_refused(
    host: App, name: str, value: str
) -> None:
    """As a variable too; it is named, for whoever set it relies on it."""
    with pytest.raises(Forbidden, match=name):
        app_for(said({f"COUNTERPOINT_{name.upper()}": value}), host)


def test_another_ledger_or_project_is_not_served(host: App) -> None:
    """A path would be opened with the rights of the server."""
    with pytest.raises(InvalidInput, match="one ledger"):
        app_for(said(db="/etc/ledger.db"), host)
    with pytest.raises(Forbidden, match="demo"):
        app_for(said(project="other"), host)


def test_users_are_named_or_numbered(tmp_path: Path) -> None:
    """The account of the server always comes in; a user that there is not is a mistake."""
    assert open_socket(tmp_path / "s", ["root", "61002"]).users == {0, 61_002, os.getuid()}
    with pytest.raises(InvalidInput, match="no user 'nobody-of-this-name'"):
        open_socket(tmp_path / "s", ["nobody-of-this-name"])
    with pytest.raises(Unavailable, match="No such file"):
        open_socket(tmp_path / "none", []).open()


def test_a_socket_without_a_folder_is_refused_before_anything_is_made(call, place: Path) -> None:
    """It says what to make, and leaves no lock behind."""
    words = ("serve", "--db", str(place / "kept.db"), "--allow-user", "root", "--socket")
    said = call(*words, str(place / "missing" / "agents.sock"))
    assert (said.code, "mkdir" in said.err) == (3, True)
    assert list(place.iterdir()) == []
    (place / "taken").write_text("mine")
    said = call(*words, str(place / "taken"))
    assert (said.code, "no socket" in said.err) == (3, True)
    assert (place / "taken").read_text() == "mine"
    meeting = replace(find_rendezvous(place / "kept.db"), at=place / ("s" * 120))
    with pytest.raises(Unavailable, match="cannot be made"):
        meeting.listen()


def test_nothing_is_measured_read_written_or_run(tmp_path: Path) -> None:
    """What is not known is said; what cannot be is refused. Names of files are judged all the same."""
    (tmp_path / "kept").write_text("secret")
    trees = NoTrees(folder=tmp_path)
    start = trees.snapshot(tmp_path)
    assert (start.files, start.warnings) == ({}, (UNSEEN,))
    assert trees.compare(tmp_path, start).warnings == (UNSEEN,)
    assert trees.contain(tmp_path, "a//b") == "a/b"
    assert trees.below(tmp_path, ".", 9) == []
    with pytest.raises(PathOutside):
        trees.contain(tmp_path, "../b")
    for refused in (
        lambda: trees.run(tmp_path, Command(argv=("true",))),
        lambda: trees.digest(tmp_path, "kept"),
        lambda: trees.load(tmp_path, "kept", 9),
        lambda: trees.save(tmp_path, "kept", b""),
        lambda: trees.branch(tmp_path, "main", "", 9),
        lambda: trees.head(tmp_path, "main"),
    ):
        with pytest.raises(Unavailable, match="account of its own"):
            refused()
    assert (tmp_path / "kept").read_text() == "secret"
