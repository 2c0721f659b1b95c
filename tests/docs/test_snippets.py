"""What the documentation shows works: plans are read, JSON parses, and commands run."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

from counterpoint.cli.grouping import cli
from counterpoint.core.rules import outline

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

SORTS = {"console", "json", "markdown", "mermaid", "sh", "sql", "text", "toml", "yaml"}
"""`sh` and `console` are run by `make snippets`; of `text` it is said what it is."""


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("snippets", ROOT / "scripts" / "snippets.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


snippets = _load()
RULES = snippets.rules()
BLOCKS = [fence for page in PAGES for fence in snippets.fences(page)]


def of(*sorts: str) -> pytest.MarkDecorator:
    """Run a test for each block of some sorts."""
    return pytest.mark.parametrize("block", [b for b in BLOCKS if b.sort in sorts], ids=str)


def commands_in(text: str) -> Iterator[list[str]]:
    """Answer the words of each line that is a command of ours or of make."""
    for line in text.splitlines():
        words = line.removeprefix("$ ").split(" #")[0].strip()
        if re.match(r"(\S*/)?(counterpoint|make) [a-z]", words) and " · " not in words:
            yield shlex.split(words)


def test_every_block_says_what_it_is() -> None:
    """A block of another sort would be shown and never checked."""
    assert [str(block) for block in BLOCKS if block.sort not in SORTS] == []
    assert {block.sort for block in BLOCKS} >= {"markdown", "json", "sh"}


def test_what_is_said_of_commands_is_said_of_some_that_are_shown() -> None:
    """A rule of a page that is gone, or of a command that no page shows any more, goes too."""
    shown = {name: [] for name in RULES}
    for block in BLOCKS:
        shown.setdefault(block.page, []).extend(one.text for one in snippets.commands(block))
    stale = [
        f"{name}: {step.shown}"
        for name, page in RULES.items()
        for step in page.steps
        if not any(page.step(command) is step for command in shown[name])
    ]
    assert stale == []
    assert {name for name in RULES if not (ROOT / name).exists()} == set()


def test_what_is_not_run_says_why() -> None:
    """In words, in the one file of rules; so does each drawing, synopsis and line of output."""
    reasons = [
        reason
        for page in RULES.values()
        for reason in (page.reason, *(step.reason for step in page.steps), *page.pictures.values())
        if reason
    ]
    assert [reason for reason in reasons if len(reason.split()) < 2] == []
    assert [
        str(block)
        for block in BLOCKS
        if block.sort == "text"
        and not any(
            block.text.startswith(begin)
            for begin in (RULES[block.page].pictures if block.page in RULES else ())
        )
    ] == []


def test_output_is_compared_with_what_is_shown() -> None:
    """Dots stand for anything in a line, and on a line of their own for any lines; all else counts."""
    shown = ("harbour-1 is open: … (2 items)", "…", "last")
    assert snippets.matches(shown, "harbour-1 is open: Paint (2 items)\nmore\nmore\nlast\n")
    assert snippets.matches(shown[:1], "\nharbour-1 is open: Paint it (2 items)   \n")
    assert not snippets.matches(shown, "harbour-1 is open: Paint (3 items)\nmore\nlast\n")
    assert not snippets.matches(shown[:1], "harbour-1 is open: Paint (2 items)\nmore\n")


def test_a_command_goes_on_behind_a_backslash_and_a_remark_is_none() -> None:
    """Those with output begin with `$`."""
    read = snippets.commands
    text = "# why\na b \\\n  c\n\nd # why\n"
    found = list(read(snippets.Fence(page="p", line=3, sort="sh", text=text)))
    assert [(one.line, one.text, one.prints) for one in found] == [
        (6, "a b \\\n  c", None),
        (8, "d # why", None),
    ]
    text = "$ a b\nsaid\nmore\n$ c\n"
    found = list(read(snippets.Fence(page="p", line=3, sort="console", text=text)))
    assert [(one.text, one.prints) for one in found] == [("a b", ("said", "more")), ("c", ())]
    assert list(read(snippets.Fence(page="p", line=3, sort="text", text=text))) == []


@of("markdown")
def test_a_plan_that_is_shown_can_be_read(block: Any) -> None:
    """It has a title and tasks, and survives being written and read again."""
    draft = outline.load(block.text)
    assert draft.title
    assert draft.children
    written = outline.dump(draft)
    assert outline.dump(outline.load(written)) == written


@of("json")
def test_json_that_is_shown_parses(block: Any) -> None:
    """A configuration that is copied works."""
    assert json.loads(block.text)


@of("toml")
def test_toml_that_is_shown_parses(block: Any) -> None:
    """A file that is copied can be read."""
    assert tomllib.loads(block.text)


@of("sh", "console", "text")
def test_a_command_that_is_shown_exists(block: Any) -> None:
    """Each command, sub-command, option and recipe is there under that name."""
    recipes = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for program, *words in commands_in(block.text):
        if program.endswith("make"):
            assert {word for word in words if "=" not in word} <= recipes
        else:
            assert_is_command(words)


def assert_is_command(words: list[str]) -> None:
    """Walk the groups of the command line, then look each option up; behind `--` stands the command of somebody else."""
    words = words[: words.index("--")] if "--" in words else words
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group) and words:
        name, *words = words
        found = command.get_command(context, name)
        assert found is not None, f"there is no command {name}"
        command = found
    known = {option for part in command.params for option in part.opts} | {"--help"}
    assert {word.split("=")[0] for word in words if word.startswith("-")} <= known


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "page", ["README.md", pytest.param("docs/quickstart.md", marks=pytest.mark.long)]
)
def test_the_first_pages_work_from_top_to_bottom(page: str, tmp_path: Path) -> None:
    """Each command ends well, and prints what is shown; `make snippets` runs all pages, from the wheel."""
    programs = Path(sys.executable).parent
    ran, _ = snippets.play(page, RULES[page], programs, tmp_path)
    assert ran > 6


@pytest.mark.long
@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(180)
def test_the_walk_ends_with_three_agents_that_have_done_a_task_each() -> None:
    """As `make walk`, with the program of this environment: each step says how long it took."""
    script = ROOT / "scripts" / "walk.py"
    ran = subprocess.run(
        [sys.executable, script, "--here"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    steps = re.findall(r"^ *[\d.]+ s  (.+)$", ran.stdout, re.MULTILINE)
    assert steps[-3:] == ["counterpoint status", "counterpoint audit verify", "in all"]
    assert len(steps) > 6
