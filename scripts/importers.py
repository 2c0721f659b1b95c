"""Makes a project with each tool that Counterpoint imports from, imports it, and compares counts.

    .venv/bin/python scripts/importers.py [FOLDER]

The tools come from their registries (npm, PyPI) into FOLDER, or into one that is taken away at the end. What is not to be had
there is said. It is no part of the plain tests: those read what was recorded this way (tests/cli/importing/recorded).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

NPM: Final = ("task-master-ai@0.43.1", "backlog.md@1.52.0", "@fission-ai/openspec@1.13.2")
PIP: Final = ("specify-cli==1.2.3",)
_PATIENCE: Final = 600
_COUNTERPOINT: Final = Path(sys.executable).parent / "counterpoint"
_TASKS: Final = "# Tasks\n\n## 1. Setup\n\n- [x] 1.1 Buy lamps\n- [ ] 1.2 Buy oil\n\n## 2. Pier\n\n- [ ] 2.1 Hang them\n"


class Workplace:
    """A folder with the tools, and an environment that knows no other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        home = folder / "home"
        home.mkdir(parents=True, exist_ok=True)
        kept = {
            name: value
            for name, value in os.environ.items()
            if name.lower().startswith(("pip", "npm", "path", "lang"))
        }
        self.environ = {**kept, "HOME": str(home), "NO_COLOR": "1", "CI": "1"}

    def run(self, *words: str | Path, here: Path) -> str:
        """Run a command; answer what it said. CalledProcessError."""
        done = subprocess.run(  # noqa: S603 -- the words are those of this file
            [str(word) for word in words], cwd=here, env=self.environ, check=True, capture_output=True, text=True,
            timeout=_PATIENCE, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return done.stdout

    def tool(self, name: str) -> Path:
        """Return the program of a tool that was installed."""
        return next(
            place
            for place in (self.folder / "node_modules/.bin" / name, self.folder / "venv/bin" / name)
            if place.exists()
        )

    def install(self) -> None:
        """Install the tools, each by itself, so that one that is not to be had keeps no other away."""
        (self.folder / "package.json").write_text("{}")
        for package in NPM:
            self._try(
                package, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", package
            )
        venv.create(self.folder / "venv", with_pip=True)
        for package in PIP:
            self._try(package, self.folder / "venv/bin/pip", "install", "-q", package)

    def _try(self, package: str, *words: str | Path) -> None:
        try:
            self.run(*words, here=self.folder)
        except (subprocess.SubprocessError, OSError) as fault:
            print(f"{package} is not to be had here: {fault}")

    def project(self, name: str) -> Path:
        """Return an empty repository."""
        place = self.folder / f"project-{name}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        self.run("git", "init", "-q", ".", here=place)
        for key, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
            self.run("git", "config", key, value, here=place)
        return place


def task_master(work: Workplace, place: Path) -> int:
    """Make tasks with task-master; answer how many it lists."""
    tool = work.tool("task-master")
    (place / ".taskmaster/tasks").mkdir(parents=True)
    (place / ".taskmaster/tasks/tasks.json").write_text('{"master":{"tasks":[],"metadata":{}}}')
    for title, needs in (("Draw", ""), ("Build", "1"), ("Paint", "2")):
        more = ("--dependencies", needs) if needs else ()
        work.run(tool, "add-task", "-t", title, "-d", f"{title} it", *more, here=place)
    work.run(tool, "add-subtask", "--parent=2", "--title=Buy oak", here=place)
    work.run(tool, "set-status", "--id=1", "--status=done", here=place)
    listed = json.loads(work.run(tool, "list", "--with-subtasks", "--json", here=place))
    return sum(1 + len(task.get("subtasks", [])) for task in listed["tasks"])


def backlog(work: Workplace, place: Path) -> int:
    """Make tasks with Backlog.md; answer how many it lists."""
    tool = work.tool("backlog")
    work.run(tool, "init", "demo", "--defaults", "--integration-mode", "none", here=place)
    work.run(
        tool, "task", "create", "Draw", "-a", "@ann", "-l", "hull", "--ac", "It floats", here=place
    )
    work.run(tool, "task", "create", "Build", "--dep", "TASK-1", here=place)
    work.run(tool, "task", "create", "Bend", "-p", "TASK-2", here=place)
    work.run(tool, "task", "edit", "1", "-s", "Done", here=place)
    listed = work.run(tool, "task", "list", "--plain", here=place)
    return sum("TASK-" in line for line in listed.splitlines())


def openspec(work: Workplace, place: Path) -> int:
    """Make a change with OpenSpec; answer how many tasks it counts, and the phases around them."""
    tool = work.tool("openspec")
    work.run(tool, "init", "--tools", "none", ".", here=place)
    work.run(tool, "new", "change", "add-lamps", here=place)
    (place / "openspec/changes/add-lamps/proposal.md").write_text(
        "## Why\n\nNight.\n\n## What Changes\n\n- Lamps\n"
    )
    (place / "openspec/changes/add-lamps/tasks.md").write_text(_TASKS)
    listed: dict[str, Any] = json.loads(work.run(tool, "list", "--json", here=place))
    return sum(change["totalTasks"] for change in listed["changes"]) + _TASKS.count("## ")


def spec_kit(work: Workplace, place: Path) -> int:
    """Make a feature with spec-kit, whose tasks are those of its own template; answer how many there are."""
    tool = work.tool("specify")
    work.run(
        tool, "init", "--here", "--force", "--non-interactive", "--ignore-agent-tools", here=place
    )
    work.run("bash", ".specify/scripts/bash/create-new-feature.sh", "Add lamps", here=place)
    (feature,) = (place / "specs").iterdir()
    template = (place / ".specify/templates/tasks-template.md").read_text()
    (feature / "tasks.md").write_text(template)
    # Phases are counted by what is imported: only headings above a task are ones.
    return template.count("\n- [ ] T")


MAKERS: Final[dict[str, Callable[[Workplace, Path], int]]] = {
    "task-master": task_master,
    "backlog": backlog,
    "openspec": openspec,
    "spec-kit": spec_kit,
}
"""What makes a project, by the importer that reads it."""


def compare(work: Workplace, name: str) -> bool:
    """Make a project, import it twice, and say what came of it; answer whether counts are equal."""
    place = work.project(name)
    try:
        wanted = MAKERS[name](work, place)
    except StopIteration:
        print(f"{name:12} not installed")
        return True
    ledger = work.project(f"{name}-ledger")
    work.run(_COUNTERPOINT, "init", "--yes", here=ledger)
    first, again = (
        json.loads(work.run(_COUNTERPOINT, "import", name, place, "--json", here=ledger))["sources"]
        for _ in range(2)
    )
    found = sum(one["created"] for one in first)
    if name == "spec-kit":
        found -= _phases(work, ledger)
    is_same = not any(one["created"] or one["changed"] or one["records"] for one in again)
    print(f"{name:12} {wanted} there, {found} here, again {'nothing' if is_same else 'SOMETHING'}")
    return found == wanted and is_same


def _phases(work: Workplace, ledger: Path) -> int:
    listed = json.loads(work.run(_COUNTERPOINT, "list", "--limit", "1000", "--json", here=ledger))
    items = listed if isinstance(listed, list) else listed["items"]
    return sum(item["kind"] == "phase" for item in items)


def main() -> int:
    """Compare every tool; answer 1 if one differs."""
    given = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as made:
        work = Workplace(given or Path(made))
        work.install()
        found = [compare(work, name) for name in MAKERS]
        return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
