"""What the tracked files may say, and that the checks, locks and pages agree."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
AGENTS_LINES = 80
REQUIREMENTS = ROOT / "requirements"
DECISIONS = ROOT / "docs" / "decisions"


@cache
def tracked() -> dict[str, str]:
    """Answer every text file that git tracks or would track, by path."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    texts: dict[str, str] = {}
    for name in listing.stdout.decode().split("\0"):
        path = ROOT / name
        if name and path.is_file():
            texts[name] = path.read_text("utf-8", errors="replace")
    return texts


def lines_with(pattern: str) -> list[str]:
    """Answer where a pattern stands in the tracked files."""
    wanted = re.compile(pattern)
    return [
        f"{name}:{number} {line.strip()[:120]}"
        for name, text in tracked().items()
        for number, line in enumerate(text.splitlines(), 1)
        if wanted.search(line)
    ]


def pins(name: str) -> dict[str, str]:
    """Answer package and version of every pin of a requirement file."""
    text = (REQUIREMENTS / name).read_text("utf-8")
    return dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE))


def project() -> dict[str, dict[str, object]]:
    """Answer pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_no_tracked_file_names_a_place_on_somebodys_machine() -> None:
    """Paths of one machine mean nothing on another."""
    assert lines_with(r"(?<![\w.}\])*-])/(?:work|farm|root|tmp|home/\w+|Users/\w+)(?:/\w|$)") == []


def test_no_tracked_file_names_a_package_index() -> None:
    """Where packages come from is the affair of the machine that installs them."""
    index = (
        r"https?://[^ \"]+/simple|index-url *[= ] *.?http|files\.pythonhosted\.\w|registry = \"http"
    )
    assert lines_with(index) == []


def test_the_locks_are_requirement_files_only() -> None:
    """No other kind of lock stands beside them, since those name an index."""
    foreign = {"uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock"}
    assert foreign & {Path(name).name for name in tracked()} == set()


def test_the_locks_of_programs_for_tests_name_no_place() -> None:
    """What npm installs is locked by version and hash, and only below tests/."""
    locks = {name: text for name, text in tracked().items() if name.endswith("package-lock.json")}
    assert {name.partition("/")[0] for name in locks} <= {"tests"}
    assert [name for name, text in locks.items() if '"resolved"' in text] == []


def test_every_pin_of_the_locks_carries_a_hash() -> None:
    """A package that was swapped on the way is refused."""
    for path in REQUIREMENTS.glob("*.txt"):
        blocks = re.split(r"^(?=[\w.-]+==)", path.read_text("utf-8"), flags=re.MULTILINE)
        bare = [block.split()[0] for block in blocks if block and "--hash=sha256:" not in block]
        assert bare == [], path.name


def test_the_locks_pin_what_the_project_asks_for() -> None:
    """Each dependency is in the lock to run, and the lock to develop has the same versions."""
    table = project()["project"]["dependencies"]
    assert isinstance(table, list)
    asked = {re.split(r"[<>=\[ ]", item)[0] for item in table}
    run, dev = pins("run.txt"), pins("dev.txt")
    assert asked - run.keys() == set()
    assert {name: dev.get(name) for name in run} == run
    assert pins("bootstrap.txt").keys() == {"uv"}


def test_every_rule_that_is_left_out_says_why() -> None:
    """An ignored rule of the linter stands with its reason on the same line."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    ruff = text[text.index("[tool.ruff.lint]") : text.index("[tool.ruff.lint.flake8-bugbear]")]
    rules = [line for line in ruff.splitlines() if re.match(r'\s+"[A-Z]+\d*"', line)]
    assert len(rules) > 1
    assert [rule for rule in rules if not re.search(r"# \S+(?: \S+){2,}", rule)] == []


def test_the_page_for_agents_is_read_in_one_go() -> None:
    """AGENTS.md has at most 80 lines."""
    text = (ROOT / "AGENTS.md").read_text("utf-8")
    assert len(text.splitlines()) <= AGENTS_LINES


def test_the_architecture_page_names_every_floor_that_exists() -> None:
    """A folder that the page does not know has no place in the house."""
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    source = ROOT / "src" / "counterpoint"
    floors = {path.name for path in source.iterdir() if path.suffix == ".py" or path.is_dir()}
    floors -= {"__pycache__", "__init__.py", "py.typed"}
    assert {floor for floor in floors if floor not in page} == set()


def test_every_decision_is_one_page_that_says_why() -> None:
    """Each decision has a number of its own and gives context, outcome and consequences."""
    pages = sorted(DECISIONS.glob("*.md"))
    numbers = [int(page.name[:4]) for page in pages]
    assert numbers == sorted(set(numbers))
    for page in pages:
        text = page.read_text("utf-8")
        parts = ("## Context", "chosen because", "## Consequences")
        assert [part for part in parts if part not in text] == [], page.name
        assert len(text.splitlines()) <= 60, page.name


def test_the_continuous_check_runs_every_recipe() -> None:
    """`.ci/run` can be started and goes through lint, ratchets, types, imports and test."""
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "for step in install lint ratchets types imports test;" in script.read_text("utf-8")
