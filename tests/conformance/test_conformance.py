"""The protocol's own conformance suite, in both its versions, against a server of our floor."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(180),
]

LEGACY, MODERN = "conformance-legacy", "conformance-modern"

KNOWN = {
    # 0.1.16 sends this one call as the revision 2025-03-26, which knows no such events; 0.2 does not.
    "server-sse-priming-event",
    "server-sse-retry-field",
}
"""Warnings that say something about the suite and nothing about the server."""

WITHOUT_SESSIONS = {
    "server-sse-multiple-streams-session",
    "server-sse-polling-session",
    "server-session-delete-accepted",
    "server-session-terminated-returns-404",
}
"""Warnings that our door gets: its session ids say who calls, and it keeps nothing that could be ended."""

NOT_OURS = {
    "tools-call-with-logging",
    "tools-call-sampling",
    "tools-call-elicitation",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
}
"""Scenarios of revisions before 2026-07-28 whose tools speak to the client in the middle of a call.

Our door is stateless, so that any server of a database can answer any request, and no tool of ours
does that. From 2026-07-28 on the same is done by answering with questions, and all of it is here.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a run of the suite found: its exit code, its words, and check → outcome."""

    code: int
    words: str
    checks: list[tuple[str, str, str]]

    @property
    def scenarios(self) -> int:
        """How many scenarios were run."""
        return len({scenario for scenario, _, _ in self.checks})

    @property
    def counts(self) -> Counter[str]:
        """How many checks ended in which way."""
        return Counter(outcome for _, _, outcome in self.checks)

    @property
    def failing(self) -> set[str]:
        """The scenarios with a check that failed."""
        return {scenario for scenario, _, ended in self.checks if ended == "FAILURE"}

    @property
    def doubts(self) -> set[str]:
        """The checks that neither passed nor failed."""
        return {check for _, check, ended in self.checks if ended in {"WARNING", "SKIPPED"}}


@pytest.fixture
def suite(node: str, programs: Path, tmp_path: Path) -> Callable[..., Report]:
    """Give what runs the suite of a version with its words."""

    def run(url: str, version: str, *words: str) -> Report:
        program = programs / version / "dist" / "index.js"
        ran = subprocess.run(
            [node, str(program), "server", "--url", url, *words, "-o", str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
            timeout=150,
        )
        checks = [
            (
                re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*$", "", file.parent.name),
                one["id"],
                one["status"],
            )
            for file in tmp_path.glob("*/checks.json")
            for one in json.loads(file.read_text())
        ]
        return Report(code=ran.returncode, words=ran.stdout + ran.stderr, checks=checks)

    return run


@pytest.mark.parametrize(
    ("version", "words", "scenarios", "passed"),
    [
        (LEGACY, ("--suite", "active"), 30, 40),
        (LEGACY, ("--suite", "all"), 32, 44),
        (MODERN, ("--suite", "all", "--spec-version", "2025-11-25"), 33, 84),
        (MODERN, ("--suite", "all", "--spec-version", "2026-07-28"), 40, 152),
    ],
    ids=["0.1.16-active", "0.1.16", "0.2-2025-11-25", "0.2-2026-07-28"],
)
def test_no_scenario_of_the_suite_fails(
    suite: Callable[..., Report],
    sessions: str,
    version: str,
    words: tuple[str, ...],
    scenarios: int,
    passed: int,
) -> None:
    """Every scenario is run and every check of it passes; fewer checks would be lost fixtures."""
    report = suite(sessions, version, *words)
    assert report.failing == set(), report.words[-4000:]
    assert report.doubts <= KNOWN
    assert report.code == 0
    assert (report.scenarios, report.counts["SUCCESS"]) == (scenarios, passed)


def test_our_own_door_passes_everything_of_its_era(suite: Callable[..., Report], door: str) -> None:
    """Behind the door of `counterpoint up` no check of 2026-07-28 fails or is in doubt."""
    report = suite(door, MODERN, "--suite", "all", "--spec-version", "2026-07-28")
    assert report.failing == set(), report.words[-4000:]
    assert (report.doubts, report.code) == (set(), 0)
    assert (report.scenarios, report.counts["SUCCESS"]) == (40, 152)


@pytest.mark.parametrize(
    ("version", "words", "passed"),
    [
        (LEGACY, ("--suite", "all"), 30),
        (MODERN, ("--suite", "all", "--spec-version", "2025-11-25"), 65),
    ],
    ids=["0.1.16", "0.2-2025-11-25"],
)
def test_our_own_door_passes_what_can_be_done_without_sessions(
    suite: Callable[..., Report], door: str, version: str, words: tuple[str, ...], passed: int
) -> None:
    """Before 2026-07-28 only those scenarios fail whose tools ask the client something."""
    report = suite(door, version, *words)
    assert report.failing == NOT_OURS
    assert report.doubts <= WITHOUT_SESSIONS
    assert report.counts["SUCCESS"] == passed


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_what_a_revision_requires_is_all_there(
    suite: Callable[..., Report], sessions: str, revision: str
) -> None:
    """Only the tasks extension is missing, which no revision requires and the suite does not score."""
    report = suite(sessions, MODERN, "--requirements", revision)
    assert report.code == 0, report.words[-4000:]
    assert {name for name in report.failing if not name.startswith("tasks-")} == set()
    unscored = set(re.findall(r"^ +\S (\S+) \(extension\)", report.words, re.MULTILINE))
    assert report.failing <= unscored
