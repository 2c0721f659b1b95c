"""Servers: the SDK's own client in memory, in both eras."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from mcp import Client
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError

from counterpoint.protocol.server import create_server
from counterpoint.protocol.surface import Surface

ERAS = pytest.mark.parametrize("era", ["2026-07-28", "legacy"])


def talk(
    small: ModuleType,
    era: str,
    story: Callable[[Client], Awaitable[Any]],
    surface: Surface[Any] | None = None,
) -> Any:
    """Run a story with a client of a fresh server and answer what it answers."""

    async def run() -> Any:
        server = create_server(surface or small.build(), lambda caller: small.Call(caller=caller))
        with anyio.fail_after(20):
            async with Client(server, mode=era) as client:
                return await story(client)

    return anyio.run(run)


@ERAS
def test_the_list_is_the_listing(small: ModuleType, era: str) -> None:
    """What the client sees is what the snapshot of the surface says."""

    async def story(client: Client) -> list[Any]:
        listed = await client.list_tools()
        return [
            tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in listed.tools
        ]

    assert talk(small, era, story) == small.build().listed()["tools"]


@ERAS
def test_both_forms_of_an_answer_are_equal(small: ModuleType, era: str) -> None:
    """Clients read one or the other; both say the same."""

    async def story(client: Client) -> None:
        for name, arguments in (("echo", {"text": "x"}), ("refuse", {}), ("echo", {"txt": 1})):
            result = await client.call_tool(name, arguments)
            assert json.loads(result.content[0].text) == result.structured_content
            assert result.is_error is (arguments != {"text": "x"})

    talk(small, era, story)


@ERAS
def test_a_tool_knows_who_calls(small: ModuleType, era: str) -> None:
    """The name of the client and the revision of the protocol reach the call."""

    async def story(client: Client) -> Any:
        return (await client.call_tool("echo", {"text": "x"})).structured_content

    answer = talk(small, era, story)
    assert answer["client"] == "mcp"
    assert answer["protocol"] == ("2025-11-25" if era == "legacy" else era)


@ERAS
def test_an_unknown_tool_is_an_error_of_the_protocol(small: ModuleType, era: str) -> None:
    """Its code is -32602 and the nearest name is offered."""

    async def story(client: Client) -> None:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("ecko", {})
        assert caught.value.error.code == -32602
        assert "echo" in caught.value.error.message

    talk(small, era, story)


@ERAS
def test_a_cursor_that_nobody_gave_out_is_refused(small: ModuleType, era: str) -> None:
    """Each list is one page, so every cursor is a bad one."""

    async def story(client: Client) -> None:
        for ask in (
            client.list_tools,
            client.list_resources,
            client.list_resource_templates,
            client.list_prompts,
        ):
            with pytest.raises(MCPError) as caught:
                await ask(cursor="x")
            assert caught.value.error.code == -32602

    talk(small, era, story)


@ERAS
def test_resources_are_listed_and_read(small: ModuleType, era: str) -> None:
    """Fixed ones and templates stand apart; a missing one is -32602, a broken one says nothing."""

    async def story(client: Client) -> None:
        assert [str(one.uri) for one in (await client.list_resources()).resources] == [
            "small://about"
        ]
        families = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template for one in families] == ["small://items/{item}/notes"]
        read = await client.read_resource("small://items/cp-1/notes")
        assert (read.contents[0].text, read.contents[0].mime_type) == (
            "# notes of cp-1",
            "text/markdown",
        )
        for item, code in (("none", -32602), ("broken", -32603)):
            with pytest.raises(MCPError) as caught:
                await client.read_resource(f"small://items/{item}/notes")
            assert caught.value.error.code == code
            assert small.SECRET not in str(caught.value.error)

    talk(small, era, story)


@ERAS
def test_prompts_are_listed_and_filled_in(small: ModuleType, era: str) -> None:
    """Arguments are checked as those of a tool are."""

    async def story(client: Client) -> None:
        listed = {one.name: one for one in (await client.list_prompts()).prompts}
        assert list(listed) == ["review", "greet"]
        assert [(one.name, one.required) for one in listed["review"].arguments] == [
            ("item", True),
            ("tone", False),
        ]
        got = await client.get_prompt("review", {"item": "cp-1"})
        assert [(one.role, one.content.text) for one in got.messages] == [
            ("user", "Review cp-1, calm."),
            ("assistant", "Gladly."),
        ]
        for name, arguments in (("review", {"itm": "x"}), ("no", {})):
            with pytest.raises(MCPError) as caught:
                await client.get_prompt(name, arguments)
            assert caught.value.error.code == -32602

    talk(small, era, story)


@ERAS
def test_progress_is_sent_before_the_answer(small: ModuleType, era: str) -> None:
    """Every report arrives, in order, while the call is open."""
    heard: list[Any] = []

    async def hear(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, total, message))

    async def story(client: Client) -> None:
        await client.call_tool("steps", {"count": 3}, progress_callback=hear)

    talk(small, era, story)
    assert heard == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


def test_a_slow_report_is_not_overtaken(small: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer waits for every report, since none may follow it."""
    heard: list[Any] = []
    report = ServerSession.report_progress

    async def slowly(session: ServerSession, *words: Any) -> None:
        for _ in range(50):
            await anyio.lowlevel.checkpoint()
        await report(session, *words)

    async def hear(*words: Any) -> None:
        heard.append(words)

    async def story(client: Client) -> None:
        await client.call_tool("steps", {"count": 3}, progress_callback=hear)

    monkeypatch.setattr(ServerSession, "report_progress", slowly)
    talk(small, "legacy", story)
    assert len(heard) == 3


def test_the_server_knows_the_schema_of_a_tool_without_the_list(small: ModuleType) -> None:
    """The SDK asks for it before calls over HTTP, and would otherwise build the list each time."""
    schema = create_server(small.build(), lambda _caller: small.Call()).get_tool_input_schema
    assert schema is not None
    assert schema("echo") == small.echo.parameters.schema
    assert schema("ecko") is None


@ERAS
def test_a_call_never_builds_the_list(
    small: ModuleType, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []
    listed = type(small.echo).listed

    def counted(tool: Any) -> Any:
        built.append(tool.name)
        return listed(tool)

    monkeypatch.setattr(type(small.echo), "listed", counted)

    async def story(client: Client) -> None:
        for _ in range(3):
            await client.call_tool("refuse", {})
        assert built == []
        await client.list_tools()
        await client.list_tools()
        assert built == [tool.name for tool in small.TOOLS]

    talk(small, era, story)


@ERAS
def test_a_tool_that_exits_leaves_the_server_alive(small: ModuleType, era: str) -> None:
    """Even leaving the thread is answered, and the next call works."""

    async def story(client: Client) -> None:
        for _ in range(20):
            result = await client.call_tool("crash", {"how": "exit"})
            assert result.is_error
            assert small.SECRET not in result.content[0].text
        assert not (await client.call_tool("echo", {"text": "x"})).is_error

    talk(small, era, story)


def test_a_surface_without_prompts_does_not_offer_them(small: ModuleType) -> None:
    """The capabilities name only what is there."""

    async def story(client: Client) -> None:
        assert client.server_capabilities.prompts is None
        assert client.server_capabilities.tools is not None
        assert client.instructions == "Say things again."
        assert client.server_info.version == "1.2.3"

    talk(small, "legacy", story, small.build(prompts=(), resources=()))
