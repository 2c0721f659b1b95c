"""Errors: every refusal is really kept, found again, told together, and let go."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

from builders import Agent, Workshop
from counterpoint.dialects.foundry.environment.errors import (
    ErrorLog,
    Errors,
    fingerprint_of,
    keep_recent,
    without_texts,
)
from counterpoint.dialects.foundry.models.environment import ErrorRecord
from counterpoint.settings import Settings


def record(number: int, **more: Any) -> ErrorRecord:
    """Answer a refusal of a number."""
    given: dict[str, Any] = {
        "id": f"err_{number:012d}",
        "timestamp": f"2026-01-02T03:04:05.{number % 1000:03d}Z",
        "fingerprint": "f",
        "tool_name": "task",
        "action": "start",
        "error_code": "CONFLICT",
        "error_type": "conflict",
        "message": "not so",
    }
    return ErrorRecord(**given | more)


def found(agent: Agent, action: str, **more: Any) -> dict[str, Any]:
    """Answer the data of a call of the tool."""
    reply = agent.call("error", {"action": action, **more})
    assert not reply.is_error, reply.text
    return reply.answer["data"]


@pytest.fixture
def refused(foundry: Agent) -> Agent:
    """Answer an agent that was refused four times."""
    for given in (
        {"action": "check", "include_details": 1},
        {"action": "check", "include_details": 2},
        {"action": "nonsense"},
    ):
        assert foundry.call("health", given).is_error
    assert foundry.call("error", {"action": "get", "error_id": "err_none"}).is_error
    return foundry


def test_every_refusal_is_kept(refused: Agent) -> None:
    """The newest first: when, what was called, its code and type, and what was wrong."""
    data = found(refused, "list")
    assert data["count"] == 4
    assert [(one["tool_name"], one.get("action", "")) for one in data["errors"]] == [
        *(("error", "get"), ("health", "")),
        *(("health", "check"), ("health", "check")),
    ]
    codes = [(one["error_code"], one["error_type"]) for one in data["errors"]]
    assert codes == [
        ("NOT_FOUND", "not_found"),
        ("VALIDATION_ERROR", "validation"),
        *[("INVALID_FORMAT", "validation")] * 2,
    ]
    first, second = data["errors"][2:]
    assert first["fingerprint"] == second["fingerprint"] != data["errors"][0]["fingerprint"]
    assert first["timestamp"] >= second["timestamp"]
    assert found(refused, "get", error_id=first["id"])["error"] == first


def test_errors_are_found_by_what_they_are(refused: Agent) -> None:
    """Each part alone, and a time; what fits nothing finds nothing."""
    first = found(refused, "list")["errors"][-1]
    for name, count in {
        "tool_name": 3,
        "error_code": 2,
        "error_type": 3,
        "fingerprint": 2,
    }.items():
        assert found(refused, "list", **{name: first[name]})["count"] == count, name
        assert found(refused, "list", **{name: "nothing"})["count"] == 0
    assert found(refused, "list", provider_id="claude")["count"] == 0
    assert found(refused, "list", since="2000-01-01")["count"] == 4
    assert found(refused, "list", since="2200-01-01T00:00:00+02:00")["count"] == 0
    assert found(refused, "list", until="2000-01-01T00:00:00Z")["count"] == 0
    refusal = refused.call("error", {"action": "list", "since": "yesterday"}).answer
    assert refusal["data"]["error_code"] == "INVALID_FORMAT"
    assert "must be a time" in refusal["error"]


def test_errors_are_told_in_pages(refused: Agent) -> None:
    """What comes in between is not met again, and a cursor of another question is refused."""
    first = refused.call("error", {"action": "list", "limit": 3}).answer
    assert (first["data"]["count"], first["meta"]["pagination"]["has_more"]) == (3, True)
    assert first["meta"]["pagination"]["total_count"] == 4
    cursor = first["meta"]["pagination"]["cursor"]
    wrong = refused.call("error", {"action": "list", "cursor": cursor, "tool_name": "health"})
    assert wrong.answer["data"]["error_code"] == "INVALID_FORMAT"
    rest = refused.call("error", {"action": "list", "limit": 3, "cursor": cursor}).answer
    ids = [one["id"] for one in (*first["data"]["errors"], *rest["data"]["errors"])]
    assert len(set(ids)) == 4
    assert rest["meta"]["pagination"] == {
        "cursor": None,
        "has_more": False,
        "page_size": 1,
        "total_count": 5,
    }


def test_errors_are_counted_and_told_together(refused: Agent) -> None:
    """By tool, by code, and by sort: those that come most often first."""
    data = found(refused, "stats")
    assert (data["total_errors"], data["unique_patterns"]) == (4, 3)
    assert data["by_tool"] == {"health": 3, "error": 1}
    assert data["by_error_code"] == {"INVALID_FORMAT": 2, "VALIDATION_ERROR": 1, "NOT_FOUND": 1}
    top = data["top_patterns"][0]
    assert (top["count"], top["tool_name"], top["action"]) == (2, "health", "check")
    assert top["first_seen"] <= top["last_seen"] <= data["updated_at"]
    assert found(refused, "patterns") == {
        "patterns": [],
        "pattern_count": 0,
        "min_count_filter": 3,
    }
    assert found(refused, "patterns", min_count=2)["patterns"] == [top]


def test_errors_are_let_go(refused: Agent) -> None:
    """What would go is told first; what is newest stays."""
    plan = found(refused, "cleanup", max_errors=1, dry_run=True)
    assert (plan["current_count"], plan["deleted_count"]) == (4, 3)
    done = found(refused, "cleanup", max_errors=1)
    assert (done["current_count"], done["deleted_count"]) == (1, 3)
    assert done["message"] == "3 errors were deleted; 1 stay"
    assert [one["tool_name"] for one in found(refused, "list")["errors"]] == ["error"]
    assert found(refused, "cleanup", max_errors=0)["current_count"] == 0


def test_errors_are_let_go_by_their_age(workshop: Workshop) -> None:
    """After thirty days they are not told any more, after fewer if asked."""
    agent = workshop.agent("fay", surface="foundry")
    agent.call("health", {"action": "x"})
    workshop.clock.pass_by(minutes=60 * 24 * 20)
    agent.call("health", {"action": "x"})
    assert found(agent, "list")["count"] == 2
    workshop.clock.pass_by(minutes=60 * 24 * 11)
    assert found(agent, "list")["count"] == 1
    assert found(agent, "cleanup", retention_days=5)["deleted_count"] == 2


def test_nothing_secret_and_no_text_of_a_caller_is_kept(foundry: Agent, workshop: Workshop) -> None:
    """Of what a message quotes, names stay and texts go."""
    token = "ghp_" + "a1" * 15
    foundry.call("health", {"action": f"{token}"})
    foundry.call("health", {"action": "a text of somebody"})
    files = list((workshop.root / ".counterpoint/foundry").iterdir())
    text = "".join(path.read_text() for path in files)
    assert "is not one of" in text
    assert token not in text
    assert "somebody" not in text
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)


def test_a_message_keeps_names_and_no_texts() -> None:
    """And two refusals of one sort have one fingerprint."""
    said = "the spec 'export-1' has no node `task-1-2`; \"so it is\" is 3 times too long"
    assert without_texts(said) == (
        "the spec 'export-1' has no node `task-1-2`; \"…\" is 3 times too long"
    )
    assert len(without_texts("x" * 10_000)) == 400
    for text in ("it's so", 'he said "no": it\'s so', "a \\' b\n c \\"):
        assert without_texts(f"{text!r} is wrong") == f"{text!r:.1}…{text!r:.1} is wrong"
    one, other = (fingerprint_of("task start", "CONFLICT", f"'{n}' is {n}") for n in (1, 22))
    assert one == other != fingerprint_of("task start", "NOT_FOUND", "'1' is 1")


def test_errors_that_quote_what_was_taken_away_go(foundry: Agent) -> None:
    """Whatever else is kept stays, and nothing is written where none of them does."""
    for spec in ("miller-divorce", "export"):
        foundry.is_refused("task", action="next", spec_id=spec)
    foundry.core.use(Errors).forget(["nobody"])
    assert found(foundry, "list")["count"] == 2
    foundry.core.use(Errors).forget(["miller", "nobody"])
    (left,) = found(foundry, "list")["errors"]
    assert "'export'" in left["message"]


def test_in_the_mode_that_only_reads_nothing_is_kept(workshop: Workshop) -> None:
    """Not a byte is written."""
    settings = Settings(surface="foundry", mode="READONLY")
    agent = workshop.agent("fay", surface="foundry", settings=settings)
    assert agent.call("health", {"action": "x"}).is_error
    assert not (workshop.root / ".counterpoint/foundry").exists()
    assert agent.call("error", {"action": "cleanup"}).answer["data"]["error_code"] == "FORBIDDEN"


def test_a_call_does_not_fail_because_its_error_cannot_be_kept(
    foundry: Agent, workshop: Workshop
) -> None:
    """It is refused as it would have been; the list says what is wrong."""
    (workshop.root / ".counterpoint/foundry").write_text("in the way")
    answer = foundry.call("health", {"action": "x"}).answer
    assert answer["data"]["error_code"] == "VALIDATION_ERROR"
    answer = foundry.call("error", {"action": "list"}).answer
    assert answer["data"]["error_code"] == "UNAVAILABLE"


def test_a_file_that_is_full_takes_the_place_of_the_former_one(tmp_path: Path) -> None:
    """Nothing is lost before twice as much is there."""
    log = ErrorLog(state=tmp_path, full=1_000)
    for number in range(8):
        log.append("demo", record(number))
    ids = [one.id for one in log.read("demo")]
    assert ids == [record(number).id for number in range(8)][-len(ids) :]
    assert len(ids) >= 4
    assert all(path.stat().st_size < 1_500 for path in (tmp_path / "foundry").iterdir())
    assert log.read("other") == []


def test_a_line_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    """A disk may have been full."""
    log = ErrorLog(state=tmp_path)
    log.append("demo", record(1))
    (path,) = (tmp_path / "foundry").iterdir()
    path.write_bytes(path.read_bytes() + b'{"id": "err_2"}\n[1]\n{"id": "e\n3\n')
    log.append("demo", record(4))
    assert [one.id for one in log.read("demo")] == [record(1).id, record(4).id]


def test_what_another_process_put_aside_and_left_is_not_lost(tmp_path: Path) -> None:
    """It ended between two names."""
    log = ErrorLog(state=tmp_path)
    log.append("demo", record(1))
    (path,) = (tmp_path / "foundry").iterdir()
    path.rename(path.with_suffix(".aside"))
    log.append("demo", record(2))
    assert len(log.read("demo")) == 2
    assert log.clean("demo", lambda seen: keep_recent(seen, "", 10)) == (2, 0)
    assert [one.id for one in log.read("demo")] == [record(1).id, record(2).id]


def test_to_append_waits_for_nobody(tmp_path: Path) -> None:
    """While another holds the file alone the line is left out."""
    log = ErrorLog(state=tmp_path)
    log.append("demo", record(1))
    (path,) = (tmp_path / "foundry").iterdir()
    holder = os.open(path, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    with pytest.raises(BlockingIOError):
        log.append("demo", record(2))
    os.close(holder)
    assert len(log.read("demo")) == 1


def test_a_line_goes_into_no_file_that_was_put_aside_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process gives the file its other name just before it is held."""
    log, flock = ErrorLog(state=tmp_path), fcntl.flock
    log.append("demo", record(1))
    (path,) = (tmp_path / "foundry").iterdir()

    def late(descriptor: int, how: int) -> None:
        if path.exists() and not path.with_suffix(".former").exists():
            path.rename(path.with_suffix(".former"))
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    log.append("demo", record(2))
    assert record(2).id in path.read_text()
    assert record(2).id not in path.with_suffix(".former").read_text()


def _append(folder: str, first: int, count: int) -> None:
    log = ErrorLog(state=Path(folder))
    for number in range(first, first + count):
        while True:
            try:
                log.append("demo", record(number))
                break
            except BlockingIOError:
                continue


def test_many_processes_lose_nothing_while_one_cleans(tmp_path: Path) -> None:
    """Each line is there once, whole."""
    context = multiprocessing.get_context("fork")
    many = [context.Process(target=_append, args=(str(tmp_path), 1_000 * n, 100)) for n in range(3)]
    for process in many:
        process.start()
    log = ErrorLog(state=tmp_path)
    while any(process.is_alive() for process in many):
        log.clean("demo", lambda seen: keep_recent(seen, "", 10_000))
    for process in many:
        process.join()
        assert process.exitcode == 0
    ids = [one.id for one in log.read("demo")]
    assert sorted(ids) == sorted(record(1_000 * n + m).id for n in range(3) for m in range(100))
