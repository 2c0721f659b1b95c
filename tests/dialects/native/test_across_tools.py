"""What holds for each native tool: nothing of another project is found, and a key is used once."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Agent, Workshop
from fakes.plans import Begun, Plan

FOREIGN: dict[str, dict[str, Any]] = {
    "edit": {"id": "{item}", "title": "x"},
    "note": {"kind": "comment", "text": "x", "id": "{item}"},
    "plan": {"markdown": "# A\n", "parent": "{item}"},
    "submit": {"id": "{item}", "summary": "x"},
    "review": {"id": "{item}", "verdict": "reject", "reason": "x"},
    "handoff": {"action": "continue", "session": "{session}"},
    "remember": {"action": "get", "key": "k"},
    "show": {"id": "{item}"},
    "brief": {"item": "{item}"},
    "start": {"id": "{item}"},
    "verify": {"id": "{item}"},
    "finish": {"id": "{item}", "token": 1, "outcome": "done", "summary": "x"},
}
KEYED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plan": ({"markdown": "# P\n"}, {"markdown": "# Q\n"}),
    "edit": ({"id": "{other}", "priority": 0}, {"priority": 1}),
    "next": ({"claim": True}, {"lease_minutes": 7}),
    "start": ({"id": "{other}"}, {"lease_minutes": 7}),
    "finish": (
        {"id": "{item}", "token": 1, "outcome": "partial", "summary": "s"},
        {"summary": "t"},
    ),
    "note": ({"kind": "comment", "text": "once"}, {"text": "twice"}),
    "remember": ({"action": "set", "key": "k", "value": 2}, {"value": 3}),
    "handoff": ({"action": "pause", "summary": "lunch"}, {"summary": "tea"}),
}


def filled(asked: dict[str, Any], **names: str) -> dict[str, Any]:
    """Answer arguments with the names of what there is."""
    return {
        key: value.format(**names) if isinstance(value, str) else value
        for key, value in asked.items()
    }


def test_nothing_of_another_project_is_found(workshop: Workshop, ada: Agent, begun: Begun) -> None:
    """It is refused in the words in which anything that is not there is; lists are empty."""
    ada.does("remember", action="set", key="k", value=1)
    record = ada.does("note", kind="finding", text="zebra")["record"]["id"]
    stranger = workshop.agent("sam", app=workshop.project("elsewhere"))
    for tool, asked in FOREIGN.items():
        theirs = filled(asked, item=begun[0], session=ada.session)
        nobodys = filled(asked, item="demo-9999", session="ses_nobody")
        first, second = (stranger.is_refused(tool, **one) for one in (theirs, nobodys))
        expected = "invalid_input" if tool == "plan" else "not_found"
        assert first["error"] == second["error"] == expected, tool
    for name in (record, ada.session):
        assert stranger.is_refused("show", id=name)["error"] == "not_found"
    assert stranger.does("find", query="zebra")["hits"] == []
    assert stranger.does("list")["items"] == []
    assert stranger.does("remember", action="list")["entries"] == []


@pytest.mark.parametrize("tool", KEYED)
def test_a_retry_with_its_key_hears_the_first_answer(
    ada: Agent, plan: Plan, begun: Begun, tool: str
) -> None:
    """And changes nothing, whatever came between; with other arguments the key is refused."""
    asked, change = KEYED[tool]
    asked = filled(asked, item=begun[0], other=plan["Notes"]) | {"idempotency_key": "k"}
    first = ada.does(tool, **asked)
    ada.does("remember", action="set", key="between", value=1)
    size = ada.ledger_size
    assert ada.does(tool, **asked) == first
    assert ada.ledger_size == size
    assert ada.is_refused(tool, **asked | change)["error"] == "key_reused"
