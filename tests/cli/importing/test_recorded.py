"""Each importer reads what its tool left: counts, places, states, edges and old ids."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Edit
from counterpoint.core.model.journal import Record
from counterpoint.core.model.work import Item

RECORDED = Path(__file__).parent / "recorded"

SOURCES = {
    "task-master": ("task-master/tasks.json", 6),
    "backlog": ("backlog", 6),
    "vibe-kanban": ("vibe-kanban/db.sql", 3),
    "openspec": ("openspec", 6),
    "spec-kit": ("spec-kit", 46),
    "beads": ("beads/issues.jsonl", 4),
    "github": ("github/issues.json", 4),
    "linear": ("linear/issues.csv", 5),
    "markdown": ("markdown/TODO.md", 10),
}
"""Where the recorded source of each importer lies, and how many items it has."""


def laid(folder: Path, name: str) -> Path:
    """Lay a recorded source into a folder; the text of a database becomes one."""
    source = RECORDED / name
    target = folder / source.name
    if source.suffix == ".sql":
        target = target.with_suffix(".sqlite")
        with sqlite3.connect(target) as database:
            database.executescript(source.read_text())
        database.close()
    elif source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)
    return target


@pytest.fixture
def bring(call: Any, ledger: Path):
    """Import a recorded source; answer what was said."""

    def bring_(tool: str) -> Any:
        source = laid(ledger, SOURCES[tool][0])
        said = call("import", tool, str(source), "--json")
        assert said.code == 0, said.err
        return said.json["sources"]

    return bring_


@pytest.mark.parametrize("tool", SOURCES)
def test_a_recorded_source_comes_in_once(call: Any, ledger: Path, tool: str) -> None:
    """A look says how much; then all is there, and the same again is nothing."""
    name, count = SOURCES[tool]
    source = str(laid(ledger, name))
    looked = call("import", tool, source, "--dry-run", "--json").json
    assert looked["dry_run"]
    assert sum(one["created"] for one in looked["sources"]) == count
    made = call("import", tool, source, "--json")
    assert made.code == 0, made.err
    assert [one["created"] for one in made.json["sources"]] == [
        one["created"] for one in looked["sources"]
    ]
    assert [one["records"] for one in made.json["sources"]] == [
        one["records"] for one in looked["sources"]
    ]
    again = call("import", tool, source, "--json").json["sources"]
    for one in again:
        assert (one["created"], one["changed"], one["kept"], one["records"]) == (0, [], [], 0)
    assert (
        f"{count if len(again) == 1 else again[0]['items']} items"
        in call("import", tool, source).out
    )
    assert call("audit", "verify").code == 0


def item_of(core: Core, name: str) -> Item:
    """Answer the item of an old id."""
    found = core.items.find(name)
    assert found is not None, name
    return found


def one(core: Core, name: str) -> tuple[str, str, str, int]:
    """Answer title, state, title of what holds it, and priority of an item by its old id."""
    found = item_of(core, name)
    return found.title, found.status, core.items.get(found.parent).title, found.priority


def needs(core: Core, name: str) -> list[str]:
    """Answer the titles of what an item waits for."""
    found = item_of(core, name)
    return sorted(need.title for need in core.overview.facets(found.id).needs)


def said_of(core: Core, name: str) -> str:
    """Answer all records of an item."""
    found = item_of(core, name)
    return "\n".join(str(one.body) for one in core.overview.rows(Record, item=found.id, limit=50))


def test_tags_of_task_master_are_roots(bring: Any, agent: Core) -> None:
    assert [source["source"] for source in bring("task-master")] == ["master", "harbour"]
    assert one(agent, "1") == ("Draw the hull", "done", "Tasks (task-master)", 1)
    assert one(agent, "2.2") == ("Bend planks", "open", "Build the hull", 2)
    assert (needs(agent, "2.2"), needs(agent, "3")) == (["Buy oak"], ["Build the hull"])
    assert one(agent, "3")[1:] == ("backlog", "Tasks (task-master)", 3)
    assert one(agent, "2")[1] == "active"
    assert one(agent, "harbour/1")[2] == "harbour (task-master)"
    body = agent.items.get(item_of(agent, "1").id).body
    assert body == "Lines of the ship\n\n## Details\n\nUse the old plans."


def test_backlog_is_read_from_every_folder(bring: Any, agent: Core) -> None:
    """Files in every folder, marked sections, check-lists as acceptance, comments as records."""
    (source,) = bring("backlog")
    assert source["remarks"] == [
        "tasks/task-1 - Draw-the-hull.md: a task with ticked acceptance sentences, whose ticks are not imported",
        (
            "decisions: decision-1 - Use-oak.md is a document and no task, so it is not imported;"
            " keep it as a file when you leave Backlog.md, and name it in the tasks that need it"
        ),
        (
            "milestones: m-0 - v1.md is a document and no task, so it is not imported;"
            " keep it as a file when you leave Backlog.md, and name it in the tasks that need it"
        ),
    ]
    assert one(agent, "TASK-1") == ("Draw the hull", "done", "demo (Backlog.md)", 1)
    assert one(agent, "TASK-2.1")[2] == "Build it"
    assert needs(agent, "TASK-2") == ["Draw the hull"]
    assert [one(agent, name)[1] for name in ("TASK-2", "TASK-3", "TASK-4", "DRAFT-1")] == [
        "active", "cancelled", "done", "backlog",
    ]  # fmt: skip
    facets = agent.overview.facets(item_of(agent, "TASK-1").id)
    assert [criterion.text for criterion in facets.criteria] == ["It floats", "It is drawn"]
    assert (facets.item.assignee, facets.labels) == ("ann", ("hull", "paper"))
    assert facets.item.body == "Lines of the ship\n\n## Final summary\n\nDrawn well"
    assert "Written in backlog by @bob on 2026-11-23 14:13:\n\nLooks fine" in said_of(
        agent, "TASK-2"
    )
    assert "Second line\nmore" in said_of(agent, "TASK-2")
    assert agent.overview.facets(item_of(agent, "TASK-4").id).areas == ("src/a.py",)


def test_vibe_kanban_is_read_from_its_database(bring: Any, agent: Core) -> None:
    (source,) = bring("vibe-kanban")
    assert source["title"] == "demo (vibe-kanban)"
    assert one(agent, "7932090a-b611-4f06-9d09-64d83bf7014f")[:2] == ("Draw the hull", "done")
    assert one(agent, "2447308c-e7d3-4770-8efe-8bff1b6f5185")[:2] == ("Given up", "cancelled")


def test_openspec_changes_have_phases_in_order(bring: Any, agent: Core) -> None:
    """Sections are phases in order, numbers are ids, the proposal is the description."""
    (source,) = bring("openspec")
    assert source["remarks"] == [
        (
            "changes/add-lamps/specs: lamps is a document and no task, so it is not imported;"
            " keep it as a file when you leave OpenSpec, and name it in the tasks that need it"
        )
    ]
    assert one(agent, "add-lamps/1.1")[:3] == (
        "Buy lamps and verify that each burns",
        "done",
        "1. Setup",
    )
    assert one(agent, "add-lamps/2.2")[1:3] == ("open", "2. Pier")
    pier = agent.items.get(item_of(agent, "add-lamps/2.2").parent)
    assert [need.title for need in agent.overview.facets(pier.id).needs] == ["1. Setup"]
    assert "Ships come in at night." in agent.items.get(source["root"]).body


def test_spec_kit_marks_become_labels_and_edges(bring: Any, agent: Core) -> None:
    bring("spec-kit")
    assert (
        one(agent, "001-lamps-harbour/T001")[0]
        == "Create project structure per implementation plan"
    )
    facets = agent.overview.facets(item_of(agent, "001-lamps-harbour/T012").id)
    assert (facets.item.title, facets.labels) == (
        "Create [Entity1] model in src/models/[entity1].py",
        ("US1", "parallel"),
    )
    assert needs(agent, "001-lamps-harbour/T014") == [
        "Create [Entity1] model in src/models/[entity1].py",
        "Create [Entity2] model in src/models/[entity2].py",
    ]
    assert one(agent, "001-lamps-harbour/T012")[2] == "Implementation for User Story 1"


@pytest.mark.parametrize("name", ["beads/issues.jsonl", "beads/beads.sql"])
def test_beads_come_from_lines_and_database_alike(
    call: Any, ledger: Path, agent: Core, name: str
) -> None:
    said = call("import", "beads", str(laid(ledger, name)), "--json").json["sources"][0]
    assert [remark.partition(": ")[2] for remark in said["remarks"]] == [
        "bd-c3d4: discovered-from bd-a1b2 has no place here",
        "deleted there, or no issue, so it is not imported",
    ]
    assert said["items"] == 4
    assert one(agent, "bd-a1b2.1") == ("Buy oak", "done", "Build the hull", 0)
    assert one(agent, "bd-a1b2.2")[1] == "active"
    assert (needs(agent, "bd-a1b2.2"), needs(agent, "bd-c3d4")) == (["Buy oak"], ["Bend planks"])
    hull = agent.overview.facets(item_of(agent, "bd-a1b2").id)
    assert (hull.labels, hull.item.assignee) == (("epic", "hull"), "ann")
    assert [criterion.text for criterion in hull.criteria] == ["It floats", "It is dry"]
    assert hull.item.body == "Oak, as of old.\n\n## Design\n\nRibs first.\n\n## Notes\n\nAsk Bob."
    history = said_of(agent, "bd-a1b2.1")
    assert "because Delivered; closed 2025-11-02T10:00:00Z; created 2025-11-01T10:01:00Z" in history
    assert "Written in beads by bob on 2025-11-02T09:00:00Z:\n\nIt is dry." in history


def test_github_issues_keep_their_numbers(bring: Any, agent: Core) -> None:
    (source,) = bring("github")
    assert source["title"] == "ann/harbour (GitHub)"
    assert one(agent, "ann/harbour#2")[1:3] == ("done", "Build the hull")
    assert item_of(agent, "#2").id == item_of(agent, "ann/harbour#2").id
    assert needs(agent, "#3") == ["Bend planks"]
    assert one(agent, "#4")[1] == "cancelled"
    leak = agent.overview.facets(item_of(agent, "#3").id)
    assert (leak.labels, leak.item.assignee) == (("bug", "milestone: v1"), "ann")
    assert "assignees ann, bob" in said_of(agent, "#3")


def test_linear_rows_keep_their_places(bring: Any, agent: Core) -> None:
    """Dates before names of states, both sides of a block, and a formula is only text."""
    bring("linear")
    assert one(agent, "HAR-1") == ("Build the hull", "active", "Issues (Linear)", 1)
    assert one(agent, "HAR-3")[0] == '=HYPERLINK("https://x.org","Bend planks")'
    assert (needs(agent, "HAR-3"), one(agent, "HAR-3")[2]) == (["Buy oak"], "Build the hull")
    assert [one(agent, f"HAR-{n}")[1] for n in (2, 4, 5)] == ["done", "cancelled", "backlog"]
    assert item_of(agent, "HAR-1").body == 'Oak, "as of old".\n\nTwo lines.'


def test_markdown_of_any_form_is_a_check_list(bring: Any, agent: Core) -> None:
    """Boxes of every form, several headings, no title, and text that is not understood."""
    (source,) = bring("markdown")
    assert source["remarks"] == [
        "TODO.md, line 11: priority is a number from 0 to 4, not 'high'",
        "TODO.md, line 10: the box `[/]` has no meaning here, so the task is open",
        "TODO.md, line 20: the box `[>]` has no meaning here, so the task is open",
        "TODO.md, line 13: 1 × a heading without a task below it, which is text and no phase",
    ]
    states = {
        name: one(agent, f"TODO/{name}")[1:3]
        for name in (
            "buy-oak",
            "bend-planks",
            "steam-them",
            "paint-it-green",
            "caulk-priority-is-high",
            "dye-red-https-x-org",
        )
    }
    assert states == {
        "buy-oak": ("done", "Hull"),
        "bend-planks": ("open", "Hull"),
        "steam-them": ("done", "Bend planks"),
        "paint-it-green": ("cancelled", "Hull"),
        "caulk-priority-is-high": ("open", "Hull"),
        "dye-red-https-x-org": ("open", "Sails"),
    }
    assert "Things to do on the ship" in agent.items.get(source["root"]).body


def test_an_item_is_found_by_its_old_id(call: Any, bring: Any) -> None:
    bring("beads")
    shown = call("show", "bd-a1b2.1", "--json").json
    assert json.dumps(shown).count("Buy oak")
    assert "bd-a1b2.1" in call("find", "a1b2").out


def test_people_are_told_what_was_left(call: Any, ledger: Path, agent: Core) -> None:
    source = laid(ledger, "github/issues.json")
    assert call("import", "github", str(source)).code == 0
    hull = item_of(agent, "#1").id
    call("import", "github", str(source))
    agent.items.edit(hull, Edit(title="Mine"))
    changed = json.loads(source.read_text())
    changed[2]["title"] = "Theirs"
    del changed[3]
    changed[0]["title"] = "Leak"
    source.write_text(json.dumps(changed))
    lines = call("import", "github", str(source)).out.splitlines()
    leak = item_of(agent, "#3").id
    assert lines[1:] == [
        "  changed:",
        f"    {leak}  ann/harbour#3: title",
        "  left as it is here:",
        f"    {hull}  ann/harbour#1 (title): changed there and here; it is as it was here",
        "  no more there, kept here:",
        "    ann/harbour#4",
    ]
