"""Walks the quickstart alone, from an empty folder to three agents at work, and prints how long each step took.

    python scripts/walk.py            from the built wheel, in an environment and a home of its own
    python scripts/walk.py --here     with the program of this environment

Each agent is a process of its own with an MCP connection of its own (agent.py). `make walk`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import release

_AGENT: Final = Path(__file__).with_name("agent.py")
_NAMES: Final = ("ada", "grace", "linus")
PLAN: Final = """# Greet the world
## Build
- [ ] Greet in English
  - areas: en
  - verify: grep -rq hello said
- [ ] Greet in French
  - areas: fr
  - verify: grep -rq hello said
- [ ] Greet in German
  - areas: de
  - verify: grep -rq hello said
## Look at it
- review: yes
- [ ] Read it aloud
"""
TAKE: Final = ('["brief", {}]', '["next", {"claim": true}]')
WORK: Final = (
    '["shell", {"command": "mkdir -p said && echo hello > said/$ITEM"}]',
    '["verify", {"id": "$item", "token": "$token"}]',
    '["finish", {"id": "$item", "token": "$token", "outcome": "done", "summary": "It greets"}]',
)
_PATIENCE: Final = 120


class Walk:
    """A folder, a home, and the steps with their times in seconds."""

    def __init__(self, top: Path) -> None:
        self.folder, self.steps = top / "greetings", list[tuple[str, float]]()
        for place in (self.folder, top / "home"):
            place.mkdir()
        self.environ = {
            "HOME": str(top / "home"),
            "LANG": "C.UTF-8",
            "COUNTERPOINT_IDLE_MINUTES": "0",
        }

    def has(self, programs: Path) -> None:
        """Have the programs of an environment found, git, and what every system has."""
        git = Path(shutil.which("git") or "/usr/bin/git").parent
        self.environ["PATH"] = os.pathsep.join([str(programs), str(git), "/usr/bin", "/bin"])

    def run(self, name: str, *commands: str) -> str:
        """Run commands as one step; answer what the last one said. Unfit."""
        began, said = time.monotonic(), ""
        for command in commands:
            said = release.run(
                "/bin/sh", "-c", command, cwd=self.folder, env=self.environ, timeout=_PATIENCE,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
        self.steps.append((name, time.monotonic() - began))
        return said

    def _start(self, *words: str) -> subprocess.Popen[str]:
        pipe, command = subprocess.PIPE, [sys.executable, str(_AGENT), *words]
        return subprocess.Popen(  # noqa: S603 -- the words are those of this file
            command, cwd=self.folder, env=self.environ, text=True, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
        )  # fmt: skip

    def agents(self, name: str, *calls: str) -> list[list[dict[str, object]]]:
        """Have every agent make the calls at once, each in a process of its own; answer what each was answered."""
        began = time.monotonic()
        started = [self._start(agent, *calls) for agent in _NAMES]
        ended = [agent.communicate(timeout=_PATIENCE) for agent in started]
        self.steps.append((name, time.monotonic() - began))
        for agent, (_, complaint) in zip(started, ended, strict=True):
            if agent.returncode:
                raise release.Unfit(complaint)
        return [[json.loads(line) for line in said.splitlines()] for said, _ in ended]


def walk(there: Walk) -> None:
    """Go from the empty folder to a verified ledger. Unfit if it ends elsewhere."""
    there.run(
        "git init",
        "git init -q -b main",
        "git config user.name Ada",
        "git config user.email ada@example.org",
    )
    there.run("counterpoint init", "counterpoint init --yes --client claude")
    (there.folder / "PLAN.md").write_text(PLAN, "utf-8")
    there.run(
        "counterpoint plan", "git add -A && git commit -qm Begin", "counterpoint plan PLAN.md"
    )
    there.run("counterpoint trust", 'counterpoint trust --allow "grep -rq hello said"')
    answered = there.agents("three agents take, do, verify and finish a task each", *TAKE, *WORK)
    taken = {str(answers[1]["claim"]) for answers in answered}
    if len(taken) != len(_NAMES):
        raise release.Unfit(f"{len(_NAMES)} agents have {len(taken)} tasks")
    said = json.loads(there.run("counterpoint status", "counterpoint status --json"))
    there.run("counterpoint audit verify", "counterpoint audit verify")
    if not said:
        raise release.Unfit("the status says nothing")


def main(words: list[str]) -> int:
    """Walk, and print the steps; 1 with the first that fails."""
    with tempfile.TemporaryDirectory(prefix="walk-") as made:
        top = Path(made)
        there = Walk(top)
        try:
            if "--here" in words:
                there.has(Path(sys.executable).parent)
            else:
                wheel = release.build(release.ROOT, top / "wheel", "wheel", dict(os.environ))
                began = time.monotonic()
                there.has(release.install(wheel, top / "environment"))
                there.steps.append(
                    ("install, from a wheel and a local cache", time.monotonic() - began)
                )
            walk(there)
        except release.Unfit as fault:
            print(fault, file=sys.stderr)
            return 1
    for name, seconds in there.steps:
        print(f"{seconds:6.1f} s  {name}")
    print(f"{sum(seconds for _, seconds in there.steps):6.1f} s  in all")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
