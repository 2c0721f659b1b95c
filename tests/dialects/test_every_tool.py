"""Every tool of every surface: described, annotated, lean, and with words for every refusal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from mcp import Client

from builders import Workshop, asked_by
from counterpoint.dialects.call import Call
from counterpoint.dialects.registry import names, surface
from counterpoint.kernel import errors
from counterpoint.kernel.errors import CounterpointError, NotFound
from counterpoint.protocol.tools import Tool
from counterpoint.settings import Settings

BUDGETS = {
    "agentic": 20_000,
    "colibri": 9_000,
    "foundry": 29_398,
    "native": 15_500,
    "symphony": 18_500,
    "workflow": 9_700,
}
CALLS: dict[str, tuple[str, dict[str, str]]] = {
    "foundry": ("health", {"action": "liveness"}),
    "agentic": ("plan_list", {}),
    "colibri": ("task_list", {}),
    "native": ("brief", {}),
    "symphony": ("list_issues", {}),
    "workflow": ("start_workflow", {"name": "Login", "objective": "People can log in"}),
}
COMBINATORS = {"anyOf", "oneOf", "allOf", "not", "$ref"}

TOOLS = [
    pytest.param(name, tool, id=f"{name}-{tool.name}")
    for name in names()
    for tool in surface(name, Settings(proofs="1" if name == "colibri" else "")).tools
]


PARTS = [
    pytest.param(name, part, id=f"{name}-{part.name}")
    for name in names()
    for tool in surface(name, Settings(proofs="1" if name == "colibri" else "")).tools
    for part in tool.parts
    if part is not tool
]
"""Every action of the tools that are made of several."""


def every_error() -> Iterator[type[CounterpointError]]:
    """Answer every class of the tree of errors."""
    for found in vars(errors).values():
        if isinstance(found, type) and issubclass(found, CounterpointError):
            yield found


def test_an_unknown_surface_is_refused_by_name() -> None:
    """The refusal names the surfaces there are."""
    with pytest.raises(NotFound) as caught:
        surface("nativ")
    assert "native" in caught.value.hint


def test_a_surface_is_built_once() -> None:
    """The second look gives the same surface."""
    assert surface("native") is surface("native")


@pytest.mark.parametrize("name", names())
def test_the_whole_listing_fits_its_budget(name: str) -> None:
    """What every client pays for is counted."""
    assert surface(name).listed_size <= BUDGETS[name]


def test_the_native_surface_is_small() -> None:
    """There are sixteen tools, and the instructions fit into 600 characters."""
    native = surface("native")
    assert [tool.name for tool in native.tools] == [
        *("brief", "find", "show", "list", "plan", "edit", "next", "start"),
        *("finish", "note", "submit", "review", "verify", "handoff", "remember", "prove"),
    ]
    assert len(native.instructions) <= 600
    shown = [tool.listed() for tool in native.tools]
    seen = [[tool[part] for part in ("name", "description", "inputSchema")] for tool in shown]
    assert len(orjson.dumps(seen)) / 4 <= 3_400  # tokens, as a model sees it


@pytest.mark.parametrize("tool", surface("native").tools, ids=lambda tool: tool.name)
def test_a_native_parameter_is_described_in_more_than_a_word(tool: Tool[Call]) -> None:
    """A model that never saw the tool has nothing else to go by."""
    for name, parameter in tool.parameters.schema["properties"].items():
        assert len(parameter["description"].split()) > 1, name


@pytest.mark.both_eras
@pytest.mark.parametrize("name", names())
def test_every_dialect_lists_answers_and_refuses_in_both_eras(
    workshop: Workshop, name: str
) -> None:
    """What its tools do is tried in one era; that they are reached is tried in each."""
    ada = workshop.agent("ada", surface=name)
    built = surface(name)

    async def story(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    assert ada.ask(story) == [tool.name for tool in built.tools]
    tool, arguments = CALLS[name]
    answer = ada.call(tool, arguments)
    assert (answer.is_error, orjson.loads(answer.text)) == (False, answer.answer)
    refusal = ada.call(tool, {**arguments, "nonsense": 1})
    assert (refusal.is_error, "nonsense" in refusal.text) == (True, True)


@pytest.mark.parametrize(("name", "tool"), TOOLS)
def test_a_tool_is_described_by_one_sentence(name: str, tool: Tool[Call]) -> None:
    """The description begins with a capital, ends with a full stop and is short."""
    assert re.fullmatch(r"[A-Z].{15,180}\.", tool.description)


@pytest.mark.parametrize("name", names())
def test_no_client_cuts_what_is_said_of_a_tool(name: str) -> None:
    """Claude Code shows a model 2,048 characters of a description and of the instructions, and says nothing of the rest."""
    built = surface(name)
    assert len(built.instructions) <= 2_048
    assert [one.name for one in built.tools if len(str(one.listed()["description"])) > 2_048] == []


@pytest.mark.parametrize(("name", "part"), PARTS)
def test_an_action_is_a_tool_of_its_own(name: str, part: Tool[Call]) -> None:
    """Said in one short sentence; its parameters are described, and it has a key if it writes."""
    assert re.fullmatch(r"[A-Z].{5,90}\.", part.description)
    schema = part.parameters.schema
    undescribed = [key for key, one in schema["properties"].items() if not one.get("description")]
    assert undescribed == []
    assert part.parameters.takes_key is not part.reads
    tool, which = asked_by(part)
    assert surface(name).tool(tool).meant(which) == part


@pytest.mark.parametrize(("name", "tool"), TOOLS)
def test_a_tool_carries_all_four_hints(name: str, tool: Tool[Call]) -> None:
    """A missing hint would be taken for the worst."""
    hints = tool.listed()["annotations"]
    assert set(hints) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    if hints["readOnlyHint"]:
        assert hints["idempotentHint"]
        assert not hints["destructiveHint"]


@pytest.mark.parametrize(("name", "tool"), TOOLS)
def test_every_parameter_is_described(name: str, tool: Tool[Call]) -> None:
    """A parameter has a description, and only what exists may be given."""
    schema = tool.parameters.schema
    assert schema["additionalProperties"] is False
    assert schema["type"] == "object"
    undescribed = [key for key, part in schema["properties"].items() if not part.get("description")]
    assert undescribed == []


@pytest.mark.parametrize(("name", "tool"), TOOLS)
def test_a_schema_is_lean(name: str, tool: Tool[Call]) -> None:
    """No combination at the root, no generated title, no reference, and items for every array."""
    assert COMBINATORS.isdisjoint(tool.parameters.schema)
    for part in parts_of(tool.parameters.schema):
        assert "$ref" not in part
        assert not isinstance(part.get("title"), str)
        assert part.get("type") != "array" or "items" in part


def parts_of(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Answer a schema and every schema in it."""
    yield schema
    inner = [*schema.get("properties", {}).values()]
    inner += [schema[key] for key in ("items", "additionalProperties") if key in schema]
    for part in inner:
        if isinstance(part, dict):
            yield from parts_of(part)


