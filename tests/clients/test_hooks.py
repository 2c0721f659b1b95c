"""What a real agent's hooks report of the calls of its tools."""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

import pytest

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(180),
]

KEY = "sk-ant-0123456789abcdefghijklmnop"


READS = {
    "claude": ("Read", lambda path: {"file_path": path}),
    "codex": ("exec_command", lambda path: {"cmd": f"cat {path}"}),
    "gemini": ("read_file", lambda path: {"file_path": path}),
}
"""By agent: its own tool that reads a file, and what that is given."""


def test_calls_of_a_real_agent_stand_in_its_session(
    bare: Any, scripted: ModuleType, run: Any, ask: Any, until: Any
) -> None:
    """Those of its own tools with what they were given and answered, of ours the name alone."""
    run(bare, "counterpoint", "init", "--yes", "--client", bare.name, "--hooks", "--events")
    bare.trusts = True
    (bare.tree / "notes.txt").write_text(f"the key is {KEY}\n")
    reader, given = READS[bare.name]

    def script(heard: list[Any]) -> Any:
        match len(heard):
            case 0:
                return scripted.Use(tool="note", arguments={"kind": "finding", "text": "begun"})
            case 1:
                arguments = given(str(bare.tree / "notes.txt"))
                return scripted.Use(tool=reader, arguments=arguments, is_ours=False)
            case _:
                return "It is read."

    with scripted.Model(script) as model:
        bare.converse(model.url)
    assert model.faults == []
    (noted,) = ask(bare, "log", "--action", "finding.recorded")["entries"]

    def reported() -> list[Any]:
        shown = ask(bare, "show", noted["actor"]["session"], "--all").get("calls", {"events": []})
        return [one["payload"] for one in shown["events"]]

    until(lambda: len(reported()) >= 2, "its calls do not arrive")
    ours, own = reported()
    assert re.fullmatch("mcp_+counterpoint_+note", ours["tool_name"])
    assert "tool_input" not in ours
    assert "notes.txt" in str(own["tool_input"])
    assert "the key is" in str(own["tool_response"])
    assert KEY not in str(own)


def test_a_real_agent_begins_with_what_there_is_to_know(
    bare: Any, scripted: ModuleType, run: Any
) -> None:
    """The brief of the hook and the word in AGENTS.md are both in its first question."""
    run(bare, "counterpoint", "init", "--yes", "--client", bare.name, "--hooks")
    bare.trusts = True
    run(bare, "counterpoint", "add", "Paint the hull")
    with scripted.Model(lambda _heard: "nothing to do") as model:
        bare.converse(model.url)
    first = str(model.requests)
    assert "Paint the hull" in first
    assert "## Working with Counterpoint" in first
