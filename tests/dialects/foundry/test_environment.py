"""Environment: what is found is there, and nothing is written outside or over what was."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.dialects.foundry.environment.operations import DEFAULT, SECTIONS
from counterpoint.dialects.foundry.models.environment import permissions, project_type, runners


def done(agent: Agent, action: str, **more: Any) -> dict[str, Any]:
    """Answer the data of a call of the tool."""
    reply = agent.call("environment", {"action": action, **more})
    assert not reply.is_error, reply.text
    return reply.answer["data"]


def code(agent: Agent, action: str, **more: Any) -> str:
    """Answer the code with which a call is refused."""
    return agent.call("environment", {"action": action, **more}).answer["data"]["error_code"]


# ── init ──


def test_the_folders_of_specs_are_made(foundry: Agent, workshop: Workshop) -> None:
    """What is there stays, and a second call makes nothing."""
    (workshop.root / "specs/active").mkdir(parents=True)
    data = done(foundry, "init")
    assert data == {
        "specs_dir": "specs",
        "active_dir": "specs/active",
        "created_dirs": ["specs/pending", "specs/completed", "specs/archived"],
        "existing_dirs": ["specs", "specs/active"],
    }
    assert done(foundry, "init", path=".")["created_dirs"] == []
    assert all((workshop.root / name).is_dir() for name in data["created_dirs"])


def test_the_folder_alone_is_made_if_asked(foundry: Agent, workshop: Workshop) -> None:
    """Without one for each status."""
    assert done(foundry, "init", create_subdirs=False)["created_dirs"] == ["specs"]
    assert list((workshop.root / "specs").iterdir()) == []


@pytest.mark.parametrize("path", ["..", "/etc", "src", "~"])
def test_no_folder_is_made_elsewhere(foundry: Agent, workshop: Workshop, path: str) -> None:
    """Outside of the project, or where nobody would look."""
    assert code(foundry, "init", path=path) == "VALIDATION_ERROR"
    assert not (workshop.root / "specs").exists()


def test_a_link_or_a_file_in_the_way_is_refused(
    foundry: Agent, workshop: Workshop, tmp_path: Path
) -> None:
    """Nothing is made behind it."""
    (workshop.root / "specs").mkdir()
    (tmp_path / "away").mkdir()
    (workshop.root / "specs/pending").symlink_to(tmp_path / "away" / "new")
    assert code(foundry, "init") == "VALIDATION_ERROR"
    assert list((tmp_path / "away").iterdir()) == []
    (workshop.root / "specs/pending").unlink()
    (workshop.root / "specs/pending").write_text("mine")
    assert code(foundry, "init") == "CONFLICT"


# ── what is there ──


def test_programs_are_asked_for_their_versions(foundry: Agent) -> None:
    """Only those that are wanted; packages by what is installed."""
    data = done(foundry, "verify-env")
    assert list(data["runtimes"]) == ["python", "git"]
    assert data["all_valid"] is True
    git = data["runtimes"]["git"]
    assert git["available"]
    assert git["version"][0].isdigit()
    assert Path(git["executable"]).is_absolute()
    data = done(foundry, "verify-env", check_git=False, required_packages=["no-such-package"])
    assert (data["all_valid"], data["missing_packages"]) == (False, ["no-such-package"])
    assert list(data["runtimes"]) == ["python"]
    assert code(foundry, "verify-env", required_packages=["a; b"]) == "INVALID_FORMAT"


def test_a_program_that_is_not_there_is_told(
    foundry: Agent, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And one that does not say its version."""
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "git").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "git").chmod(0o755)
    data = done(foundry, "verify-env", check_node=True, required_packages=["x"])
    assert data["runtimes"]["node"] == {"available": False, "version": None, "executable": None}
    assert data["runtimes"]["git"]["available"] is False
    assert data["missing_packages"] == ["x"]
    chain = done(foundry, "verify-toolchain")
    assert chain["required"] == {"python": False, "git": True}
    assert chain["all_available"] is False
    assert list(chain["optional"]) == ["grep", "cat", "find", "node", "npm"]
    assert "optional" not in done(foundry, "verify-toolchain", include_optional=False)


