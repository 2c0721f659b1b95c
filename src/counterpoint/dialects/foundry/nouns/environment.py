"""What a project is made with, what of it is there, what a client may do."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Preset = Literal["minimal", "standard", "full"]

MARKERS: Final[Mapping[str, tuple[str, ...]]] = {
    "python": ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"),
    "node": ("package.json",),
    "rust": ("Cargo.toml",),
    "go": ("go.mod",),
    "java": ("pom.xml", "build.gradle", "build.gradle.kts"),
    "ruby": ("Gemfile",),
    "php": ("composer.json",),
}
"""Files that say what a project is made with; the first kind that has one counts."""
UNKNOWN: Final = "unknown"
REQUIRED_TOOLS: Final = ("python", "git")
OPTIONAL_TOOLS: Final = ("grep", "cat", "find", "node", "npm")
SERVER: Final = "mcp__counterpoint"
"""How clients name the tools of this server in their permissions."""
_LOOKING: Final = ("health", "server", "plan", "error", "environment", "spec", "journal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """What runs the tests of a project, as far as its files say. confidence: from 0 to 1."""

    name: str
    project_type: str
    confidence: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """A program on the PATH; without a version it does not answer."""

    available: bool
    version: str = ""
    executable: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """Folders that were made, and those that were there."""

    specs: str
    created: tuple[str, ...]
    existing: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetUp:
    """What was written for a client, or would be."""

    specs: str
    permissions: str
    config: str
    changes: tuple[str, ...]


def project_type(files: Collection[str]) -> str:
    """Return what a project with these files is made with."""
    for kind, markers in MARKERS.items():
        if any(marker in files for marker in markers):
            return kind
    return UNKNOWN


def runners(files: Collection[str], *, has_tests: bool, npm_test: str) -> list[Runner]:
    """Return what may run the tests, the surest first. files: of the top folder. npm_test: the script of that name."""
    runners: list[Runner] = []
    if "pytest.ini" in files or "conftest.py" in files:
        runners.append(
            Runner(name="pytest", project_type="python", confidence=0.95, reason="pytest.ini")
        )
    elif project_type(files) == "python":
        sure = 0.8 if has_tests else 0.5
        runners.append(
            Runner(name="pytest", project_type="python", confidence=sure, reason="a Python project")
        )
    if npm_test:
        runner = next((name for name in ("vitest", "jest", "mocha") if name in npm_test), "npm")
        runners.append(
            Runner(name=runner, project_type="node", confidence=0.9, reason="the script `test`")
        )
    for name, kind, marker in (("go", "go", "go.mod"), ("cargo", "rust", "Cargo.toml")):
        if marker in files:
            runners.append(Runner(name=name, project_type=kind, confidence=0.9, reason=marker))
    if "Makefile" in files and not runners:
        runners.append(Runner(name="make", project_type=UNKNOWN, confidence=0.3, reason="Makefile"))
    return sorted(runners, key=lambda candidate: -candidate.confidence)


def permissions(preset: Preset, tools: Collection[str]) -> list[str]:
    """Return the permissions of a client for tools of this server alone: it is let run nothing else by them."""
    if preset == "full":
        return [SERVER]
    chosen = [name for name in tools if preset == "standard" or name in _LOOKING]
    return [f"{SERVER}__{name}" for name in chosen]
