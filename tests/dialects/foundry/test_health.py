"""Health: what the server depends on, looked at for real."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.dialects.foundry.models.environment import Dependency, grade_of_disk, overall
from counterpoint.dialects.registry import surface
from counterpoint.kernel.errors import StoreCorrupt, StoreReadOnly, StoreUnreachable
from counterpoint.settings import Settings


@pytest.fixture
def ada(workshop: Workshop) -> Agent:
    """Answer an agent that speaks foundry."""
    return workshop.agent("ada", surface="foundry")


def found(agent: Agent, action: str, **more: Any) -> dict[str, Any]:
    """Answer the data of a look."""
    return agent.call("health", {"action": action, **more}).answer["data"]


def by_name(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Answer the dependencies of a look by their names."""
    return {one["name"]: one for one in data["dependencies"]}


def test_a_server_that_answers_is_alive(ada: Agent) -> None:
    """Its condition, when, and in words."""
    data = found(ada, "liveness")
    assert (data["status"], data["is_healthy"]) == ("healthy", True)
    assert list(data) == ["status", "is_healthy", "timestamp", "message"]
    assert isinstance(data["timestamp"], float)


def test_readiness_looks_at_what_every_call_needs(ada: Agent) -> None:
    """The ledger, the folder of specs and the disk, each with how long the look took."""
    data = found(ada, "readiness")
    looked = by_name(data)
    assert list(looked) == ["ledger", "specs_directory", "disk_space"]
    assert looked["ledger"]["details"]["entries"] > 0
    disk = looked["disk_space"]["details"]
    assert disk["free_mb"] <= disk["total_mb"]
    assert disk["threshold_mb"] == 100
    assert all(one["latency_ms"] >= 0 for one in looked.values())
    assert looked["specs_directory"]["message"].startswith("There is no folder")


def test_a_folder_of_specs_is_told_of(ada: Agent, workshop: Workshop) -> None:
    """With its path, as soon as there is one."""
    (workshop.root / "specs").mkdir()
    one = by_name(found(ada, "readiness"))["specs_directory"]
    assert (one["healthy"], one["status"]) == (True, "healthy")
    assert one["details"]["path"] == str(workshop.root / "specs")


def test_a_folder_of_specs_that_leads_away_is_unhealthy(
    ada: Agent, workshop: Workshop, tmp_path: Path
) -> None:
    """Nothing would be written there."""
    (tmp_path / "elsewhere").mkdir()
    (workshop.root / "specs").symlink_to(tmp_path / "elsewhere")
    data = found(ada, "readiness")
    assert (data["status"], data["is_healthy"]) == ("unhealthy", False)
    assert "outside the project" in by_name(data)["specs_directory"]["message"]


def test_a_check_adds_what_some_calls_need_and_counts(ada: Agent) -> None:
    """Without a provider the server works, but not all of it."""
    data = found(ada, "check")
    assert list(by_name(data)) == ["ledger", "specs_directory", "disk_space", "git", "ai_provider"]
    assert (data["status"], data["is_healthy"]) == ("degraded", True)
    assert data["details"] == {"unhealthy_count": 0, "degraded_count": 1, "healthy_count": 4}
    short = found(ada, "check", include_details=False)
    assert list(short) == ["status", "is_healthy", "timestamp", "message"]


def test_without_git_the_server_is_degraded(
    ada: Agent, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the program is missing or the repository."""
    shutil.rmtree(workshop.root / ".git")
    assert "no git repository" in by_name(found(ada, "check"))["git"]["message"]
    monkeypatch.setenv("PATH", "")
    assert "not on the PATH" in by_name(found(ada, "check"))["git"]["message"]


@pytest.mark.parametrize(
    ("free", "grade"), [(99.9, "unhealthy"), (100, "degraded"), (499, "degraded"), (500, "healthy")]
)
def test_the_disk_is_graded_by_what_is_free(free: float, grade: str) -> None:
    """In megabytes."""
    assert grade_of_disk(free) == grade


def test_the_whole_is_as_good_as_its_worst_part() -> None:
    parts = [
        Dependency(name="a", grade="healthy", message=""),
        Dependency(name="b", grade="degraded", message=""),
    ]
    assert overall(parts) == "degraded"
    assert overall([*parts, Dependency(name="c", grade="unhealthy", message="")]) == "unhealthy"
    assert overall([]) == "healthy"


def test_a_ledger_that_fails_is_told_of(ada: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """The look answers although nothing can be read."""

    def refuse(*_given: object) -> None:
        raise StoreUnreachable

    monkeypatch.setattr("counterpoint.core.operations.recording.context.Context.reading", refuse)
    assert by_name(found(ada, "readiness"))["ledger"]["status"] == "unhealthy"


def test_health_is_told_also_where_the_ledger_cannot_be_opened() -> None:
    """Every other tool refuses."""
    built = surface("foundry", Settings())

    def fail() -> Any:
        raise StoreCorrupt

    outcome = built.answer(built.tool("health"), fail, {"action": "liveness"})
    assert not outcome.is_error
    data = outcome.answer["data"]
    assert (data["status"], data["is_healthy"]) == ("unhealthy", False)
    assert "restore" in data["dependencies"][0]["message"]
    assert data["details"]["unhealthy_count"] == 1
    unopened = built.unopened
    assert unopened is not None
    other = next(part for part in built.tool("health").parts)
    with pytest.raises(StoreReadOnly):
        unopened(other, StoreReadOnly())
