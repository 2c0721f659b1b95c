"""A ledger that another account made, in an archive or laid there by a check: nothing that its rows loosen counts before a person trusts it here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from counterpoint.app import open_app
from counterpoint.core.model.access import TokenRequest
from counterpoint.core.rules.trust.commands import OLDER
from counterpoint.evidence.running.configuration import read_checking
from counterpoint.kernel.errors import Forbidden, ForkRefused, NotTrusted
from counterpoint.kernel.places import short_name

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

CHECK = ["sh", "task.sh"]
Run = Callable[..., "subprocess.CompletedProcess[str]"]
Connect = Callable[..., Any]


class Archive(NamedTuple):
    """A repository with a ledger that its author trusts, with secrets of it, and the state of the author."""

    folder: Path
    token: str
    credential: str
    state: Path


@pytest.fixture
def archive(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    """Give such a repository; the account that looks at it has another state."""
    (repository / "counterpoint.toml").write_text(
        f"[checks]\nsandbox = 'off'\ncommands = [{json.dumps(CHECK)}]\n"
    )
    (repository / "task.sh").write_text('touch "$HOME/ran"\n')
    with monkeypatch.context() as author:
        author.setenv("XDG_STATE_HOME", str(tmp_path / "author"))
        with closing(open_app(repository, {})) as app:
            person = app.person()
            person.projects.trust(read_checking(repository), os.environ["PATH"])
            token = person.tokens.create(TokenRequest(name="ci"))
            agent = person.tokens.create(TokenRequest(name="ada", kind="agent"))
            person.signing.sign()
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Archive(repository, token.secret, agent.secret, tmp_path / "author")


def test_what_another_account_trusted_runs_nothing_here(
    archive: Archive, connect: Connect, counterpoint: Run, wire: ModuleType, tmp_path: Path
) -> None:
    """Not the first time, nor when this account has signed the ledger; each place says so, and a person's trust cures it."""
    folder = archive.folder
    for _ in range(2):
        client = connect(folder)
        with pytest.raises(wire.Refused) as refused:
            client.call("verify", command=CHECK)
        assert refused.value.answer["error"] == "not_trusted"
        assert "this account has trusted nothing" in json.dumps(refused.value.answer)
        client.call("note", kind="finding", text="so that there is something to sign")
        client.close()
        assert counterpoint("audit", "prove", "1", cwd=folder).returncode == 0
    for words in (("status",), ("doctor",)):
        said = counterpoint(*words, cwd=folder)
        assert "this account has trusted nothing of this ledger here" in said.stdout, words
        assert "counterpoint trust" in said.stdout, words
    refusal = counterpoint("trust", "--allow", "true", cwd=folder)
    assert refusal.returncode == 1
    assert "With it would count" not in refusal.stderr
    assert "; the token ci (read, write)" in refusal.stderr
    shown = counterpoint("trust", cwd=folder)
    assert shown.returncode == 1
    assert "the token ci (read, write)" in shown.stdout
    assert "the credential ada (read, write)" in shown.stdout
    assert not (tmp_path / "home/ran").exists()
    # To the commands above this process is the agent that it has connected as; a person is another one.
    with closing(open_app(folder, {})) as app:
        app.itself().projects.trust(read_checking(folder), os.environ["PATH"])
    assert connect(folder).call("verify", command=CHECK)["passed"]
    assert (tmp_path / "home/ran").exists()
    assert "has trusted nothing" not in counterpoint("status", cwd=folder).stdout


def test_tokens_and_credentials_of_another_account_open_nothing_here(archive: Archive) -> None:
    """They do once the ledger is trusted; those that are made before are refused, since they would open nothing."""
    with closing(open_app(archive.folder, {})) as app:
        person = app.person()
        assert person.tokens.authenticate(archive.token, "127.0.0.1") is None
        with pytest.raises(NotTrusted):
            person.tokens.create(TokenRequest(name="new"))
        with pytest.raises(NotTrusted):
            person.tokens.renew("ci", lasts_seconds=60)
        with pytest.raises(Forbidden):
            person.identities.attest(app.own_peer, credential=archive.credential)
        person.projects.trust(read_checking(archive.folder), os.environ["PATH"])
        assert person.tokens.authenticate(archive.token, "127.0.0.1") is not None
        assert person.identities.attest(app.own_peer, credential=archive.credential).name == "ada"


