"""The agent that a supervisor starts: its words, its variables, its end."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from counterpoint.app import App, open_app
from counterpoint.cli.supervise.agent import (
    PROMPT,
    RUNNER,
    AgentProgram,
    agent_environ,
    fill_placeholders,
)
from counterpoint.cli.supervise.loop import state_of
from counterpoint.kernel.clock import SystemClock
from counterpoint.kernel.errors import ProgramMissing

VALUES: Mapping[str, str] = {"spec": "harbour", "session": "ses_1", "round": "2"}


def _program(folder: Path, *words: str, prompt: str = PROMPT, seconds: int = 20) -> AgentProgram:
    return AgentProgram(
        words=words,
        prompt=prompt,
        folder=folder,
        environ=dict(os.environ),
        seconds=seconds,
        clock=SystemClock(),
    )


def test_placeholders_are_filled_once_and_other_braces_stay() -> None:
    values = {**VALUES, "prompt": "work on {spec}", "session": "{round}"}
    assert fill_placeholders('{"a": {session}, "b": {prompt}} {x}', values) == (
        '{"a": {round}, "b": work on {spec}} {x}'
    )


def test_an_agent_gets_its_words_and_no_shell_reads_them(tmp_path: Path) -> None:
    """The prompt names the spec and the run; signs of a shell arrive as they are."""
    heard = bytearray()
    words = (sys.executable, "-c", "import sys; print(sys.argv[1:])", "{prompt}", "$HOME;{round}")
    program = _program(tmp_path, *words, prompt="{spec} in {session}, not {prompt}")
    ended = program.run(VALUES, heard.extend, lambda: False)
    assert ended.exit_code == 0
    assert heard.decode() == "['harbour in ses_1, not ', '$HOME;2']\n"


def test_the_built_in_prompt_names_what_an_agent_needs() -> None:
    told = fill_placeholders(PROMPT, {**VALUES, "prompt": ""})
    assert "Spec: harbour. Run: ses_1." in told
    assert "{" not in told
    for word in ("session-step", "last_step_result", "step_proof", "loop_signal", "replay"):
        assert word in told


def test_an_agent_is_asked_to_end_and_said_to_have_been(tmp_path: Path) -> None:
    script = "trap 'echo bye; exit 0' TERM; echo on; while :; do sleep 0.05; done"
    heard = bytearray()
    program = _program(tmp_path, "sh", "-c", script)
    ended = program.run(VALUES, heard.extend, lambda: b"on" in heard)
    assert (ended.exit_code, ended.ended_for) == (0, "asked")
    # A shell may tell that what it waited for was ended.
    assert heard.startswith(b"on\n")
    assert heard.endswith(b"bye\n")


def test_an_agent_over_its_time_is_ended(tmp_path: Path) -> None:
    ended = _program(tmp_path, "sleep", "60", seconds=1).run(VALUES, bytearray().extend, bool)
    assert ended.timed_out


def test_an_agent_over_its_time_that_says_goodbye_was_over_it_all_the_same(tmp_path: Path) -> None:
    script = "trap 'exit 0' TERM; while :; do sleep 0.05; done"
    ended = _program(tmp_path, "sh", "-c", script, seconds=1).run(VALUES, bytearray().extend, bool)
    assert (ended.exit_code, ended.timed_out) == (0, True)
    assert state_of(ended) == "timed_out"


def test_an_agent_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProgramMissing, match="no-such-agent"):
        _program(tmp_path, "no-such-agent").run(VALUES, bytearray().extend, bool)


@pytest.fixture
def app(tmp_path: Path) -> App:
    """The product in a folder."""
    return open_app(tmp_path, {})


def test_the_variables_of_an_agent_lead_it_to_this_project_and_role(app: App) -> None:
    environ = {
        "PATH": "/bin",
        "ANTHROPIC_API_KEY": "k",
        "COUNTERPOINT_SURFACE": "native",
        "COUNTERPOINT_PROFILE": "judge",
        "COUNTERPOINT_AGENT_TYPE": "judge",
        "COUNTERPOINT_ISSUE_ID": "H-1",
        "COUNTERPOINT_MODE": "READONLY",
        "COUNTERPOINT_CREDENTIAL": "c",
        "FOUNDRY_MCP_ROLE": "observer",
    }
    assert agent_environ(environ, app, "harbour", role=RUNNER) == {
        "PATH": "/bin",
        "ANTHROPIC_API_KEY": "k",
        "COUNTERPOINT_MODE": "READONLY",
        "COUNTERPOINT_CREDENTIAL": "c",
        "COUNTERPOINT_ROLE": "autonomy_runner",
        "FOUNDRY_MCP_ROLE": "autonomy_runner",
        "COUNTERPOINT_DB": str(app.database),
        "COUNTERPOINT_PROJECT": app.project,
        "COUNTERPOINT_SURFACE": "foundry",
        "COUNTERPOINT_RUN": "supervise harbour",
    }


def test_the_supervisor_has_the_role_that_was_set_and_else_may_pause(app: App) -> None:
    assert agent_environ({}, app, "x")["COUNTERPOINT_ROLE"] == "maintainer"
    for name in ("COUNTERPOINT_ROLE", "FOUNDRY_MCP_ROLE"):
        assert agent_environ({name: "observer"}, app, "x")["FOUNDRY_MCP_ROLE"] == "observer"
