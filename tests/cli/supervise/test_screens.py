"""What a supervisor shows: a table, lines, or events."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from counterpoint.cli.output import Output, output_for
from counterpoint.cli.supervise.screens import Screen, open_screen
from counterpoint.cli.supervise.specrun import RunStatus
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.errors import Unavailable
from fakes.spec_runs import ended

LOOK = RunStatus(
    state="running",
    session="ses_1",
    phase="phase-1",
    step="implement_task",
    task="task-1-2",
    done=1,
    total=4,
)
CLOCK = SystemClock()


def _play(screen: Screen) -> None:
    screen.looked(LOOK)
    screen.looked(LOOK)
    screen.started(1, "ses_1", Path("/x/1.log"))
    screen.heard(b"hello\x1b[31m wo")
    screen.heard(b"rld\nlast")
    screen.heard(b"")
    screen.refused(Unavailable("nobody answers"))
    screen.ended(1, ended(3))


def test_lines_are_said_when_something_has_changed(capsys: pytest.CaptureFixture[str]) -> None:
    with open_screen(Output(), CLOCK, is_verbose=False) as screen:
        _play(screen)
    said = capsys.readouterr()
    lines = [line.split(" s  ", 1)[1].split(maxsplit=1) for line in said.out.splitlines()]
    assert [words for _, words in lines] == [
        "running  phase-1  implement_task  task-1-2  1 of 4 tasks",
        "1   an agent works in run ses_1; it is heard in /x/1.log",
        "nobody answers",
        "1   it failed with exit code 3",
    ]
    assert said.err == ""


def test_what_agents_say_is_shown_if_it_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    with open_screen(Output(), CLOCK, is_verbose=True) as screen:
        _play(screen)
    assert capsys.readouterr().err == "  | hello\\u{1b}[31m world\n  | last\n"


def test_events_are_objects_on_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with open_screen(Output(json=True), CLOCK, is_verbose=False) as screen:
        _play(screen)
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one.pop("event") for one in events] == [
        "run",
        "round.started",
        "refused",
        "round.ended",
    ]
    assert all(one.pop("at").endswith("Z") for one in events)
    assert events[0] == {
        "signal": "running",
        "session": "ses_1",
        "reason": "",
        "phase": "phase-1",
        "step": "implement_task",
        "task": "task-1-2",
        "tasks": {"done": 1, "total": 4},
    }
    assert events[1:] == [
        {"round": 1, "session": "ses_1", "log": "/x/1.log"},
        {"error": "unavailable", "message": "nobody answers"},
        {"round": 1, "exit_code": 3, "ended_for": ""},
    ]


def test_a_table_is_drawn_on_a_terminal(on_terminal: Callable[[], tuple[Any, Any]]) -> None:
    out, _ = on_terminal()
    with open_screen(output_for(), CLOCK, is_verbose=False) as screen:
        _play(screen)
    drawn = out.getvalue()
    for words in ("running", "phase-1", "implement_task task-1-2", "1 of 4", "exit code 3"):
        assert words in drawn
    assert "nobody answers" in drawn
    assert "hello" not in drawn


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (ended(), "it ended"),
        (ended(0, "asked"), "it was asked to end"),
        (ended(-15, "time"), "it took longer than a round may, and was ended"),
    ],
)
def test_the_end_of_an_agent_is_said(
    how: Any, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_screen(Output(), CLOCK, is_verbose=False) as screen:
        screen.ended(2, how)
    assert capsys.readouterr().out.endswith(f"round 2   {words}\n")