@pytest.mark.parametrize(("name", "tool"), TOOLS)
def test_a_tool_that_writes_takes_an_idempotency_key(name: str, tool: Tool[Call]) -> None:
    """What is listed says so, and what makes a call wrong does not depend on it; one that only reads has none."""
    assert tool.parameters.takes_key is not tool.reads
    listed = tool.listed()
    assert listed["annotations"]["readOnlyHint"] is tool.reads
    schema = listed["inputSchema"]
    assert ("idempotency_key" in schema["properties"]) is not tool.reads
    assert "idempotency_key" not in schema.get("required", ())


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("error", list(every_error()), ids=lambda error: error.__name__)
def test_every_error_has_words_on_every_surface(name: str, error: type[CounterpointError]) -> None:
    """A refusal is a JSON object that carries its message and fits into a page."""
    plain = surface(name).refuse(error())
    assert error().message in json.dumps(plain, ensure_ascii=False)
    crowded = error("m" * 30_000, hint="h" * 30_000, faults=["f" * 500] * 100, error="x", one=1)
    answer = surface(name).refuse(crowded)
    assert len(orjson.dumps(answer)) <= 10_000
    assert "x" not in answer.values()


def test_a_native_refusal_says_what_to_do_next() -> None:
    """Code, kind, message, hint, whether to retry, and the facts that a program can act on."""
    refusal = errors.StaleVersion("cp-1 is at version 3, not 2", version=3)
    assert surface("native").refuse(refusal) == {
        "error": "stale_version",
        "kind": "conflict",
        "message": "cp-1 is at version 3, not 2",
        "hint": "Read it again with `show` and repeat the change on the new version.",
        "retryable": True,
        "version": 3,
    }
