"""Finds the commands that test and check a project, from its files.

Nothing is run to find out. `*` stands where words may follow: of what runs the project's own code anyway. Of a Makefile and of the
scripts of a package only the plain targets are taken, since words after those could be programs.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

_LARGEST: Final = 1_000_000
_NAMED: Final = ("test", "lint", "check", "typecheck")
_TARGET: Final = re.compile(r"^([\w-]+)[ \t]*:(?!=)", re.MULTILINE)
_LOCKS: Final = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun"}
_PYTHON: Final = ("pyproject.toml", "setup.cfg", "tox.ini", "pytest.ini", "requirements-dev.txt")

Words = tuple[str, ...]


def detect(tree: Path) -> list[Words]:
    """Return the commands that the files of a project propose."""
    python = "\n".join(_text(tree / name) for name in _PYTHON)
    commands: list[Words] = []
    if "pytest" in python or (tree / "pytest.ini").exists():
        commands += [("pytest", "*"), ("python", "-m", "pytest", "*")]
    if "ruff" in python:
        commands += [("ruff", "check", "*"), ("ruff", "format", "--check", "*")]
    commands += _scripts(tree)
    targets = dict.fromkeys(_TARGET.findall(_text(tree / "Makefile")))
    commands += [("make", name) for name in targets if name in _NAMED]
    if (tree / "Cargo.toml").exists():
        commands += [("cargo", "test", "*"), ("cargo", "clippy", "*")]
    if (tree / "go.mod").exists():
        commands += [("go", "test", "*"), ("go", "vet", "*")]
    return commands


def _scripts(tree: Path) -> list[Words]:
    """Return what a package's scripts of the usual names are run by."""
    scripts: Any = {}
    with suppress(ValueError, AttributeError):
        scripts = json.loads(_text(tree / "package.json")).get("scripts", {})
    runner = next((name for lock, name in _LOCKS.items() if (tree / lock).exists()), "npm")
    return [
        (runner, "run", name) for name in _NAMED if isinstance(scripts, dict) and name in scripts
    ]


def _text(path: Path) -> str:
    """Return the text of a file; empty if it cannot be read as one."""
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST).decode()
    except (OSError, UnicodeDecodeError):
        return ""
