"""Sources that mean harm, or are damaged: refused with their place, and nothing is written."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import apsw
import pytest

from counterpoint.cli.importing import files
from counterpoint.core.coordinator import Core

BEAD = {"id": "bd-1", "title": "t", "status": "open", "priority": 2}


def lines(*some: object) -> bytes:
    """Answer JSON Lines."""
    return b"".join(json.dumps(one).encode() + b"\n" for one in some)


@pytest.mark.parametrize(
    ("tool", "name", "content", "problem"),
    [
        ("beads", "i.jsonl", b"{}\n{", "i.jsonl, line 2"),
        ("beads", "i.jsonl", b"[1]\n", "line 1: it is no JSON object"),
        ("beads", "i.jsonl", lines({**BEAD, "id": ""}), "line 1: it has no id"),
        ("beads", "i.jsonl", b"\xff\xfe", "it is not UTF-8"),
        ("beads", "i.jsonl", b'{"id":"a","x":' + b"[" * 5000 + b"]" * 5000 + b"}", "i.jsonl, line 1"),
        ("beads", "i.jsonl", b'{"id":"a","x":' + b"[" * 150 + b"]" * 150 + b"}", "deeper than 100 levels"),
        ("beads", "i.jsonl", b'{"id":"a","priority":NaN}', "NaN is no number"),
        ("beads", "beads.db", b"SQLite format 3\0" + b"\xff" * 4000, "SQLite says"),
        ("beads", "beads.db", b"no database at all, but text", "SQLite says"),
        ("task-master", "tasks.json", b'{"master": {"tasks": [7]}}', "master.tasks[0]: it is no task"),
        ("task-master", "tasks.json", b"{}", "there are no tasks in it"),
        ("github", "i.json", b"{}", "no list of issues"),
        ("linear", "i.csv", b"A,B\n1,2\n", "no columns `ID` and `Title`"),
        ("linear", "i.csv", b'ID,Title\nX-1,"open\n', "it is not CSV"),
        ("linear", "i.csv", b"ID,Title\nX-1,a,b\n", "more cells than headings"),
        ("markdown", "t.md", b"# Nothing to do\n", "there is no work in it"),
        ("markdown", "t.md", b"---\na: [\n---\n- [ ] x\n", "front matter"),
        ("counterpoint", "e.json", b'{"format": "other"}', "no export of Counterpoint"),
    ],
)  # fmt: skip
def test_a_source_that_is_at_fault_is_refused_with_its_place(
    call: Any, ledger: Path, agent: Core, tool: str, name: str, content: bytes, problem: str
) -> None:
    """As JSON too; nothing is written."""
    (ledger / name).write_bytes(content)
    before = agent.overview.state().ledger_size
    said = call("import", tool, name)
    assert said.code in {1, 2}, said.out
    assert problem in said.err
    assert call("import", tool, name, "--json").json["error"]
    assert ("no work" in problem) == ("Name the file or folder" in said.err)
    assert agent.overview.state().ledger_size == before


def test_a_source_of_more_items_than_a_question_takes_values_comes_in_at_once(
    call: Any, ledger: Path
) -> None:
    (ledger / "t.md").write_text("# Large\n" + "- [ ] task\n" * 1_600)
    apsw.connection_hooks.append(_few_values)
    try:
        said = call("import", "markdown", "t.md", "--json")
    finally:
        apsw.connection_hooks.remove(_few_values)
    assert (said.code, said.err) == (0, "")
    assert call("list", "--kind", "task", "--json").json["items"]


def _few_values(link: apsw.Connection) -> None:
    link.limit(apsw.SQLITE_LIMIT_VARIABLE_NUMBER, 1_500)


def test_a_file_that_is_too_large_is_not_read(
    call: Any, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ledger / "t.md").write_text("- [ ] " + "x" * 100)
    monkeypatch.setattr(files, "TEXT_LIMIT", 50)
    monkeypatch.setattr(files.read_text, "__defaults__", ("", 50))
    assert "it has more than 50 bytes" in call("import", "markdown", "t.md").err


@pytest.mark.parametrize("sort", ["link", "fifo", "folder", "none"])
def test_only_a_plain_file_is_opened(call: Any, ledger: Path, sort: str) -> None:
    """A link may lead anywhere, and a pipe would be waited for."""
    target = ledger / "i.json"
    (ledger / "there.json").write_text("[]")
    if sort == "link":
        target.symlink_to(ledger / "there.json")
    elif sort == "fifo":
        os.mkfifo(target)
    elif sort == "folder":
        target.mkdir()
    said = call("import", "github", "i.json")
    assert said.code in {1, 2}
    assert any(words in said.err for words in ("cannot be read", "there is no file"))


@pytest.mark.parametrize("below", ["backlog/tasks", "backlog/completed"])
def test_a_link_out_of_the_folder_is_not_followed(call: Any, ledger: Path, below: str) -> None:
    """Neither a folder nor a file in it."""
    (ledger / "backlog" / "tasks").mkdir(parents=True)
    outside = ledger.parent / "outside"
    outside.mkdir()
    (outside / "task-1.md").write_text("---\nid: TASK-1\ntitle: Secret\n---\n")
    folder = ledger / below
    if folder.exists():
        (folder / "task-1.md").symlink_to(outside / "task-1.md")
    else:
        folder.symlink_to(outside)
    said = call("import", "backlog", ".")
    assert said.code in {1, 2}
    assert "Secret" not in said.out
    assert "link" in said.err or "cannot be read" in said.err


def test_a_database_is_only_read(call: Any, ledger: Path) -> None:
    """Nothing is written beside it, and what is no plain table is not there."""
    with sqlite3.connect(ledger / "beads.db") as database:
        database.executescript(
            "CREATE TABLE secrets (id, title, status);"
            "INSERT INTO secrets VALUES ('s', 'Secret', 'open');"
            "CREATE VIEW issues AS SELECT * FROM secrets;"
        )
    database.close()
    before = sorted(path.name for path in ledger.iterdir())
    said = call("import", "beads", "beads.db")
    assert (said.code, "has no table of issues" in said.err) == (1, True)
    assert sorted(path.name for path in ledger.iterdir()) == before


def test_foreign_text_is_only_text(call: Any, ledger: Path, agent: Core) -> None:
    """No command of a file becomes a check, and signs that steer a terminal are shown."""
    (ledger / "t.md").write_text(
        "- [ ] Run \x1b[31mthis\n  - verify: rm -rf x\n  - areas: ../../etc\n- [ ] b\n  - review: yes\n"
    )
    said = call("import", "markdown", "t.md")
    assert said.code == 0, said.err
    assert "\x1b" not in said.out
    for name in ("t/b",):
        facets = agent.overview.facets(agent.items.find(name).id)
        assert (facets.gates, facets.item.body) == ((), "- asked there: review")
    assert call("show", "t/b").code == 0


def test_the_name_of_a_source_is_a_plain_word(call: Any, ledger: Path) -> None:
    """Ids here are below it."""
    (ledger / "t.md").write_text("- [ ] a\n")
    assert call("import", "markdown", "t.md", "--as", "a/b").code == 2
    assert call("import", "markdown", "t.md", "--as", "other").code == 0
    assert "a" in call("show", "other/t/a").out


@pytest.mark.parametrize(
    ("tool", "name", "content", "id_"),
    [
        ("beads", "i.jsonl", lines({**BEAD, "title": ""}), "bd-1"),
        ("github", "i.json", b'[{"number": 12, "title": " ", "state": "OPEN"}]', "12"),
        ("linear", "i.csv", b"ID,Title\nX-1,\n", "X-1"),
    ],
)
def test_a_title_that_had_to_be_made_up_is_reported(
    call: Any, ledger: Path, tool: str, name: str, content: bytes, id_: str
) -> None:
    """What has none comes in under its id, and the import says so."""
    (ledger / name).write_bytes(content)
    said = call("import", tool, name)
    assert said.code == 0, said.err
    assert f"{id_}: it has no title, so it is called by its id" in said.out + said.err
