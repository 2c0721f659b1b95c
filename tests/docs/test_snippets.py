"""What the documentation shows works: plans are read, JSON parses, commands run, links lead somewhere."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from counterpoint.app import Identity, open_app
from counterpoint.cli.main import cli
from counterpoint.core.rules import outline

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
QUICKSTART = DOCS / "quickstart.md"

FENCE = re.compile(r"^```(?P<sort>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
SORTS = {"", "text", "markdown", "json", "sh", "mermaid", "toml", "yaml"}
"""Without a word and `text` are pictures or commands for a terminal: their commands must exist."""


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: str
    line: int
    sort: str
    text: str

    def __str__(self) -> str:
        """Name it by its place."""
        return f"{self.page}:{self.line}"


def blocks_of(page: Path) -> Iterator[Block]:
    """Answer the fenced blocks of a page."""
    text = page.read_text("utf-8")
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        name = page.relative_to(ROOT).as_posix()
        yield Block(name, line, found["sort"].strip(), found["text"])


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def of(*sorts: str) -> pytest.MarkDecorator:
    """Run a test for each block of some sorts."""
    return pytest.mark.parametrize("block", [b for b in BLOCKS if b.sort in sorts], ids=str)


def anchors_of(page: Path) -> set[str]:
    """Answer what a link can point to within a page, as a forge names its headings."""
    text = FENCE.sub("", page.read_text("utf-8"))
    headings = re.findall(r"^#+\s+(.*)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in plain}


def commands_in(text: str) -> Iterator[list[str]]:
    """Answer the words of each line that is a command of ours or of make."""
    for line in text.splitlines():
        words = line.split("#")[0].strip()
        if re.match(r"(\S*/)?(counterpoint|make) [a-z]", words) and " · " not in words:
            yield shlex.split(words)


def test_every_block_says_what_it_is() -> None:
    """A block of another sort would be shown and never checked."""
    assert [str(block) for block in BLOCKS if block.sort not in SORTS] == []
    assert {block.sort for block in BLOCKS} >= {"markdown", "json", "sh"}


def test_only_the_quickstart_has_commands_that_are_run() -> None:
    """Commands of other pages belong to no story that a test could follow."""
    assert {block.page for block in BLOCKS if block.sort == "sh"} == {"docs/quickstart.md"}


@of("markdown")
def test_a_plan_that_is_shown_can_be_read(block: Block) -> None:
    """It has a title and tasks, and survives being written and read again."""
    draft = outline.load(block.text)
    assert draft.title
    assert draft.children
    written = outline.dump(draft)
    assert outline.dump(outline.load(written)) == written


@of("json")
def test_json_that_is_shown_parses(block: Block) -> None:
    """A configuration that is copied works."""
    assert json.loads(block.text)


@of("toml")
def test_toml_that_is_shown_parses(block: Block) -> None:
    """A file that is copied can be read."""
    assert tomllib.loads(block.text)


@of("", "text")
def test_a_command_that_is_shown_exists(block: Block) -> None:
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_within_the_house_leads_somewhere(page: Path) -> None:
    """Files are there, and so are the headings that a link names."""
    text = FENCE.sub("", page.read_text("utf-8"))
    broken: list[str] = []
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors_of(there)):
            broken.append(target)
    assert broken == []


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_quickstart_works_from_top_to_bottom(tmp_path: Path) -> None:
    """Each command ends well in a throwaway repository; the plan is made where the page shows it."""
    home = tmp_path / "greetings"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if "COUNTERPOINT" not in name}
    environ = kept | {"PATH": str(Path(sys.executable).parent) + os.pathsep + kept["PATH"]}
    subprocess.run(["git", "init", "-q"], cwd=home, check=True, timeout=60)
    ran: list[str] = []
    for block in blocks_of(QUICKSTART):
        if block.sort == "markdown":
            make(home, block.text)
        for command in block.text.splitlines() if block.sort == "sh" else ():
            if command.startswith("#"):
                continue
            done = subprocess.run(
                ["sh", "-c", command],
                cwd=home,
                env=environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
            ran.append(done.stdout)
    assert any("Write the greeting" in said for said in ran)
    assert len(ran) > 10


def make(home: Path, plan: str) -> None:
    """Make a plan as an agent would."""
    app = open_app(home, {})
    core = app.core(Identity(kind="agent", name="ada", session="ses_" + "a" * 26))
    assert len(core.plans.create(core.plans.read(plan)).ready) == 1
    app.close()
