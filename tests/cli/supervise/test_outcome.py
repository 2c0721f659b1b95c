"""What a person is told when a supervision is over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from counterpoint.cli.output import Output
from counterpoint.cli.supervise.outcome import SAID, Outcome, tell_outcome
from counterpoint.cli.supervise.specrun import RunStatus
from counterpoint.dialects.foundry.runs.rules.signals import (
    REASONS,
    Decision,
    Place,
    Standing,
    recommended_actions,
)
from counterpoint.kernel.clock import SystemClock

_GATE = (
    "Look at it with `counterpoint show harbour/phase-1`; it is good:"
    " `counterpoint approve harbour/phase-1`."
)
_FILED = (
    "It stays active until an agent is asked to call `lifecycle` with action=complete,"
    " spec_id=harbour, or its file is moved to the folder `completed`."
)
PLAN = "harbour-1"
PAUSED = Standing(status="paused", pause_reason="gate_review_required")
LOOK = RunStatus(state="running", session="ses_1", phase="phase-1", done=1, total=4)


def test_every_reason_has_words() -> None:
    assert set(SAID) == set(REASONS)
    assert len(set(SAID.values())) == len(SAID)


@pytest.mark.parametrize(
    ("decision", "look", "lines"),
    [
        (
            Decision(act="stop", reason="spec_complete"),
            replace(LOOK, state="spec_complete", done=4),
            [
                "Ended: the spec is complete. 4 of 4 tasks are done.",
                _FILED,
            ],
        ),
        (
            Decision(act="stop", reason="rounds_used_up"),
            LOOK,
            [
                "Ended: every round that it may have is used up. 1 of 4 tasks are done.",
                "To go on: `counterpoint supervise harbour -- AGENT…`.",
            ],
        ),
        (
            Decision(act="escalate", reason="agent_failed"),
            LOOK,
            [
                "Ended: the agent ended with an error, and its run says nothing. 1 of 4 tasks are done.",
                *(f"  | line {number}" for number in range(5, 9)),
                "  | \\u{1b}[31m",
                "Read /x/1.log; to go on: `counterpoint supervise harbour -- AGENT…`.",
            ],
        ),
        (
            Decision(act="escalate", reason="paused_needs_attention"),
            replace(
                LOOK,
                why="gate_review_required",
                attempt="gate_7",
                actions=({"description": "Resolve it.", "command": "task list-blocked"},),
            ),
            [
                "Ended: the run needs somebody (gate_review_required). 1 of 4 tasks are done.",
                "Resolve it. Have an agent call `task list-blocked`.",
                _GATE,
                "When that is seen to: `counterpoint supervise harbour --resume -- AGENT…`.",
            ],
        ),
        (
            Decision(act="escalate", reason="paused_needs_attention"),
            replace(
                LOOK,
                why="gate_review_required",
                phase="harbour-2",
                actions=tuple(
                    {name: str(text) for name, text in action.items()}
                    for action in recommended_actions(PAUSED, Place(session="s", spec=PLAN))
                ),
            ),
            [
                "Ended: the run needs somebody (gate_review_required). 1 of 4 tasks are done.",
                "Look at it with `counterpoint show harbour-2`; it is good: `counterpoint approve harbour-2`.",
                "When that is seen to: `counterpoint supervise harbour-1 --resume -- AGENT…`.",
            ],
        ),
    ],
)
def test_in_the_end_is_said_why_and_what_to_do(
    decision: Decision, look: RunStatus, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = "".join(f"line {number}\n" for number in range(9))
    outcome = Outcome(
        decision=decision,
        look=look,
        is_filed=False,
        why=look.why,
        log=Path("/x/1.log"),
        said=f"{said}\x1b[31m",
    )
    spec = "harbour" if look.phase == LOOK.phase else PLAN
    tell_outcome(Output(), SystemClock(), spec, outcome)
    assert capsys.readouterr().out.splitlines() == lines
