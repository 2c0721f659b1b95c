"""A ledger that was there is not replaced by an empty one, unless a person says so."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from builders import git
from counterpoint.app import Identity, open_app
from counterpoint.core.model.filters import Note
from counterpoint.kernel.errors import Forbidden, LedgerGone


def database(folder: Path) -> Path:
    """Answer where the ledger of a folder lies."""
    return folder / ".counterpoint" / "ledger.db"


def written(folder: Path) -> str:
    """Let an agent write in a fresh ledger; answer which that is."""
    app = open_app(folder, {})
    agent = app.core(Identity(kind="agent", name="ada", session="ses_" + "a" * 26))
    agent.journal.append(Note(kind="finding", body="Oak is heavy"))
    found = agent.projects.find()
    app.close()
    assert found is not None
    return found.ledger


def without_folder(folder: Path) -> None:
    """Take away all that git ignores."""
    git(folder, "clean", "-fdxq")


def without_file(folder: Path) -> None:
    """Take the database alone."""
    database(folder).unlink()


def without_content(folder: Path) -> None:
    """Leave a file without a byte."""
    os.truncate(database(folder), 0)


def without_rows(folder: Path) -> None:
    """Put a database without any ledger in its place."""
    without_file(folder)
    empty = open_app(folder, {}, db=str(folder / "empty.db"))
    empty.store.close()
    (folder / "empty.db").replace(database(folder))


@pytest.fixture
def lone(place: Path) -> Path:
    """A repository without a ledger, to stand in."""
    git(place, "init", "-q")
    git(place, "commit", "-q", "--allow-empty", "-m", "first")
    return place


@pytest.mark.parametrize("harm", [without_folder, without_file, without_content, without_rows])
def test_no_ledger_is_begun_where_one_was(lone, call, harm):
    """Agents, commands and `init` say what was there and what helps; a file is made by none of them."""
    ledger = written(lone)
    harm(lone)
    had = database(lone).exists()
    app = open_app(lone, {})
    with pytest.raises(LedgerGone, match=ledger) as told:
        _ = app.core(Identity(kind="agent", name="ada"))
    app.close()
    assert "counterpoint restore" in told.value.hint
    assert "--new-ledger" in told.value.hint
    for words in (("status",), ("init", "--yes"), ("doctor",)):
        said = call(*words)
        assert said.code in {1, 3}
        assert ledger in said.err + said.out
        assert "--new-ledger" in said.err + said.out
    assert database(lone).exists() == had


@pytest.mark.parametrize("has_tables", [False, True])
def test_a_ledger_that_another_process_makes_meanwhile_is_none_that_is_gone(lone, has_tables):
    """Nothing is there at the first look, and what is known is newer than that."""
    app = open_app(lone, {})
    if has_tables:
        _ = app.store
    made = []

    def placed() -> dict[str, str]:
        made.append(written(lone))
        return {}

    app.past = replace(app.past, placed=placed)
    found = app.core(Identity(kind="agent", name="ada")).projects.find()
    assert found is not None
    assert [found.ledger] == made
    app.close()


def test_a_person_begins_a_ledger_anew_and_that_stands_in_it(lone, call):
    """An epoch names what was there and why it is gone; from then on it is a ledger like others, and known."""
    before = written(lone)
    without_folder(lone)
    assert call("init", "--yes", "--new-ledger").code == 2
    said = call("init", "--yes", "--new-ledger", "--reason", "It was a trial")
    assert said.code == 0, said.err
    log = call("log", "--json").out
    assert "It was a trial" in log or "epoch.opened" in log
    epoch = call("audit", "verify", "--json").json
    assert "It was a trial" in str(epoch)
    assert before in str(epoch)
    assert call("audit", "verify").code == 0
    after = written(lone)
    assert after != before
    without_folder(lone)
    assert after in call("status").err
    assert before not in call("status").err


def test_only_where_a_ledger_is_missing_one_is_begun_anew(lone, call):
    """Who has one keeps it, and who never had one needs no reason."""
    assert call("init", "--yes", "--new-ledger", "--reason", "Why not").code == 1
    written(lone)
    assert call("init", "--yes", "--new-ledger", "--reason", "Why not").code == 1


def test_an_agent_begins_no_ledger_anew(lone, call, monkeypatch):
    """It has the words too, and they leave nothing behind."""
    written(lone)
    without_folder(lone)

    def refused(*_given: object, **_named: object) -> None:
        raise Forbidden("an agent cannot open an epoch")

    monkeypatch.setattr("counterpoint.core.operations.trust.signing.refuse_others", refused)
    assert call("init", "--yes", "--new-ledger", "--reason", "Mine").code == 1
    assert not database(lone).exists()
    assert call("status").code == 3


def test_a_repository_that_has_heads_of_a_ledger_is_a_memory_too(lone, call):
    """Where the state of the account is lost; a clone has no such refs, and begins its own."""
    ledger = written(lone)
    app = open_app(lone, {})
    app.itself().signing.sign()
    app.itself().witnessing.tell()
    app.close()
    without_folder(lone)
    shutil.rmtree(Path(os.environ["XDG_STATE_HOME"]) / "counterpoint")
    assert ledger in call("status").err
    git(lone.parent, "clone", "-q", str(lone), str(lone.parent / "clone"))
    written(lone.parent / "clone")
