"""What a real agent's hooks report of the calls of its tools."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.xdist_group("clients"),
]

KEY = "sk-ant-0123456789abcdefghijklmnop"


@pytest.mark.parametrize("bare", ["claude"], indirect=True)
def test_calls_of_a_real_agent_stand_in_its_session(
    bare: Any, scripted: ModuleType, run: Any, ask: Any, until: Any
) -> None:
    """Those of its own tools with what they were given and answered, of ours the name alone."""
    run(bare, "counterpoint", "init", "--yes", "--client", "claude", "--hooks", "--events")
    (bare.tree / "notes.txt").write_text(f"the key is {KEY}\n")

    def script(heard: list[Any]) -> Any:
        match len(heard):
            case 0:
                return scripted.Use(tool="note", arguments={"kind": "finding", "text": "begun"})
            case 1:
                path = str(bare.tree / "notes.txt")
                return scripted.Use(tool="Read", arguments={"file_path": path}, is_ours=False)
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
    calls = reported()
    assert [one["tool_name"] for one in calls] == ["mcp__counterpoint__note", "Read"]
    assert "tool_input" not in calls[0]
    assert "notes.txt" in calls[1]["tool_input"]["file_path"]
    assert "the key is" in str(calls[1]["tool_response"])
    assert KEY not in str(calls)
