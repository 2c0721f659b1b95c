"""What a program is to an agent, by its name."""

from __future__ import annotations

import pytest

from counterpoint.core.model.identity import Process
from counterpoint.core.rules.trust.programs import (
    is_editor,
    is_reaper,
    is_starter,
    is_terminal_shell,
)


def process(
    program: str, pid: int = 7, script: str = "", session: int = 0, *, has_terminal: bool = False
) -> Process:
    """Answer a process of a program."""
    return Process(
        pid=pid,
        parent=1,
        uid=1,
        session=session,
        has_terminal=has_terminal,
        started=1,
        executable=f"/usr/bin/{program}",
        script=script,
    )


@pytest.mark.parametrize(
    ("program", "script", "expected"),
    [("bash", "", True), ("node", "npx", True), ("python3", "pipx", True), ("node", "app", False)],
)
def test_shells_and_runners_are_starters(program: str, script: str, expected: bool) -> None:
    """Runners that are scripts too."""
    assert is_starter(process(program, script=script)) == expected


def test_only_a_shell_that_leads_the_session_of_a_terminal_is_one_of_a_person() -> None:
    """Neither another program that does, nor a shell that does not."""
    assert is_terminal_shell(process("zsh", session=7, has_terminal=True))
    assert not is_terminal_shell(process("zsh", session=7))
    assert not is_terminal_shell(process("zsh", session=5, has_terminal=True))
    assert not is_terminal_shell(process("uv", session=7, has_terminal=True))


def test_the_processes_of_an_editor_are_known() -> None:
    """Under whatever letters."""
    assert is_editor(process("Code Helper (Plugin)"))
    assert is_editor(process("zed"))
    assert not is_editor(process("claude"))


def test_the_first_process_takes_up_orphans_whatever_it_is() -> None:
    """And those that are made for it."""
    assert is_reaper(process("sleep", pid=1))
    assert is_reaper(process("systemd"))
    assert not is_reaper(process("sleep"))
