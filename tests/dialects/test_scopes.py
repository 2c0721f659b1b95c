"""What a file, a mode or a token shuts is shut for every tool of every surface, over every door, or nothing starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

import pytest

from builders import asked_by
from counterpoint.cli.server.listings import listing_of
from counterpoint.core.model.access import TokenRequest
from counterpoint.core.rules.access import normalize_request
from counterpoint.dialects.registry import names, surface
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.http.grants import Grant, needs
from counterpoint.protocol.http.guards import refusal_of
from counterpoint.relay.answers import Answers
from counterpoint.settings import Settings

OWN = {"colibri": {"mode"}, "symphony": set[str]()}
"""Dialects that say themselves, in the call, what a mode shuts."""


def nobody() -> NoReturn:
    """Fail: what is shut is refused before anybody asks who calls."""
    raise AssertionError("somebody was asked for")


@pytest.mark.parametrize("name", names())
def test_what_is_shut_is_shut_over_every_door(name: str, tmp_path: Path) -> None:
    """By a file, in process and behind a relay; by the mode READONLY; by a token's list and scopes over HTTP."""
    whole = surface(name)
    opened = next(tool.name for tool in whole.tools if tool.reads)
    file = tmp_path / "tools.json"
    file.write_text(json.dumps([opened]))
    scoped = surface(name, Settings(surface=name, tool_scope=str(file)))
    assert [tool.name for tool in scoped.tools] == [opened]
    assert (scoped.resources, scoped.prompts, scoped.watch, scoped.tell) == ((), (), None, None)
    reading = surface(name, Settings(surface=name, mode="READONLY"))
    token = Grant(id="tok_1", name="ci", session="", tools=(opened,), scopes=("read",))
    for tool in whole.tools:
        if tool.name != opened:
            assert scoped.answer(scoped.tool(tool.name), nobody, {}).is_error
    for part in (part for tool in whole.tools for part in tool.parts):
        tool_name, which = asked_by(part)
        message = {"method": "tools/call", "params": {"name": tool_name, "arguments": which}}
        assert (refusal_of(token, message) is None) == (tool_name == opened)
        assert ("write" in needs(whole, message)) != part.reads
        if not part.reads and "mode" not in OWN.get(name, ()):
            shut = reading.answer(reading.tool(tool_name), nobody, which)
            assert (shut.is_error, "out of scope" in shut.text) == (True, True)
    for method in ("resources/read", "prompts/get", "completion/complete"):
        assert refusal_of(token, {"method": method, "params": {}}) is not None
    relay = Answers(listing_of(name))
    assert relay.narrow("", str(file))
    for version in ("2025-06-18", "2026-07-28"):
        listed = relay.answer(version, "tools/list")
        assert listed is not None
        assert [tool["name"] for tool in listed["tools"]] == [opened]
        for method in ("resources/list", "prompts/list"):
            beside = relay.answer(version, method) or {}
            assert not beside.get("resources") and not beside.get("prompts")  # noqa: PT018 -- one of the two is there


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("content", ["", '["no_such_tool"]', '"brief"', "[1]"])
def test_a_file_that_opens_nothing_keeps_every_surface_from_starting(
    name: str, content: str, tmp_path: Path
) -> None:
    """In process, over HTTP and behind a relay, which then leaves the call to the command line."""
    file = tmp_path / "tools.json"
    file.write_text(content)
    with pytest.raises(InvalidInput, match="opens no tool"):
        surface(name, Settings(surface=name, tool_scope=str(file)))
    assert not Answers(listing_of(name)).narrow("", str(file))


def test_a_credential_has_no_limits_that_are_not_held() -> None:
    """What only the door of HTTP holds is refused for what is brought elsewhere."""
    for limits in ({"tools": ("brief",)}, {"surfaces": ("native",)}, {"scopes": ("read",)}):
        with pytest.raises(InvalidInput, match="over HTTP"):
            normalize_request(TokenRequest(name="ada", kind="agent", **limits))
    assert normalize_request(TokenRequest(name="ada", kind="agent")).scopes == ("read", "write")
