"""Who is connected, and what was done in a session step by step."""

from __future__ import annotations

import re
from typing import Any

import pytest

from counterpoint.board.views import sessions
from counterpoint.core.coordinator import Core
from counterpoint.core.model.filters import Handover, Note
from counterpoint.core.model.models import ModelUse
from counterpoint.core.model.presence import Presence, ProcessMark, ServerBeat
from counterpoint.core.model.runs import RunOrder
from counterpoint.core.operations.recording.unit import recording
from fakes.pages import words_of
from fakes.studio import Studio

STREAM = (
    '{"type":"system","subtype":"init","session_id":"s"}',
    '{"type":"result","subtype":"success","total_cost_usd":0.25,"num_turns":3,"usage":{"input_tokens":10,"output_tokens":20}}',
)


def connect(studio: Studio, core: Core, *, is_over: bool = False) -> None:
    """Write that the connection of a core is open, or has ended."""
    seat, now = core.caller.actor.session, studio.clock.now()
    beat = ServerBeat(name="srv", process=ProcessMark(), beat_at=now)
    with studio.store.writing(studio.ports.project) as writing:
        writing.seat(Presence(seat=seat, origin="o", process=ProcessMark(), server=beat))
        if is_over:
            writing.unseat(seat, "srv", now)


def test_sessions_say_who_is_connected_and_who_is_gone(
    browser: Any, studio: Studio, planned: list[str], ada: Core, bob: Core
) -> None:
    cleo = studio.core("cleo", client="codex 1")
    for core in (bob, cleo):
        core.journal.append(Note(kind="finding", body="Wind"))
    connect(studio, ada)
    connect(studio, bob, is_over=True)
    studio.clock.pass_by(seconds=20)
    text = words_of(browser.get("/sessions"))
    rows = {row.split()[0]: row for row in re.findall(r"(?:ada|bob|cleo) .*?ses_\d+", text)}
    assert "active connected" in rows["ada"]
    assert planned[4] in rows["ada"]
    assert "gone since 20 s" in rows["bob"]
    assert "codex 1 active" in rows["cleo"]
    assert not re.search("connected|gone", rows["cleo"])
    bob.sessions.hand_over(Handover(action="end", summary="Enough"))
    assert "ada" not in words_of(browser.get("/sessions?status=completed")).partition("Heard")[2]
    assert "No further session" in words_of(browser.get("/sessions?status=failed"))
    assert browser.get("/sessions/nobody").status_code == 404


def test_a_session_is_replayed_in_pages_with_what_it_cost_and_left(
    browser: Any,
    studio: Studio,
    planned: list[str],
    ada: Core,
    bob: Core,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(50):
        ada.journal.append(Note(kind="finding", title=f"Finding {number}", body="Oak"))
        bob.journal.append(Note(kind="finding", body=f"Of bob {number}"))
    ada.sessions.hand_over(
        Handover(action="pause", summary="Keel half done", next_steps=("Fit a plank",))
    )
    bob.sessions.hand_over(Handover(action="continue", session=ada.caller.actor.session))
    path = f"/sessions/{ada.caller.actor.session}"
    first = browser.get(path)
    text = words_of(first)
    assert f"task.started {planned[4]}" in text
    assert "Finding 37 Oak" in text
    assert "Finding 38" not in text
    assert "Of bob" not in text
    for words in ("Left for others", "Keel half done", "Fit a plank", "asked none here"):
        assert words in text
    link = re.search(r'href="([^"]+\?from=\d+)"', first.text)
    assert link is not None
    second = words_of(browser.get(link[1]))
    assert "Finding 38 Oak" in second
    assert "by bob" in second, "what others did to it belongs to it"
    assert "Next steps" not in second
    monkeypatch.setattr(sessions, "SCANNED", 3)
    assert "Look on from #" in words_of(browser.get(path))


def test_costs_and_events_of_runs_stand_beside_the_replay(
    browser: Any, studio: Studio, planned: list[str], ada: Core
) -> None:
    ada.runs.ingest(STREAM, RunOrder(run="run-1", item=planned[4]))
    with recording(studio.context(ada), "model.asked", planned[4]) as change:
        for number, micros in enumerate((1_500_000, -1), 1):
            change.put(
                ModelUse(
                    project="demo", number=number, provider="p", model="m", purpose="chat",
                    item="", session=ada.caller.actor.session, agent="ada", status="answered",
                    fault="", stop="end", input_tokens=1_000, cached_tokens=0, output_tokens=234,
                    cost_micros=micros, duration_ms=1, attempts=1, created_at=change.now,
                )
            )  # fmt: skip
    text = words_of(browser.get(f"/sessions/{ada.caller.actor.session}"))
    assert "$1.50 for 2 answers, 2,468 tokens; of 1 the price is not known" in text
    assert "Run run-1" in text
    assert "$0.25, 3 turns, 30 tokens" in text
    assert "1 system init" in text
    assert "2 result" in text