def test_trust_goes_along_where_a_folder_is_moved_and_not_where_it_is_copied(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy, a backup that was put elsewhere, or another account's state: each is a place of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(archive.state))
    moved = tmp_path / "elsewhere" / "moved"
    moved.parent.mkdir()
    shutil.copytree(archive.folder, tmp_path / "copy")
    archive.folder.rename(moved)
    for folder, counts in ((moved, True), (tmp_path / "copy", False), (moved, True)):
        with closing(open_app(folder, {}, project="demo")) as app:
            projects = app.person().projects
            assert (not projects.why_elsewhere()) is counts, folder
            assert bool(projects.why_not_trusted(read_checking(folder))) is not counts, folder


def test_a_backup_that_was_put_back_stays_trusted_where_its_folder_is_moved(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is another file in the same place, and known by that from its first look on; so is a further project in it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(archive.state))
    database = archive.folder / ".counterpoint/ledger.db"
    backup = shutil.copy(database, tmp_path / "backup.db")
    # The former file stays, so that no other one has its number.
    database.rename(tmp_path / "replaced.db")
    shutil.copy(backup, database)
    moved = archive.folder.with_name("moved")
    for project in ("demo", "further"):
        with closing(open_app(archive.folder, {}, project=project)) as app:
            assert not app.person().projects.why_elsewhere()
    archive.folder.rename(moved)
    for project in ("demo", "further"):
        with closing(open_app(moved, {}, project=project)) as app:
            assert not app.person().projects.why_elsewhere(), project


def test_a_project_in_another_database_in_a_place_of_ours_is_met(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was begun here once says nothing of a database that somebody has laid there since."""
    place = tmp_path / "data/ledger.db"
    place.parent.mkdir()
    with closing(open_app(archive.folder, {}, db=str(place), project="own")) as app:
        assert not app.person().projects.why_elsewhere()
    place.rename(place.with_name("away"))
    shutil.copy(archive.folder / ".counterpoint/ledger.db", place)
    with closing(open_app(archive.folder, {}, db=str(place), project="fresh")) as app:
        assert app.person().projects.why_elsewhere()


def test_a_place_from_before_is_trusted_with_what_its_ledger_says(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What older versions wrote of a place, or only their signer, trusts it; from the first look on no other digest is."""
    monkeypatch.setenv("XDG_STATE_HOME", str(archive.state))
    place = short_name(str(archive.folder / ".counterpoint/ledger.db"))
    file = archive.state / "counterpoint/ledgers" / place
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    older = {name: lines[-1][name] for name in ("ledger", "place", "project", "time")}
    for text in (f"{json.dumps(older)}\n", None):
        if text is None:
            file.unlink()
        else:
            file.write_text(text)
        with closing(open_app(archive.folder, {})) as app:
            projects = app.person().projects
            assert not projects.why_elsewhere()
            assert not projects.why_not_trusted(read_checking(archive.folder))
        last = json.loads(file.read_text().splitlines()[-1])
        assert (last["how"], last["digest"]) == ("before", lines[-1]["digest"])


def test_what_a_database_was_made_with_is_not_begun_here(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A further project in the database of another account is met, as the rest of it: a trigger could fill it."""
    with closing(open_app(archive.folder, {}, project="other")) as app:
        assert app.person().projects.why_elsewhere()
    monkeypatch.setenv("XDG_STATE_HOME", str(archive.state))
    with closing(open_app(archive.folder, {}, project="third")) as app:
        assert not app.person().projects.why_elsewhere()


def test_an_older_copy_in_its_place_makes_nothing_count_again(
    archive: Archive, counterpoint: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A token that was revoked since, and commands: a person who means it opens an epoch, and trusts nothing before."""
    monkeypatch.setenv("XDG_STATE_HOME", str(archive.state))
    place = archive.folder / ".counterpoint"
    shutil.copytree(place, tmp_path / "copy")
    assert counterpoint("token", "revoke", "ci", cwd=archive.folder).returncode == 0
    shutil.rmtree(place)
    shutil.copytree(tmp_path / "copy", place)
    for words in ("status", "doctor"):
        answer = counterpoint(words, cwd=archive.folder).stdout
        assert OLDER in answer
        assert "counterpoint trust" not in answer
    for words in (["trust"], ["trust", "--yes"], ["trust", "--allow", "make"]):
        refused = counterpoint(*words, cwd=archive.folder)
        assert (refused.returncode, "counterpoint audit verify" in refused.stderr) == (1, True)
    with closing(open_app(archive.folder, {})) as app:
        person = app.person()
        for _ in range(2):
            assert person.tokens.authenticate(archive.token, "127.0.0.1") is None
            assert person.projects.why_not_trusted(read_checking(archive.folder)) == OLDER
        with pytest.raises(ForkRefused):
            person.projects.trust(read_checking(archive.folder), "")
        assert not person.audit.verify().sound
        person.signing.open_epoch("a backup")
        assert person.tokens.authenticate(archive.token, "127.0.0.1")
        assert not person.projects.why_elsewhere()
