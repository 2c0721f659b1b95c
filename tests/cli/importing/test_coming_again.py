"""Check-lists that come again: finished work stays with the line that it was finished for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def markdown(folder: Path, text: str) -> Path:
    (folder / "list.md").write_text(text)
    return folder / "list.md"


def openspec(folder: Path, text: str) -> Path:
    change = folder / "openspec" / "changes" / "add-x"
    change.mkdir(parents=True, exist_ok=True)
    (change / "proposal.md").write_text("# Add x\n\n## Why\nIt lacks.\n")
    (change / "tasks.md").write_text(text)
    return folder


def speckit(folder: Path, text: str) -> Path:
    feature = folder / "specs" / "001-x"
    feature.mkdir(parents=True, exist_ok=True)
    (feature / "spec.md").write_text("# Feature: x\n")
    (feature / "tasks.md").write_text(text)
    return folder


WRITERS: dict[str, Callable[[Path, str], Path]] = {
    "markdown": markdown,
    "openspec": openspec,
    "spec-kit": speckit,
}
TOOLS = pytest.mark.parametrize("tool", list(WRITERS))


@pytest.fixture
def bring(call: Any, ledger: Path, tmp_path: Path) -> Callable[[str, str], Any]:
    def bring_(tool: str, text: str) -> Any:
        folder = tmp_path / "theirs"
        folder.mkdir(exist_ok=True)
        imported = call("import", tool, str(WRITERS[tool](folder, text)), "--json")
        assert imported.code == 0, imported.err
        return imported.json

    return bring_


@pytest.fixture
def finish(call: Any) -> Callable[[str], None]:
    """Give what works an item to its end."""

    def finish_(item: str) -> None:
        for status in ("active", "done"):
            moved = call("edit", item, "--status", status)
            assert moved.code == 0, moved.err

    return finish_


@pytest.fixture
def tasks(call: Any) -> Callable[[], dict[tuple[str, str], tuple[str, str]]]:
    """Give the id and state of each item by the title of what holds it, and its own."""

    def tasks_() -> dict[tuple[str, str], tuple[str, str]]:
        items = {item["id"]: item for item in call("list", "--all", "--json").json["items"]}
        return {
            (items[item["parent"]]["title"], item["title"]): (item["id"], item["status"])
            for item in items.values()
            if item["parent"]
        }

    return tasks_


@TOOLS
def test_a_phase_put_in_above_leaves_finished_work_where_it_is(tool, bring, tasks, finish):
    bring(tool, "# P\n## A\n- [ ] Write tests\n## B\n- [ ] Write tests\n")
    first = tasks()
    finish(first["A", "Write tests"][0])
    bring(
        tool, "# P\n## Zero\n- [ ] Write tests\n## A\n- [ ] Write tests\n## B\n- [ ] Write tests\n"
    )
    then = tasks()
    for phase, status in (("A", "done"), ("B", "open")):
        assert then[phase, "Write tests"] == (first[phase, "Write tests"][0], status)
    assert then["Zero", "Write tests"][1] == "open"


@TOOLS
def test_numbers_that_move_take_no_finished_work_along(tool, bring, tasks, finish):
    prefix = {"spec-kit": "T00{}", "openspec": "1.{}", "markdown": "{}."}[tool]
    line = f"- [ ] {prefix} {{}}\n".format
    bring(tool, "# P\n## A\n" + line(1, "写文档") + line(2, "测试"))
    first = {title.split()[-1]: told for (_, title), told in tasks().items() if title != "A"}
    finish(first["写文档"][0])
    bring(tool, "# P\n## A\n" + line(1, "新的") + line(2, "写文档") + line(3, "测试"))
    then = {title.split()[-1]: told for (_, title), told in tasks().items() if title != "A"}
    if tool == "markdown":
        # Its numbers are words of the title, so that another number is another title.
        assert then["新的"][1] == then["测试"][1] == "open"
        assert first["写文档"][0] not in {then["新的"][0], then["测试"][0]}
        return
    assert then["写文档"] == (first["写文档"][0], "done")
    assert then["测试"] == (first["测试"][0], "open")
    assert then["新的"][1] == "open"


@TOOLS
def test_what_cannot_be_told_apart_is_told_and_stays_as_it_is(tool, bring, tasks, finish):
    bring(tool, "# P\n## A\n- [ ] Same\n- [ ] Other\n")
    same = tasks()["A", "Same"][0]
    finish(same)
    [source] = bring(tool, "# P\n## A\n- [ ] Same\n- [ ] Same\n- [ ] Other\n- [ ] New\n")["sources"]
    assert any("cannot be told" in str(remark) for remark in source["remarks"])
    assert tasks()["A", "Same"] == (same, "done")
    assert sum(title == "Same" for _, title in tasks()) == 1
    assert tasks()["A", "New"][1] == "open"


@TOOLS
def test_a_title_that_was_changed_is_an_edit_where_only_one_can_be_meant(tool, bring, tasks):
    bring(tool, "# P\n## A\n- [ ] Write tests\n- [ ] Draw\n")
    first = tasks()
    bring(tool, "# P\n## A\n- [ ] Write more tests\n- [ ] Draw\n")
    assert tasks()["A", "Write more tests"] == first["A", "Write tests"]
    assert tasks()["A", "Draw"] == first["A", "Draw"]


@TOOLS
def test_the_same_again_changes_nothing(tool, bring, tasks):
    text = "# P\n## A\n- [ ] Same\n- [x] Same\n- [ ] One\n  - [ ] Two\n## B\n- [ ] Same\n"
    bring(tool, text)
    first = tasks()
    [source] = bring(tool, text)["sources"]
    assert tasks() == first
    assert source["created"] == 0


@TOOLS
def test_phases_of_a_list_without_a_title_stand_beside_each_other(tool, bring, call):
    bring(tool, "## 1. One\n- [ ] x\n## 2. Two\n- [ ] y\n## 3. Three\n- [ ] z\n")
    items = call("list", "--all", "--json").json["items"]
    phases = {item["title"]: item for item in items if item["title"][1:2] == "."}
    assert len({item["parent"] for item in phases.values()}) == 1
    two = call("show", phases["2. Two"]["id"]).out
    assert ("1. One" in two) == (tool != "markdown")