def test_the_packages_of_the_python_on_the_path_are_found(
    foundry: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    data = done(foundry, "verify-env", required_packages=["pytest", "nonesuch"])
    assert data["missing_packages"] == ["nonesuch"]


def test_a_project_is_told_by_its_files(foundry: Agent, workshop: Workshop) -> None:
    """Of the worktree, or of a folder in it."""
    (workshop.root / "web").mkdir()
    (workshop.root / "web/package.json").write_text('{"scripts": {"test": "vitest run"}}')
    data = done(foundry, "detect", path="web")
    assert data == {"project_type": "node", "has_git": True, "specs_dir": None}
    assert done(foundry, "detect")["project_type"] == project_type(
        {one.name for one in workshop.root.iterdir()}
    )
    found = done(foundry, "detect-test-runner", path="web")
    assert found["recommended_default"] == "vitest"
    assert found["detected_runners"][0]["project_type"] == "node"
    for action in ("detect", "detect-test-runner"):
        assert code(foundry, action, path="..") == "VALIDATION_ERROR"
        assert code(foundry, action, path="none") == "NOT_FOUND"


def test_a_package_that_says_no_script_has_no_runner(foundry: Agent, workshop: Workshop) -> None:
    """Whatever else the file says."""
    for text in ("{", "[]", '{"scripts": {"test": 3}}'):
        (workshop.root / "web").mkdir(exist_ok=True)
        (workshop.root / "web/package.json").write_text(text)
        data = done(foundry, "detect-test-runner", path="web")
        assert data == {"detected_runners": [], "recommended_default": None}


@pytest.mark.parametrize(
    ("files", "has_tests", "npm_test", "names"),
    [
        ({"pytest.ini"}, False, "", ["pytest"]),
        ({"pyproject.toml"}, True, "", ["pytest"]),
        ({"pyproject.toml", "go.mod"}, False, "jest --ci", ["jest", "go", "pytest"]),
        ({"Cargo.toml", "Makefile"}, False, "", ["cargo"]),
        ({"Makefile"}, False, "", ["make"]),
        ({"package.json"}, False, "run-it", ["npm"]),
        (set[str](), True, "", []),
    ],
)
def test_what_runs_the_tests_is_told_by_files(
    files: set[str], has_tests: bool, npm_test: str, names: list[str]
) -> None:
    """The surest first."""
    found = runners(files, has_tests=has_tests, npm_test=npm_test)
    assert [one.name for one in found] == names


# ── setup and settings ──


def test_setup_tells_first_and_writes_nothing_over(foundry: Agent, workshop: Workshop) -> None:
    """What was allowed stays, what is there is not written again, and a second call changes nothing."""
    file, config = workshop.root / ".claude/settings.local.json", workshop.root / "foundry-mcp.toml"
    file.parent.mkdir()
    mine = {"permissions": {"allow": ["Read", "mcp__counterpoint__plan"], "deny": ["X"]}, "a": 1}
    file.write_text(json.dumps(mine))
    plan = done(foundry, "setup", dry_run=True)
    assert (json.loads(file.read_text()), config.exists()) == (mine, False)
    written = done(foundry, "setup")
    assert written["changes"] == plan["changes"] != []
    assert (plan["dry_run"], written["dry_run"]) == (True, False)
    merged = json.loads(file.read_text())
    assert merged["permissions"]["allow"][:2] == mine["permissions"]["allow"]
    assert "mcp__counterpoint__health" in merged["permissions"]["allow"]
    assert (merged["permissions"]["deny"], merged["a"]) == (["X"], 1)
    assert config.read_text() == DEFAULT
    config.write_text("# mine\n")
    assert done(foundry, "setup")["changes"] == []
    assert config.read_text() == "# mine\n"


def test_setup_without_settings_writes_permissions_alone(
    foundry: Agent, workshop: Workshop
) -> None:
    """Of the preset that was asked for."""
    done(foundry, "setup", create_toml=False, permissions_preset="full")
    file = workshop.root / ".claude/settings.local.json"
    assert json.loads(file.read_text()) == {"permissions": {"allow": ["mcp__counterpoint"]}}
    assert not (workshop.root / "foundry-mcp.toml").exists()


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"permissions": []}', '{"permissions": {"allow": 1}}']
)
def test_settings_that_cannot_be_read_are_left_alone(
    foundry: Agent, workshop: Workshop, text: str
) -> None:
    """Nothing is written at all."""
    file = workshop.root / ".claude/settings.local.json"
    file.parent.mkdir()
    file.write_text(text)
    assert code(foundry, "setup") == "CONFLICT"
    assert (file.read_text(), (workshop.root / "foundry-mcp.toml").exists()) == (text, False)


def test_no_preset_lets_anything_run_but_tools_of_this_server() -> None:
    """A client that asks for more asks its person."""
    tools = ["health", "task", "spec"]
    assert permissions("minimal", tools) == ["mcp__counterpoint__health", "mcp__counterpoint__spec"]
    assert permissions("standard", tools) == [f"mcp__counterpoint__{name}" for name in tools]
    assert permissions("full", tools) == ["mcp__counterpoint"]


def test_settings_are_the_defaults_and_what_the_file_says(
    foundry: Agent, workshop: Workshop
) -> None:
    """By section and by key."""
    assert done(foundry, "get-config") == {
        "sections": {name: dict(one) for name, one in SECTIONS.items()},
        "config_file": None,
    }
    (workshop.root / "foundry-mcp.toml").write_text(
        "[git]\nauto_commit = true\n[autonomy_posture]\nprofile = 'x'\n"
    )
    data = done(foundry, "get-config", sections=["git"], key="auto_commit")
    assert data == {"sections": {"git": {"auto_commit": True}}, "config_file": "foundry-mcp.toml"}
    assert code(foundry, "get-config", sections=["autonomy"]) == "VALIDATION_ERROR"
    assert code(foundry, "get-config", key="nothing") == "NOT_FOUND"


def test_the_file_that_setup_writes_says_the_defaults(foundry: Agent, workshop: Workshop) -> None:
    """It turns nothing off."""
    (workshop.root / "foundry-mcp.toml").write_text(DEFAULT)
    sections = done(foundry, "get-config")["sections"]
    assert sections == {name: dict(one) for name, one in SECTIONS.items()}


@pytest.mark.parametrize(
    "text", ["[git", "git = 1", "[git]\nenabled = 'yes'", "[git]\ncommit_cadence = 3"]
)
def test_a_file_of_settings_that_is_wrong_is_refused(
    foundry: Agent, workshop: Workshop, text: str
) -> None:
    (workshop.root / "foundry-mcp.toml").write_text(text)
    assert code(foundry, "get-config") == "VALIDATION_ERROR"
