"""Arguments as clients send them: every dialect takes null, packed JSON, 5.0 and what a client adds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from counterpoint.dialects import registry
from counterpoint.dialects.call import Call
from counterpoint.kernel.errors import InvalidInput
from counterpoint.protocol.arguments import CLIENTS_BY_ARGUMENT, check
from counterpoint.protocol.schema import branches
from counterpoint.protocol.tools import Tool

VALUES_BY_TYPE = {"array": [], "object": {}}


def parts(dialect: str) -> Iterator[Tool[Call]]:
    """Yield every tool of a dialect, and every action of one that is made of actions."""
    for tool in registry.surface(dialect).tools:
        yield from tool.parts or (tool,)


def faults_of(tool: Tool[Call], arguments: dict[str, Any]) -> dict[str, str]:
    """Return what is wrong with each argument of a call."""
    try:
        check(tool.parameters, arguments)
    except InvalidInput as refusal:
        return {fault["path"]: fault["problem"] for fault in refusal.facts["faults"]}
    return {}


def types_of(schema: dict[str, Any]) -> set[str | None]:
    """Return the types of value that a schema admits; None is one that it does not name."""
    named = [branch.get("type") for branch in branches(schema)]
    return {kind for part in named for kind in (part if isinstance(part, list) else [part])}


@pytest.mark.parametrize("dialect", registry.names())
def test_null_is_absent_for_every_optional_argument(dialect: str) -> None:
    """A client that fills in each argument of the list has not said anything by null."""
    refused = {
        f"{tool.name} {name}": faults[name]
        for tool in parts(dialect)
        for name in tool.parameters.accepted - {*tool.parameters.required}
        if name not in tool.parameters.aliases and name in (faults := faults_of(tool, {name: None}))
    }
    assert not refused


@pytest.mark.parametrize("dialect", registry.names())
def test_a_packed_list_or_object_is_taken_like_the_plain_one(dialect: str) -> None:
    """The text has the same faults as what it is JSON of."""
    seen = 0
    for tool in parts(dialect):
        properties: dict[str, Any] = tool.parameters.whole["properties"]
        for name, schema in properties.items():
            types = types_of(schema)
            if not types & VALUES_BY_TYPE.keys() or "string" in types or None in types:
                continue
            for kind in sorted(types & VALUES_BY_TYPE.keys()):
                value = VALUES_BY_TYPE[kind]
                packed, plain = {name: json.dumps(value)}, {name: value}
                assert faults_of(tool, packed) == faults_of(tool, plain), (tool.name, name)
                seen += 1
    assert seen


@pytest.mark.parametrize("dialect", registry.names())
def test_a_whole_number_may_be_written_with_a_point(dialect: str) -> None:
    """JSON does not tell 5.0 from 5."""
    for tool in parts(dialect):
        properties: dict[str, Any] = tool.parameters.whole["properties"]
        for name, schema in properties.items():
            if types_of(schema) == {"integer"}:
                assert faults_of(tool, {name: 5.0}) == faults_of(tool, {name: 5}), tool.name


@pytest.mark.parametrize("dialect", registry.names())
@pytest.mark.parametrize("argument", CLIENTS_BY_ARGUMENT)
def test_what_a_client_adds_to_every_call_is_dropped(dialect: str, argument: str) -> None:
    """It is in no schema, and no tool is told of it."""
    for tool in registry.surface(dialect).tools:
        assert argument not in json.dumps(tool.listed())
    for tool in parts(dialect):
        assert argument not in faults_of(tool, {argument: "- [ ] write"}), tool.name
