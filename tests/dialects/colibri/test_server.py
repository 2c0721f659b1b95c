"""The tools `server_ping` and `server_health`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from builders import Workshop
from counterpoint.dialects.colibri.verbs.actions import Health
from counterpoint.dialects.registry import surface
from counterpoint.evidence.host import ProcessHost
from counterpoint.kernel.errors import (
    CircuitOpen,
    CounterpointError,
    Forbidden,
    RateLimited,
    StoreCorrupt,
)
from counterpoint.settings import Settings
from fakes.speaker import Speaker


def test_ping_answers_version_mode_and_uptime(ada: Speaker) -> None:
    """And nothing else."""
    assert set(ada.does("server_ping")) == {"version", "mode", "uptime_ms"}


def test_health_has_the_six_fields_of_the_contract(ada: Speaker) -> None:
    """A fresh server is well."""
    told = ada.does("server_health")
    assert (told["status"], told["phase"], told["mode"]) == ("ok", "phase2", "FULL")
    assert told["db_tables"] > 0
    assert told["uptime_ms"] >= 0
    assert (told["reasons"], told["running_calls"]) == ([], 0)


def test_health_names_every_reason(
    ada: Speaker, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Skipped skills, a disk that is nearly full, what the database finds wrong."""
    skill = workshop.root / ".agents/skills/bad/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: other\n---\n")
    monkeypatch.setattr(ProcessHost, "free_bytes", lambda _: 5)
    monkeypatch.setattr(
        type(workshop.app.store), "faults", lambda _: [StoreCorrupt("page 3 is broken")]
    )
    told = ada.does("server_health")
    assert told["status"] == "degraded"
    assert [reason.split(":")[0] for reason in told["reasons"]] == [
        "the database",
        "1 skill was skipped",
        "only 5 bytes are free on the disk",
    ]


def test_health_says_that_calls_were_cut_off(ada: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as the process lives that found them."""
    look = Health.look
    monkeypatch.setattr(Health, "look", lambda self: replace(look(self), crashed=2))
    assert ada.does("server_health")["reasons"][0].startswith("2 calls were cut off")


def test_health_never_fails(ada: Speaker, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it cannot look at is the reason."""

    def broken(_: Any) -> None:
        raise StoreCorrupt

    monkeypatch.setattr(Health, "look", broken)
    told = ada.does("server_health")
    assert (told["status"], told["phase"]) == ("degraded", "phase1")
    assert told["reasons"][0].startswith("store_corrupt: ")


@pytest.mark.parametrize("name", ["server_ping", "server_health", "task_list"])
def test_a_ledger_that_cannot_be_opened_is_told(name: str) -> None:
    """Ping and health answer; any other call hears why."""

    def call() -> Any:
        raise CircuitOpen

    built = surface("colibri", Settings(mode="READONLY"))
    outcome = built.answer(built.tool(name), call, {})
    assert outcome.is_error == (name == "task_list")
    if name == "server_health":
        assert outcome.answer["data"]["reasons"][0].startswith("circuit_open")
        assert outcome.answer["data"]["mode"] == "READONLY"


@pytest.mark.parametrize("name", ["server_ping", "server_health", "task_list"])
@pytest.mark.parametrize("refusal", [Forbidden, RateLimited])
def test_who_may_not_call_a_tool_is_refused_by_each(
    name: str, refusal: type[CounterpointError]
) -> None:
    """Those that answer whatever is wrong too: of a token for other tools, or one that has no call left."""

    def call() -> Any:
        raise refusal

    built = surface("colibri", Settings())
    assert built.answer(built.tool(name), call, {}).is_error


def test_a_skill_that_is_written_is_listed_at_once(ada: Speaker, workshop: Workshop) -> None:
    """Also one that is changed, skipped or gone; the report says which and why."""
    assert ada.does("skill_list")["skills"] == []
    file = workshop.root / ".agents/skills/mend/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(
        "---\nname: mend\ndescription: Mends locks\nversion: 1.10\n"
        "capabilities: [read]\ngreekLetter: β\n---\nTake the key.\n"
    )
    told = ada.does("skill_list", search="LOCKS", capability="read", greek_letter="β")
    [skill] = told["skills"]
    assert (skill["name"], skill["version"], skill["greek_letter"]) == ("mend", "1.10", "β")
    assert ada.does("skill_get", name="mend")["body"].strip() == "Take the key."
    assert ada.does("skill_list", capability="admin")["total"] == 0
    error = ada.fails("skill_list", greek_letter="x")
    assert error["code"] == "HANDLER_ERROR"
    file.write_text("---\nname: other\n---\n")
    [skipped] = ada.does("skill_list")["skipped"]
    assert skipped["faults"]
    assert ada.fails("skill_get", name="mend")["code"] == "HANDLER_ERROR"
    file.unlink()
    told = ada.does("skill_list")
    assert (told["skills"], told["skipped"]) == ([], [])


def test_many_skills_and_long_ones_are_paged(ada: Speaker, workshop: Workshop) -> None:
    """Nothing is lost between the pages."""
    for number in range(30):
        file = workshop.root / f".agents/skills/s{number:02}/SKILL.md"
        file.parent.mkdir(parents=True)
        file.write_text(f"---\nname: s{number:02}\ndescription: {'d' * 900}\n---\n{'b' * 20_000}\n")
    names, cursor = [], ""
    while cursor is not None:
        reply = ada.call("skill_list", cursor=cursor)
        assert len(reply.text) <= 10_000
        names += [one["name"] for one in reply.answer["data"]["skills"]]
        cursor = reply.answer["data"]["next_cursor"]
    assert names == [f"s{number:02}" for number in range(30)]
    body, cursor = "", ""
    while cursor is not None:
        told = ada.does("skill_get", name="s03", cursor=cursor)
        body, cursor = body + told["body"], told["next_cursor"]
    assert body.strip() == "b" * 20_000
