"""Arguments nobody thought of: every tool answers or refuses, and a refusal writes nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import builders
from counterpoint.dialects.call import Call
from counterpoint.dialects.registry import surface
from counterpoint.protocol.tools import Tool

NATIVE = surface("native")
IDS = ("demo-1", "demo-2", "demo-3", "demo-r1", "demo-c1", "demo-h1", "#0", "ses_x", "demo-99")
NAMES = {"id", "item", "parent", "root", "resolves", "session", "add_after", "remove_after"}
WORDS = st.sampled_from(
    (*IDS, "open", "active", "done", "review", "k", "core", "../x", "README.md", "a\x00b", "ä" * 90)
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=30)
    | WORDS
    | st.sampled_from((2**53, -1, 0, 1, 10**30, "\ud800", "x" * 25_000)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


def likely(name: str, part: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Answer values that a parameter may take, and sometimes anything."""
    return st.one_of(fitting(name, part), fitting(name, part), JSON)


def fitting(name: str, part: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Answer values of the right type."""
    if name in BY_NAME:
        return BY_NAME[name]
    if name in NAMES and part["type"] == "string":
        return st.sampled_from(IDS)
    if "enum" in part:
        return st.sampled_from(part["enum"])
    if part.get("type") == "array":
        return st.lists(fitting(name, part["items"]), max_size=3)
    return BY_TYPE.get(part.get("type", ""), JSON)


TREES = st.deferred(
    lambda: st.fixed_dictionaries(
        {"title": st.text(max_size=12)},
        optional={
            "kind": st.sampled_from(("task", "phase", "plan", "issue", "epic")),
            "after": st.lists(WORDS, max_size=2),
            "labels": st.lists(st.text(max_size=5), max_size=2),
            "priority": st.integers(min_value=-1, max_value=5),
            "items": st.lists(TREES, max_size=2),
        },
    )
)


BY_NAME: dict[str, st.SearchStrategy[Any]] = {
    "command": st.sampled_from((["git", "status"], ["git", "nonsense"], ["no-such-program"], [""])),
    "token": st.integers(min_value=1, max_value=3),
    "tree": TREES,
    "markdown": st.sampled_from(
        ("# P\n- [ ] A\n", "# P\n## Q\n- [ ] A\n  - after: A\n", "x", "# ")
    ),
}
BY_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "integer": st.integers(min_value=0, max_value=60),
    "boolean": st.booleans(),
    "object": st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
    "string": WORDS | st.text(max_size=40),
}


def wild_calls(tool: Tool[Call]) -> st.SearchStrategy[dict[str, Any]]:
    """Answer arguments for a tool: mostly its own, sometimes others, of any type."""
    properties = tool.parameters.schema["properties"]
    required = {name: likely(name, properties[name]) for name in tool.parameters.required}
    optional = {
        name: likely(name, part) for name, part in properties.items() if name not in required
    }
    return st.fixed_dictionaries(required, optional=optional | {"nonsense": JSON})


@st.composite
def tame_calls(draw: st.DrawFn, tool: Tool[Call]) -> dict[str, Any]:
    """Answer arguments of the right types: what is required and a few others."""
    properties = tool.parameters.schema["properties"]
    others = [name for name in properties if name not in tool.parameters.required]
    few = draw(st.lists(st.sampled_from(others), max_size=3, unique=True))
    return {
        name: draw(fitting(name, properties[name])) for name in (*tool.parameters.required, *few)
    }


@pytest.fixture(scope="module")
def crowd(
    pristine_repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[builders.Agent]:
    """Answer an agent in a project where there is one of everything."""
    root = builders.copy_repository(pristine_repository, tmp_path_factory.mktemp("any") / "demo")
    workshop = builders.Workshop(root)
    agent = workshop.agent("ada", profile="coder")
    call = Call(core=agent.core, secret=lambda: builders.SECRET)
    for name, arguments in (
        ("plan", {"markdown": "# P\n## Q\n- [ ] A\n  - verify: git status\n- [ ] B\n- [ ] C\n"}),
        ("start", {"id": "demo-3"}),
        ("note", {"kind": "blocker", "text": "stop", "id": "demo-4"}),
        ("verify", {"id": "demo-3", "token": 1}),
        ("remember", {"action": "set", "key": "k", "value": 1}),
        ("handoff", {"action": "pause", "summary": "s"}),
    ):
        assert not NATIVE.invoke(call, name, arguments).is_error
    yield agent
    workshop.close()


@pytest.mark.parametrize("tool", NATIVE.tools, ids=lambda tool: tool.name)
@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(story=st.data())
def test_any_arguments_are_answered_or_refused(
    crowd: builders.Agent, caplog: pytest.LogCaptureFixture, tool: Tool[Call], story: st.DataObject
) -> None:
    """Never a traceback, never more than a page, and no entry in the ledger after a refusal."""
    arguments = story.draw(wild_calls(tool) | tame_calls(tool) | tame_calls(tool))
    # A session that ends would make all that follows a refusal, so each handoff has its own.
    who = replace(crowd.identity, session=f"ses_{crowd.ledger_size}")
    core = crowd.app.core(who) if tool.name == "handoff" else crowd.core
    call = Call(core=core, secret=lambda: builders.SECRET)
    before = crowd.ledger_size
    with caplog.at_level(logging.ERROR):
        outcome = NATIVE.invoke(call, tool.name, arguments)
    assert outcome.answer.get("error") != "unexpected", caplog.text
    assert len(outcome.text.encode()) <= 10_000
    if outcome.is_error or tool.reads:
        assert crowd.ledger_size == before
    if outcome.is_error:
        assert outcome.answer["message"]
        assert outcome.answer["hint"]


def test_after_all_of_this_the_ledger_is_sound(crowd: builders.Agent) -> None:
    """Every table is what the entries say, and the chain holds."""
    assert crowd.core.audit.verify().sound
    assert crowd.core.audit.rebuild().differences == ()
